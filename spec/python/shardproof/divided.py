"""Blocks that are found by division: ids // n is the device that has a row, and ids % n the row in its block."""
from __future__ import annotations

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp

from .reader import Reader
from .values import Affine, Val

NAMES = {"floor_divide": (jnp.floor_divide, "quotient", "{0} // {1}"), "remainder": (jnp.remainder, "rest", "{0} % {1}")}


@functools.lru_cache(256)
def body_of(name: str, avals: tuple) -> str:
    """The body of jnp's function for these operands."""
    args = [jax.ShapeDtypeStruct(shape, dtype, weak_type=weak) for shape, dtype, weak in avals]
    return str(jax.make_jaxpr(NAMES[name][0])(*args).eqns[-1].params["jaxpr"])


def is_one(eqn) -> bool:
    """Whether an equation calls one of jnp's functions, not another one of its name."""
    if eqn.params.get("name") not in NAMES or len(eqn.invars) != 2:
        return False
    avals = tuple((v.aval.shape, str(v.aval.dtype), v.aval.weak_type) for v in eqn.invars)
    return str(eqn.params["jaxpr"]) == body_of(eqn.params["name"], avals)


def read(r: Reader, eqn, vals: list[Val]) -> Val | None:
    """A call of jnp.floor_divide or jnp.remainder of integers, by a positive number: `//` and `%` of the notation."""
    from . import rings
    from .elementwise import written

    name = eqn.params.get("name")
    if name not in NAMES or len(vals) != 2 or vals[0].dtype != "i32" or vals[1].literal is None or vals[1].literal <= 0:
        return None
    block = rings.source(r, *vals, floored=True) if name == "remainder" else None
    if block is None and (vals[0].text is None or vals[0].literal is not None):
        return None
    if not is_one(eqn):
        return None
    if block is not None:
        return block
    _, word, template = NAMES[name]
    return replace(written(r, word, vals, template, "i32"), made=(word, *vals))


def divided(val: Val, names: tuple[str, ...]) -> tuple[Val, int] | None:
    """(ids, n) of one of these functions of ids and a positive number, or of what JAX rounds towards zero: the two
    differ for ids below 0 alone, and a look-up assumes that there are none."""
    if val.dtype != "i32" or val.made[:1] not in [(name,) for name in names]:
        return None
    ids, by = val.made[1:]
    return (replace(ids, pos=val.pos), by.literal) if by.literal is not None and by.literal > 0 and ids.text else None


def device_of(val: Val) -> tuple[Val, int] | None:
    return divided(val, ("quotient", "div"))


def row_of(val: Val, extent: int) -> Val | None:
    """The ids of which a value is the row in a block of `extent`."""
    found = divided(val, ("rest", "rem"))
    return found[0] if found and found[1] == extent else None


def bounds(at: Affine, n: int) -> tuple[Affine, Affine]:
    """The first of n rows of a device, and the first of the next one."""
    low = Affine(at.const * n, tuple((axis, k * n) for axis, k in at.ranks))
    return low, replace(low, const=low.const + n)


__all__ = ["bounds", "device_of", "read", "row_of"]
