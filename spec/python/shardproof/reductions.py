"""Sums and maxima over positions, and products that sum over some."""
from __future__ import annotations

from dataclasses import replace
from math import prod

from . import firsts, running, single
from .dims import Factor
from .elementwise import union, written
from .reader import Reader, dtype_name
from .rules import rule
from .values import Val, number


def without(x: Val, axes) -> list:
    return [p for i, p in enumerate(x.pos) if i not in set(axes)]


def reduced_over(r: Reader, x: Val, axes, word: str, mark: str) -> Val:
    gone = {f for i in axes for f in x.pos[i]}
    real = {f for f in gone if not f.virtual}
    marks = dict(x.marks)
    for f in real:
        marks.update(dict.fromkeys(f.axes, mark))
    dims = [f for f in x.dims if f not in real]
    text = x.text
    if real:
        text = r.emit(f'{word}("{r.spell(x.dims, x.marks)} -> {r.spell(dims, marks)}", {r.use(x)})')
    return Val(text, without(x, axes), dims, x.dtype, marks,
               literal=x.literal if not real else None, positive=x.positive)


@rule("reduce_sum")
def _sum(r, eqn, vals):
    if found := running.before(r, vals[0], eqn.params["axes"]):
        return found
    x, axes = terms_reduced(r, vals[0], eqn.params["axes"], "U")
    copies = prod(f.extent for i in axes for f in x.pos[i] if f.virtual)
    val = reduced_over(r, x, axes, "sum", "U")
    if x.dtype == "bool":
        raise r.problem("a sum of booleans")
    if copies != 1:
        if val.literal is not None:
            return r.scalar(val.literal * copies, "float32" if val.dtype == "f32" else "int32",
                            val.pos)
        scale = number(float(copies) if val.dtype == "f32" else copies)
        val = replace(val, text=r.emit(f"{r.use(val)} * {scale}"), literal=None)
    val = single.summed(r, eqn, x, axes, replace(r.reduced(val), made=("reduce_sum", x)))
    if x.made[:1] == ("convert",) and x.made[1].dtype == "bool" or x.text in r.counts:
        r.counts.add(val.text)
    return val


@rule("reduce_max")
def _reduce_max(r, eqn, vals):
    x, axes = terms_reduced(r, vals[0], eqn.params["axes"], "Max")
    x, axes = whole_maximum(x, axes)
    val = r.reduced(reduced_over(r, x, axes, "max", "Max"))
    return replace(val, made=("reduce_max", x, tuple(axes), val.text, val.pos))


def whole_maximum(x: Val, axes) -> tuple[Val, list[int]]:
    """The maximum of devices' own maxima is one of what they are taken of."""
    if x.made[:1] != ("reduce_max",) or "Max" not in x.marks.values() or x.made[3:] != (x.text, x.pos):
        return x, axes
    _, of, before, *_ = x.made
    left = [p for p in range(len(of.pos)) if p not in before]
    return of, sorted([*before, *(left[a] for a in axes)])


def terms_reduced(r: Reader, x: Val, axes, mark: str) -> tuple[Val, tuple]:
    """The devices' terms, gathered and then reduced over the devices, are the reduced value."""
    if x.made[:1] != ("terms",) or x.made[3] not in axes or mark not in x.made[1].marks.values():
        return x, axes
    _, val, over, p = x.made
    marks = {a: m for a, m in val.marks.items() if a not in over}
    text = r.emit(f'all_reduce("{r.spell(val.dims, val.marks)} -> {r.spell(val.dims, marks)}", {r.use(val)})')
    val = replace(val, text=text, marks=marks, literal=None, affine=None)
    return val, tuple(a - (a > p) for a in axes if a != p)


def negated(r: Reader, x: Val) -> Val:
    return replace(x, text=r.emit(f"-{r.use(x)}"), literal=None, made=(), affine=None, positive=False)


@rule("reduce_min")
def _reduce_min(r, eqn, vals):
    x = vals[0].made[1] if vals[0].made[:1] == ("negated",) else negated(r, vals[0])
    val = _reduce_max(r, eqn, [x])
    return replace(val, text=r.emit(f"-{r.use(val)}"), made=("negated", val), positive=False)


