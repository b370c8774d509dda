"""Wrong PyTorch programs, each with a bug of a real project, of a layer with sequence parallelism."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.distributed._functional_collectives import all_reduce
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

MESH = {"d": 2, "t": 2}
ROWS = {"d": Shard(0)}
SHAPES = ((4, 8, 16), (4, 8, 16))
D, F_ = 16, 24


class Block(nn.Module):
    """Norm, projections up and down, residual; positions scale the input."""

    def __init__(self):
        super().__init__()
        self.norm = nn.Parameter(torch.ones(D))
        self.bias = nn.Parameter(torch.zeros(D))
        self.gate = nn.Parameter(torch.ones(D))
        self.up, self.down = nn.Linear(D, F_, bias=False), nn.Linear(F_, D, bias=False)

    def normed(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.norm

    def positions(self, x):
        return x * torch.cos(torch.arange(x.shape[1]) * 0.5)[:, None]

    def hidden(self, x):
        """Heads of 6 entries, each less its mean."""
        h = self.up(x)
        heads = h.view(*h.shape[:2], -1, 6)
        return torch.tanh(heads - heads.mean(-1, keepdim=True)).view(h.shape)

    def project(self, x):
        return self.down(self.hidden(x)) + self.bias

    def gated(self, x, y):
        return y * torch.sigmoid((x * self.gate).sum(-1, keepdim=True))

    def forward(self, x):
        x = self.positions(x)
        return x + self.gated(x, self.project(self.normed(x)))


class Right(Block):
    """The sequence is split over t outside of the projections."""

    def local(self, p, grads=Partial()):
        """A copy of a parameter, used on a rank's own part of the sequence."""
        return p.to_local(grad_placements=[grads])

    def normed(self, x):
        n = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        return x * n * self.local(self.norm)

    def gather(self, x):
        return DTensor.from_local(x, self.mesh, [Shard(1)], run_check=False).redistribute(
            placements=[Replicate()])

    def scatter(self, y):
        return y.redistribute(placements=[Shard(1)]).to_local()

    def split(self, x):
        return DTensor.from_local(x, self.mesh, [Replicate()], run_check=False).redistribute(
            placements=[Shard(1)]).to_local()

    def project(self, x):
        y = self.down(self.hidden(self.gather(x)))
        return self.scatter(y) + self.local(self.bias)

    def gated(self, x, y):
        return y * torch.sigmoid((x * self.local(self.gate)).sum(-1, keepdim=True))

    def forward(self, x):
        x = self.split(super().positions(x))
        y = x + self.gated(x, self.project(self.normed(x)))
        return DTensor.from_local(y, self.mesh, [Shard(1)], run_check=False).full_tensor(
            grad_placements=[Replicate()])


def loss(y, target):
    return ((y - target) ** 2).mean()


def parallelized(kind: type[Block], **down) -> Callable:
    """Makes a Block one of `kind`."""
    def parallelize(module, mesh):
        parallelize_module(module, mesh["t"], {
            "up": ColwiseParallel(use_local_output=False),
            "down": RowwiseParallel(input_layouts=Shard(-1), **{
                "output_layouts": Partial(), "use_local_output": False, **down})})
        for name in ("norm", "bias", "gate"):
            setattr(module, name, nn.Parameter(DTensor.from_local(
                getattr(module, name).data, mesh["t"], [Replicate()], run_check=False)))
        module.__class__, module.mesh, module.whole = kind, mesh["t"], mesh
        return module
    return parallelize


@dataclass
class Bug:
    """A wrong layer; where a line of its source ends with `# wrong`, the error is to be there."""

    name: str
    kind: type[Block]
    loss: Callable = loss
    data: tuple[str, ...] = ("d",)

    def parallelize(self) -> Callable:
        return parallelized(self.kind)


BUGS: list[Bug] = []


def bug(name: str):
    def add(kind):
        BUGS.append(Bug(name, kind))
        return kind
    return add


@bug("C1, Megatron-LM 1446: the gradient of a norm's weight is not summed over the parts of the sequence")
class NormGradient(Right):
    def normed(self, x):
        n = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        return x * n * self.local(self.norm, Replicate())  # wrong


@bug("C1, Megatron-LM 599: the gradient of a router's weight is left unreduced")
class GateGradient(Right):
    def gated(self, x, y):
        gate = self.local(self.gate, Replicate())
        return y * torch.sigmoid((x * gate).sum(-1, keepdim=True))  # wrong


@bug("C2: a sum that has been reduced is reduced again")
class Twice(Right):
    def project(self, x):
        y = self.down(self.hidden(self.gather(x)))
        y = all_reduce(self.scatter(y), "sum", self.mesh)  # wrong
        return y + self.local(self.bias)


@bug("C3: the average of the terms where their sum is meant")
class Averaged(Right):
    def project(self, x):
        y = self.down(self.hidden(self.gather(x))).to_local()
        y = DTensor.from_local(y, self.mesh, [Partial("avg")], run_check=False)
        return self.scatter(y) + self.local(self.bias)


@bug("C1: the terms of the ranks are taken for their sum")
class Unreduced(Right):
    def project(self, x):
        y = self.down(self.hidden(self.gather(x))).to_local()
        y = DTensor.from_local(y, self.mesh, [Replicate()], run_check=False)
        y = y.redistribute(placements=[Shard(1)]).to_local()  # wrong
        return y + self.local(self.bias)


@bug("C6, transformers-neuronx 109: a reshape keeps the split on the wrong factor")
class WrongFactor(Right):
    def hidden(self, x):
        h = self.up(x).to_local()
        heads = h.view(*h.shape[:2], 4, -1)
        h = torch.tanh(heads - heads.mean(-1, keepdim=True)).view(h.shape)
        return DTensor.from_local(h, self.mesh, [Shard(2)], run_check=False)


@bug("C7: a bias is added before the sum, and counted once for each rank")
class BiasFirst(Right):
    def project(self, x):
        y = self.down(self.hidden(self.gather(x)))
        y = y.to_local() + self.local(self.bias)  # wrong
        return self.scatter(DTensor.from_local(y, self.mesh, [Partial()], run_check=False))


@bug("C7: a function that is not linear, of terms that have not been summed")
class TanhFirst(Right):
    def project(self, x):
        y = self.down(self.hidden(self.gather(x))).to_local()
        y = torch.tanh(y)  # wrong
        y = DTensor.from_local(y, self.mesh, [Partial()], run_check=False)
        return self.scatter(y) + self.local(self.bias)


@bug("C9: positions start at 0 on every rank's part of the sequence")
class LocalPositions(Right):
    def forward(self, x):
        x = self.split(x)
        x = x * torch.cos(torch.arange(x.shape[1]) * 0.5)[:, None]  # wrong
        y = x + self.gated(x, self.project(self.normed(x)))
        return DTensor.from_local(y, self.mesh, [Shard(1)], run_check=False).full_tensor(
            grad_placements=[Replicate()])


@bug("C5: a reduction over another axis")
class WrongAxis(Right):
    def project(self, x):
        y = self.down(self.hidden(self.gather(x))).to_local()
        y = all_reduce(y, "sum", self.whole["d"])  # wrong
        y = DTensor.from_local(y, self.mesh, [Replicate()], run_check=False)
        return self.scatter(y) + self.local(self.bias)


def sums(y, target):
    return ((y - target) ** 2).sum()


BUGS += [Bug("C1: no gradient is averaged over the batches", Right, data=()),
         Bug("C3: the sum of a batch's losses where the mean is meant", Right, loss=sums)]
