"""Dims of which each device has one entry. The sum over a device's own entries is that entry: it is a term of the sum over all devices,
and it is the device's part of the dim. JAX writes both alike; what the value meets decides which one is meant."""
from __future__ import annotations

from dataclasses import replace

from .dims import ImportProblem, Position
from .values import Val


def entries(val: Val) -> Val | None:
    """The value as the devices' parts of what it is the sum of."""
    if not val.part:
        return None
    text, pos, part = val.part
    return part if (text, pos) == (val.text, val.pos) else None


def with_entries(val: Val, part: Val | None) -> Val:
    return replace(val, part=(val.text, val.pos, part)) if part is not None and val.text is not None else val


def beside(x: Val, gone) -> Val | None:
    """The value without the positions in `gone`, of one entry each: their dims stand in front of the next one's, or after the last one's."""
    pos, moved = [], ()
    for p, position in enumerate(x.pos):
        if p in gone:
            moved += tuple(f for f in position if not f.virtual)
        else:
            pos.append((*moved, *position))
            moved = ()
    if moved and not pos:
        return None
    if moved:
        pos[-1] = (*pos[-1], *moved)
    return replace(x, pos=pos, affine=None, made=(), part=())


def summed(r, eqn, x: Val, axes, val: Val) -> Val:
    """`val`, the sum of x over these positions, with x where each device has one entry of them: the gradient of a broadcast sums over
    all dims of one entry, and JAX writes it as any other sum."""
    one = r.plan and not r.outer and all(x.extents()[a] == 1 for a in axes) and any(f.axes for a in axes for f in x.pos[a])
    return with_entries(val, beside(x, axes)) if one else val


def moved(r, eqn, rule, before: Val, after: Val) -> Val:
    """What moves the dims of a value does it to the entries too."""
    part = entries(before)
    if part is None:
        return after
    try:
        other = rule(r, eqn, [part])
    except ImportProblem:
        return after
    other = spread_out(entries(other) or other)
    kept = {r.key(f) for f in other.dims} <= {r.key(f) for f in other.factors if not f.virtual}
    return with_entries(after, other) if kept and other.extents() == after.extents() else after


def spread_out(x: Val) -> Val:
    """With dims of one entry at positions of their own, where there are such beside theirs."""
    pos = list(x.pos)
    for order, first in ((range(1, len(pos)), 0), (range(len(pos) - 2, -1, -1), -1)):
        for p in order:
            to = p - 1 if first == 0 else p + 1
            if len(pos[p]) > 1 and not pos[to] and pos[p][first].axes and pos[p][first].extent == 1:
                pos[to] = (pos[p][first],)
                pos[p] = pos[p][1:] if first == 0 else pos[p][:-1]
    return replace(x, pos=pos)


def axes_at(position: Position) -> set[tuple[str, ...]]:
    return {f.axes for f in position if f.axes}


def meets(part: Val, val: Val, position: Position, p: int) -> bool:
    """Whether entries are of a dim that is split like one of this position, where the sum has none."""
    return bool((axes_at(part.pos[p]) - axes_at(val.pos[p])) & axes_at(position))


def beside_others(arrays: list[Val]) -> list[Val]:
    """Operands of one shape: entries in the place of a sum that meets a dim which is split alike."""
    def chosen(val: Val) -> Val:
        part = entries(val)
        others = [v for v in arrays if v is not val]
        meet = part is not None and any(meets(part, val, v.pos[p], p) for v in others for p in range(len(val.pos)))
        return part if meet else val
    return [chosen(v) for v in arrays]


def of_product(x: Val, y: Val, pairs) -> tuple[Val, Val]:
    """The operands of a product whose positions `pairs` meet. That of two sums over one axis is none."""
    left, right = entries(x), entries(y)
    if left is not None and right is not None and set(x.marks.items()) & set(y.marks.items()):
        return left, right
    if left is not None and any(meets(left, x, y.pos[q], p) for p, q in pairs):
        x = left
    if right is not None and any(meets(right, y, x.pos[p], q) for p, q in pairs):
        y = right
    return x, y


__all__ = ["beside", "beside_others", "entries", "moved", "of_product", "summed", "with_entries"]
