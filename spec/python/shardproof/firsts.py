"""Where the largest entry along a split dim stands: each device's own `argmax`, with the offset of its block, and that of the first
device whose maximum is the largest. Of entries that are equal `argmax` takes the first, and blocks stand in the order of devices."""
from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .arithmetic import affine_of, beyond, blocks
from .dims import Factor
from .reader import Reader
from .values import Val


@dataclass(frozen=True)
class Along:
    """Position p of x, whose dim f is split."""

    x: Val
    p: int
    f: Factor

    def __eq__(self, other) -> bool:
        return isinstance(other, Along) and (self.x.text, self.x.pos, self.p) == (other.x.text, other.x.pos, other.p)

    def rows(self) -> list:
        return [row for i, row in enumerate(self.x.pos) if i != self.p and row]


def own(r: Reader, x: Val, p: int, f: Factor) -> Val:
    """What `argmax` gives each device: an index in its block. It has no text."""
    why = f"`argmax` along {r.dim_said(f)}: each device sees its own block. Add the offset of the block, and take what the first device " \
          "with the largest maximum has: `lax.pmin(jnp.where(own == largest, index, size), axis)`"
    return Val(None, [row for i, row in enumerate(x.pos) if i != p], dtype="i32", made=("own_argmax", Along(x, p, f)), why=why)


def in_whole(r: Reader, val: Val) -> Along | None:
    """What a value is each device's own index of, in the whole dim."""
    for a, b in (val.made[1:], val.made[:0:-1]) if val.made[:1] == ("add",) else ():
        by = affine_of(b)
        if a.made[:1] == ("own_argmax",) and by and by.along is None and not by.const:
            of = a.made[1]
            return of if blocks(r, replace(by, extent=of.f.extent, scale=1)) == of.f.axes else None
    return None


def maximum_of(val: Val) -> Along | None:
    """What a value is each device's own maximum of."""
    if val.made[:1] != ("reduce_max",) or val.made[3:] != (val.text, val.pos) or len(val.made[2]) != 1:
        return None
    _, x, (p,), *_ = val.made
    return Along(x, p, x.pos[p][0]) if len(x.pos[p]) == 1 and x.pos[p][0].axes else None


def of_all(r: Reader, of: Along, rows: list) -> Val | None:
    """The argmax of the whole, at the positions `rows`."""
    if [row for row in rows if row] != of.rows():
        return None
    whole = replace(of.f, axes=(), extent=of.f.extent * r.ranks(of.f.axes))
    dims = [whole if g == of.f else g for g in of.x.dims]
    rest = [g for g in of.x.dims if g != of.f]
    x = r.emit(f'all_gather("{r.spell(of.x.dims, of.x.marks)} -> {r.spell(dims, of.x.marks)}", {r.use(of.x)})')
    text = r.emit(f'argmax("{r.spell(dims, of.x.marks)} -> {r.spell(rest, of.x.marks)}", {x})')
    return Val(text, list(rows), rest, "i32", dict(of.x.marks))


def negative(r: Reader, val: Val) -> Val | None:
    """-x of each device's own index in the whole dim."""
    if val.text is not None or in_whole(r, val) is None:
        return None
    return Val(None, val.pos, dtype=val.dtype, made=("neg", val), why=val.why)


def largest(r: Reader, val: Val, axes) -> Val | None:
    """pmax(where(own maximum == largest maximum, -index, what is smaller)): the index with a minus."""
    if val.made[:1] != ("select_n",):
        return None
    _, condition, yes, no = val.made
    if yes.made[:1] != ("neg",) or yes.text is not None or no.literal is None:
        return None
    turned = replace(val, made=("select_n", condition, yes.made[1], replace(no, literal=-no.literal)))
    found = smallest(r, turned, axes)
    return found and replace(found, text=r.emit(f"-{r.use(found)}"))


def smallest(r: Reader, val: Val, axes) -> Val | None:
    """pmin(where(own maximum == largest maximum, index, what is larger))."""
    if val.made[:1] != ("select_n",):
        return None
    _, condition, yes, no = val.made
    of = in_whole(r, yes)
    if of is None or condition.made[:1] != ("eq",) or set(axes) != set(of.f.axes) \
            or not beyond(no.literal, of.f.extent * r.ranks(of.f.axes)):
        return None
    made = r.expressions()
    for mine, most in (condition.made[1:], condition.made[:0:-1]):
        reduced = re.fullmatch(r'all_reduce\(".*", (\w+)\)', made.get(most.text or "", ""))
        if maximum_of(mine) == of and reduced and made.get(reduced[1], "") == made.get(mine.text or "") \
                and not set(of.f.axes) & set(most.marks):
            return of_all(r, of, val.pos)
    return None


def gathered(r: Reader, val: Val, p: int, axes) -> Val | None:
    """The indices of all devices, one beside the other."""
    of = in_whole(r, val)
    if of is None or tuple(axes) != of.f.axes:
        return None
    pos = [*val.pos[:p], (Factor(None, extent=r.ranks(axes)),), *val.pos[p:]]
    return Val(None, pos, dtype="i32", made=("all_argmax", of, p), why=val.why)


def first_device(x: Val, p: int) -> Val | None:
    """`argmax` of the devices' own maxima: the first device that has the largest."""
    if x.made[:1] != ("terms",) or x.made[3] != p:
        return None
    of = maximum_of(x.made[1])
    if of is None or tuple(x.made[2]) != of.f.axes:
        return None
    return Val(None, [row for i, row in enumerate(x.pos) if i != p], dtype="i32", made=("first_device", of),
               why="which device has the largest entry is used otherwise than to take its index")


def is_device(val: Val) -> bool:
    return val.made[:1] == ("first_device",)


def looked_up(r: Reader, table: Val, device: Val, at: int, rows: list) -> Val | None:
    """The index of the first device that has the largest entry."""
    if table.made[:1] != ("all_argmax",) or not is_device(device) or table.made[1:] != (device.made[1], at):
        return None
    others = [row for i, row in enumerate(table.pos) if i != at and row]
    return of_all(r, device.made[1], rows) if others == device.made[1].rows() else None


__all__ = ["first_device", "gathered", "is_device", "largest", "looked_up", "negative", "own", "smallest"]
