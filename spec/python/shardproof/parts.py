"""Parts of a value along one position, and a value put into zeros: split, pad, and what slices and updates need."""
from __future__ import annotations

from dataclasses import replace
from math import prod

from . import rewrites, running
from .dims import Factor
from .elementwise import virtual
from .reader import Reader
from .rules import rule
from .values import Val, number


def one_factor(r: Reader, x: Val, p: int) -> Factor:
    if len(x.pos[p]) != 1:
        raise r.problem("a part is taken of a position that is several dims together")
    return x.pos[p][0]


def part(r: Reader, x: Val, p: int, start: int, size: int, key) -> Val:
    """Entries start .. start + size of position p."""
    if size == x.extents()[p]:
        return x
    if found := running.last(r, x, p, start, size):
        return found
    if size == 0:
        return Val(None, [*x.pos[:p], (Factor(None, extent=0),), *x.pos[p + 1:]], dtype=x.dtype,
                   why="a part without entries is used")
    if all(f.virtual for f in x.pos[p]):
        return replace(x, pos=[*x.pos[:p], virtual((Factor(None, extent=size),)), *x.pos[p + 1:]])
    first, *rest = x.pos[p]
    if size == 1 and rest and not first.virtual:  # an entry of several dims together: one of each
        inner = prod(f.extent for f in rest)
        one = part(r, replace(x, pos=[*x.pos[:p], (first,), tuple(rest), *x.pos[p + 1:]]), p, start // inner, 1, (*key, "first"))
        return part(r, replace(one, pos=[*one.pos[:p], *one.pos[p + 1:]]), p, start % inner, 1, (*key, "rest"))
    if old := next((f for f in x.pos[p] if f.axes), None):
        raise r.problem(f"a part is taken of {r.dim_said(old)}: each device takes it of its own block", "finding")
    if rest:
        return rewrites.moved(r, x, p, -start, size)
    old = first
    if size == 1:
        new: tuple = ()
    else:
        new = r.distinct([r.dims.position(r.dims.node((*key, p), size))],
                         {r.key(f) for f in x.dims})[0]
    if len(new) > 1:
        return rewrites.moved(r, x, p, -start, size)
    left = " ".join(f"[{r.spell([f])}]" if f == old else r.spell([f]) for f in x.dims)
    dims = [g for f in x.dims for g in (new if f == old else (f,))]
    marks = r.spell([], x.marks)
    text = r.emit(f'read("{left} {marks} -> {r.spell(dims, x.marks)}", {r.use(x)},'
                  f" at={number(start)})".replace("  ", " "))
    return replace(x, text=text, pos=[*x.pos[:p], tuple(new), *x.pos[p + 1:]], dims=dims,
                   affine=None, made=("slice", x))


@rule("split")
def _split(r, eqn, vals):
    results, start = [], 0
    for i, size in enumerate(eqn.params["sizes"]):
        results.append(part(r, vals[0], eqn.params["axis"], start, size, r.node_key("split", i)))
        start += size
    return results


@rule("pad")
def _pad(r, eqn, vals):
    x, value = vals
    if value.literal != 0:
        raise r.problem("pads with another value than 0")
    for p, (low, high, inner) in enumerate(eqn.params["padding_config"]):
        if inner:
            x = apart(r, x, p, low, high, inner, r.node_key("inner", p))
            continue
        if low or high:
            size = x.extents()[p] + low + high
            if low < 0 or high < 0:
                start = max(0, -low)
                x = part(r, x, p, start, x.extents()[p] - start - max(0, -high),
                         r.node_key("pad", p))
                low, high = max(0, low), max(0, high)
            x = put(r, x, p, low, size, r.node_key("pad", p))
    return x


def apart(r: Reader, x: Val, p: int, low: int, high: int, inner: int, key) -> Val:
    """x with `inner` zeros between its entries along p, and with those before and after them."""
    n, step = x.extents()[p], inner + 1
    size = low + (n - 1) * step + 1 + high
    if 0 <= low < step and size == n * step:  # each entry at the same place of as many
        rows = put(r, replace(x, pos=[*x.pos[:p + 1], (), *x.pos[p + 1:]]), p + 1, low, step, key)
        return replace(rows, pos=[*rows.pos[:p], (*rows.pos[p], *rows.pos[p + 1]), *rows.pos[p + 2:]], affine=None)

    return rewrites.moved(r, x, p, low, size, step)


def put(r: Reader, x: Val, p: int, start: int, size: int, key) -> Val:
    """x as a block of zeros of `size` along p."""
    if size == x.extents()[p]:
        return x
    others = [row if row and all(f.virtual for f in row) and q != p else None for q, row in enumerate(x.pos)]
    if any(others):  # broadcast: it stays so
        x = put(r, replace(x, pos=[() if old else row for old, row in zip(others, x.pos)]), p, start, size, key)
        return replace(x, pos=[old or row for old, row in zip(others, x.pos)])
    x = r.ordered(r.solid(x, key))
    if any(f.axes for f in x.pos[p]):
        raise r.problem("pads a dim that is split")
    if len(x.pos[p]) > 1:
        return rewrites.moved(r, x, p, start, size)
    new = r.dims.position(r.dims.node((*key, "to"), size))
    others = {r.key(f) for q, row in enumerate(x.pos) if q != p for f in row}
    new = r.distinct([new], others)[0]
    if len(new) == 1:
        return put_into(r, x, p, new[0], start)
    if x.pos[p]:
        return rewrites.moved(r, x, p, start, size)
    whole = replace(x, pos=[*x.pos[:p], (), *x.pos[p:]])  # a position for the outer factors, one for the last
    for f in reversed(new):
        whole = put_into(r, whole, p + 1, f, start % f.extent)
        whole = replace(whole, pos=[*whole.pos[:p + 1], (), *whole.pos[p + 1:]])
        start //= f.extent
    merged = tuple(f for row in whole.pos[p:p + 2 + len(new)] for f in row)
    return replace(whole, pos=[*x.pos[:p], merged, *whole.pos[p + 2 + len(new):]])


def put_into(r: Reader, x: Val, p: int, new: Factor, start: int) -> Val:
    """x in zeros along p, which is the dim `new` there."""
    pos = [*x.pos[:p], (new,), *x.pos[p + 1:]]
    dims = [f for row in pos for f in row]
    left = " ".join(f"[{r.spell([f])}]" if f == new else r.spell([f]) for f in dims)
    zeros = f"zeros({x.dtype}[{r.spell(dims)}]{r.spell([], x.marks)})"
    source = r.use(x) if x.dims else f"{x.dtype}({r.use(x)})"  # of a number too
    text = r.emit(f'write("{left} {r.spell([], x.marks)}, {r.spell(x.dims, x.marks)} -> '
                  f'{r.spell(dims, x.marks)}", {zeros}, {source}, at={number(start)})'
                  .replace(" ,", ","))
    return replace(x, text=text, pos=pos, dims=dims, literal=None, affine=None, positive=False)
