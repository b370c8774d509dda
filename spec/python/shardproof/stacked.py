"""A sharded program as one function of whole arrays that have the devices of each axis as a dim of their own: its collectives are
sums, maxima and moves along that dim, as `vmap(axis_name)` has them. So what each device has of its own is a value, for every mesh."""
from __future__ import annotations

import contextlib
from math import prod

import jax
import jax.numpy as jnp
from jax._src import source_info_util
from jax.extend import core as jex_core

from . import divided, ranks
from .devices import talks
from .dims import ImportProblem
from .places import place_of
from .ranks import CALLS, NOTHING, body_of, bound, names_of, run, scan_of

source_info_util.register_exclusion(__file__)


class Stacked:
    """The function of whole arrays that a program with shard_map is."""

    how = "devices as dims"

    def __init__(self, sharded):
        self.sharded = sharded

    def __call__(self, *args):
        closed = jax.make_jaxpr(self.sharded)(*args)
        try:
            return run(closed.jaxpr, closed.consts, jax.tree.leaves(args), globally)
        except Exception as error:  # noqa: BLE001  (JAX maps not all collectives)
            raise ImportProblem(f"it cannot be mapped over devices: {error}") from error

    @staticmethod
    def alike(results) -> list:
        return jax.tree.leaves(results)


def globally(eqn, vals) -> list:
    name = eqn.primitive.name
    if name == "shard_map":
        return on_devices(eqn.params, vals)
    return within(globally, eqn, vals)


def within(apply, eqn, vals) -> list:
    name = eqn.primitive.name
    if name in ranks.SHOWN:
        return []
    if name in NOTHING:
        return vals
    with at_line_of(eqn):
        if divided.is_one(eqn):  # it stays a call, which is read as a whole
            return [divided.NAMES[eqn.params["name"]][0](*vals)]
        return run(*body_of(eqn), vals, apply) if name in CALLS else bound(eqn, vals)


def at_line_of(eqn):
    """What is traced within it stands at the user's line of an equation; one of a library's body has none, and stands at its call."""
    if place_of(eqn) is None:
        return contextlib.nullcontext()
    return source_info_util.user_context(eqn.source_info.traceback)


def on_device(eqn, vals) -> list:
    """An equation inside of shard_map, for one device."""
    name, p = eqn.primitive.name, eqn.params
    if name == "shard_map" or p.get("axis_index_groups"):
        raise ImportProblem(f"`{name}` in it")
    with at_line_of(eqn):
        if name in ("psum_invariant", "all_gather_invariant", "all_gather_reduced"):  # what check_vma makes of psum and all_gather
            return [ranks.varying(name, p)(v) for v in vals]
        if name == "scan":
            return scan_of(on_device, p, vals)
    if name in ("cond", "while") and any(talks(inner, asks=False) for inner in jex_core.jaxprs_in_params(p)):
        raise ImportProblem(f"a `{name}` that communicates")  # mapped, its devices would not wait for each other
    return within(on_device, eqn, vals)


class Layout:
    """The dims of an array, and the axes that split it in front of what they split."""

    def __init__(self, spec, rank: int):
        self.entries = [*(() if e is None else names_of(e) for e in spec), *[()] * (rank - len(spec))]
        self.dims = [each for p, axes in enumerate(self.entries) for each in (*axes, p)]

    def apart(self, x, mesh: dict[str, int]):
        return jnp.reshape(x, [n for size, axes in zip(x.shape, self.entries)
                               for n in (*(mesh[a] for a in axes), size // prod(mesh[a] for a in axes))])

    def together(self, x, mesh: dict[str, int]):
        own = [n for n, d in zip(x.shape, self.dims) if isinstance(d, int)]
        return jnp.reshape(x, [n * prod(mesh[a] for a in axes) for n, axes in zip(own, self.entries)])

    def at(self, axis: str, mapped: list[str]) -> int | None:
        """The place of an axis where some are taken out already."""
        left = [d for d in self.dims if d not in mapped]
        return left.index(axis) if axis in left else None


def on_devices(p, vals) -> list:
    mesh, inner = dict(p["mesh"].shape), p["jaxpr"]
    jaxpr, consts = getattr(inner, "jaxpr", inner), getattr(inner, "consts", [])
    takes = [Layout(spec, jnp.ndim(v)) for v, spec in zip(vals, p["in_specs"])]
    gives = [Layout(spec, len(v.aval.shape)) for v, spec in zip(jaxpr.outvars, p["out_specs"])]

    def function(*args):
        return run(jaxpr, consts, args, on_device)

    axes = list(mesh)
    for i in reversed(range(len(axes))):  # a result whose spec has no such axis has to be one value: vmap refuses another
        function = jax.vmap(function, in_axes=tuple(t.at(axes[i], axes[:i]) for t in takes),
                            out_axes=[g.at(axes[i], axes[:i]) for g in gives], axis_name=axes[i], axis_size=mesh[axes[i]])
    out = function(*(t.apart(v, mesh) for v, t in zip(vals, takes)))
    return [g.together(x, mesh) for x, g in zip(out, gives)]


__all__ = ["Stacked"]
