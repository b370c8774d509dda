"""PyTorch programs as visitors write them, right and wrong: modules, and how each is parallelized."""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed._functional_collectives import all_gather_tensor_autograd, all_reduce
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, PrepareModuleOutput, RowwiseParallel,
                                               SequenceParallel, parallelize_module)

MESH = {"d": 2, "t": 2}
ROWS = {"d": Shard(0)}
D, HEADS, SIZE, WORDS = 16, 8, 4, 24
TEXT = ((4, 8, D), (4, 8, D))
IDS = (((4, 8), torch.int64), ((4, 8), torch.int64))


def squared(y, target):
    return ((y - target) ** 2).mean()


def next_word(y, target):
    return F.cross_entropy(y.flatten(0, 1), target.flatten())


@dataclass
class Program:
    """A module and what makes it parallel; wrong ones say their bug."""

    name: str
    module: type[nn.Module]
    parallelize: Callable
    inputs: tuple = TEXT
    loss: Callable | None = squared
    bug: str = ""
    options: dict[str, Any] | None = None

    @property
    def verdict(self) -> str:
        return "refuted" if self.bug else "proved"

    def prove(self):
        from shardproof.torch import prove
        options = {"mesh": MESH, "split": (ROWS,) * len(self.inputs), "data": ("d",), **(self.options or {})}
        with options.pop("within", contextlib.nullcontext)():
            return prove(self.module, self.parallelize, *self.inputs, loss=self.loss, **options)


PROGRAMS: list[Program] = []


def program(module, *more, bug="", **options):
    def add(parallelize):
        PROGRAMS.append(Program(parallelize.__name__, module, parallelize, *more, bug=bug, options=options))
        return parallelize
    return add


# Blocks with torch's own norms


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(D)
        self.up, self.down = nn.Linear(D, 32), nn.Linear(32, D)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x)), approximate="tanh"))


def sequence(plan):
    def parallelize(module, mesh):
        parallelize_module(module, mesh["t"], plan)
        parallelize_module(module, mesh["t"], PrepareModuleInput(
            input_layouts=Replicate(), desired_input_layouts=Shard(1), use_local_output=False))
        parallelize_module(module, mesh["t"], PrepareModuleOutput(output_layouts=Shard(1), desired_output_layouts=Replicate()))
    return parallelize


