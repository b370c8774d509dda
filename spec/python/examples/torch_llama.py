"""A Llama layer with tensor and sequence parallelism, and FSDP as torchtitan has them: its step is proved."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, PrepareModuleOutput,
                                               RowwiseParallel, SequenceParallel, parallelize_module)

D, HEADS, KV, SIZE, HIDDEN = 32, 16, 8, 4, 48


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(D))

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.weight


def rotated(x, cos, sin):
    """RoPE on pairs (i, i + half)."""
    a, b = x.split(SIZE // 2, -1)
    cos, sin = cos[None, :, None, :], sin[None, :, None, :]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq = nn.Linear(D, HEADS * SIZE, bias=False)
        self.wk = nn.Linear(D, KV * SIZE, bias=False)
        self.wv = nn.Linear(D, KV * SIZE, bias=False)
        self.wo = nn.Linear(HEADS * SIZE, D, bias=False)

    def forward(self, x, cos, sin):
        b, n, _ = x.shape
        q = rotated(self.wq(x).view(b, n, -1, SIZE), cos, sin)
        k = rotated(self.wk(x).view(b, n, -1, SIZE), cos, sin)
        v = self.wv(x).view(b, n, -1, SIZE)
        q = q.view(b, n, k.shape[2], HEADS // KV, SIZE)
        s = torch.einsum("bqkgh,blkh->bkgql", q, k) * SIZE ** -0.5
        at = torch.arange(n)
        s = torch.where(at[:, None] >= at[None, :], s, -1e10)
        o = torch.einsum("bkgql,blkh->bqkgh", F.softmax(s, -1), v)
        return self.wo(o.reshape(b, n, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(D, HIDDEN, bias=False)
        self.w3 = nn.Linear(D, HIDDEN, bias=False)
        self.w2 = nn.Linear(HIDDEN, D, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.ffn_norm = Norm(), Norm()
        self.attention, self.feed_forward = Attention(), FeedForward()

    def forward(self, x, cos, sin):
        h = x + self.attention(self.attention_norm(x), cos, sin)
        return h + self.feed_forward(self.ffn_norm(h))


def loss(y, target):
    return ((y - target) ** 2).mean()


def parallelize(layer, mesh):
    parallelize_module(layer, mesh["t"], {
        "attention_norm": SequenceParallel(),
        "attention": PrepareModuleInput(input_layouts=(Shard(1), None, None),
                                        desired_input_layouts=(Replicate(), None, None)),
        "attention.wq": ColwiseParallel(),
        "attention.wk": ColwiseParallel(),
        "attention.wv": ColwiseParallel(),
        "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
        "ffn_norm": SequenceParallel(),
        "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),),
                                           desired_input_layouts=(Replicate(),)),
        "feed_forward.w1": ColwiseParallel(),
        "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
        "feed_forward.w3": ColwiseParallel(),
    })
    parallelize_module(layer, mesh["t"], PrepareModuleOutput(output_layouts=Shard(1),
                                                            desired_output_layouts=Replicate()))
    fully_shard(layer, mesh=mesh["d"])


mesh = {"d": 2, "t": 2}
shapes = ((4, 8, D), (8, SIZE // 2), (8, SIZE // 2), (4, 8, D))  # x, cos, sin, target
split = ({"d": Shard(0), "t": Shard(1)}, None, None, {"d": Shard(0)})

if __name__ == "__main__":
    from shardproof.torch import prove

    print(prove(Layer, parallelize, *shapes, mesh=mesh, split=split, loss=loss, data=("d",)))
