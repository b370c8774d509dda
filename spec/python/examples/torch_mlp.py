"""A feed-forward layer of torch, parallelized by DTensor: its step is proved."""
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        h = torch.nn.functional.gelu(self.up(x))
        return x + self.down(h)


def loss(y, target):
    return ((y - target) ** 2).mean()


def parallelize(module, mesh):
    parallelize_module(module, mesh["t"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    fully_shard(module, mesh=mesh["d"])


mesh = {"d": 2, "t": 2}
batch = {"d": Shard(0)}  # each rank of d has other rows

if __name__ == "__main__":
    from shardproof.torch import prove

    print(prove(FeedForward, parallelize, (8, 16), (8, 16), mesh=mesh, split=(batch, batch), loss=loss,
                data=("d",)))
