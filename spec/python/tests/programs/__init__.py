"""Pairs of programs, right and wrong, by the file of this folder that has them."""
from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh
from shardproof.api import as_shape

MESH = AbstractMesh((2, 4), ("d", "t"))
NAMED = AbstractMesh((2, 4), ("data", "model"))
DEEP = AbstractMesh((2, 2, 2), ("a", "b", "c"))
THREE = AbstractMesh((2, 2, 2), ("data", "fsdp", "tensor"))


@dataclass
class Pair:
    """A model and the body of its shard_map. Wrong pairs say their bug."""

    name: str
    model: Callable
    body: Callable
    in_specs: Any
    out_specs: Any
    shapes: tuple
    bug: str = ""
    mesh: Any = MESH
    group: str = ""
    vma: bool = False

    @property
    def right(self) -> bool:
        return not self.bug

    def sharded(self, vma: bool = False) -> Callable:
        return jax.shard_map(self.body, mesh=self.mesh, in_specs=self.in_specs, out_specs=self.out_specs,
                             check_vma=vma or self.vma)


PAIRS: list[Pair] = []


def pair(name, model, in_specs, out_specs, *shapes, bug="", mesh=MESH, vma=False):
    """Adds the function that it decorates to PAIRS, with its file as the group."""
    def add(body):
        group = body.__module__.rpartition(".")[2]
        PAIRS.append(Pair(name, model, body, in_specs, out_specs, shapes, bug, mesh, group, vma))
        return body
    return add


named_pair = functools.partial(pair, mesh=NAMED)


def of(*groups: str) -> list[Pair]:
    """The pairs of these files."""
    return [pair for pair in PAIRS if pair.group in groups]


def ids(*shape):
    return jax.ShapeDtypeStruct(shape, "int32")


def gather(x, axis, dim):
    return lax.all_gather(x, axis, axis=dim, tiled=True)


def scatter(x, axis, dim):
    return lax.psum_scatter(x, axis, scatter_dimension=dim, tiled=True)


def values_of(shapes, seed=0):
    """Random arguments: a tuple of sizes is an array, and trees are gone through."""
    generator = np.random.default_rng(seed)

    def value(x):
        if str(x.dtype).startswith("int"):
            return generator.integers(0, 8, x.shape).astype("int32")
        return generator.uniform(0.5, 1.5, x.shape).astype("float32")

    return [value(x) for x in jax.tree.leaves([as_shape(s) for s in shapes])]


for each in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{each.name}")
