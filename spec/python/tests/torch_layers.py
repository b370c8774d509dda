"""PyTorch programs as jobs have them: two layers, tied weights, biases, losses of split words, FSDP on two axes, accumulation, clipping."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed._functional_collectives import all_reduce
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, PrepareModuleOutput, RowwiseParallel,
                                               SequenceParallel, parallelize_module)
from torch_programs import D, IDS, ROWS, TEXT, WORDS, Deep, Plain, Words, of_all_words, program, squared

COLUMNS_AND_ROWS = {"up": ColwiseParallel(), "down": RowwiseParallel()}


# Two layers, biases


@program(Deep)
def two_layers_by_columns_and_rows(module, mesh):
    for layer in module.layers:
        parallelize_module(layer, mesh["t"], COLUMNS_AND_ROWS)


@program(Deep)
def two_layers_by_columns_and_rows_and_fsdp(module, mesh):
    for layer in module.layers:
        parallelize_module(layer, mesh["t"], COLUMNS_AND_ROWS)
        fully_shard(layer, mesh=mesh["d"])
    fully_shard(module, mesh=mesh["d"])


class OwnSum(Plain):
    """The terms of the ranks, each with the bias, are added."""

    def forward(self, x):
        h = torch.tanh(self.up(x))
        y = F.linear(h, self.down.weight.to_local(), self.down.bias)
        return x + all_reduce(y, "sum", self.mesh)  # wrong


@program(Plain, TEXT[:1], None, bug="C7: the bias of the last projection is added on every rank", split=(ROWS,), out=ROWS)
def bias_on_every_rank(module, mesh):
    parallelize_module(module, mesh["t"], {"up": ColwiseParallel()})
    module.down.weight = nn.Parameter(distribute_tensor(module.down.weight, mesh["t"], [Shard(1)]))
    module.__class__, module.mesh = OwnSum, mesh["t"]


class Skipping(Deep):
    """The second layer has the first one's input."""

    def forward(self, x):
        first, second = self.layers
        return first(x) + second(x) - x


@program(Deep, bug="the second layer is given the first one's input")
def second_layer_of_other_input(module, mesh):
    for layer in module.layers:
        parallelize_module(layer, mesh["t"], COLUMNS_AND_ROWS)
    module.__class__ = Skipping


# Tied weights


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.mix = nn.Embedding(WORDS, D), nn.Linear(D, D, bias=False)

    def of_words(self):
        return self.table.weight

    def forward(self, ids):
        return torch.tanh(self.mix(self.table(ids))) @ self.of_words().T


class Detached(Tied):
    def of_words(self):
        return self.table.weight.detach()  # wrong


@program(Tied, IDS, of_all_words)
def tied_words_and_fsdp(module, mesh):
    fully_shard(module, mesh=mesh["d"])


@program(Tied, IDS, of_all_words, bug="C10, Megatron-LM 844: the gradient of one of two uses of a tied weight is lost")
def tied_words_with_one_gradient(module, mesh):
    module.__class__ = Detached


# Norms of a part of the sequence


