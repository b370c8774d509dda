"""How each primitive of a jaxpr is written: one function of (reader, equation, operands) each."""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import replace
from math import prod

import jax.numpy as jnp

from . import divided
from .dims import Factor, ImportProblem
from .reader import RANDOM, Reader, dtype_name
from .values import Affine, Val, number

RULES: dict[str, Callable] = {}


def rule(*names: str):
    def add(function):
        RULES.update(dict.fromkeys(names, function))
        return function
    return add


def rule_of(name: str) -> Callable:
    from . import collectives, joined, loops, lookups, orders, parts, rewrites, trust  # noqa: F401  (they add rules)

    if name in RULES:
        return RULES[name]

    def unknown(reader: Reader, eqn, operands):
        if name.startswith(("random_", "threefry", "rng_")):
            raise reader.problem(f"`{name}` draws {RANDOM}")
        raise reader.problem(f"the primitive `{name}` has no form in the notation: write it with others, or "
                             "mark its function with @shardproof.trusted(reference)")
    return unknown


# Elementwise


def union(vals: list[Val]) -> dict[str, str]:
    return {axis: mark for v in vals for axis, mark in v.marks.items()}


def written(r: Reader, name: str, vals: list[Val], template: str, dtype: str, **more) -> Val:
    """An elementwise operation; `template` has {0}, {1}.. for the operands."""
    if any(v.pos for v in vals):
        arrays = [v for v in vals]
        vals, pos, dims = r.matched(arrays)
    else:
        pos, dims = [], []
    text = r.emit(template.format(*(r.use(v) for v in vals)))
    val = Val(text, pos, list(dims), dtype, union(vals), made=(name, *vals), **more)
    return r.reduced(val)


def elementwise(name: str, template: str, dtype: str | None = None, positive: bool = False):
    def apply(r: Reader, eqn, vals: list[Val]) -> Val:
        return written(r, name, vals, template, dtype or dtype_name(eqn.outvars[0].aval.dtype),
                       positive=positive)
    RULES[name] = apply


for _name, _template in {
        "neg": "-{0}", "log": "log({0})", "tanh": "tanh({0})", "sin": "sin({0})", "cos": "cos({0})",
        "floor": "floor({0})", "erf": "erf({0})", "square": "{0} * {0}", "log1p": "log(1.0 + {0})",
        "expm1": "exp({0}) - 1.0", "erfc": "1.0 - erf({0})", "tan": "sin({0}) / cos({0})",
        "sinh": "0.5 * (exp({0}) - exp(-{0}))", "cosh": "0.5 * (exp({0}) + exp(-{0}))",
        "ceil": "-floor(-{0})", "atan2": "atan2({0}, {1})", "atan": "atan2({0}, 1.0)",
        "asin": "atan2({0}, sqrt(1.0 - {0} * {0}))", "acos": "atan2(sqrt(1.0 - {0} * {0}), {0})",
        "asinh": "log({0} + sqrt({0} * {0} + 1.0))", "acosh": "log({0} + sqrt({0} * {0} - 1.0))",
        "atanh": "0.5 * log((1.0 + {0}) / (1.0 - {0}))",
        "cbrt": "where({0} < 0.0, -pow(abs({0}), 1.0 / 3.0), pow(abs({0}), 1.0 / 3.0))"}.items():
    elementwise(_name, _template)
for _name, _template in {"exp": "exp({0})", "logistic": "sigmoid({0})", "rsqrt": "rsqrt({0})",
                         "exp2": "pow(2.0, {0})"}.items():
    elementwise(_name, _template, positive=True)
@rule("eq", "ne")
def _equal(r: Reader, eqn, vals: list[Val]) -> Val:
    equal = eqn.primitive.name == "eq"
    if all_literal(vals):
        return r.scalar((vals[0].literal == vals[1].literal) == equal, "bool", shape_positions(vals))
    for i, v in enumerate(vals):
        if v.literal in (float("inf"), float("-inf")):  # no real number is
            return r.scalar(not equal, "bool", [virtual(p) for p in vals[1 - i].pos])
    if any(v.text is None for v in vals):
        from . import lookups
        return lookups.equal(r, eqn, vals)
    if vals[0].text == vals[1].text and vals[0].pos == vals[1].pos:  # isnan: no real number is
        return r.scalar(equal, "bool", [virtual(p) for p in vals[0].pos])
    return written(r, eqn.primitive.name, vals, "{0} == {1}" if equal else "{0} != {1}", "bool")


