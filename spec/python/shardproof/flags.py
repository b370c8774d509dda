"""`any` and `all` along a split dim. Each device has the answer for its block; what is written is the count of entries, which is a
sum over the devices: some entry is true where the count is above 0, all are where that of the others is not."""
from __future__ import annotations

import operator
from dataclasses import dataclass, replace

from .elementwise import virtual, written
from .reader import Reader
from .reductions import reduced_over, without
from .rules import rule
from .values import Val


@dataclass(frozen=True)
class Flag:
    """Whether a device's term of a count is above 0, or (with `every`) is not."""

    count: Val
    every: bool

    def of_all(self, r: Reader, axes) -> Val | None:
        """The same of all devices of these axes; None where others are left."""
        from .collectives import added

        return answer(r, added(r, self.count, axes), self.every) if set(axes) == set(self.count.marks) else None


def answer(r: Reader, count: Val, every: bool) -> Val:
    text = r.emit(f"{r.use(count)} > 0")
    return replace(count, text=r.emit(f"not {text}") if every else text, dtype="bool", literal=None, positive=False, made=(), affine=None)


@rule("reduce_or", "reduce_and")
def _any(r: Reader, eqn, vals):
    every = eqn.primitive.name == "reduce_and"
    x = vals[0]
    if x.literal is not None:
        return r.scalar(x.literal, "bool", without(x, eqn.params["axes"]))
    if every:
        x = written(r, "not", [x], "not {0}", "bool")
    ones = replace(x, text=r.emit(f"i32({r.use(x)})"), dtype="i32", literal=None, made=())
    count = r.reduced(reduced_over(r, ones, eqn.params["axes"], "sum", "U"))
    r.counts.add(count.text)
    if not count.marks:
        return answer(r, count, every)
    word, by = ("all", "pmin") if every else ("any", "pmax")
    return Val(None, count.pos, dtype="bool", made=("flag", Flag(count, every)),
               why=f"`{word}` along a dim that is split: each device sees its own block. Take `lax.{by}` of it as an integer")


def of(val: Val) -> Flag | None:
    """The flag that a value is, also as a number."""
    while val.made[:1] == ("convert_element_type",):
        val = val.made[1]
    return val.made[1] if val.made[:1] == ("flag",) else None


def extreme(r: Reader, val: Val, axes, largest: bool) -> Val | None:
    """pmax of `any`, or pmin of `all`."""
    flag = of(val)
    found = flag.of_all(r, axes) if flag and largest != flag.every else None
    return found if found is None or val.dtype == "bool" else written(r, "convert", [found], val.dtype + "({0})", val.dtype)


def number(r: Reader, val: Val, axes) -> Val | None:
    """psum of flags: how many devices have it."""
    flag = of(val)
    if flag is None or val.dtype == "bool" or set(axes) != set(flag.count.marks):
        return None
    return Val(None, val.pos, dtype=val.dtype, made=("flags", flag, tuple(axes)),
               why="the number of devices on which `any` or `all` is true is used otherwise than to ask whether there is one, or all are")


# Of a number that is not below 0: (comparison, number) as whether it is above 0.
ABOVE = {("gt", 0): True, ("ge", 1): True, ("ne", 0): True, ("eq", 0): False, ("le", 0): False, ("lt", 1): False}
# Of the n devices: whether it is all of them.
ALL = {"eq": (0, True), "ge": (0, True), "gt": (-1, True), "ne": (0, False), "lt": (0, False), "le": (-1, False)}
TURNED = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge", "eq": "eq", "ne": "ne"}


def compared(r: Reader, name: str, vals: list[Val]) -> Val | None:
    """A comparison of a boolean as a number, of a count, or of how many devices have a flag."""
    from .collectives import added

    x, limit = vals
    if x.literal is not None:
        x, limit, name = limit, x, TURNED[name]
    if limit.literal is None:
        return None
    if x.made[:1] == ("convert",) and x.made[1].dtype == "bool" and x.text is not None and x.dims == x.made[1].dims:
        at_0, at_1 = (getattr(operator, name)(each, limit.literal) for each in (0, 1))
        b = replace(x.made[1], pos=x.pos, marks=dict(x.marks))
        return r.scalar(at_0, "bool", [virtual(p) for p in x.pos]) if at_0 == at_1 else b if at_1 else written(r, "not", [b], "not {0}", "bool")
    if x.text in r.counts and not x.marks and (name, limit.literal) in ABOVE and (name, limit.literal) != ("gt", 0):
        return answer(r, x, not ABOVE[name, limit.literal])
    if x.made[:1] != ("flags",):
        return None
    _, flag, axes = x.made
    if flag.every:
        more, holds = ALL[name]
        fits = limit.literal == r.ranks(axes) + more
    else:
        fits, holds = (name, limit.literal) in ABOVE, ABOVE.get((name, limit.literal))
    return answer(r, added(r, flag.count, axes), flag.every == holds) if fits else None


__all__ = ["compared", "extreme", "number"]