@program(Gpt)
def layer_norm_and_sequence_parallel(module, mesh):
    sequence({"norm": SequenceParallel(use_local_output=False), "up": ColwiseParallel(input_layouts=Shard(1)),
              "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False)})(module, mesh)


class LocalNorm(Gpt):
    """The norm is a plain module of each rank's own tokens."""

    def forward(self, x):
        h = self.norm(x.to_local())
        h = DTensor.from_local(h, x.device_mesh, [Shard(1)], run_check=False)
        return x + self.down(F.gelu(self.up(h), approximate="tanh"))


@program(Gpt, bug="Megatron-LM 1446: the norm's weight and bias have the gradient of the rank's own tokens")
def layer_norm_not_parallelized(module, mesh):
    sequence({"up": ColwiseParallel(input_layouts=Shard(1)),
              "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False)})(module, mesh)
    module.__class__ = LocalNorm


class Rms(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(D, eps=1e-5)
        self.w1, self.w3, self.w2 = nn.Linear(D, 24, bias=False), nn.Linear(D, 24, bias=False), nn.Linear(24, D, bias=False)

    def forward(self, x):
        h = self.norm(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


@program(Rms)
def rms_norm_and_fsdp(module, mesh):
    parallelize_module(module, mesh["t"], {"w1": ColwiseParallel(), "w3": ColwiseParallel(), "w2": RowwiseParallel()})
    fully_shard(module, mesh=mesh["d"])


@program(Rms, bug="C6: one of two factors is split by rows, the other by columns")
def gate_of_other_columns(module, mesh):
    parallelize_module(module, mesh["t"], {"w1": ColwiseParallel(), "w3": ColwiseParallel(), "w2": RowwiseParallel()})
    t = mesh["t"]
    whole = module.w3.weight
    module.w3.weight = nn.Parameter(DTensor.from_local(whole.to_local().flip(0), t, [Shard(0)], run_check=False))
    forward = module.w3.forward
    module.w3.forward = lambda h: forward(h).flip(-1)  # each rank's own columns in another order


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(D, 24), nn.Linear(24, D)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(x)))


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Plain() for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@program(Deep)
def fsdp_of_each_layer(module, mesh):
    for layer in module.layers:
        fully_shard(layer, mesh=mesh["d"])
    fully_shard(module, mesh=mesh["d"])


@program(Deep, bug="C1: no gradient is averaged over the batches", data=())
def no_reduction_of_gradients(module, mesh):
    pass


# Attention


class Attention(nn.Module):
    """Queries, keys and values of a head stand together."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * HEADS * SIZE, bias=False), nn.Linear(HEADS * SIZE, D, bias=False)

    def heads(self, x):
        b, n, _ = x.shape
        return self.qkv(x).view(b, n, -1, 3, SIZE).unbind(3)

    def forward(self, x):
        q, k, v = (z.transpose(1, 2) for z in self.heads(x))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).flatten(2))


def of_heads(module, mesh):
    parallelize_module(module, mesh["t"], {"qkv": ColwiseParallel(), "out": RowwiseParallel()})


@program(Attention)
def fused_projections_by_head(module, mesh):
    of_heads(module, mesh)


class Chunked(Attention):
    """All queries, then all keys, then all values."""

    def heads(self, x):
        b, n, _ = x.shape
        return [z.view(b, n, -1, SIZE) for z in self.qkv(x).chunk(3, -1)]


@program(Chunked, bug="C6: columns of queries, keys and values are split as one dim")
def fused_projections_by_chunk(module, mesh):
    of_heads(module, mesh)


class Grouped(nn.Module):
    """Two queries for each key."""

    def __init__(self):
        super().__init__()
        self.q, self.out = nn.Linear(D, HEADS * SIZE, bias=False), nn.Linear(HEADS * SIZE, D, bias=False)
        self.k, self.v = (nn.Linear(D, HEADS // 2 * SIZE, bias=False) for _ in range(2))

    def repeated(self, x):
        return x.repeat_interleave(2, 2)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.q(x).view(b, n, -1, SIZE)
        k, v = (self.repeated(f(x).view(b, n, -1, SIZE)) for f in (self.k, self.v))
        s = torch.einsum("bqhd,bkhd->bhqk", q, k) / SIZE ** 0.5
        return x + self.out(torch.einsum("bhqk,bkhd->bqhd", s.softmax(-1), v).flatten(2))


def grouped(module, mesh):
    parallelize_module(module, mesh["t"], {**dict.fromkeys("qkv", ColwiseParallel()), "out": RowwiseParallel()})


@program(Grouped)
def grouped_queries(module, mesh):
    grouped(module, mesh)


class Tiled(Grouped):
    def repeated(self, x):
        return x.repeat(1, 1, 2, 1)


@program(Tiled, bug="C6: heads that are tiled have other keys on each rank")
def tiled_keys(module, mesh):
    grouped(module, mesh)


class Context(nn.Module):
    """Attention in which each rank has a part of the sequence."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(D, D, bias=False) for _ in range(3))

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        at = torch.arange(x.shape[1])
        s = torch.where(at[:, None] >= at[None, :], q @ k.transpose(1, 2) / D ** 0.5, -1e9)
        return x + s.softmax(-1) @ v


class OwnQueries(Context):
    first = True

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        k, v = (all_gather_tensor_autograd(z, 1, self.mesh) for z in (k, v))
        rows = torch.arange(k.shape[1])
        rows = DTensor.from_local(rows, self.mesh, [Replicate()], run_check=False).redistribute(placements=[Shard(0)]).to_local() \
            if self.first else torch.arange(x.shape[1])
        s = torch.where(rows[:, None] >= torch.arange(k.shape[1])[None, :], q @ k.transpose(1, 2) / D ** 0.5, -1e9)
        return x + s.softmax(-1) @ v


def context(first):
    def parallelize(module, mesh):
        module.__class__ = type("Part", (OwnQueries,), {"first": first})
        module.mesh = mesh["t"]
    return parallelize


TOKENS = {"split": ({"d": Shard(0), "t": Shard(1)},), "out": {"d": Shard(0), "t": Shard(1)}}


@program(Context, TEXT[:1], None, **TOKENS)
def context_parallel(module, mesh):
    context(True)(module, mesh)


@program(Context, TEXT[:1], None, bug="C9: the mask counts each rank's queries from 0", **TOKENS)
def context_parallel_local_mask(module, mesh):
    context(False)(module, mesh)


@program(Context, TEXT[:1], None, bug="each rank attends to its own keys alone", **TOKENS)
def context_parallel_not_gathered(module, mesh):
    pass


# Words


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(WORDS, D), nn.Linear(D, WORDS, bias=False)

    def forward(self, ids):
        return self.head(torch.tanh(self.table(ids)))


def of_all_words(y, target):
    """Divided by a number of words that masked ones do not change."""
    return F.cross_entropy(y.flatten(0, 1), target.flatten(), reduction="sum") / target.numel()


def rows_and_columns(module, mesh):
    parallelize_module(module, mesh["t"], {
        "table": RowwiseParallel(input_layouts=Replicate()), "head": ColwiseParallel(output_layouts=Replicate())})


@program(Words, IDS, of_all_words)
def words_split_by_rows_and_columns(module, mesh):
    rows_and_columns(module, mesh)


@program(Words, IDS, next_word, bug="C4: each rank divides by its own count of words")
def words_split_by_rows_and_own_counts(module, mesh):
    rows_and_columns(module, mesh)


@program(Words, IDS, next_word, bug="C4: each rank divides by its own count of words")
def words_and_fsdp(module, mesh):
    fully_shard(module, mesh=mesh["d"])


class LogWords(Words):
    def forward(self, ids):
        return super().forward(ids).log_softmax(-1)


class LogOwn(Words):
    right = True

    def forward(self, ids):
        own = self.head(torch.tanh(self.table(ids))).to_local()
        most = all_reduce(own.amax(-1, keepdim=True), "max", self.mesh)
        total = torch.exp(own - most).sum(-1, keepdim=True)
        return own - most - (all_reduce(total, "sum", self.mesh) if self.right else total).log()


def own_words(right):
    def parallelize(module, mesh):
        parallelize_module(module, mesh["t"], {"head": ColwiseParallel(use_local_output=False)})
        module.__class__ = type("Own", (LogOwn,), {"right": right})
        module.mesh = mesh["t"]
    return parallelize


COLUMNS = {"out": {"d": Shard(0), "t": Shard(2)}, "split": (ROWS,)}


@program(LogWords, IDS[:1], None, **COLUMNS)
def log_softmax_over_split_words(module, mesh):
    own_words(True)(module, mesh)


@program(LogWords, IDS[:1], None, bug="C7: the sum of each rank's own words", **COLUMNS)
def log_softmax_over_own_words(module, mesh):
    own_words(False)(module, mesh)


# Adapters, experts


class Lora(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.a, self.b = nn.Linear(D, 32, bias=False), nn.Linear(D, 4, bias=False), nn.Linear(4, 32, bias=False)
        self.down = nn.Linear(32, D, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.w(x) + 2.0 * self.b(self.a(x))))


@program(Lora)
def adapter_beside_columns(module, mesh):
    parallelize_module(module, mesh["t"], {"w": ColwiseParallel(), "b": ColwiseParallel(), "down": RowwiseParallel()})
    module.a.weight = nn.Parameter(distribute_tensor(module.a.weight, mesh["t"], [Replicate()]))
    parallelize_module(module, mesh["t"], {"a": PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Replicate())})


@program(Lora, bug="C1: the adapter's own weight has the gradient of the rank's columns")
def adapter_not_reduced(module, mesh):
    parallelize_module(module, mesh["t"], {"w": ColwiseParallel(), "down": RowwiseParallel()})
    b = distribute_tensor(module.b.weight, mesh["t"], [Shard(0)])
    module.b.weight = nn.Parameter(b)
    module.b.forward = lambda h: h @ module.b.weight.to_local().T


class Experts(nn.Module):
    """All experts see each token, by weights of a router."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(D, 4, bias=False)
        self.up, self.down = nn.Parameter(torch.randn(4, D, 12)), nn.Parameter(torch.randn(4, 12, D))

    def mixed(self, p, up, down, x):
        h = torch.relu(torch.einsum("bnd,edf->bnef", x, up))
        return torch.einsum("bnef,efd,bne->bnd", h, down, p)

    def forward(self, x):
        return x + self.mixed(self.router(x).softmax(-1), self.up, self.down, x)


class OwnExperts(Experts):
    again = False

    def forward(self, x):
        t = self.t
        copies = DTensor.from_local(x, t, [Replicate()], run_check=False)
        p = DTensor.from_local(self.router(x).softmax(-1), t, [Replicate()], run_check=False)
        p = p.redistribute(placements=[Shard(2)]).to_local()
        if self.again:
            p = p / all_reduce(p.sum(-1, keepdim=True).detach(), "sum", t) * 2
        y = self.mixed(p, self.up.to_local(), self.down.to_local(), copies.to_local(grad_placements=[Partial()]))
        return x + DTensor.from_local(y, t, [Partial()], run_check=False).redistribute(placements=[Replicate()]).to_local()


def experts(again):
    def parallelize(module, mesh):
        module.__class__ = type("Own", (OwnExperts,), {"again": again})
        module.t = mesh["t"]
        for name in ("up", "down"):
            setattr(module, name, nn.Parameter(distribute_tensor(getattr(module, name), mesh["t"], [Shard(0)])))
    return parallelize


@program(Experts)
def experts_of_each_rank(module, mesh):
    experts(False)(module, mesh)


@program(Experts, bug="C3: the weights of the experts are scaled by the number of ranks")
def experts_weighted_twice(module, mesh):
    experts(True)(module, mesh)