class TwoNorms(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.RMSNorm(D, eps=1e-5), nn.RMSNorm(D, eps=1e-5)
        self.up, self.down = nn.Linear(D, 24, bias=False), nn.Linear(24, D, bias=False)

    def normed(self, norm, x):
        return norm(x)

    def forward(self, x):
        return x + self.normed(self.after, self.down(torch.relu(self.up(self.normed(self.before, x)))))


class OwnNorms(TwoNorms):
    def normed(self, norm, x):
        y = F.rms_norm(x.to_local(), [D], norm.weight, 1e-5)
        return DTensor.from_local(y, x.device_mesh, [Shard(1)], run_check=False)


def on_sequence(module, mesh, norms):
    parallelize_module(module, mesh["t"], {
        **norms, "up": ColwiseParallel(input_layouts=Shard(1)),
        "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False)})
    parallelize_module(module, mesh["t"], PrepareModuleInput(
        input_layouts=Replicate(), desired_input_layouts=Shard(1), use_local_output=False))
    parallelize_module(module, mesh["t"], PrepareModuleOutput(output_layouts=Shard(1), desired_output_layouts=Replicate()))


@program(TwoNorms)
def two_norms_of_the_sequence(module, mesh):
    on_sequence(module, mesh, dict.fromkeys(("before", "after"), SequenceParallel(use_local_output=False)))


@program(TwoNorms, bug="C1, Megatron-LM 1446: the gradients of two norms are those of the rank's own tokens")
def two_norms_not_reduced(module, mesh):
    on_sequence(module, mesh, {})
    module.__class__ = OwnNorms


# Words


class OwnRows(Words):
    """Each rank looks all ids up in its own rows."""

    def forward(self, ids):
        own = self.table.weight.to_local()
        h = F.embedding(ids % own.shape[0], own)
        return self.head(torch.tanh(all_reduce(h, "sum", self.mesh)))  # wrong


@program(Words, IDS[:1], None, bug="C9: rows of other ranks are not masked", split=(ROWS,), out=ROWS)
def words_not_masked(module, mesh):
    module.table.weight = nn.Parameter(distribute_tensor(module.table.weight, mesh["t"], [Shard(0)]))
    module.__class__, module.mesh = OwnRows, mesh["t"]


@program(Words, IDS, of_all_words)
def words_split_by_features(module, mesh):
    parallelize_module(module, mesh["t"], {"table": ColwiseParallel(output_layouts=Replicate())})


def of_split_words(y, target):
    loss = F.cross_entropy(y.flatten(0, 1), target.flatten(), reduction="sum")
    return (loss.to_local() if isinstance(loss, DTensor) else loss) / target.numel()


def loss_of_split_words(module, mesh):
    parallelize_module(module, mesh["t"], {"head": ColwiseParallel(use_local_output=False)})


def of_own_words(y, target):
    if not isinstance(y, DTensor):
        return of_all_words(y, target)
    own = y.to_local()
    return F.cross_entropy(own.flatten(0, 1), (target % own.shape[-1]).flatten(), reduction="sum") / target.numel()  # wrong


@program(Words, IDS, of_own_words, bug="Megatron-LM 737: the loss is that of each rank's own words")
def loss_of_own_words(module, mesh):
    parallelize_module(module, mesh["t"], {"head": ColwiseParallel(use_local_output=False)})


# FSDP on two axes


TWO, EIGHT = {"r": 2, "s": 2}, ((8, 4, D), (8, 4, D))


@program(Plain, EIGHT, data=("r", "s"), mesh=TWO, split=({"r": Shard(0), "s": Shard(0)},) * 2)
def copies_of_shards(module, mesh):
    fully_shard(module, mesh=mesh)


@program(Plain, EIGHT, bug="C5: gradients are averaged over the ranks of a shard group alone", data=("s",), mesh=TWO,
         split=({"r": Shard(0), "s": Shard(0)},) * 2)
def copies_of_shards_not_reduced(module, mesh):
    fully_shard(module, mesh=mesh["s"])


# Accumulation


class Accumulated(Plain):
    """Two microbatches, one after the other."""

    def forward(self, x):
        return torch.cat([super(Accumulated, self).forward(part) for part in x.chunk(2)])


def of_microbatches(y, target):
    return sum(squared(a, b) for a, b in zip(y.chunk(2), target.chunk(2))) / 2


def of_microbatches_added(y, target):
    return sum(squared(a, b) for a, b in zip(y.chunk(2), target.chunk(2)))




def accumulated(loss_of_ranks):
    """The loss of the model is that of the batch; ranks accumulate theirs."""
    def loss(y, target):
        return loss_of_ranks(y, target) if y.shape[0] < 8 else squared(y, target)
    return loss


@program(Plain, EIGHT, accumulated(of_microbatches))
def two_microbatches(module, mesh):
    module.__class__ = Accumulated
    fully_shard(module, mesh=mesh["d"])


@program(Plain, EIGHT, accumulated(of_microbatches_added), bug="C3: losses of microbatches are added")
def two_microbatches_added(module, mesh):
    module.__class__ = Accumulated
    fully_shard(module, mesh=mesh["d"])


# Clipping


class Clip(nn.Module):
    """Gradients of two parameters, scaled to a norm of 1."""

    def squares(self, a, b):
        return (a * a).sum() + (b * b).sum()

    def forward(self, a, b):
        norm = torch.sqrt(self.squares(a, b))
        return a / torch.clamp(norm, min=1.0), b / torch.clamp(norm, min=1.0)


class OfShards(Clip):
    def squares(self, a, b):
        return all_reduce((a * a).sum(), "sum", self.mesh) + (b * b).sum()


class CopiesToo(Clip):
    def squares(self, a, b):
        return all_reduce((a * a).sum() + (b * b).sum(), "sum", self.mesh)


class OwnNorm(Clip):
    pass


SHARD_AND_COPY = {"split": (ROWS, None), "out": (ROWS, None), "data": ()}


def clipped(kind):
    def parallelize(module, mesh):
        module.__class__, module.mesh = kind, mesh["d"]
    return parallelize


@program(Clip, ((8, 6), (6,)), None, **SHARD_AND_COPY)
def clip_by_the_norm_of_all(module, mesh):
    clipped(OfShards)(module, mesh)


@program(Clip, ((8, 6), (6,)), None, bug="C11: a parameter that each rank has is counted once for each", **SHARD_AND_COPY)
def clip_by_copies_too(module, mesh):
    clipped(CopiesToo)(module, mesh)


@program(Clip, ((8, 6), (6,)), None, bug="C11: the norm of a rank's own shards", **SHARD_AND_COPY)
def clip_by_the_own_norm(module, mesh):
    clipped(OwnNorm)(module, mesh)
