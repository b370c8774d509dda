"""PyTorch programs in which a rank takes its own part of a tensor by its place in the mesh."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed._functional_collectives import (all_gather_tensor_autograd, all_reduce,
                                                       reduce_scatter_tensor_autograd)
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch_programs import D, ROWS, TEXT, Plain, program

OF_TOKENS = {"split": (ROWS,), "out": {"d": Shard(0), "t": Shard(1)}, "data": ()}


def own(x, mesh, dim):
    """A rank's own part of a dim."""
    size, rank = x.shape[dim] // mesh.size(), mesh.get_local_rank()
    return x[(slice(None),) * dim + (slice(rank * size, (rank + 1) * size),)]


def placed(module, mesh, kind, **dims):
    """The module as one of this kind, with parameters that are split along these dims."""
    for name, dim in dims.items():
        of, _, word = name.rpartition("_")
        of = getattr(module, of) if of else module
        setattr(of, word, nn.Parameter(distribute_tensor(getattr(of, word), mesh["t"], [Replicate() if dim is None else Shard(dim)])))
    module.__class__, module.mesh = kind, mesh["t"]


# Tokens that are gathered and scattered by hand


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(D, 24, bias=False), nn.Linear(24, D, bias=False)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(x)))


class Gathers(Mlp):
    def terms(self, x):
        h = all_gather_tensor_autograd(own(x, self.mesh, 1), 1, self.mesh)
        return F.linear(torch.tanh(F.linear(h, self.up.weight.to_local())), self.down.weight.to_local())

    def forward(self, x):
        return own(x, self.mesh, 1) + reduce_scatter_tensor_autograd(self.terms(x), "sum", 1, self.mesh)


class AddsTwice(Gathers):
    def terms(self, x):
        return all_reduce(super().terms(x), "sum", self.mesh)


@program(Mlp, TEXT[:1], None, **OF_TOKENS)
def tokens_gathered_and_scattered(module, mesh):
    placed(module, mesh, Gathers, up_weight=0, down_weight=1)


@program(Mlp, TEXT[:1], None, bug="C2: terms that are added already are scattered as terms", **OF_TOKENS)
def tokens_scattered_of_a_sum(module, mesh):
    placed(module, mesh, AddsTwice, up_weight=0, down_weight=1)


# Positions of a rank's own tokens


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.at, self.up = nn.Embedding(8, D), nn.Linear(D, D, bias=False)

    def forward(self, x):
        return self.up(x + self.at(torch.arange(x.shape[1])))


class OwnPositions(Positions):
    first = True

    def forward(self, x):
        mine = own(x, self.mesh, 1)
        offset = self.mesh.get_local_rank() * mine.shape[1] if self.first else 0
        return self.up(mine + self.at(torch.arange(mine.shape[1]) + offset))


class FromZero(OwnPositions):
    first = False


@program(Positions, TEXT[:1], None, **OF_TOKENS)
def positions_of_own_tokens(module, mesh):
    placed(module, mesh, OwnPositions)


@program(Positions, TEXT[:1], None, bug="C9: positions begin at 0 on every rank", **OF_TOKENS)
def positions_from_zero(module, mesh):
    placed(module, mesh, FromZero)


# Experts, whose router every rank has


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router, self.experts = nn.Linear(D, 4, bias=False), nn.Parameter(torch.randn(4, D, D))

    def forward(self, x):
        return x + torch.einsum("ble,blf,efg->blg", self.router(x).softmax(-1), x, self.experts)


class OwnExperts(Experts):
    gradient = Partial()

    def forward(self, x):
        weight = self.router.weight.to_local(grad_placements=[self.gradient])
        p = own(F.linear(x, weight).softmax(-1), self.mesh, 2)
        y = torch.einsum("ble,blf,efg->blg", p, x, self.experts.to_local())
        return x + DTensor.from_local(y, self.mesh, [Partial()], run_check=False).redistribute(placements=[Replicate()]).to_local()


class OwnRouter(OwnExperts):
    gradient = Replicate()


@program(Experts)
def router_of_own_experts(module, mesh):
    placed(module, mesh, OwnExperts, router_weight=None, experts=0)


@program(Experts, bug="Megatron-LM 599: the gradient of the router's weight is that of the rank's own experts")
def router_not_reduced(module, mesh):
    placed(module, mesh, OwnRouter, router_weight=None, experts=0)


@program(Plain)
def shards_over_an_axis_whose_ranks_have_one_batch(module, mesh):
    fully_shard(module, mesh=mesh["t"])


# Statistics of a batch


class BatchNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.norm, self.down = nn.Linear(D, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.Linear(8, D)

    def forward(self, x):
        return self.down(torch.relu(self.norm(self.up(x))))


@program(BatchNorm, ((8, D), (8, D)), split=({},) * 2, data=())
def batch_norm_of_one_batch(module, mesh):
    pass


@program(BatchNorm, ((8, D), (8, D)), bug="each rank has the mean and the variance of its own rows")
def batch_norm_of_own_rows(module, mesh):
    fully_shard(module, mesh=mesh["d"])
