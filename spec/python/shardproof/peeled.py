"""Scans in which blocks go around an axis, but not all the way: their steps written out, beside what stands before or after them."""
from __future__ import annotations

import jax
import numpy as np
from jax._src import core as jax_core
from jax.extend import core as jex_core

from .rings import rotation

LONGEST = 2000  # equations that are written out


def written_out(jaxpr, mesh: dict[str, int]):
    """The jaxpr with the steps of such scans; as it is where it has none."""
    eqns, renamed = [], {}

    def now(a):
        return a if isinstance(a, jex_core.Literal) else renamed.get(a, a)

    for e in jaxpr.eqns:
        e = e.replace(invars=[*map(now, e.invars)])
        steps = steps_of(e, eqns) if e.primitive.name == "scan" and goes_part_of_the_way(e.params, mesh) else None
        if steps is None:
            eqns.append(e)
            continue
        eqns.extend(steps[0])
        renamed.update(zip(e.outvars, steps[1]))
    if not renamed:
        return jaxpr
    return jaxpr.replace(eqns=eqns, outvars=[*map(now, jaxpr.outvars)], debug_info=jaxpr.debug_info.with_unknown_names())


def goes_part_of_the_way(p, mesh: dict[str, int]) -> bool:
    """Whether the body of a scan sends on an axis that has more devices than the scan has steps."""
    ways = {rotation(e.params, mesh) for e in p["jaxpr"].jaxpr.eqns if e.primitive.name == "ppermute"}
    return len(ways) == 1 and None not in ways and not p["reverse"] and p["length"] < mesh[next(iter(ways))[0]] \
        and p["length"] * len(p["jaxpr"].jaxpr.eqns) <= LONGEST


def steps_of(e, before) -> tuple[list, list] | None:
    """(the equations of a scan's steps, its results); None where it takes or gives rows of arrays."""
    p = e.params
    body, consts, carries = p["jaxpr"].jaxpr, e.invars[:p["num_consts"]], list(e.invars[p["num_consts"]:][:p["num_carry"]])
    rows = e.invars[len(consts) + len(carries):]
    if len(e.outvars) > len(carries) or p["jaxpr"].consts or not all(counted(x, before) for x in rows):
        return None
    eqns: list = []
    for step in range(p["length"]):
        numbers = [number(np.int32(step)) for _ in rows]
        values = dict(zip(body.invars, [*consts, *carries, *numbers]))
        for inner in body.eqns:
            own = inner.replace(invars=[a if isinstance(a, jex_core.Literal) else values[a] for a in inner.invars])
            if (known := folded(own)) is not None:
                values[inner.outvars[0]] = known
                continue
            made = [jax_core.Var(v.aval) for v in inner.outvars]
            values.update(zip(inner.outvars, made))
            eqns.append(own.replace(outvars=made))
        carries = [a if isinstance(a, jex_core.Literal) else values[a] for a in body.outvars]
    return eqns, carries


def counted(x, before) -> bool:
    """0, 1, 2 .."""
    return any(e.primitive.name == "iota" and e.outvars[0] is x and x.aval.dtype == np.dtype("int32") and x.aval.ndim == 1 for e in before)


def number(value):
    return jex_core.Literal(value, jax_core.ShapedArray((), value.dtype))


def folded(e):
    """The number that an equation computes from numbers: of the step."""
    if len(e.outvars) != 1 or e.outvars[0].aval.shape or e.outvars[0].aval.dtype != np.dtype("int32") or not e.invars \
            or e.primitive.name not in ("add", "sub", "mul", "convert_element_type") or not all(isinstance(a, jex_core.Literal) for a in e.invars):
        return None
    with jax.ensure_compile_time_eval():
        return number(np.asarray(e.primitive.bind(*(a.val for a in e.invars), **e.params))[()])


__all__ = ["written_out"]