@rule("and", "or", "not")
def _logic(r: Reader, eqn, vals: list[Val]) -> Val:
    name = eqn.primitive.name
    if vals[0].dtype == "i32":
        return bits(r, name, vals, str(eqn.invars[0].aval.dtype).startswith("int"))
    if any(v.text is None for v in vals):
        from . import lookups
        for v, other in (vals, vals[::-1]) if name == "and" else ():
            if v.made[:1] == ("one_hot",) and (hit := lookups.in_block(r, v, other)):
                return hit
        return Val(None, shape_positions(vals), dtype="bool", made=(name, *vals), why=vals[0].why)
    if name == "not" and vals[0].literal is not None:
        return r.scalar(not vals[0].literal, "bool", vals[0].pos)
    for i, v in enumerate(vals if name != "not" else []):
        if v.literal is not None and v.dtype == "bool":
            other = vals[1 - i]
            wins = v.literal == (name == "or")
            return r.scalar(v.literal, "bool", [virtual(p) for p in other.pos]) if wins else other
    return written(r, name, vals, "not {0}" if name == "not" else f"{{0}} {name} {{1}}", "bool")


def bits(r: Reader, name: str, vals: list[Val], signed: bool) -> Val:
    """The bits of integers that arithmetic has too: x & (2^k - 1), and ~x."""
    if name == "not" and signed:
        return written(r, name, vals, "-1 - {0}", "i32")
    for x, mask in (vals, vals[::-1]) if name == "and" else ():
        if mask.literal is not None and mask.literal > 0 and mask.literal & (mask.literal + 1) == 0:
            return written(r, name, [x], "{0} % " + number(mask.literal + 1), "i32")
    raise r.problem(f"`{name}` of the bits of integers")


@rule("pow")
def _pow(r, eqn, vals):
    words = [f"{{{i}}}" if v.dtype == "f32" else f"f32({{{i}}})" for i, v in enumerate(vals)]
    return written(r, "pow", vals, f"pow({', '.join(words)})", "f32", positive=vals[0].positive)


@rule("round")
def _round(r, eqn, vals):
    away = int(eqn.params["rounding_method"]) == 0  # from 0; else to the nearest even number
    template = "where({0} < 0.0, -floor(0.5 - {0}), floor({0} + 0.5))" if away else "round({0})"
    return written(r, "round", vals, template, vals[0].dtype)


@rule("sqrt")
def _sqrt(r, eqn, vals):
    return written(r, "sqrt", vals, "sqrt({0})", "f32", positive=vals[0].positive)


@rule("abs")
def _abs(r, eqn, vals):
    return vals[0] if vals[0].positive else written(r, "abs", vals, "abs({0})", vals[0].dtype)


@rule("sign")
def _sign(r, eqn, vals):
    (x,) = vals
    if x.positive:
        return r.scalar(1, "float32" if x.dtype == "f32" else "int32", [virtual(p) for p in x.pos])
    if x.dtype == "i32":
        return written(r, "sign", vals, "minimum(maximum({0}, -1), 1)", x.dtype)
    return written(r, "sign", vals, "where({0} > 0.0, 1.0, where({0} < 0.0, f32(-1.0), 0.0))", x.dtype)


@rule("is_finite")
def _is_finite(r, eqn, vals):  # real numbers are
    return r.scalar(True, "bool", [virtual(p) for p in vals[0].pos])


@rule("stop_gradient", "pvary", "pcast", "copy", "copy_p", "optimization_barrier", "name",
      "reduce_precision", "reshard", "sharding_constraint", "device_put", "pbroadcast", "core_pvary")
def _same(r, eqn, vals):
    return list(vals)


def virtual(position) -> tuple[Factor, ...]:
    extent = prod(f.extent for f in position)
    return (Factor(None, extent=extent),) if extent > 1 else ()


def all_literal(vals: list[Val]) -> bool:
    return all(v.literal is not None for v in vals)


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
            from . import lookups
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


def shape_positions(vals):
    return next((v.pos for v in vals if v.pos), [])


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
        return toward_zero(r, "div", vals, "{0} // {1}", "-((-{0}) // {1})")
    return written(r, "div", vals, "{0} / {1}", vals[0].dtype, positive=all(v.positive for v in vals))


@rule("rem")
def _rem(r, eqn, vals):
    if vals[0].dtype == "i32":
        return toward_zero(r, "rem", vals, "{0} % {1}", "-((-{0}) % {1})")
    cut = "where({0} / {1} < 0.0, -floor(-({0} / {1})), floor({0} / {1}))"
    return written(r, "rem", vals, f"{{0}} - {{1}} * {cut}", vals[0].dtype)


