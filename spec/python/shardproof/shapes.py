"""Broadcasts, transposes, reshapes, and the positions of entries."""
from __future__ import annotations

from dataclasses import replace

from . import single
from .dims import spread
from .reader import Reader, dtype_name
from .rules import rule
from .values import Affine, Val, number


@rule("broadcast_in_dim")
def _broadcast(r, eqn, vals):
    (x,) = vals[:1]
    shape, at = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    pos = spread(shape)
    affine = x.affine
    for i, p in enumerate(at):
        if x.extents()[i] == shape[p]:
            pos[p] = x.pos[i]
        if affine and affine.along == i:
            affine = replace(affine, along=p)
    return replace(x, pos=pos, affine=affine, made=x.made or ("broadcast", x))


@rule("transpose")
def _transpose(r, eqn, vals):
    x = vals[0]
    return replace(x, pos=[x.pos[i] for i in eqn.params["permutation"]], affine=None)


def dropped(r: Reader, x: Val, gone) -> Val:
    """Without the dims in `gone` of which each device has one entry: what a device holds is a term
    of the sum over them."""
    real = {f for p in gone for f in x.pos[p] if not f.virtual}
    if not real:
        return x
    marks = {**x.marks, **{a: "U" for f in real for a in f.axes}}
    dims = [f for f in x.dims if f not in real]
    text = r.emit(f'sum("{r.spell(x.dims, x.marks)} -> {r.spell(dims, marks)}", {r.use(x)})')
    pos = [() if p in gone else position for p, position in enumerate(x.pos)]
    return replace(x, text=text, dims=dims, marks=marks, pos=pos, affine=None, positive=False)


@rule("squeeze")
def _squeeze(r, eqn, vals):
    x, gone = vals[0], set(eqn.params["dimensions"])
    term = dropped(r, x, gone)
    val = replace(term, pos=[p for i, p in enumerate(term.pos) if i not in gone], affine=None)
    return val if term is x else single.with_entries(val, single.beside(x, gone))


@rule("expand_dims")
def _expand_dims(r, eqn, vals):
    x, pos = vals[0], list(vals[0].pos)
    for i in sorted(eqn.params["dimensions"]):
        pos.insert(i, ())
    return replace(x, pos=pos, affine=None)


@rule("reshape")
def _reshape(r, eqn, vals):
    x, sizes = vals[0], eqn.params["new_sizes"]
    if 1 in sizes:
        return laid(r, x, sizes)
    term = dropped(r, x, {p for p, n in enumerate(x.extents()) if n == 1})
    val = laid(r, term, sizes)
    return val if term is x else single.with_entries(val, laid(r, x, sizes))


def laid(r: Reader, x: Val, sizes) -> Val:
    """The value with its factors at positions of these sizes."""
    left = [f for f in x.factors if f.extent > 1 or f.axes]
    pos = []
    for size in sizes:
        row = []
        while size > 1:
            if not left:
                raise r.problem("reshape does not keep the number of entries", "finding")
            if size % left[0].extent:
                left[:1] = r.cut(left[0], size)
            size //= left[0].extent
            row.append(left.pop(0))
        while left and left[0].extent == 1 and not row:
            row.append(left.pop(0))
        pos.append(tuple(row))
    if left and pos:
        pos[-1] = (*pos[-1], *left)
    return replace(x, pos=pos, affine=None)


@rule("iota")
def _iota(r, eqn, vals):
    shape, along = eqn.params["shape"], eqn.params["dimension"]
    pos = spread(shape)
    if shape[along] == 1:
        return r.scalar(0, eqn.params["dtype"], pos)
    pos[along] = r.dims.position(r.dims.node(r.node_key("iota"), shape[along]))
    text = r.emit(f'iota("{r.spell(pos[along])}")') if len(pos[along]) == 1 else positions(r, pos[along])
    val = Val(text, pos, list(pos[along]), "i32", made=("iota",),
              affine=Affine(0, (), along, shape[along], 1))
    if dtype_name(eqn.params["dtype"]) == "f32":
        val = replace(val, text=r.emit(f"f32({text})"), dtype="f32", affine=None)
    return val


def positions(r: Reader, factors) -> str:
    """The positions of several dims together, the last one fastest."""
    total, size = "", 1
    for f in reversed(factors):
        one = r.emit(f'iota("{r.spell([f])}") * {number(size)}')
        wide = r.emit(f'expand("{r.spell([f])} -> {r.spell(factors)}", {one})')
        total, size = r.emit(f"{total} + {wide}") if total else wide, size * f.extent
    return total


__all__ = ["dropped"]
