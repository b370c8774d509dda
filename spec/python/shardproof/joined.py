"""Arrays put together along a position: concatenate, stack, tile; and taken apart: unstack."""
from __future__ import annotations

from dataclasses import replace

from .dims import Factor, ImportProblem, spread
from .elementwise import union, written
from .parts import part, put
from .reader import Reader
from .rules import rule
from .values import Val


@rule("concatenate")
def _concatenate(r, eqn, vals):
    from .lookups import plain

    along = eqn.params["dimension"]
    if along == len(vals[0].pos) - 1 and all(v.dtype == "i32" and v.extents()[along] == 1 for v in vals):
        try:
            whole = concatenated(r, vals, along)
        except ImportProblem as problem:  # a local position beside ids of split dims
            shape = eqn.outvars[0].aval.shape
            whole = Val(None, spread(shape), dtype="i32", why=str(problem))
        columns = [replace(plain(v), pos=v.pos[:-1]) for v in vals]  # what a look-up along several dims takes
        return replace(whole, columns=(whole.text, whole.pos, columns))
    return concatenated(r, vals, along)


def concatenated(r: Reader, vals: list[Val], along: int) -> Val:
    vals = [v for v in vals if v.extents()[along]]
    if len(vals) == 1:
        return vals[0]
    vals = [r.solid(v, r.node_key("in", i)) for i, v in enumerate(alike(r, vals, along))]
    first = vals[0]
    if any(f.axes for v in vals for f in v.pos[along]):
        raise r.problem("concatenates along a dim that is split", "finding")
    if not all(v.pos[along] for v in vals):
        return side_by_side(r, vals, along)
    if any(len(v.pos[along]) != 1 for v in vals):
        raise r.problem("concatenates along several dims together")
    fixed: list[Val] = []
    for i, v in enumerate(vals):
        to = {}
        for p in range(len(v.pos)):
            if p == along:
                continue
            for column in r.align([first.pos[p], v.pos[p]]):
                r.same(column)
                to[column[1]] = column[0]
        fixed.append(r.ordered(r.rename(v, to)))
    total = sum(v.extents()[along] for v in vals)
    others = {r.key(f) for p, row in enumerate(fixed[0].pos) if p != along for f in row}
    new = r.distinct([r.dims.position(r.dims.node(r.node_key("concat"), total))], others)[0]
    if len(new) > 1:
        return in_rows(r, vals, along, new)
    pos = [*fixed[0].pos[:along], new, *fixed[0].pos[along + 1:]]
    marks = union(fixed)
    left = ", ".join(r.spell(v.dims, v.marks) for v in fixed)
    right = " ".join(f"[{r.spell([f])}]" if f in new else r.spell([f])
                     for row in pos for f in row)
    right += " " + r.spell([], marks) if marks else ""
    text = r.emit(f'concat("{left} -> {right}", {", ".join(r.use(v) for v in fixed)})')
    return r.made(text, pos, dtype=first.dtype, marks=marks)


def in_rows(r: Reader, vals: list[Val], along: int, whole) -> Val:
    """Arrays put together along a position that is several dims: each is one entry of the first of them."""
    if whole[0].extent != len(vals) or len({v.extents()[along] for v in vals}) > 1:
        raise r.problem("concatenates to several dims together")
    rows = side_by_side(r, [replace(v, pos=[*v.pos[:along], (), *v.pos[along:]]) for v in vals], along, "rows")
    return replace(rows, pos=[*rows.pos[:along], (*rows.pos[along], *rows.pos[along + 1]), *rows.pos[along + 2:]])


def alike(r: Reader, vals: list[Val], along: int) -> list[Val]:
    """Arrays that are put side by side: what one broadcasts is the dim that another has there."""
    result = []
    for v in vals:
        used, pos = {r.key(f) for f in v.dims}, list(v.pos)
        for p, row in enumerate(v.pos):
            like = next((w.pos[p] for w in vals if any(not f.virtual for f in w.pos[p])), None)
            if p != along and like and row and all(f.virtual for f in row):
                pos[p] = r.distinct([like], used)[0]
                used |= {r.key(f) for f in pos[p] if not f.virtual}
        result.append(r.expanded(v, pos) if pos != list(v.pos) else v)
    return result


def side_by_side(r: Reader, vals: list[Val], along: int, *key) -> Val:
    """Parts of a position, of which some are single entries: the sum of one block of zeros for each."""
    if vals[0].dtype == "bool":  # as numbers, which are added
        ones = [written(r, "convert", [v], "i32({0})", "i32") for v in vals]
        return written(r, "ne", [side_by_side(r, ones, along, *key)], "{0} != 0", "bool")
    total, at, whole = sum(v.extents()[along] for v in vals), 0, None
    for i, v in enumerate(alike(r, vals, along)):
        block = put(r, replace(v, affine=None), along, at, total, r.node_key("part", *key, i))
        whole = block if whole is None else written(r, "add", [whole, block], "{0} + {1}", v.dtype)
        at += v.extents()[along]
    return replace(whole, affine=None)


@rule("stack")
def _stack(r, eqn, vals):
    p = eqn.params["axis"]
    return side_by_side(r, [replace(v, pos=[*v.pos[:p], (), *v.pos[p:]], affine=None) for v in vals], p)


@rule("unstack")
def _unstack(r, eqn, vals):
    (x,), p = vals, eqn.params["axis"]
    parts = [part(r, x, p, i, 1, r.node_key("part", i)) for i in range(x.extents()[p])]
    return [replace(v, pos=[*v.pos[:p], *v.pos[p + 1:]], affine=None) for v in parts]


@rule("tile")
def _tile(r, eqn, vals):
    (x,) = vals
    pos = [(Factor(None, extent=n), *p) if n > 1 else p for n, p in zip(eqn.params["reps"], x.pos)]
    return replace(x, pos=pos, affine=None, made=x.made or ("broadcast", x))
