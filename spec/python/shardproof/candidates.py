"""The largest entries along a split dim: each device's own `top_k`, gathered, and the largest of these, are the largest of all.
Of entries that are equal `top_k` takes the first, and devices are gathered in the order of their blocks: so are their indices."""
from __future__ import annotations

from dataclasses import dataclass, replace

from .arithmetic import affine_of, blocks
from .dims import Factor
from .reader import Reader
from .values import Affine, Val


@dataclass(frozen=True)
class Candidates:
    """The k largest entries that each device has of position p of x, whose dim f is split."""

    x: Val
    p: int
    f: Factor
    k: int

    def __eq__(self, other) -> bool:
        return isinstance(other, Candidates) and (self.x.text, self.x.pos, self.p, self.k) == (other.x.text, other.x.pos, other.p, other.k)


def own(r: Reader, x: Val, p: int, f: Factor, k: int) -> list[Val]:
    """What `top_k` gives each device: entries, and indices in its block. None of them has a text."""
    pos = [*x.pos[:p], (Factor(None, extent=k),) if k > 1 else (), *x.pos[p + 1:]]
    why = f"`top_k` along {r.dim_said(f)}: each device sees its own block; gather what it gives (the indices with the offset of " \
          "the block added) along the same dim, and take the `top_k` of that"
    return [Val(None, pos, dtype=dtype, made=("own_top_k", Candidates(x, p, f, k), what), why=why)
            for dtype, what in ((x.dtype, "entries"), ("i32", "in_block"))]


def offset_added(val: Val) -> tuple[Candidates, str, Affine] | None:
    """The candidates that a value is, and what was added to their indices."""
    if val.made[:1] == ("own_top_k",):
        return *val.made[1:], Affine()
    if val.made[:1] == ("add",):
        for a, b in (val.made[1:], val.made[:0:-1]):
            by = affine_of(b)
            if a.made[:1] == ("own_top_k",) and a.made[2] == "in_block" and by and by.along is None:
                return *a.made[1:], by
    return None


def gathered(r: Reader, val: Val, p: int, axes) -> Val | None:
    """The candidates of all devices side by side."""
    found = offset_added(val)
    if found is None:
        return None
    of, what, by = found
    if p != of.p or tuple(axes) != of.f.axes:
        return None
    if what == "in_block" and not by.const and blocks(r, replace(by, extent=of.f.extent, scale=1)) == of.f.axes:
        what = "in_whole"
    pos = [*val.pos[:p], (Factor(None, extent=of.k * r.ranks(axes)),), *val.pos[p + 1:]]
    return Val(None, pos, dtype=val.dtype, made=("all_top_k", of, what), why=val.why)


def largest(r: Reader, val: Val, p: int, k: int, top_k) -> list[Val] | None:
    """`top_k` of the entries of all candidates: that of x; and which candidates they are."""
    if val.made[:1] != ("all_top_k",) or val.made[2] != "entries":
        return None
    of = val.made[1]
    if p != of.p or k > min(of.k * r.ranks(of.f.axes), of.k if of.k < of.f.extent else k):
        return None
    marks = r.spell(of.x.dims, of.x.marks)
    whole = replace(of.f, axes=(), extent=of.f.extent * r.ranks(of.f.axes))
    to = {of.f: whole}
    dims = [to.get(g, g) for g in of.x.dims]
    text = r.emit(f'all_gather("{marks} -> {r.spell(dims, of.x.marks)}", {r.use(of.x)})')
    x = replace(of.x, text=text, dims=dims, pos=[tuple(to.get(g, g) for g in row) for row in of.x.pos], affine=None, made=())
    entries, ids = top_k(r, x, p, whole, k)
    return [entries, Val(None, ids.pos, dtype="i32", made=("chosen", of, ids),
                         why="which of the gathered candidates are the largest is used otherwise than to take their indices")]


def chosen(val: Val) -> tuple | None:
    """(candidates, indices of the largest in x) of a value that says which candidates are the largest."""
    return val.made[1:] if val.made[:1] == ("chosen",) else None


def in_place(eqn, results: list[Val]) -> list[Val]:
    """Candidates whose dims are moved are candidates no more; a dim of one entry after them changes nothing."""
    before, after = (tuple(v.aval.shape) for v in (eqn.invars[0], eqn.outvars[0]))
    if eqn.primitive.name != "transpose" and after in (before, (*before, 1)):
        return results
    if [n for n in before if n > 1] == [n for n in after if n > 1] and eqn.primitive.name != "transpose":
        return [replace(v, made=()) if v.made[:1] in KINDS[:-1] else v for v in results]
    return [replace(v, made=()) if v.made[:1] in KINDS else v for v in results]


KINDS = (("own_top_k",), ("all_top_k",), ("chosen",), ("terms",), ("own_argmax",), ("all_argmax",), ("first_device",))
# What else passes them on, or knows them.
KNOWN = {"add", "all_gather", "all_gather_invariant", "all_gather_reduced", "argmax", "convert_element_type", "copy", "dynamic_slice",
         "gather", "jit", "pjit", "closed_call", "remat", "checkpoint", "custom_jvp_call", "custom_vjp_call", "pcast", "pvary", "select_n",
         "stop_gradient", "top_k"}


def looked_up(table: Val, indices: Val, at: int, d) -> Val | None:
    """take_along_axis(indices of all candidates, which are the largest): the indices of the largest in x."""
    found, others = chosen(indices), tuple(p for p in range(len(table.pos)) if p != at)
    if d.offset_dims or (tuple(d.operand_batching_dims), tuple(d.start_indices_batching_dims)) != (others, others):
        return None
    if found and table.made[:1] == ("all_top_k",) and table.made[2] == "in_whole" and (found[0], found[0].p) == (table.made[1], at):
        return found[1]
    return None
