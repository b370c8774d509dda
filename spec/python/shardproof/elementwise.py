"""What is computed entry by entry: functions of real numbers, logic, comparisons, choices, casts."""
from __future__ import annotations

import functools
import operator
from dataclasses import replace
from math import prod

import jax.numpy as jnp

from .dims import Factor
from .masks import Kind
from .reader import Reader, dtype_name
from .rules import RULES, rule
from .values import MINUS_INFINITY, Val, number


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
        from . import firsts
        if name == "neg" and (found := firsts.negative(r, vals[0])):
            return found
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
for _name, _template in {"logistic": "sigmoid({0})", "rsqrt": "rsqrt({0})",
                         "exp2": "pow(2.0, {0})"}.items():
    elementwise(_name, _template, positive=True)
@rule("eq", "ne")
def _equal(r: Reader, eqn, vals: list[Val]) -> Val:
    equal = eqn.primitive.name == "eq"
    if all_literal(vals):
        return r.scalar((vals[0].literal == vals[1].literal) == equal, "bool", shape_positions(vals))
    for i, v in enumerate(vals):
        if v.literal in (float("inf"), float("-inf")):  # no real number is; an entry that is masked may be
            if (x := infinite_as(r, vals[1 - i], v.literal)) is not None:
                return of_mask(r, x, equal)
            return r.scalar(not equal, "bool", [virtual(p) for p in vals[1 - i].pos])
    from . import flags, lookups
    if found := flags.compared(r, eqn.primitive.name, vals):
        return found
    if any(v.text is None for v in vals):
        return lookups.equal(r, eqn, vals)
    if vals[0].text == vals[1].text and vals[0].pos == vals[1].pos and not union(vals):  # isnan: no real number is
        return r.scalar(equal, "bool", [virtual(p) for p in vals[0].pos])
    return written(r, eqn.primitive.name, vals, "{0} == {1}" if equal else "{0} != {1}", "bool")


@rule("and", "or", "not")
def _logic(r: Reader, eqn, vals: list[Val]) -> Val:
    name = eqn.primitive.name
    if vals[0].dtype == "i32":
        return bits(r, name, vals, str(eqn.invars[0].aval.dtype).startswith("int"))
    for i, v in enumerate(vals if name != "not" else []):
        if v.literal is not None and v.dtype == "bool":
            other = vals[1 - i]
            wins = v.literal == (name == "or")
            return r.scalar(v.literal, "bool", [virtual(p) for p in other.pos]) if wins else other
    if any(v.text is None for v in vals):
        from . import lookups
        for v, other in (vals, vals[::-1]) if name == "and" else ():
            if v.made[:1] == ("one_hot",) and (hit := lookups.in_block(r, v, other)):
                return hit
        return Val(None, shape_positions(vals), dtype="bool", made=(name, *vals), why=vals[0].why)
    if name == "not" and vals[0].literal is not None:
        return r.scalar(not vals[0].literal, "bool", vals[0].pos)
    return written(r, name, vals, "not {0}" if name == "not" else f"{{0}} {name} {{1}}", "bool")


def bits(r: Reader, name: str, vals: list[Val], signed: bool) -> Val:
    """The bits of integers that arithmetic has too: x & (2^k - 1), and ~x."""
    if name == "not" and signed:
        return written(r, name, vals, "-1 - {0}", "i32")
    for x, mask in (vals, vals[::-1]) if name == "and" else ():
        if mask.literal is not None and mask.literal > 0 and mask.literal & (mask.literal + 1) == 0:
            return written(r, name, [x], "{0} % " + number(mask.literal + 1), "i32")
    raise r.problem(f"`{name}` of the bits of integers")


@rule("exp")
def _exp(r: Reader, eqn, vals: list[Val]) -> Val:
    """Of -inf it is 0, also less a number: exp(where(mask, x, -inf) - y) is where(mask, exp(x - y), 0), where all is written out."""
    from . import library
    (x,) = vals
    of, *less = x.made[1:] if x.made[:1] == ("sub",) else vals
    if library.is_written_out() and of.made[:1] == ("select_n",) and of.made[3].literal == float("-inf"):
        _, mask, inside, _ = of.made
        if less:
            inside = written(r, "sub", [inside, *less], "{0} - {1}", "f32")
        number_of = written(r, "exp", [inside], "exp({0})", "f32", positive=True)
        return where(r, mask, number_of, r.scalar(0, "float32", [virtual(p) for p in number_of.pos]))
    return written(r, "exp", vals, "exp({0})", "f32", positive=True)


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


def infinite_as(r: Reader, x: Val, infinity: float) -> Val | None:
    """The entries that are -inf where a value is this infinity; None where none is."""
    if infinity > 0 and x.made[:1] == ("abs",):
        x = x.made[1]
    elif infinity > 0 and r.masked(x) == Kind.ENTRIES:
        return None
    if r.masked(x) == Kind.COMPUTED:
        raise r.problem(OF_LIMIT)
    return x if r.masked(x) else None


OF_LIMIT = "a value that is computed of the -inf of a mask is compared, or cast to an integer: a proof takes any number for the -inf. " \
           "Compare the entries themselves, or the mask"


def of_mask(r: Reader, x: Val, equal: bool) -> Val:
    """Whether a value is what a mask has in place of entries."""
    return written(r, "eq" if equal else "ne", [x], f"{{0}} {'==' if equal else '!='} {MINUS_INFINITY}", "bool")


@rule("is_finite")
def _is_finite(r, eqn, vals):  # real numbers are
    if r.masked(vals[0]):
        return of_mask(r, vals[0], False)
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


def shape_positions(vals):
    """The positions of operands of one shape: of the one that has most dims there."""
    return max((v.pos for v in vals if v.pos), key=lambda pos: sum(not f.virtual for p in pos for f in p), default=[])


@rule("max", "min")
def _max(r, eqn, vals):
    name = eqn.primitive.name
    neutral = float("-inf") if name == "max" else float("inf")
    for i, v in enumerate(vals):
        if v.literal == neutral and v.dtype == "f32":
            return vals[1 - i]
    if all_literal(vals) and vals[0].dtype == "i32":
        return r.scalar((max if name == "max" else min)(v.literal for v in vals), "int32", shape_positions(vals))
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
    from . import candidates, firsts, flags
    name = eqn.primitive.name
    if found := flags.compared(r, name, vals):
        return found
    if name == "lt" and vals[1].literal == 0 and (candidates.chosen(vals[0]) or firsts.is_device(vals[0])):  # they count from the front
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
    if len(vals) != 3 or vals[0].dtype != "bool":
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
    from . import bits
    (x,), old, new = vals, eqn.invars[0].aval.dtype, eqn.params["new_dtype"]
    to = dtype_name(new)
    if x.dtype == "i32" and x.marks and old != new:
        x = bits.wrapped(r, x, old, of_terms=True)
    if to == x.dtype == "i32":
        return bits.fewer(r, x, old, new)
    if to == "i32" and x.dtype == "f32":
        return bits.of_float(r, x, new)
    if to == x.dtype:
        return x
    if x.literal is not None:
        return r.scalar(x.literal, eqn.params["new_dtype"], x.pos)
    if x.text is None:
        return replace(x, dtype=to, made=("convert_element_type", x))
    if to == "bool":
        return written(r, "convert", vals, "{0} != 0", to)
    return written(r, "convert", vals, to + "({0})", to)


__all__ = ["all_literal", "shape_positions", "union", "virtual", "where", "written"]
