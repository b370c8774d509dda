"""Sums, products and quotients, and the integers among them that say where a block of a device begins."""
from __future__ import annotations

import operator
from dataclasses import replace

from .elementwise import all_literal, shape_positions, virtual, written
from .reader import Reader, dtype_name
from .rules import RULES, rule
from .values import Affine, Val, number


def combined(a: Affine, b: Affine, sign: int) -> Affine | None:
    if a.along is not None and b.along is not None:
        return None
    ranks = dict(a.ranks)
    for axis, n in b.ranks:
        ranks[axis] = ranks.get(axis, 0) + sign * n
    one = a if a.along is not None else b
    scale = one.scale * (1 if one is a else sign)
    return Affine(a.const + sign * b.const, tuple(sorted(ranks.items())), one.along, one.extent,
                  scale)


def affine_of(v: Val) -> Affine | None:
    if v.affine is not None:
        return v.affine
    return Affine(v.literal) if v.dtype == "i32" and v.literal is not None else None


MOST = 2 ** 30  # no dim has more entries


def beyond(number: float | None, n: int) -> bool:
    """Whether a number is n, or above the size of any dim. Another one that is larger than n where it was traced is not so at all sizes."""
    return number is not None and (number == n or number >= MOST - 1)


def arithmetic(name: str, template: str):
    def apply(r: Reader, eqn, vals: list[Val]) -> Val:
        if all_literal(vals) and all(v.dtype == "i32" for v in vals):
            return r.scalar(getattr(operator, name)(*(v.literal for v in vals)), "int32", shape_positions(vals))
        rotations = ()
        if name == "add":
            whole, rotations = added_rotations(r, vals)
            if whole is not None:
                return whole
            vals = counted_once(r, vals)
        a, b = map(affine_of, vals)
        result = None
        if a and b and name in ("add", "sub"):
            result = combined(a, b, 1 if name == "add" else -1)
        elif a and b and name == "mul" and (not a.ranks and a.along is None
                                            or not b.ranks and b.along is None):
            by, of = (a, b) if not a.ranks and a.along is None else (b, a)
            result = Affine(of.const * by.const, tuple((x, n * by.const) for x, n in of.ranks),
                            of.along, of.extent, of.scale * by.const)
        if result is not None and (result.ranks or any(v.text is None for v in vals)):
            return indices(r, eqn, vals, result, name)
        if any(v.text is None for v in vals):
            from . import lookups, running
            if name == "add" and (found := running.gone_on(r, vals)):
                return found
            if found := of_flag(r, name, vals):
                return found
            for v, other in (vals, vals[::-1]):  # x * (axis_index == 0), rows * mask
                if name == "mul" and v.made[:1] == ("convert_element_type",) and v.text is None:
                    mask = replace(v.made[1], pos=v.pos)
                    picked = lookups.select(r, mask, r.scalar(0, "float32", [virtual(p) for p in other.pos]), other)
                    if picked is not None and picked.text is not None:
                        return picked
            return Val(None, shape_positions(vals), dtype=vals[0].dtype, made=(name, *vals),
                       why=next((v.why for v in vals if v.text is None and v.why and not v.affine),
                                "a value that depends on the device's index is used otherwise than as an"
                                " offset of a block"))
        val = written(r, name, vals, template, dtype_name(eqn.outvars[0].aval.dtype),
                      positive=name != "sub" and all(v.positive for v in vals))
        val.affine = result
        if rotations:
            val.shifted = (*rotations, val.text, val.pos)
        return val
    RULES[name] = apply


def of_flag(r: Reader, name: str, vals: list[Val]) -> Val | None:
    """float(mask) - 1, of a mask that depends on the device: one of two numbers."""
    for i, (v, other) in enumerate((vals, vals[::-1])):
        if v.text is None and v.made[:1] == ("convert_element_type",) and v.made[1].dtype == "bool" and other.literal is not None:
            f, dtype = getattr(operator, name), "float32" if v.dtype == "f32" else "int32"
            two = [r.scalar(f(*((x, other.literal) if i == 0 else (other.literal, x))), dtype, [virtual(p) for p in v.pos]) for x in (1, 0)]
            return Val(None, v.pos, dtype=v.dtype, made=("select_n", v.made[1], *two), why=v.why)
    return None


def added_rotations(r: Reader, vals: list[Val]) -> tuple[Val | None, tuple]:
    """A ring written by hand: x and all its rotations over an axis, added, are its sum over the axis.
    (That sum, or nothing), (x, axis, the rotations that are added here)."""
    known = [v.shifted[:3] if v.shifted and v.shifted[3:] == (v.text, v.pos) else () for v in vals]
    if not any(known):
        return None, ()
    base, axis, _ = known[0] or known[1]
    parts = [k[2] if k and k[0].text == base.text and k[1] == axis
             else frozenset({0}) if (v.text, v.pos) == (base.text, base.pos) else None
             for k, v in zip(known, vals)]
    if any(p is None for p in parts) or parts[0] & parts[1]:
        return None, ()
    shifts = parts[0] | parts[1]
    if len(shifts) < r.dims.mesh[axis]:
        return None, (base, axis, shifts)
    from . import collectives
    return collectives.added(r, base, (axis,)), ()


