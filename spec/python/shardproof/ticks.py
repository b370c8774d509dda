"""GPipe as JAX users write it: a scan over ticks, with ppermute between the stages. It is executed for
each stage of the axis, indices and masks as numbers and arrays as terms, so that what each microbatch goes
through is seen, whatever the idiom. `pipelines.py` reads the terms."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax.extend import core as jex_core

from . import trust
from .reader import dtype_name
from .places import place_of
from .ranks import CALLS, NOTHING, body_of, names_of

LIMIT = 400_000  # terms
LARGE = 1 << 14  # entries of an array of numbers that is evaluated


class NoPipeline(Exception):
    """Why the ticks are no pipeline that is known; `place` is the user's line."""

    def __init__(self, reason: str, place=None):
        super().__init__(reason)
        self.place = place


@dataclass(eq=False)
class Node:
    """A term. `tag` is ("op", eqn, which result), ("param", k, rank or None), ("row", index), ("stack",),
    ("psum", eqn, the rank that holds it) or ("hop",): what another stage has sent."""

    tag: tuple
    args: tuple
    shape: tuple[int, ...]
    eqn: Any = None


@dataclass(eq=False)
class Rows:
    """An array whose entries along the first axis are known one by one."""

    rows: list
    rest: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.rows), *self.rest)


def known(value) -> bool:
    return isinstance(value, np.ndarray)


def uniform(value: np.ndarray) -> bool:
    """Whether all entries are one number; large arrays are kept as that number."""
    return bool(value.size) and (not any(value.strides) or value.size <= LARGE
                                 and bool((value == value.flat[0]).all()))


def filled(number, dtype, shape) -> np.ndarray:
    return np.broadcast_to(np.asarray(number, dtype), shape)


def key_of(value) -> tuple:
    """What tells a number, or an array of them, from others."""
    entries = value.flat[0] if uniform(value) else value
    return ("known", str(value.dtype), value.shape, entries.tobytes())


def is_zero(value) -> bool:
    return known(value) and uniform(value) and not value.flat[0] \
        or isinstance(value, Rows) and all(map(is_zero, value.rows))


def axes_named(eqn) -> tuple[str, ...]:
    found = eqn.params.get("axes", eqn.params.get("axis_name", ()))
    return tuple(a for a in names_of(found) if isinstance(a, str))


def touches(jaxpr, axis: str, primitives=None) -> bool:
    """Whether an equation names the axis, in any body."""
    return any((primitives is None or e.primitive.name in primitives) and axis in axes_named(e)
               or any(touches(inner, axis, primitives) for inner in jex_core.jaxprs_in_params(e.params))
               for e in jaxpr.eqns)


def stage_axis(jaxpr) -> tuple[str, bool] | None:
    """The axis around which ticks send with ppermute, if the program asks for its own place on it, and whether they are
    a loop, not written one after the other."""
    for eqn in jaxpr.eqns:
        for inner in jex_core.jaxprs_in_params(eqn.params):
            for axis in sent_over(inner) if eqn.primitive.name in ("scan", "while") and not passed_on(inner) else ():
                if touches(jaxpr, axis, ("axis_index",)):
                    return axis, True
            if eqn.primitive.name in CALLS and (found := stage_axis(inner)):
                return found
    sent = [a for e in jaxpr.eqns if e.primitive.name == "ppermute" for a in axes_named(e)]
    return next(((a, False) for a in sent if sent.count(a) > 1 and touches(jaxpr, a, ("axis_index",))), None)


def passed_on(jaxpr) -> bool:
    """Whether the body of a loop sends on what it was given: a ring. A stage sends what it makes of it."""
    return any(v in jaxpr.invars for e in jaxpr.eqns if e.primitive.name == "ppermute" for v in e.invars)


def doing(eqn) -> tuple:
    """What an equation does: ticks that are written one after the other have equations of their own for it."""
    def said(value):
        consts = [key_of(np.asarray(c)) for j in (value if isinstance(value, tuple) else (value,))
                  for c in getattr(j, "consts", ())]
        return (value.tobytes() if isinstance(value, np.ndarray) else str(value), *consts)

    return (eqn.primitive.name, *(str(v.aval) for v in (*eqn.invars, *eqn.outvars)),
            *((name, said(value)) for name, value in sorted(eqn.params.items())))


def sent_over(jaxpr) -> set[str]:
    found = {a for e in jaxpr.eqns if e.primitive.name == "ppermute" for a in axes_named(e)}
    return found.union(*(sent_over(inner) for e in jaxpr.eqns
                         for inner in jex_core.jaxprs_in_params(e.params)))


