#!/usr/bin/env python3
"""gpt2.py BATCH LENGTH f32|bf16 THREADS eager|compile: PyTorch's step of GPT-2 124M on this processor, for ci/bench --peer.

The step is that of spec/models/gpt2_data_parallel.shard: loss, gradient, clipping by the global norm, AdamW on f32 state.
bf16 is autocast. A line of standard input runs one step; its wall seconds and processor seconds are printed.
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional

MODEL, HEADS, LAYERS, VOCABULARY, POSITIONS = 768, 12, 12, 50304, 1024


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(MODEL), nn.LayerNorm(MODEL)
        self.qkv, self.out = nn.Linear(MODEL, 3 * MODEL), nn.Linear(MODEL, MODEL)
        self.up, self.down = nn.Linear(MODEL, 4 * MODEL), nn.Linear(4 * MODEL, MODEL)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (HEADS, -1)).transpose(1, 2) for each in self.qkv(self.before(x)).chunk(3, -1))
        heads = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.between(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, MODEL), nn.Embedding(POSITIONS, MODEL)
        self.layers, self.last = nn.ModuleList(Layer() for _ in range(LAYERS)), nn.LayerNorm(MODEL)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions.weight[:ids.shape[1]]
        for layer in self.layers:
            x = layer(x)
        logits = functional.linear(self.last(x), self.tokens.weight)
        return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def main():
    batch, length, precision, threads, how = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    model = Gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    loss_of = torch.compile(model) if how == "compile" else model
    ids = torch.randint(VOCABULARY, (int(batch), int(length)))
    targets = ids.roll(-1, 1)
    for _ in sys.stdin:
        wall, processor = time.perf_counter(), time.process_time()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = loss_of(ids, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        print(time.perf_counter() - wall, time.process_time() - processor, flush=True)


main()
