"""Functions of JAX that are functions of the notation's library too: JAX writes them out, and they are found by their equations.

Each is called by its name only after check-sharding has proved that what JAX traces for it is the library's function."""
from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import jax
from jax.extend import core as jex_core
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

from .dims import ImportProblem
from .values import Val

# By the first primitive: the function of an axis, its name and the library's call of a value and a dim.
Found = tuple[str, Callable[[Any, int], Any], str]
FUNCTIONS: dict[str, list[Found]] = {
    "reduce_max": [("softmax", lambda x, axis: jax.nn.softmax(x, axis), 'softmax("; {dim}", {x})')],
    "integer_pow": [("gelu", lambda x, axis: jax.nn.gelu(x), "gelu_tanh({x})")],
    "jit": [("silu", lambda x, axis: jax.nn.silu(x), "silu({x})")],
    "custom_jvp_call": [("relu", lambda x, axis: jax.nn.relu(x), "relu({x})")],
}
OTHERWISE = {"sharding", "out_sharding", "jvp", "symbolic_zeros", "num_consts"}  # parameters that change no value
_off = False


@contextmanager
def written_out():
    """Within it no function is found."""
    global _off
    before, _off = _off, True
    try:
        yield
    finally:
        _off = before


def said(eqn) -> str:
    """What an equation computes, without its variables."""
    return f"{eqn.primitive.name} " + " ".join(f"{k}={v}" for k, v in sorted(eqn.params.items()) if k not in OTHERWISE)


@functools.lru_cache(512)
def template(function, shape: tuple[int, ...], dtype: str, axis: int):
    return jax.make_jaxpr(lambda x: function(x, axis))(jax.ShapeDtypeStruct(shape, dtype)).jaxpr


def matches(jaxpr, at: int, pattern) -> dict | None:
    """The variables of a pattern, by the variables of a jaxpr's equations from `at`."""
    bound: dict = {}
    if at + len(pattern.eqns) > len(jaxpr.eqns):
        return None
    for mine, theirs in zip(pattern.eqns, jaxpr.eqns[at:]):
        if mine.primitive is not theirs.primitive or len(mine.invars) != len(theirs.invars) or said(mine) != said(theirs):
            return None
        for a, b in zip(mine.invars, theirs.invars):
            literals = isinstance(a, jex_core.Literal), isinstance(b, jex_core.Literal)
            if any(literals):
                if not all(literals) or a.val != b.val:
                    return None
            elif bound.setdefault(a, b) is not b:
                return None
        bound.update(zip(mine.outvars, theirs.outvars))
    return bound


def axis_of(eqn) -> int:
    axes = eqn.params.get("axes", (-1,))
    return axes[0] if len(axes) == 1 else -1


def found(reader, jaxpr, at: int, env: dict) -> tuple[int, Any, Val] | None:
    """A library function that the equations from `at` compute: (how many they are, its variable, its value)."""
    eqn = jaxpr.eqns[at]
    if _off or eqn.primitive.name not in FUNCTIONS or not eqn.invars or isinstance(eqn.invars[0], jex_core.Literal):
        return None
    aval, axis = eqn.invars[0].aval, axis_of(eqn)
    if str(aval.dtype) != "float32" or not aval.shape:
        return None
    for name, function, call in FUNCTIONS[eqn.primitive.name]:
        if eqn.params.get("name", name) != name:
            continue
        pattern = template(function, aval.shape, "float32", axis)
        bound = matches(jaxpr, at, pattern)
        if bound is None or bound[pattern.invars[0]] is not eqn.invars[0]:
            continue
        count = len(pattern.eqns)
        result = bound[pattern.outvars[0]]
        inside = {v for e in jaxpr.eqns[at:at + count] for v in e.outvars} - {result}
        later = [v for e in jaxpr.eqns[at + count:] for v in e.invars] + list(jaxpr.outvars)
        if any(v in inside for v in later if not isinstance(v, jex_core.Literal)):
            continue
        val = called(reader, env[eqn.invars[0]], axis, call) if proved(function, call, len(aval.shape), axis) else None
        if val is not None:
            return count, result, val
    return None


def called(reader, x: Val, axis: int, call: str) -> Val | None:
    """The library's function of a value; None where its dim has no name of its own."""
    dim = ""
    if x.text is None or not x.dims or reader.outer:
        return None
    if "{dim}" in call:
        row = x.pos[axis]
        if len(row) != 1 or row[0].virtual:
            return None
        dim = reader.spell([replace(row[0], axes=())])
    text = reader.emit(call.format(dim=dim, x=reader.use(x)))
    return replace(x, text=text, literal=None, positive=False, made=(), affine=None)


@functools.lru_cache(64)
def proved(function, call: str, rank: int, axis: int) -> bool:
    """Whether check-sharding proves that what JAX traces for the function is the library's, for all sizes."""
    from .program import import_pair, trace
    from .report import check

    shape, axis = tuple(range(3, 3 + rank)), axis % rank
    args = (jax.ShapeDtypeStruct(shape, "float32"),)

    def plain(x):
        return function(x, axis)
    try:
        with written_out():
            text = import_pair(trace(plain, args, None), trace(jax.shard_map(
                plain, mesh=AbstractMesh((2,), ("d",)), in_specs=P(), out_specs=P()), args, {"d": 2}),
                [[f"D{i}" for i in range(rank)]]).skeleton
    except ImportProblem:
        return False
    text = re.sub("\x01(.*?)\x02", r"\1", text)
    ours = call.format(dim=f"D{axis}", x=re.search(r"fn model\((\w+):", text).group(1))
    text = re.sub(r"(fn model\(.*\{\n)(?:    .*\n)*\}", lambda m: f"{m.group(1)}    return {ours}\n}}", text, count=1)
    return check(f"mesh d\ndim {' '.join(f'D{i}' for i in range(rank))}\n{text}").proved


__all__ = ["found", "written_out"]
