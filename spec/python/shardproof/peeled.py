"""Scans in which blocks go around an axis, but not all the way, or not in each step: their steps written out, beside what stands before
or after them."""
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
    """Whether the body of a scan sends on an axis that has more devices than the scan has steps, or not in every step."""
    sends, chosen = sends_in(p["jaxpr"].jaxpr, False)
    ways = {rotation(e.params, mesh) for e in sends}
    return len(ways) == 1 and None not in ways and not p["reverse"] and p["length"] < mesh[next(iter(ways))[0]] + chosen \
        and p["length"] * len(p["jaxpr"].jaxpr.eqns) <= LONGEST


def sends_in(jaxpr, chosen: bool) -> tuple[list, bool]:
    """The ppermutes of a jaxpr and of the branches of its conds, and whether a branch has one."""
    sends = [e for e in jaxpr.eqns if e.primitive.name == "ppermute"]
    inner = [sends_in(branch.jaxpr, True) for e in jaxpr.eqns if e.primitive.name == "cond" for branch in e.params["branches"]]
    return sends + [e for found, _ in inner for e in found], chosen and bool(sends) or any(found for found, _ in inner)


def steps_of(e, before) -> tuple[list, list] | None:
    """(the equations of a scan's steps, its results); None where it takes or gives rows of arrays."""
    p = e.params
    body, consts, carries = p["jaxpr"].jaxpr, e.invars[:p["num_consts"]], list(e.invars[p["num_consts"]:][:p["num_carry"]])
    rows = e.invars[len(consts) + len(carries):]
    if len(e.outvars) > len(carries) or p["jaxpr"].consts or not all(counted(x, before) for x in rows):
        return None
    eqns: list = []
    for step in range(p["length"]):
        carries = put(eqns, body, [*consts, *carries, *(number(np.int32(step)) for _ in rows)])
    return eqns, carries


def put(eqns: list, jaxpr, arguments) -> list:
    """Adds the equations of a jaxpr, but those that compute numbers from numbers, and gives its results."""
    values = dict(zip(jaxpr.invars, arguments))

    def now(atoms) -> list:
        return [a if isinstance(a, jex_core.Literal) else values[a] for a in atoms]

    for e in jaxpr.eqns:
        own = e.replace(invars=now(e.invars))
        if (known := folded(own)) is not None:
            values[e.outvars[0]] = known
            continue
        branches = own.params["branches"] if e.primitive.name == "cond" and isinstance(own.invars[0], jex_core.Literal) else ()
        if branches and not any(branch.consts for branch in branches):
            taken = branches[int(np.clip(own.invars[0].val, 0, len(branches) - 1))]
            values.update(zip(e.outvars, put(eqns, taken.jaxpr, own.invars[1:])))
            continue
        made = [jax_core.Var(v.aval) for v in e.outvars]
        values.update(zip(e.outvars, made))
        eqns.append(own.replace(outvars=made))
    return now(jaxpr.outvars)


def counted(x, before) -> bool:
    """0, 1, 2 .."""
    return any(e.primitive.name == "iota" and e.outvars[0] is x and x.aval.dtype == np.dtype("int32") and x.aval.ndim == 1 for e in before)


def number(value):
    return jex_core.Literal(value, jax_core.ShapedArray((), value.dtype))


FOLDED = {"add", "sub", "mul", "lt", "le", "gt", "ge", "eq", "ne", "convert_element_type"}


def folded(e):
    """The number that an equation computes from numbers, the step's and others, or whether one is less."""
    if e.primitive.name not in FOLDED or e.outvars[0].aval.shape or str(e.outvars[0].aval.dtype) not in ("int32", "bool") \
            or not all(isinstance(a, jex_core.Literal) for a in e.invars):
        return None
    with jax.ensure_compile_time_eval():
        return number(np.asarray(e.primitive.bind(*(a.val for a in e.invars), **e.params))[()])


__all__ = ["written_out"]
