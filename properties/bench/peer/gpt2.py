#!/usr/bin/env python3
"""gpt2.py BATCH LENGTH f32|bf16 THREADS eager|compile: PyTorch's step of GPT-2 124M on this processor, for ci/bench --peer."""
import sys

import torch
from step import serve
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

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[:ids.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return functional.linear(self.last(x), self.tokens.weight)


batch, length, precision, threads, how = sys.argv[1:]
serve(Gpt2, VOCABULARY, int(batch), int(length), precision, int(threads), how)