def toward_zero(r: Reader, name: str, vals: list[Val], template: str, negative: str) -> Val:
    """Quotient and rest of integers as JAX has them; `//` and `%` of the notation round down."""
    from . import rings
    x, by = vals
    if name == "rem" and (block := rings.source(r, x, by, floored=False)):
        return block
    if by.literal is None or by.literal <= 0:
        raise r.problem(f"`{name}` of integers by a value that is not a positive constant")
    of = affine_of(x)
    if not (of and of.const >= 0 and of.scale >= 0 and all(n >= 0 for _, n in of.ranks)):
        template = f"where({{0}} < 0, {negative}, {template})"
    return written(r, name, vals, template, "i32")


@rule("max", "min")
def _max(r, eqn, vals):
    name = eqn.primitive.name
    neutral = float("-inf") if name == "max" else float("inf")
    for i, v in enumerate(vals):
        if v.literal == neutral and v.dtype == "f32":
            return vals[1 - i]
    if any(v.text is None for v in vals):  # ids, clipped to a block
        return Val(None, shape_positions(vals), dtype=vals[0].dtype, made=(name, *vals),
                   why=next(v.why for v in vals if v.text is None))
    return written(r, name, vals, name + "imum({0}, {1})", vals[0].dtype,
                   positive=name == "max" and any(v.positive for v in vals))


@rule("clamp")
def _clamp(r, eqn, vals):
    low, x, high = vals
    if all_literal(vals) and x.dtype == "i32":
        return r.scalar(min(max(x.literal, low.literal), high.literal), "int32", x.pos)
    low = low if low.pos else replace(low, pos=[virtual(p) for p in x.pos])
    high = high if high.pos else replace(high, pos=[virtual(p) for p in x.pos])
    if any(v.text is None for v in vals):
        return Val(None, x.pos, dtype=x.dtype, made=("clamp", low, x, high), why=x.why)
    return written(r, "clamp", [low, x, high], "minimum(maximum({1}, {0}), {2})", x.dtype)


ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def constant(v: Val) -> float | None:
    """The number that a value is, where it is a sum or a product of literals."""
    if v.literal is not None or v.made[:1] not in ((name,) for name in ARITHMETIC):
        return v.literal
    a, b = map(constant, v.made[1:])
    return None if a is None or b is None else ARITHMETIC[v.made[0]](a, b)


@rule("ge", "gt", "le", "lt")
def _compare(r, eqn, vals):
    from . import candidates
    name = eqn.primitive.name
    if name == "lt" and vals[1].literal == 0 and candidates.chosen(vals[0]):  # they count from the front
        return r.scalar(False, "bool", [virtual(p) for p in vals[0].pos])
    if any(v.text is None for v in vals):
        return Val(None, shape_positions(vals), dtype="bool", made=(name, *vals),
                   why="a comparison with the device's index is used otherwise than in a look-up")
    sign = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}[name]
    known = [constant(v) for v in vals]
    if None not in known:
        return r.scalar(getattr(operator, name)(*known), "bool", shape_positions(vals))
    return written(r, name, vals, f"{{0}} {sign} {{1}}", "bool")


@rule("select_n")
def _select(r, eqn, vals):
    from . import lookups, rewrites
    if len(vals) != 3:
        return rewrites.read(r, eqn, vals, lambda i, *cases: functools.reduce(
            lambda rest, k: jnp.where(i == k, cases[k], rest), reversed(range(len(cases) - 1)), cases[-1]))
    condition, no, yes = vals
    if condition.literal is not None:
        return yes if condition.literal else no
    found = lookups.select(r, condition, no, yes)
    if found is not None:
        return found
    return where(r, condition, yes, no)


def where(r: Reader, condition: Val, yes: Val, no: Val) -> Val:
    """Numbers have no dtype of their own: one of two is cast."""
    template = f"where({{0}}, {yes.dtype}({{1}}), {{2}})" if not (yes.dims or no.dims) \
        and yes.dtype != "bool" else "where({0}, {1}, {2})"
    return written(r, "select_n", [condition, yes, no], template, yes.dtype,
                   positive=yes.positive and no.positive)


@rule("integer_pow")
def _integer_pow(r, eqn, vals):
    y = eqn.params["y"]
    body = " * ".join(["{0}"] * abs(y)) if 0 < abs(y) <= 4 else f"pow({{0}}, {float(y)})"
    if -4 <= y < 0:
        body = f"1.0 / ({body})"
    return written(r, "integer_pow", vals, body, vals[0].dtype, positive=vals[0].positive)


@rule("convert_element_type")
def _convert(r, eqn, vals):
    (x,), to = vals, dtype_name(eqn.params["new_dtype"])
    if to == x.dtype:
        return x
    if x.literal is not None:
        return r.scalar(x.literal, eqn.params["new_dtype"], x.pos)
    if x.text is None:
        return replace(x, dtype=to, made=("convert_element_type", x))
    if to == "bool":
        return written(r, "convert", vals, "{0} != 0", to)
    return written(r, "convert", vals, to + "({0})", to)


