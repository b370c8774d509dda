"""Running sums along a split dim: each device's own `cumsum`, and what the blocks of the devices before it add up to."""
from __future__ import annotations

from dataclasses import replace

from .arithmetic import affine_of, blocks
from .reader import Reader
from .values import Val


def block_sum(r: Reader, x: Val, p: int) -> str:
    """The expression of the sum of each device's block."""
    rest = [g for g in x.dims if g not in x.pos[p]]
    return f'sum("{r.spell(x.dims)} -> {r.spell(rest, dict.fromkeys(x.pos[p][0].axes, "U"))}", {r.use(x)})'


def last(r: Reader, val: Val, p: int, start: int, size: int) -> Val | None:
    """The last entry of a device's running sum: the sum of its block."""
    x, along = r.running.get(val.text or "", (None, -1))
    if x is None or p != along or (start, size) != (val.extents()[p] - 1, 1):
        return None
    axes = x.pos[p][0].axes
    return Val(r.emit(block_sum(r, x, p)), [row if i != p else () for i, row in enumerate(x.pos)],
               [g for g in x.dims if g not in x.pos[p]], x.dtype, dict.fromkeys(axes, "U"))


def is_before(r: Reader, mask: Val, at: int, axes) -> bool:
    """Whether a mask is `arange(devices) < axis_index` along position `at`."""
    if [i for i, row in enumerate(mask.pos) if any(not f.virtual for f in row)] != [at]:
        return False
    while mask.made[:1] in (("broadcast",), ("convert_element_type",)):
        mask = mask.made[1]
    if mask.made[:1] not in (("lt",), ("gt",)):
        return False
    counting, device = map(affine_of, mask.made[1:] if mask.made[0] == "lt" else mask.made[:0:-1])
    if not counting or not device or counting.along is None or device.along is not None or device.const:
        return False
    return (counting.const, counting.scale, counting.ranks, counting.extent) == (0, 1, (), r.ranks(axes)) \
        and blocks(r, replace(device, extent=1, scale=1)) == tuple(axes)


def before(r: Reader, val: Val, axes) -> Val | None:
    """The sum of where(arange(devices) < axis_index, the devices' terms, 0) over the devices."""
    if val.made[:1] == ("select_n",):
        ways = [val.made[1:3]] if val.made[3].literal == 0 else []
    else:
        ways = [val.made[1:], val.made[:0:-1]] if val.made[:1] == ("mul",) else []
    for mask, terms in ways:
        if terms.made[:1] == ("terms",) and tuple(axes) == (terms.made[3],) and is_before(r, mask, terms.made[3], terms.made[2]):
            _, term, of, at = terms.made
            return Val(None, [row for i, row in enumerate(terms.pos) if i != at], dtype=terms.dtype, made=("before", term, tuple(of)),
                       why="what the devices before each one add up to is used otherwise than to go on with their running sums")
    return None


def gone_on(r: Reader, vals: list[Val]) -> Val | None:
    """A device's own running sum, and the sum of the blocks before it: the running sum of the whole."""
    made = r.expressions()
    for own, rest in (vals, vals[::-1]):
        x, p = r.running.get(own.text or "", (None, -1))
        if x is None or own.pos != x.pos or rest.made[:1] != ("before",):
            continue
        _, term, axes = rest.made
        rows = [tuple(f for f in row if not f.virtual) for row in rest.pos]
        if axes != x.pos[p][0].axes or made.get(term.text or "") != block_sum(r, x, p) \
                or rows != [row if i != p else () for i, row in enumerate(x.pos)][:len(rows)]:
            continue
        (f,) = x.pos[p]
        whole = replace(f, axes=(), extent=f.extent * r.ranks(axes))
        dims = [whole if g == f else g for g in x.dims]
        gathered = r.emit(f'all_gather("{r.spell(x.dims)} -> {r.spell(dims)}", {r.use(x)})')
        running = r.emit(f'cumsum("{r.spell(dims)}; {r.spell([whole])}", {gathered})')
        return replace(own, text=r.emit(f'slice("{r.spell(dims)} -> {r.spell(x.dims)}", {running})'), dims=list(x.dims), made=())
    return None


__all__ = ["before", "gone_on", "last"]
