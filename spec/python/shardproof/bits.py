"""Integers of few bits: they count modulo 2^bits. Those of the notation are whole numbers, and so are JAX's of 32 bits, whose
overflow is outside of a proof; but for those without a sign, which have no numbers below 0."""
from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from .elementwise import written
from .reader import Reader
from .values import Val, number

# What makes other integers than those that it is given.
ARITHMETIC = {"add", "sub", "mul", "neg", "abs", "add_any", "pow", "integer_pow", "square", "dot_general", "ragged_dot_general",
              "conv_general_dilated", "reduce_sum", "reduce_prod", "cumsum", "cumprod", "reduce_window_sum", "psum", "psum2", "psum_invariant",
              "reduce_scatter", "scatter-add", "scatter_add", "scatter-sub", "scatter-mul", "scatter_mul", "select_and_scatter_add", "shift_left"}


def known(x: Val, info) -> bool:
    """Whether all numbers of a value are of the dtype: literals, and positions."""
    if x.literal is not None:
        return info.min <= x.literal <= info.max
    of = x.affine
    return bool(of) and of.const >= 0 and of.scale >= 0 and all(n >= 0 for _, n in of.ranks) \
        and of.const + of.scale * (of.extent - 1) + 64 * sum(n for _, n in of.ranks) <= info.max


def modulo(r: Reader, x: Val, info) -> Val:
    """x modulo 2^bits."""
    below, size = min(0, info.min), 1 << info.bits
    if x.literal is not None:
        return r.scalar((x.literal - below) % size + below, "int32", x.pos)
    template = f"({{0}} + {number(-below)}) % {number(size)} - {number(-below)}" if below else f"{{0}} % {number(size)}"
    return written(r, "convert", [x], template, "i32")


def wrapped(r: Reader, x: Val, dtype: Any, of_terms: bool = False) -> Val:
    """What was computed of integers of a dtype, as one of its numbers. Terms of a sum are left: their sum is wrapped."""
    if x.dtype != "i32" or jnp.issubdtype(dtype, jnp.bool_) or not jnp.issubdtype(dtype, jnp.integer):
        return x
    info = jnp.iinfo(dtype)
    if info.bits >= 32 and info.min < 0 or known(x, info) or x.marks and not of_terms:
        return x
    if info.bits < 32:
        return modulo(r, x, info)
    made = x.made[:1]
    if made in (("sub",), ("neg",)):
        raise r.problem(f"a difference of {dtype}, which makes other numbers of those below 0")
    return x


def fewer(r: Reader, x: Val, old: Any, new: Any) -> Val:
    """Integers of one dtype as those of another. No value goes beyond the bits of its own."""
    old, new = jnp.iinfo(old), jnp.iinfo(new)
    if new.min <= old.min and old.max <= new.max or new.bits == old.bits and old.min == 0:
        return x
    if x.literal is None and known(x, new):
        return x
    if new.bits > 16 and x.literal is None:
        raise r.problem(f"a cast of {old.dtype} to {new.dtype}, which makes other numbers of those below 0")
    return modulo(r, x, new)


def of_float(r: Reader, x: Val, new: Any) -> Val:
    """Floats as integers: towards 0, and the first or last number of the dtype for those that are beyond it."""
    info = jnp.iinfo(new)
    if x.literal is not None:
        return r.scalar(min(max(int(x.literal), info.min), info.max), "int32", x.pos)
    if info.bits >= 32 and info.min < 0:
        return written(r, "convert", [x], "i32({0})", "i32")
    if info.bits >= 32:
        raise r.problem(f"a cast of floats to {new}: to int32 is read")
    return written(r, "convert", [x], f"minimum(maximum(i32({{0}}), {number(info.min)}), {number(info.max)})", "i32")


__all__ = ["ARITHMETIC", "fewer", "of_float", "wrapped"]
