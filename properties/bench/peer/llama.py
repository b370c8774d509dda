#!/usr/bin/env python3
"""llama.py M=..,F=..,Q=..,K=..,D=..,V=..,N=.. BATCH LENGTH f32|bf16 THREADS eager|compile: PyTorch's step of a Llama.

The sizes are those of spec/models/llama3.shard: Q query heads for each of K key heads, of width D. The documents of a batch
are not packed: attention is causal alone.
"""
import sys

import torch
from step import serve
from torch import nn
from torch.nn import functional

SIZES = {name: int(size) for name, size in (each.split("=") for each in sys.argv[1].split(","))}
M, F, Q, K, D, V, N = (SIZES[name] for name in "MFQKDVN")


def turned(x, angles):
    """Rotary positions: the first half of a head's entries and the second are pairs."""
    first, second = x.float().chunk(2, -1)
    c, s = angles.cos(), angles.sin()
    return torch.cat((first * c - second * s, second * c + first * s), -1).to(x.dtype)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.RMSNorm(M, eps=1e-6), nn.RMSNorm(M, eps=1e-6)
        self.q, self.kv, self.out = (nn.Linear(*sizes, bias=False) for sizes in ((M, Q * K * D), (M, 2 * K * D), (Q * K * D, M)))
        self.gate, self.up, self.down = (nn.Linear(*sizes, bias=False) for sizes in ((M, F), (M, F), (F, M)))

    def forward(self, x, angles):
        nx = self.before(x)
        k, v = (each.unflatten(-1, (K, D)).transpose(1, 2) for each in self.kv(nx).chunk(2, -1))
        q = self.q(nx).unflatten(-1, (K * Q, D)).transpose(1, 2)
        heads = functional.scaled_dot_product_attention(turned(q, angles), turned(k, angles), v, is_causal=True,
                                                        enable_gqa=True)
        x = x + self.out(heads.transpose(1, 2).flatten(2))
        nx = self.between(x)
        return x + self.down(functional.silu(self.gate(nx)) * self.up(nx))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.last = nn.Embedding(V, M), nn.RMSNorm(M, eps=1e-6)
        self.layers, self.head = nn.ModuleList(Layer() for _ in range(N)), nn.Linear(M, V, bias=False)

    def forward(self, ids):
        angles = torch.arange(ids.shape[1])[:, None] * 10000.0 ** (torch.arange(D // 2) * (-2.0 / D))
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x, angles)
        return self.head(self.last(x))


batch, length, precision, threads, how = sys.argv[2:]
serve(Llama, V, int(batch), int(length), precision, int(threads), how)