def counted_once(r: Reader, vals: list[Val]) -> list[Val]:
    """x / |t| that each device of t adds to its term of a sum over t is x, counted once."""
    vals = list(vals)
    for i, v in enumerate(vals):
        marks = {a: m for a, m in vals[1 - i].marks.items() if a not in v.marks}
        if not marks or v.made[:1] != ("div",) or v.made[2].literal != r.ranks(marks) \
                or set(marks.values()) != {"U"} or any(a in f.axes for f in v.dims for a in marks):
            continue
        x = v.made[1]
        words = f'{r.spell(x.dims, x.marks)} -> {r.spell(x.dims, {**x.marks, **marks})}'
        text = r.emit(f'zero_nonroot("{words}", {r.use(x)})')
        vals[i] = replace(x, text=text, pos=v.pos, marks={**x.marks, **marks}, made=(), literal=None)
    return vals


def blocks(r: Reader, affine: Affine) -> tuple[str, ...] | None:
    """The axes in order where the coefficients of axis_index are the offsets of blocks."""
    if any(axis not in r.dims.mesh for axis, _ in affine.ranks):  # a ring's
        return None
    size, axes = affine.extent * affine.scale, []
    for axis, coefficient in sorted(affine.ranks, key=lambda item: item[1]):
        if coefficient != size:
            return None
        axes.insert(0, axis)
        size *= r.dims.mesh[axis]
    return tuple(axes)


def indices(r: Reader, eqn, vals, affine: Affine, name: str) -> Val:
    """axis_index * block + iota is the global index."""
    from . import rings
    affine = replace(affine, ranks=tuple((x, n) for x, n in affine.ranks if n))
    pos = [virtual(p) for p in next((v.pos for v in vals if v.affine and v.affine.along is not None),
                                    shape_positions(vals))]
    made = (name, *vals)
    if (of_ring := rings.positions(r, affine, pos, vals, name)) is not None:
        return of_ring
    if affine.along is not None and affine.scale == 1:
        axes = blocks(r, affine)
        if axes is not None:
            node = r.dims.node(r.node_key("iota"), affine.extent * r.ranks(axes))
            pos[affine.along] = r.dims.position(node, axes)
            factors = [f for p in pos for f in p if not f.virtual]
            text = r.emit(f'iota("{r.spell(factors)}")')
            if affine.const:
                text = r.emit(f"{text} + {number(affine.const)}")
            return Val(text, pos, factors, "i32", affine=affine, made=made)
    return Val(None, pos, dtype="i32", affine=affine, made=made,
               why="the device's index is used otherwise than as the offset of a block")


arithmetic("add", "{0} + {1}")
arithmetic("sub", "{0} - {1}")
arithmetic("mul", "{0} * {1}")
RULES["add_any"] = RULES["add"]


@rule("div")
def _div(r, eqn, vals):
    if vals[0].dtype == "i32":
        return toward_zero(r, eqn, vals, "{0} // {1}", "-((-{0}) // {1})")
    return written(r, "div", vals, "{0} / {1}", vals[0].dtype, positive=all(v.positive for v in vals))


@rule("rem")
def _rem(r, eqn, vals):
    if vals[0].dtype == "i32":
        return toward_zero(r, eqn, vals, "{0} % {1}", "-((-{0}) % {1})")
    cut = "where({0} / {1} < 0.0, -floor(-({0} / {1})), floor({0} / {1}))"
    return written(r, "rem", vals, f"{{0}} - {{1}} * {cut}", vals[0].dtype)


def toward_zero(r: Reader, eqn, vals: list[Val], template: str, negative: str) -> Val:
    """Quotient and rest of integers as JAX has them; `//` and `%` of the notation round down."""
    from . import rings
    x, by = vals
    name, signed = eqn.primitive.name, not str(eqn.invars[0].aval.dtype).startswith("uint")
    if name == "rem" and (block := rings.source(r, x, by, floored=False)):
        return block
    if by.literal is None or by.literal <= 0:
        raise r.problem(f"`{name}` of integers by a value that is not a positive constant")
    of = affine_of(x)
    if signed and not (of and of.const >= 0 and of.scale >= 0 and all(n >= 0 for _, n in of.ranks)):
        template = f"where({{0}} < 0, {negative}, {template})"
    return written(r, name, vals, template, "i32")


__all__ = ["affine_of", "beyond", "blocks", "combined", "indices"]