# Shapes


@rule("broadcast_in_dim")
def _broadcast(r, eqn, vals):
    (x,) = vals[:1]
    shape, at = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    pos = [(Factor(None, extent=n),) if n > 1 else () for n in shape]
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
    x = dropped(r, x, gone)
    return replace(x, pos=[p for i, p in enumerate(x.pos) if i not in gone], affine=None)


@rule("expand_dims")
def _expand_dims(r, eqn, vals):
    x, pos = vals[0], list(vals[0].pos)
    for i in sorted(eqn.params["dimensions"]):
        pos.insert(i, ())
    return replace(x, pos=pos, affine=None)


@rule("reshape")
def _reshape(r, eqn, vals):
    x = vals[0]
    if 1 not in eqn.params["new_sizes"]:
        x = dropped(r, x, {p for p, n in enumerate(x.extents()) if n == 1})
    left = [f for f in x.factors if f.extent > 1 or f.axes]
    pos = []
    for size in eqn.params["new_sizes"]:
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
    pos = [(Factor(None, extent=n),) if n > 1 else () for n in shape]
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


# Reductions


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
    return replace(r.reduced(val), made=("reduce_sum", x))


@rule("reduce_max")
def _reduce_max(r, eqn, vals):
    x, axes = terms_reduced(r, vals[0], eqn.params["axes"], "Max")
    return r.reduced(reduced_over(r, x, axes, "max", "Max"))


def terms_reduced(r: Reader, x: Val, axes, mark: str) -> tuple[Val, tuple]:
    """The devices' terms, gathered and then reduced over the devices, are the reduced value."""
    if x.made[:1] != ("terms",) or x.made[3] not in axes or mark not in x.made[1].marks.values():
        return x, axes
    _, val, over, p = x.made
    marks = {a: m for a, m in val.marks.items() if a not in over}
    text = r.emit(f'all_reduce("{r.spell(val.dims, val.marks)} -> {r.spell(val.dims, marks)}", {r.use(val)})')
    val = replace(val, text=text, marks=marks, literal=None, affine=None)
    return val, tuple(a - (a > p) for a in axes if a != p)


@rule("reduce_min")
def _reduce_min(r, eqn, vals):
    x = vals[0]
    x = replace(x, text=r.emit(f"-{r.use(x)}"), literal=None)
    val = r.reduced(reduced_over(r, x, eqn.params["axes"], "max", "Max"))
    return replace(val, text=r.emit(f"-{r.use(val)}"), made=("negated", val), positive=False)


@rule("argmax")
def _argmax(r, eqn, vals):
    (axis,) = eqn.params["axes"]
    x = vals[0]
    if x.dtype == "bool":
        x = written(r, "convert", [x], "i32({0})", "i32")
    dims = [f for f in x.dims if f not in x.pos[axis]]
    text = r.emit(f'argmax("{r.spell(x.dims, x.marks)} -> {r.spell(dims, x.marks)}", {r.use(x)})')
    return Val(text, without(x, [axis]), dims, "i32", dict(x.marks))


@rule("dot_general")
def _dot(r, eqn, vals):
    (left_sum, right_sum), (left_batch, right_batch) = eqn.params["dimension_numbers"]
    x, y = vals
    if r.outer and (any(f.axes for f in x.dims) or any(f.axes for f in y.dims)):
        x, y = r.gathered(x), r.gathered(y)
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
    words = [r.use(v) if v.dims or v.marks else f"f32({r.use(v)})" for v in (x, y)]  # also of a number
    text = r.emit(f'einsum("{left} -> {r.spell(dims, marks)}", {", ".join(words)})')
    if scale != 1:
        text = r.emit(f"{text} * {number(float(scale))}")
    return r.reduced(Val(text, pos, dims, "f32", marks, positive=x.positive and y.positive))


def alias_shift(r: Reader, vals, index) -> int:
    """What is added to the aliases of a pattern, so that it calls no place by the name of another
    place of the same operand."""
    for which, val in enumerate(vals):
        own = {r.key(f): f for f in val.dims}
        for old, new in index[which].items():
            if own.get(r.key(new), old) != old:
                return 1 + max(f.alias for m in index.values() for pair in m.items() for f in pair)
    return 0


# Calls


@rule("jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint",
      "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin", "run_state")
def _call(r, eqn, vals):
    from . import trust
    if eqn.params.get("name") in trust.KNOWN:
        return trust.read(r, eqn, vals)
    if found := divided.read(r, eqn, vals):
        return found
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if name in eqn.params:
            return r.closed(eqn.params[name], vals)
    raise r.problem(f"a call without a body: {eqn.primitive.name}")


__all__ = ["RULES", "rule_of", "ImportProblem"]
