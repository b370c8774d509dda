"""What the peers of ci/bench --peer have in common: a training step in PyTorch, run for each line of standard input.

Loss, gradient, clipping by the global norm, AdamW on f32 state, as the steps of spec/models. bf16 is autocast.
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional


def serve(model, vocabulary, batch, length, precision, threads, how):
    """Prints the wall seconds and the processor seconds of each step. `model`: makes one, from ids to logits."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    made = model()
    for parameter in made.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02)
    optimizer = torch.optim.AdamW(made.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    logits_of = torch.compile(made) if how == "compile" else made
    ids = torch.randint(vocabulary, (batch, length))
    targets = ids.roll(-1, 1).flatten()
    for _ in sys.stdin:
        wall, processor = time.perf_counter(), time.process_time()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = functional.cross_entropy(logits_of(ids).flatten(0, 1).float(), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(made.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        print(time.perf_counter() - wall, time.process_time() - processor, flush=True)