NUMPY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
         "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
         "ge": np.greater_equal, "and": np.logical_and, "or": np.logical_or, "not": np.logical_not}


@dataclass
class Stages:
    """The execution of a body on the `count` ranks of `axis`, side by side."""

    axis: str
    count: int
    terms: dict = field(default_factory=dict)
    sent: set = field(default_factory=set)  # ids of what a ppermute was given
    same: dict = field(default_factory=dict)  # by its id: an equation, and the first one that does the same
    first: dict = field(default_factory=dict)

    def node(self, tag: tuple, args: tuple, shape, eqn=None) -> Node:
        key = (*tag[:1], id(tag[1]) if tag[0] in ("op", "psum") else tag[1:2], *tag[2:],
               *(key_of(a) if known(a) else id(a) for a in args))
        if key not in self.terms:
            if len(self.terms) > LIMIT:
                raise NoPipeline("there are too many ticks to be gone through")
            self.terms[key] = Node(tag, args, tuple(shape), eqn)
        return self.terms[key]

    def one_of(self, eqn):
        """The first of the equations that do the same."""
        if id(eqn) not in self.same:
            self.same[id(eqn)] = eqn, self.first.setdefault(doing(eqn), eqn)
        return self.same[id(eqn)][1]

    # Rows

    def row(self, value, i: int):
        if isinstance(value, Rows):
            return value.rows[i]
        if known(value):
            return np.asarray(value[i])
        return self.node(("row", i), (value,), value.shape[1:])

    def dense(self, value):
        """Without Rows."""
        if not isinstance(value, Rows):
            return value
        rows = [self.dense(row) for row in value.rows]
        if all(map(known, rows)) and len({key_of(row) for row in rows}) == 1 and uniform(rows[0]):
            return filled(rows[0].flat[0], rows[0].dtype, value.shape)
        if all(map(known, rows)) and len(rows) * rows[0].size <= LARGE:
            return np.stack(rows)
        first = rows[0]
        if isinstance(first, Node) and first.tag == ("row", 0) and first.args[0].shape == value.shape \
                and all(isinstance(x, Node) and x.tag == ("row", i) and x.args == first.args
                        for i, x in enumerate(rows)):
            return first.args[0]
        return self.node(("stack",), tuple(rows), value.shape)

    # One equation on one rank

    def single(self, eqn, vals: list) -> list:
        name, p = eqn.primitive.name, eqn.params
        shape = tuple(eqn.outvars[0].aval.shape)
        if name in NOTHING or name in ("stop_gradient", "copy", "copy_p", "name", "optimization_barrier"):
            return vals
        if name == "convert_element_type" and not known(vals[0]) \
                and dtype_name(eqn.invars[0].aval.dtype) == dtype_name(p["new_dtype"]):
            return vals
        special = getattr(self, f"_{name.replace('-', '_')}", None)
        found = special(p, vals, shape) if special else None
        if found is not None:
            return [found]
        vals = [self.dense(v) for v in vals]
        found = self.numbers(eqn, vals) if all(map(known, vals)) else None
        if not found:
            eqn = self.one_of(eqn)
        return found or [self.node(("op", eqn, i), tuple(vals), v.aval.shape, eqn) for i, v in enumerate(eqn.outvars)]

    def numbers(self, eqn, vals: list) -> list | None:
        """The values of an equation of numbers, unless they are many unlike ones."""
        name, out = eqn.primitive.name, eqn.outvars[0].aval
        if name in (*NUMPY, "broadcast_in_dim", "convert_element_type") and vals and all(map(uniform, vals)):
            heads = [v.flat[0] for v in vals]
            return [filled(NUMPY[name](*heads) if name in NUMPY else heads[0], out.dtype, out.shape)]
        if sum(v.size for v in vals) + sum(v.aval.size for v in eqn.outvars) > LARGE:
            return None
        out = eqn.primitive.bind(*vals, **eqn.primitive.get_bind_params(eqn.params))
        return [np.asarray(x) for x in (out if eqn.primitive.multiple_results else [out])]

    def _select_n(self, p, vals, shape):
        which = vals[0]
        if known(which) and uniform(which):
            return vals[1 + int(which.flat[0])]
        return None

    def _mul(self, p, vals, shape):
        for x, y in (vals, vals[::-1]):
            if is_zero(x):
                return filled(0, getattr(x, "dtype", np.float32), shape)
            if known(x) and uniform(x) and x.flat[0] == 1 and y.shape == shape:
                return y
        return None

    def _add(self, p, vals, shape):
        for x, y in (vals, vals[::-1]):
            if is_zero(x) and y.shape == shape and not known(y):
                return y
        return None

    _add_any = _add

    def _squeeze(self, p, vals, shape):
        x = vals[0]
        return self.row(x, 0) if tuple(p["dimensions"]) == (0,) and not known(x) else None

    def _broadcast_in_dim(self, p, vals, shape):
        x = vals[0]
        one = shape == (1, *x.shape) and tuple(p["broadcast_dimensions"]) == tuple(range(1, len(shape)))
        return Rows([x], x.shape) if one and not known(x) else None

    def _reshape(self, p, vals, shape):
        x = vals[0]
        if known(x):
            return None
        if shape == (1, *x.shape):
            return Rows([x], x.shape)
        return self.row(x, 0) if x.shape == (1, *shape) else None

    def _slice(self, p, vals, shape):
        x, start = vals[0], p["start_indices"]
        if known(x) or p["strides"] and any(s != 1 for s in p["strides"]) or x.shape[1:] != shape[1:]:
            return None
        return Rows([self.row(x, i) for i in range(start[0], p["limit_indices"][0])], shape[1:])

    def _dynamic_slice(self, p, vals, shape):
        x, starts = vals[0], vals[1:]
        if known(x) or not known(starts[0]) or x.shape[1:] != shape[1:]:
            return None
        at = min(max(int(starts[0]), 0), x.shape[0] - shape[0])
        return Rows([self.row(x, at + i) for i in range(shape[0])], shape[1:])

    def _dynamic_update_slice(self, p, vals, shape):
        x, new, at = vals[:3]
        if not known(at) or new.shape[1:] != shape[1:]:
            return None
        at = min(max(int(at), 0), shape[0] - new.shape[0])
        rows = [self.row(x, i) for i in range(shape[0])] if not isinstance(x, Rows) else list(x.rows)
        rows[at:at + new.shape[0]] = [self.row(new, i) for i in range(new.shape[0])]
        return Rows(rows, shape[1:])

    def _scatter(self, p, vals, shape):
        """x.at[i].set(row)"""
        x, at, new = vals
        dims = p["dimension_numbers"]
        if not known(at) or at.size != 1 or tuple(dims.scatter_dims_to_operand_dims) != (0,) \
                or tuple(dims.inserted_window_dims) != (0,) or new.shape != shape[1:]:
            return None
        rows, i = [self.row(x, k) for k in range(shape[0])], int(at.flat[0])
        if not 0 <= i < len(rows):
            return None
        rows[i] = new
        return Rows(rows, shape[1:])

    def _gather(self, p, vals, shape):
        """x[i]"""
        x, at = vals
        dims = p["dimension_numbers"]
        if known(x) or not known(at) or at.size != 1 or tuple(dims.start_index_map) != (0,) \
                or tuple(dims.collapsed_slice_dims) != (0,) or x.shape[1:] != shape:
            return None
        i = int(at.flat[0])
        return self.row(x, i) if 0 <= i < x.shape[0] else None

    def _concatenate(self, p, vals, shape):
        if p["dimension"] != 0 or all(map(known, vals)):
            return None
        return Rows([self.row(v, i) for v in vals for i in range(v.shape[0])], shape[1:])

    def _pad(self, p, vals, shape):
        x, value = vals
        (low, high, inner), *others = p["padding_config"]
        if known(x) or any(map(any, others)) or inner or low < 0 or high < 0 or not known(value):
            return None
        edge = filled(value, value.dtype, shape[1:])
        return Rows([edge] * low + [self.row(x, i) for i in range(x.shape[0])] + [edge] * high, shape[1:])

    # An equation on all ranks

    def apply(self, eqn, vals: list[list]) -> list[list]:
        name, p = eqn.primitive.name, eqn.params
        if self.axis in axes_named(eqn) and name not in ("scan",):
            return self.collective(eqn, vals)
        if name in CALLS and p.get("name") not in trust.KNOWN:
            inner, consts = body_of(eqn)
            return self.run(inner, [[np.asarray(c)] * self.count for c in consts], vals)
        if name == "scan" and touches(p["jaxpr"].jaxpr, self.axis):
            return self.ticks(eqn, vals)
        if name == "cond" and all(known(v) for v in vals[0]):
            return self.branches(eqn, vals)
        if name in ("while", "cond") and any(touches(i, self.axis) for i in jex_core.jaxprs_in_params(p)):
            raise NoPipeline(f"a `{name}` with communication between the stages: write a scan over the ticks")
        each = [self.single(eqn, [v[rank] for v in vals]) for rank in range(self.count)]
        return [list(column) for column in zip(*each)]

    def branches(self, eqn, vals):
        """Each rank's own branch; no branch may communicate between the stages."""
        branches = eqn.params["branches"]
        which = [min(max(int(v), 0), len(branches) - 1) for v in vals[0]]
        results = {}
        for i in set(which):
            if len(set(which)) > 1 and touches(branches[i].jaxpr, self.axis):
                raise NoPipeline("stages communicate in a branch of a `cond` that not all of them take")
            consts = [[np.asarray(c)] * self.count for c in branches[i].consts]
            results[i] = self.run(branches[i].jaxpr, consts, vals[1:])
        return [[results[which[rank]][k][rank] for rank in range(self.count)]
                for k in range(len(eqn.outvars))]

    def ticks(self, eqn, vals):
        p = eqn.params
        n, k = p["num_consts"], p["num_carry"]
        consts, carry, xs = vals[:n], vals[n:n + k], vals[n + k:]
        inner = [[np.asarray(c)] * self.count for c in p["jaxpr"].consts]
        order = range(p["length"])
        if len(order) * self.count * len(p["jaxpr"].jaxpr.eqns) > LIMIT:
            raise NoPipeline("there are too many ticks to be gone through")
        emitted = []
        for t in reversed(order) if p["reverse"] else order:
            step = [[self.row(x, t) for x in column] for column in xs]
            out = self.run(p["jaxpr"].jaxpr, inner, [*consts, *carry, *step])
            carry = out[:k]
            emitted.append(out[k:])
        if p["reverse"]:
            emitted.reverse()
        stacks = [[Rows([y[i][rank] for y in emitted], tuple(v.aval.shape[1:])) for rank in range(self.count)]
                  for i, v in enumerate(eqn.outvars[k:])]
        return [*carry, *stacks]

    def collective(self, eqn, vals):
        name, axes = eqn.primitive.name, axes_named(eqn)
        if name in NOTHING:
            return vals
        if name == "axis_index" and axes == (self.axis,):
            return [[np.asarray(i, np.int32) for i in range(self.count)]]
        if name == "ppermute" and axes == (self.axis,):
            given = [self.dense(v) for v in vals[0]]
            self.sent.update(id(v) for v in given if not known(v))
            out = [filled(0, eqn.outvars[0].aval.dtype, eqn.outvars[0].aval.shape)] * self.count
            for a, b in eqn.params["perm"]:
                out[b] = given[a] if known(given[a]) else self.node(("hop",), (given[a],), given[a].shape)
            return [out]
        if name in ("psum", "psum2", "psum_invariant"):
            return [self.added(eqn, column) for column in vals]
        raise NoPipeline(f"`{name}` over {self.axis}, the axis of the stages")

    def added(self, eqn, column):
        """The sum over the stages of what one of them holds, the others 0."""
        column = [self.dense(v) for v in column]
        if all(map(known, column)):
            return [filled(sum(v.flat[0] for v in column), column[0].dtype, column[0].shape)
                    if all(map(uniform, column)) else sum(column)] * self.count
        terms = [(i, v) for i, v in enumerate(column) if not is_zero(v)]
        if len(terms) != 1:
            raise NoPipeline(f"a sum over {self.axis} of what {len(terms)} stages hold: mask all but the last, "
                             "`psum(where(stage == stages - 1, out, 0), axis)`", place_of(eqn))
        (rank, value), = terms
        return [self.node(("psum", eqn, rank), (value,), value.shape, eqn)] * self.count

    def run(self, jaxpr, consts, args) -> list[list]:
        env: dict[Any, list] = dict(zip(jaxpr.constvars, consts))
        env.update(zip(jaxpr.invars, args))

        def read(atom):
            return [np.asarray(atom.val, atom.aval.dtype)] * self.count if isinstance(atom, jex_core.Literal) \
                else env[atom]

        for eqn in jaxpr.eqns:
            try:
                out = self.apply(eqn, [read(a) for a in eqn.invars])
            except NoPipeline as problem:
                problem.place = problem.place or place_of(eqn)
                raise
            env.update(zip(eqn.outvars, out))
        return [read(a) for a in jaxpr.outvars]