@rule("argmax")
def _argmax(r, eqn, vals):
    (axis,) = eqn.params["axes"]
    x = vals[0]
    if found := firsts.first_device(x, axis):
        return found
    if x.dtype == "bool":
        x = written(r, "convert", [x], "i32({0})", "i32")
    if len(x.pos[axis]) == 1 and x.pos[axis][0].axes and not x.marks:
        return firsts.own(r, x, axis, x.pos[axis][0])
    dims = [f for f in x.dims if f not in x.pos[axis]]
    text = r.emit(f'argmax("{r.spell(x.dims, x.marks)} -> {r.spell(dims, x.marks)}", {r.use(x)})')
    return Val(text, without(x, [axis]), dims, "i32", dict(x.marks))


@rule("dot_general")
def _dot(r, eqn, vals):
    (left_sum, right_sum), (left_batch, right_batch) = eqn.params["dimension_numbers"]
    x, y = (written(r, "convert", [v], "f32({0})", "f32") if v.dtype == "i32" and not integers(vals) else v for v in vals)
    if r.outer and (any(f.axes for f in x.dims) or any(f.axes for f in y.dims)):
        x, y = r.gathered(x), r.gathered(y)
    else:
        x, y = single.of_product(x, y, [*zip(left_batch, right_batch), *zip(left_sum, right_sum)])
    scale = 1
    index: dict[int, dict[Factor, Factor]] = {0: {}, 1: {}}
    used: set = set()
    pos, summed = [], []

    def take(f: Factor) -> Factor:
        f = r.distinct([(f,)], used)[0][0]
        used.add(r.key(f))
        return f

    def pair(p: int, q: int) -> list[Factor]:
        row = []
        for a, b in r.align([x.pos[p], y.pos[q]]):
            r.same([a, b])
            f = a if not a.virtual else b
            if not f.virtual:
                f = take(f)
                for which, g in ((0, a), (1, b)):
                    if not g.virtual:
                        index[which][g] = f
            row.append(f)
        return row

    # Indices of the left operand keep their names where they can.
    pos += [tuple(pair(p, q)) for p, q in zip(left_batch, right_batch)]
    for p, q in zip(left_sum, right_sum):
        for f in pair(p, q):
            if f.virtual:
                scale *= f.extent
            else:
                summed.append(f)
    for which, val, taken in ((0, x, (*left_batch, *left_sum)), (1, y, (*right_batch, *right_sum))):
        for p in range(len(val.pos)):
            if p in taken:
                continue
            row = []
            for f in val.pos[p]:
                if not f.virtual:
                    index[which][f] = take(f)
                    f = index[which][f]
                row.append(f)
            pos.append(tuple(row))
    shift = alias_shift(r, [x, y], index)

    def moved(f: Factor) -> Factor:
        return f if f.virtual else replace(f, alias=f.alias + shift)

    pos = [tuple(moved(f) for f in row) for row in pos]
    summed = [moved(f) for f in summed]
    index = {which: {old: moved(new) for old, new in index[which].items()} for which in (0, 1)}
    marks = union([x, y])
    for f in summed:
        marks.update(dict.fromkeys(f.axes, "U"))
    dims = [f for row in pos for f in row if not f.virtual]
    left = ", ".join(r.spell([index[which][f] for f in val.dims], val.marks)
                     for which, val in ((0, x), (1, y)))
    words = [r.use(v) if v.dims or v.marks else f"{v.dtype}({r.use(v)})" for v in (x, y)]  # also of a number
    text = r.emit(f'einsum("{left} -> {r.spell(dims, marks)}", {", ".join(words)})')
    if scale != 1:
        text = r.emit(f"{text} * {number(float(scale) if x.dtype == 'f32' else scale)}")
    made = r.reduced(Val(text, pos, dims, x.dtype, marks, positive=x.positive and y.positive))
    to = dtype_name(eqn.outvars[0].aval.dtype)
    return made if to == made.dtype else replace(made, text=r.emit(f"{to}({r.use(made)})"), dtype=to)


def integers(vals: list[Val]) -> bool:
    return all(v.dtype == "i32" for v in vals)


def alias_shift(r: Reader, vals, index) -> int:
    """What is added to the aliases of a pattern, so that it calls no place by the name of another
    place of the same operand."""
    for which, val in enumerate(vals):
        own = {r.key(f): f for f in val.dims}
        for old, new in index[which].items():
            if own.get(r.key(new), old) != old:
                return 1 + max(f.alias for m in index.values() for pair in m.items() for f in pair)
    return 0


__all__ = ["alias_shift", "reduced_over", "without"]
