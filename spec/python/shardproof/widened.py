"""A jaxpr whose floats of fewer bits are f32, or f64: rounding is no part of a proof, and so of no comparison of values."""
from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex_core

F32, F64 = np.dtype("float32"), np.dtype("float64")


def narrow(dtype: Any, wide: np.dtype = F32) -> bool:
    """Whether it is a float of fewer bits."""
    return jax.dtypes.issubdtype(dtype, np.floating) and np.dtype(dtype).itemsize < wide.itemsize


# sqrt(2 / pi) and sqrt(1 / 2), which jax.nn.gelu rounds to f32.
GELU, HALF_ROOT = 0.7978845608028654, 0.7071067811865476


def shortest(value: Any) -> Any:
    """A number as it was written: 1e-06, not 9.999999974752427e-07."""
    if isinstance(value, np.float32):
        return next((exact for exact in (GELU, HALF_ROOT) if value == np.float32(exact)), float(str(value)))
    if narrow(value.dtype):
        decimals = (float(f"{float(value):.{digits}g}") for digits in range(1, 9))
        return next((x for x in decimals if value.dtype.type(x) == value), float(value))
    return value.item()


def is_narrow(jaxpr) -> bool:
    """Whether a narrow float is a value in it, in any body, or one is made as exact as a narrow one."""
    if any(e.primitive.name == "reduce_precision" for e in jaxpr.eqns):
        return True
    atoms = [*jaxpr.invars, *jaxpr.constvars, *(v for e in jaxpr.eqns for v in e.outvars)]
    return any(narrow(v.aval.dtype) for v in atoms if hasattr(v.aval, "dtype")) or any(
        is_narrow(inner) for e in jaxpr.eqns for inner in jex_core.jaxprs_in_params(e.params))


@functools.lru_cache(maxsize=32)
def widened(closed, wide: np.dtype = F32):
    """The closed jaxpr with `wide` in the place of each float of fewer bits."""
    return jex_core.ClosedJaxpr(_jaxpr(closed.jaxpr, wide), [_value(c, wide) for c in closed.consts])


def _value(value, wide):
    """Numbers that a program has once are as they are written in it: 0.1 of bfloat16 is 0.1."""
    if not narrow(jax.numpy.result_type(value), wide):
        return value
    array = np.asarray(value)
    return np.full(array.shape, shortest(array.flat[0]), wide) if array.size and np.all(array == array.flat[0]) else array.astype(wide)


def _param(name: str, value, wide):
    if isinstance(value, jex_core.ClosedJaxpr):
        return widened(value, wide)
    if isinstance(value, jex_core.Jaxpr):
        return _jaxpr(value, wide)
    if isinstance(value, (tuple, list)):
        return type(value)(_param(name, each, wide) for each in value) if type(value) in (tuple, list) else value
    if isinstance(value, (np.dtype, type)) and name.endswith(("dtype", "element_type")) and narrow(value, wide):
        return wide
    return value


def _jaxpr(jaxpr, wide):
    made: dict = {}

    def var(v):
        if isinstance(v, jex_core.Literal):
            return jex_core.Literal(_value(v.val, wide), _aval(v.aval, wide))
        if v not in made:
            aval = _aval(v.aval, wide)
            made[v] = v if aval is v.aval else jex_core.Var(aval)
        return made[v]

    def eqn(e):
        params = {k: _param(k, v, wide) for k, v in e.params.items()}
        if e.primitive.name == "reduce_precision":
            bits = np.finfo(wide)
            params.update(exponent_bits=bits.nexp, mantissa_bits=bits.nmant)
        return e.replace(params=params, invars=[var(v) for v in e.invars], outvars=[var(v) for v in e.outvars])

    return jaxpr.replace(constvars=[var(v) for v in jaxpr.constvars], invars=[var(v) for v in jaxpr.invars],
                         eqns=[eqn(e) for e in jaxpr.eqns], outvars=[var(v) for v in jaxpr.outvars])


def _aval(aval, wide):
    return aval.update(dtype=wide) if hasattr(aval, "dtype") and narrow(aval.dtype, wide) else aval


__all__ = ["F64", "is_narrow", "shortest", "widened"]
