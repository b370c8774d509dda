"""Rings that a loop of Python writes out, in part or whole: as many steps as an axis has devices, with ppermutes between them, as
one scan."""
from __future__ import annotations

from typing import Any

import numpy as np
from jax import lax
from jax._src import core as jax_core
from jax._src.lax.control_flow.loops import scan_p
from jax.extend import core as jex_core

from . import peeled
from .rings import rotation


def rolled(jaxpr, mesh: dict[str, int]):
    """The jaxpr with scans in the place of the steps of its rings, one after the other, or as it is."""
    given, jaxpr = jaxpr, peeled.written_out(jaxpr, mesh)
    ways = {rotation(e.params, mesh) if len(e.invars) == 1 else None for e in jaxpr.eqns if e.primitive.name == "ppermute"}
    if len(ways) != 1 or (way := ways.pop()) is None:
        return given
    jaxpr = without_casts(jaxpr)
    while (found := first_ring(jaxpr, mesh[way[0]])) is not None:
        given = jaxpr = found
    return given


def first_ring(jaxpr, steps: int):
    """The jaxpr with a scan for the first of its ppermutes, as many as are a ring's."""
    sent = [i for i, e in enumerate(jaxpr.eqns) if e.primitive.name == "ppermute"]
    for count in range(len(sent), steps - 2, -1) if steps > 2 else ():
        for sends in {count // (steps - 1), -(-count // steps)}:
            for ends in (True, False):
                if (found := Steps(jaxpr, sent[:count], sends, steps, ends).rolled()) is not None:
                    return found
    return None


def without_casts(jaxpr):
    """The jaxpr without casts to the type that a value has, which JAX writes in a first step alone."""
    same: dict[Any, Any] = {}

    def of(a):
        return a if isinstance(a, jex_core.Literal) else same.get(a, a)

    eqns = []
    for e in jaxpr.eqns:
        e = e.replace(invars=[*map(of, e.invars)])
        if e.primitive.name == "convert_element_type" and e.invars[0].aval.dtype == e.outvars[0].aval.dtype:
            same[e.outvars[0]] = e.invars[0]
        else:
            eqns.append(e)
    return jaxpr.replace(eqns=eqns, outvars=[*map(of, jaxpr.outvars)], debug_info=jaxpr.debug_info.with_unknown_names())


class Steps:
    """The equations of a jaxpr as steps that end (or begin) with `sends` ppermutes; the last step may leave out some or all."""

    def __init__(self, jaxpr, sent: list[int], sends: int, count: int, ends: bool):
        self.jaxpr, self.count = jaxpr, count
        self.period = sent[sends] - sent[0] if len(sent) > sends else 0
        self.begin = sent[sends - 1] + 1 - self.period if ends else sent[0]
        self.even = self.begin >= 0 and sends * (count - 1) <= len(sent) <= sends * count and all(
            sent[i] - sent[i - sends] == self.period for i in range(sends, sends * (count - 1)))

    def rolled(self):
        windows = self.windows() if self.even else None
        if not windows:
            return None
        self.inside = {v for w in windows for e in w if e is not None for v in e.outvars}
        rows = [self.sources(windows, s) for s in range(self.count)]
        for s, row in enumerate(rows):
            for a, b in zip(row, rows[1]):
                same = a is None or a[0] == b[0] == "number" or s == 0 and a[0] == "outside" and b[0] == "before" or a == b
                if not same or a and a[0] == "other":
                    return None
        return self.written(windows, rows)

    def windows(self) -> list | None:
        """The equations of each step, None for a ppermute that the last one leaves out; nothing where they are not alike."""
        eqns, n = self.jaxpr.eqns, self.period
        windows = [list(eqns[self.begin + s * n:self.begin + (s + 1) * n]) for s in range(self.count - 1)]
        self.end = self.begin + (self.count - 1) * n
        last: list[Any] = []
        for e in windows[1]:
            there = eqns[self.end] if self.end < len(eqns) else None
            if e.primitive.name == "ppermute" and (there is None or there.primitive.name != "ppermute"
                                                   or sender(there, last, windows[-1]) != sender(e, windows[1], windows[0])):
                there = None
            elif there is None:
                return None
            last.append(there)
            self.end += there is not None
        windows.append(last)
        return windows if all(len(w) == n and all(b is None or alike(a, b) for a, b in zip(windows[1], w)) for w in windows) else None

    def sources(self, windows, s: int) -> list:
        """For each operand of a step: ("own" or "before", equation, result), ("outside", variable) or ("number", literal)."""
        own, before = ({v: (k, j) for k, e in enumerate(w) if e is not None for j, v in enumerate(e.outvars)}
                       for w in (windows[s], windows[s - 1] if s else []))

        def source(a):
            if isinstance(a, jex_core.Literal):
                return "number", a
            where = "own" if a in own else "before" if a in before else "other" if a in self.inside else "outside"
            return (where, *(own if where == "own" else before)[a]) if where in ("own", "before") else (where, a)
        return [x for e in windows[s] for x in ([None] if e is None else map(source, e.invars))]

    def written(self, windows, rows):
        template = windows[1]
        flat = [(k, i) for k, e in enumerate(template) for i in range(len(e.invars))]
        source = dict(zip(flat, rows[1]))
        first: dict[tuple[int, int], Any] = {}  # what step 0 has in the place of a result of the step before
        for (k, i), a in zip(flat, rows[1]):
            if a[0] == "before":
                given = windows[0][k].invars[i]
                if first.setdefault(a[1:], given) is not given:
                    return None
        # A value that each step but the last makes and sends on is sent at the beginning of the next one: no device has a value of its
        # own yet.
        early = {k: source[k, 0][1:] for k, e in enumerate(template)
                 if e.primitive.name == "ppermute" and source[k, 0][0] == "own" and windows[-1][k] is None}
        if any((k, 0) not in first or not self.uniform(first[k, 0]) or of in first for k, of in early.items()):
            return None
        carries = [early[k] if k in early else (k, j) for k, j in first]
        inits = list(first.values())
        taken = {key: jax_core.Var(template[key[0]].outvars[key[1]].aval) for key in carries}
        step = jax_core.Var(jax_core.ShapedArray((), np.dtype("int32")))
        numbers: list[Any] = []
        operands = {}
        for n, (at, a) in enumerate(zip(flat, rows[1])):
            k, i = at
            if a[0] == "number":
                operands[at] = self.number([row[n][1] for row in rows if row[n]], step, numbers, template[k])
                if operands[at] is None:
                    return None
            elif a[0] == "before":
                operands[at] = template[a[1]].outvars[a[2]] if a[1] in early else taken[a[1:]]
            else:
                operands[at] = template[k].invars[i]
        for k, of in early.items():
            operands[k, 0] = taken[of]
        made = [e.replace(invars=[operands[k, i] for i in range(len(e.invars))]) for k, e in enumerate(template)]
        consts = list(dict.fromkeys(a[1] for a in rows[1] if a[0] == "outside"))
        results = [template[k].outvars[j] for k, j in carries]
        inner = self.jaxpr.replace(constvars=[], invars=[*consts, *taken.values(), step], outvars=results, effects=jax_core.no_effects,
                                   eqns=[*numbers, *(made[k] for k in early), *(e for k, e in enumerate(made) if k not in early)],
                                   debug_info=self.jaxpr.debug_info.with_unknown_names())
        return self.put(windows, inner, consts, carries, inits)

    def uniform(self, a) -> bool:
        """Whether a value is one number on all devices."""
        while not isinstance(a, jex_core.Literal):
            e = next((e for e in self.jaxpr.eqns[:self.begin] if a in e.outvars), None)
            if e is None or e.primitive.name not in ("broadcast_in_dim", "pvary", "convert_element_type") or len(e.invars) != 1:
                return False
            a = e.invars[0]
        return True

    def number(self, literals: list, step, lines: list, at):
        """The number that stands there in each step, as a multiple of the step's."""
        values = [x.val for x in literals]
        if all(np.array_equal(v, values[0]) for v in values):
            return literals[0]
        by = int(values[1]) - int(values[0])
        if literals[0].aval.dtype != np.dtype("int32") or any(int(v) != int(values[0]) + by * s for s, v in enumerate(values)):
            return None
        found = step
        for function, other in ((lax.mul_p, by), (lax.add_p, int(values[0]))):
            if other != (1 if function is lax.mul_p else 0):
                out = jax_core.Var(step.aval)
                number = jex_core.Literal(np.int32(other), step.aval)
                lines.append(jax_core.new_jaxpr_eqn([found, number], [out], function, {}, jax_core.no_effects, at.source_info))
                found = out
        return found

    def put(self, windows, inner, consts: list, carries: list, inits: list):
        """The jaxpr with the scan; nothing where another value of a step is used after it."""
        outs = [jax_core.Var(v.aval) for v in inner.outvars]
        after, last = self.jaxpr.eqns[self.end:], windows[-1]
        now = {last[k].outvars[j]: out for (k, j), out in zip(carries, outs) if last[k] is not None}
        if any(v in self.inside and v not in now for v in [*(a for e in after for a in e.invars if not isinstance(a, jex_core.Literal)),
                                                           *(a for a in self.jaxpr.outvars if not isinstance(a, jex_core.Literal))]):
            return None

        def renamed(atoms):
            return [a if isinstance(a, jex_core.Literal) else now.get(a, a) for a in atoms]

        steps = jax_core.Var(jax_core.ShapedArray((self.count,), np.dtype("int32")))
        info = windows[0][0].source_info
        count = jax_core.new_jaxpr_eqn([], [steps], lax.iota_p, {"dtype": np.dtype("int32"), "shape": (self.count,), "dimension": 0,
                                                                 "sharding": None}, jax_core.no_effects, info)
        scan = jax_core.new_jaxpr_eqn([*consts, *inits, steps], outs, scan_p, {
            "jaxpr": jex_core.ClosedJaxpr(inner, []), "num_consts": len(consts), "num_carry": len(carries), "length": self.count,
            "reverse": False}, jax_core.no_effects, info)
        return self.jaxpr.replace(eqns=[*self.jaxpr.eqns[:self.begin], count, scan, *(e.replace(invars=renamed(e.invars)) for e in after)],
                                  outvars=renamed(self.jaxpr.outvars), debug_info=self.jaxpr.debug_info.with_unknown_names())


def sender(send, own: list, before: list) -> tuple[bool, int] | None:
    """Which equation of its step, or of the step before, made what a ppermute sends."""
    (x,) = send.invars
    return next(((step is own, k) for step in (own, before) for k, e in enumerate(step) if e is not None and x in e.outvars), None)


def alike(a, b) -> bool:
    """Whether two equations do the same to operands of the same shapes."""
    def shapes(e):
        return [(v.aval.shape, v.aval.dtype) for v in [*e.invars, *e.outvars]]
    return a.primitive is b.primitive and shapes(a) == shapes(b) and str(a.params) == str(b.params) and arrays_in(a) == arrays_in(b)


def arrays_in(e) -> list[int]:
    """The arrays that the bodies of an equation hold, which their text does not show."""
    inner = [x for p in e.params.values() for x in (p if isinstance(p, (tuple, list)) else (p,)) if hasattr(x, "eqns") or hasattr(x, "jaxpr")]
    return [n for x in inner for n in [*map(id, getattr(x, "consts", [])), *(m for each in x.eqns for m in arrays_in(each))]]
