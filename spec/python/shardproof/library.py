"""Functions of JAX that are functions of the notation's library too: JAX writes them out, and they are found by their equations.

Each is called by its name only after check-sharding has proved that what JAX traces for it is the library's function."""
from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex_core
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

from .dims import ImportProblem
from .values import Val, number
from .widened import shortest



@dataclass(frozen=True)
class Known:
    """A function of JAX, of its operands, an axis and a small number, and the library's call of it."""

    name: str
    function: Callable
    call: str
    operands: tuple[str, ...] = ("float32",)  # ids have one dim less
    reduces: bool = False


def _moment(x, axis):
    return jnp.mean(jnp.square(x), axis, keepdims=True)


def _apart(x, axis):
    return x - jnp.mean(x, axis, keepdims=True)


def _of_labels(logits, labels, axis):
    return jnp.take_along_axis(logits, jnp.expand_dims(labels, axis), axis).squeeze(axis)


def _optax(logits, labels, axis, small):
    import optax  # the user's, or nothing matches

    return optax.softmax_cross_entropy_with_integer_labels(logits, labels, axis)


RMS, LAYER = 'rms_norm("; {dim}", {x}, eps={small})', 'layer_norm("; {dim}", {x}, eps={small})'
CROSS = 'cross_entropy("; {dim}", {x}, {ids})'
LABELS = {"operands": ("float32", "int32"), "reduces": True}
# By the first primitive, each in the ways in which it is written.
FUNCTIONS: dict[str, list[Known]] = {
    "reduce_max": [
        Known("softmax", lambda x, axis, small: jax.nn.softmax(x, axis), 'softmax("; {dim}", {x})'),
        Known("cross_entropy", lambda z, y, axis, small: jax.nn.logsumexp(z, axis) - _of_labels(z, y, axis), CROSS,
              **LABELS)],
    "broadcast_in_dim": [Known("cross_entropy", _optax, CROSS, **LABELS)],
    "integer_pow": [Known("gelu", lambda x, axis, small: jax.nn.gelu(x), "gelu_tanh({x})")],
    "mul": [
        Known("gelu", lambda x, axis, small: jax.nn.gelu(x, approximate=False), "gelu({x})"),
        Known("rms_norm", lambda x, axis, small: x * lax.rsqrt(jnp.mean(x * x, axis, keepdims=True) + small), RMS),
        Known("rms_norm", lambda x, axis, small: x / jnp.sqrt(jnp.mean(x * x, axis, keepdims=True) + small), RMS)],
    "square": [
        Known("rms_norm", lambda x, axis, small: x * lax.rsqrt(_moment(x, axis) + small), RMS),
        Known("rms_norm", lambda x, axis, small: lax.rsqrt(_moment(x, axis) + small) * x, RMS),
        Known("rms_norm", lambda x, axis, small: x / jnp.sqrt(_moment(x, axis) + small), RMS)],
    "reduce_sum": [
        Known("layer_norm", lambda x, axis, small: _apart(x, axis) * lax.rsqrt(
            jnp.var(x, axis, keepdims=True) + small), LAYER),
        Known("layer_norm", lambda x, axis, small: _apart(x, axis) / jnp.sqrt(
            jnp.var(x, axis, keepdims=True) + small), LAYER),
        Known("layer_norm", lambda x, axis, small: (lambda m, v: (x - m) / jnp.sqrt(v + small))(
            jnp.mean(x, axis, keepdims=True), jnp.var(x, axis, keepdims=True)), LAYER),
        Known("layer_norm", lambda x, axis, small: (lambda m, v: (x - m) * lax.rsqrt(v + small))(
            jnp.mean(x, axis, keepdims=True), jnp.var(x, axis, keepdims=True)), LAYER),
        Known("layer_norm", lambda x, axis, small: (lambda d: d * lax.rsqrt(_moment(d, axis) + small))(
            _apart(x, axis)), LAYER),
        Known("layer_norm", lambda x, axis, small: (lambda d: d / jnp.sqrt(_moment(d, axis) + small))(
            _apart(x, axis)), LAYER)],
    "jit": [
        Known("silu", lambda x, axis, small: jax.nn.silu(x), "silu({x})")],
    "custom_jvp_call": [Known("relu", lambda x, axis, small: jax.nn.relu(x), "relu({x})")],
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


def is_written_out() -> bool:
    return _off


def said(eqn) -> str:
    """What an equation computes, without its variables."""
    return f"{eqn.primitive.name} " + " ".join(f"{k}={v}" for k, v in sorted(eqn.params.items()) if k not in OTHERWISE)


@functools.lru_cache(4096)
def template(known: Known, shape: tuple[int, ...], axis: int, small: float):
    """What JAX traces for it; None where it does not."""
    shapes = [jax.ShapeDtypeStruct(shape if kind == "float32" else shape[:axis] + shape[axis + 1:], kind)
              for kind in known.operands]
    try:
        return jax.make_jaxpr(lambda *x: known.function(*x, axis, small))(*shapes).jaxpr
    except Exception:  # noqa: BLE001  (a library that is not installed, an axis that is not there)
        return None


@functools.lru_cache(256)
def outline(known: Known, rank: int, axis: int) -> tuple[str, ...]:
    """The primitives that JAX traces for it where no size is 1, which are the same for all sizes."""
    pattern = template(known, tuple(range(3, 3 + rank)), axis, 1e-6)
    return tuple(e.primitive.name for e in pattern.eqns) if pattern is not None else ()


def may_be(known: Known, jaxpr, at: int, shape: tuple[int, ...], axis: int) -> bool:
    """Whether the equations from `at` have its primitives: only then it is traced with their sizes."""
    wanted = outline(known, len(shape), axis)
    return 1 in shape or bool(wanted) and wanted == tuple(e.primitive.name for e in jaxpr.eqns[at:at + len(wanted)])


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


def axes_near(jaxpr, at: int, rank: int) -> list[int]:
    """The axes that the next reductions go along; the last one where there is none."""
    found = [e.params["axes"][0] for e in jaxpr.eqns[at:at + 4]
             if e.primitive.name in ("reduce_max", "reduce_sum") and len(e.params["axes"]) == 1]
    return list(dict.fromkeys([*found, rank - 1]))


def small_near(jaxpr, at: int) -> float:
    """The number that is added to a variance in the next equations."""
    return next((float(a.val) for e in jaxpr.eqns[at:at + 12] if e.primitive.name == "add"
                 for a in e.invars if isinstance(a, jex_core.Literal) and 0 < float(a.val) < 0.1), 1e-6)


def first_of(jaxpr, at: int):
    """The first array of f32 that the equations from `at` take."""
    return next((v for e in jaxpr.eqns[at:at + 4] for v in e.invars if not isinstance(v, jex_core.Literal)
                 and str(getattr(v.aval, "dtype", "")) == "float32" and v.aval.shape), None)


def found(reader, jaxpr, at: int, env: dict) -> tuple[int, Any, Val] | None:
    """A library function that the equations from `at` compute: (how many they are, its variable, its value)."""
    eqn = jaxpr.eqns[at]
    if _off or eqn.primitive.name not in FUNCTIONS or (first := first_of(jaxpr, at)) is None:
        return None
    rank = len(first.aval.shape)
    small = small_near(jaxpr, at)
    for known in FUNCTIONS[eqn.primitive.name]:
        if eqn.params.get("name", known.name) != known.name:
            continue
        for axis in axes_near(jaxpr, at, rank) if "{dim}" in known.call else [rank - 1]:
            if result := found_as(reader, jaxpr, at, env, known, axis, small):
                return result
    return None


def found_as(reader, jaxpr, at: int, env: dict, known: Known, axis: int, small: float):
    first = first_of(jaxpr, at)
    if not may_be(known, jaxpr, at, first.aval.shape, axis):
        return None
    pattern = template(known, first.aval.shape, axis, small)
    bound = matches(jaxpr, at, pattern) if pattern is not None else None
    if bound is None or bound[pattern.invars[0]] is not first:
        return None
    count, result = len(pattern.eqns), bound[pattern.outvars[0]]
    inside = {v for e in jaxpr.eqns[at:at + count] for v in e.outvars} - {result}
    later = [v for e in jaxpr.eqns[at + count:] for v in e.invars] + list(jaxpr.outvars)
    operands = [bound.get(v) for v in pattern.invars]
    if any(v in inside for v in later if not isinstance(v, jex_core.Literal)) \
            or any(v is None or v in inside or isinstance(v, jex_core.Literal) for v in operands):
        return None
    if not proved(known, len(first.aval.shape), axis, small):
        return None
    val = called(reader, [env[v] for v in operands], axis, known, small)
    return None if val is None else (count, result, val)


def called(reader, operands: list[Val], axis: int, known: Known, small: float) -> Val | None:
    """The library's function of values; None where its dim has no name of its own."""
    x, *ids = operands
    dim, row = "", ()
    if x.text is None or not x.dims or reader.outer:
        return None
    if "{dim}" in known.call:
        row = x.pos[axis]
        if len(row) != 1 or row[0].virtual:
            return None
        dim = reader.spell([replace(row[0], axes=())])
    rest = [p for i, p in enumerate(x.pos) if not known.reduces or i != axis]
    for each in ids:  # with the dims of x, each at its place
        if each.text is None or [[f if f.virtual else (reader.key(f), f.axes) for f in p] for p in each.pos] \
                != [[f if f.virtual else (reader.key(f), f.axes) for f in p] for p in rest]:
            return None
        reader.name_entries(each, row)
    words = {"dim": dim, "x": reader.use(x), "ids": reader.use(ids[0]) if ids else "",
             "small": number(shortest(np.float32(small)))}
    dims = [f for f in x.dims if not known.reduces or f not in row]
    return replace(x, text=reader.emit(known.call.format(**words)), pos=rest, dims=dims, literal=None,
                   positive=False, made=(), affine=None)


@functools.lru_cache(64)
def proved(known: Known, rank: int, axis: int, small: float) -> bool:
    """Whether check-sharding proves that what JAX traces for the function is the library's, for all sizes."""
    from . import levels
    from .report import check

    shape, axis = tuple(range(3, 3 + rank)), axis % rank
    names = [f"D{i}" for i in range(rank)]
    args = tuple(jax.ShapeDtypeStruct(shape if kind == "float32" else shape[:axis] + shape[axis + 1:], kind)
                 for kind in known.operands)
    wishes = [names if kind == "float32" else names[:axis] + names[axis + 1:] for kind in known.operands]

    def plain(*x):
        return known.function(*x, axis, small)
    try:
        with written_out():
            text = levels.imported(plain, jax.shard_map(
                plain, mesh=AbstractMesh((2,), ("d",)), in_specs=P(), out_specs=P()), args, {"d": 2}, wishes, 3).text
    except ImportProblem:
        return False
    words = re.findall(r"(\w+): [fi]32\[", re.search(r"fn model.*->", text)[0])
    ours = known.call.format(dim=names[axis], x=words[0], ids=words[-1], small=shortest(np.float32(small)))
    text = re.sub(r"(fn model\(.*\{\n)(?:    .*\n)*\}", lambda m: f"{m.group(1)}    return {ours}\n}}", text, count=1)
    return not re.search(r"^dim .*=", text, re.M) and check(text).proved


__all__ = ["found", "is_written_out", "written_out"]
