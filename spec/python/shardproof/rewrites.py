"""Primitives that have no form of their own in the notation, written with others: as a function in JAX, which is traced and read."""
from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .dims import ImportProblem
from .reader import Reader
from .rules import RULES, rule
from .values import Val


DTYPES = {"f32": "float32", "i32": "int32", "bool": "bool"}


def traced(r: Reader, function: Callable, vals: list[Val]) -> list[Val]:
    """The results of a function of JAX on these values."""
    return r.closed(jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(tuple(v.extents()), DTYPES[v.dtype]) for v in vals)), vals)


def read(r: Reader, eqn, vals: list[Val], function: Callable) -> list[Val]:
    """The results of a function of JAX on the operands of an equation."""
    return r.closed(jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars)), vals)


def moved(r: Reader, x: Val, p: int, start: int, size: int, step: int = 1, stride: int = 1) -> Val:
    """As many entries along p: entry i of x at (start + i * step) / stride, 0 where there is none. No pattern says it of dims together."""
    n = x.extents()[p]

    def function(x):
        x = jnp.moveaxis(x, p, -1)[..., None, :]
        here = stride * jnp.arange(size)[:, None] == start + step * jnp.arange(n)
        return jnp.moveaxis(jnp.where(here, x, jnp.zeros((), x.dtype)).sum(-1), -1, p)
    outer, r.path = r.path, r.node_key("moved", p, start, step, stride)
    (result,), r.path = traced(r, function, [x]), outer
    return result


def written_as(*names: str):
    """The function computes these primitives from operands and parameters."""
    traces: dict = {}  # programs are read several times

    def add(function: Callable) -> Callable:
        def apply(r: Reader, eqn, vals: list[Val]) -> list[Val]:
            shapes = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars]
            key = eqn.primitive.name, repr(shapes), repr(sorted(eqn.params.items(), key=lambda item: item[0]))
            if key not in traces:
                traces[key] = jax.make_jaxpr(lambda *x: function(*x, **eqn.params))(*shapes)
            return r.closed(traces[key], vals)
        RULES.update(dict.fromkeys(names, apply))
        return function
    return add


# Along a dim


@written_as("cumlogsumexp")
def _cumlogsumexp(x, *, axis, reverse):
    top = lax.stop_gradient(jnp.max(x, axis, keepdims=True))
    return jnp.log(lax.cumsum(jnp.exp(x - top), axis, reverse)) + top


def _running(combine: Callable):
    def function(x, *, axis, reverse):
        x = jnp.moveaxis(x, axis, 0)
        first = x[-1] if reverse else x[0]
        rest = x[:-1] if reverse else x[1:]

        def step(carry, row):
            carry = combine(carry, row)
            return carry, carry
        rows = lax.scan(step, first, rest, reverse=reverse)[1]
        rows = jnp.concatenate([rows, first[None]] if reverse else [first[None], rows])
        return jnp.moveaxis(rows, 0, axis)
    return function


for _name, _combine in {"cumprod": lax.mul, "cummax": lax.max, "cummin": lax.min}.items():
    written_as(_name)(_running(_combine))


@written_as("reduce_prod")
def _reduce_prod(x, *, axes, out_sharding=None):
    for axis in sorted(axes, reverse=True):
        x = lax.scan(lambda carry, row: (carry * row, None), jnp.ones_like(jnp.take(x, 0, axis)), jnp.moveaxis(x, axis, 0))[0]
    return x


# Windows


LARGEST = 49  # 7 x 7


def _windows(x, sizes, strides, steps):
    """For each offset in a window the entries that stand there, over all windows."""
    if prod(sizes) > LARGEST:
        raise ImportProblem(f"a window of {prod(sizes)} entries: windows are written entry by entry, up to {LARGEST}")
    out = [(n - (size - 1) * step - 1) // stride + 1 for n, size, stride, step in zip(x.shape, sizes, strides, steps)]
    for at in product(*map(range, sizes)):
        start = [i * step for i, step in zip(at, steps)]
        yield at, start, lax.slice(x, start, [s + (n - 1) * k + 1 for s, n, k in zip(start, out, strides)], strides)


def _padded(x, padding, dilation, value):
    """Pads that are no 0 stand where a mask has none of the entries."""
    config = [(low, high, inner - 1) for (low, high), inner in zip(padding, dilation)]
    if all(each == (0, 0, 0) for each in config):
        return x
    padded = lax.pad(x, jnp.zeros((), x.dtype), config)
    if value == 0:
        return padded
    return jnp.where(lax.pad(jnp.ones(x.shape, "float32"), np.float32(0), config) > 0, padded, value)


def _windowed(combine: Callable, neutral: float):
    def function(x, *, window_dimensions, window_strides, padding, base_dilation, window_dilation):
        x = _padded(x, padding, base_dilation, neutral)
        total = None
        for *_, part in _windows(x, window_dimensions, window_strides, window_dilation):
            total = part if total is None else combine(total, part)
        return total
    return function


for _name, _combine, _neutral in (("sum", lax.add, 0), ("max", lax.max, -np.inf), ("min", lax.min, np.inf)):
    written_as(f"reduce_window_{_name}")(_windowed(_combine, _neutral))


@rule("select_and_scatter_add")
def _select_and_scatter_add(r: Reader, eqn, vals):
    """The gradient of a maximum or minimum of windows: the first entry that is it has the window's."""
    p, name = eqn.params, eqn.params["select_prim"].name
    if name not in ("ge", "le"):
        raise r.problem(f"`select_and_scatter_add` by `{name}`")
    combine = lax.max if name == "ge" else lax.min

    def function(source, x):
        shape = x.shape
        x = _padded(x, p["padding"], (1,) * x.ndim, -np.inf if name == "ge" else np.inf)
        parts = list(_windows(x, p["window_dimensions"], p["window_strides"], (1,) * x.ndim))
        best = parts[0][2]
        for *_, part in parts[1:]:
            best = combine(best, part)
        total, taken = jnp.zeros(x.shape, x.dtype), jnp.zeros(best.shape, bool)
        for _, start, part in parts:
            hit = (part == best) & ~taken
            taken = taken | hit
            inner = [k - 1 for k in p["window_strides"]]
            sizes = [(n - 1) * k + 1 for n, k in zip(part.shape, p["window_strides"])]
            total = total + lax.pad(jnp.where(hit, source, 0), jnp.zeros((), x.dtype), [
                (s, n - s - size, i) for s, n, size, i in zip(start, x.shape, sizes, inner)])
        low = [low for low, _ in p["padding"]]
        return lax.slice(total, low, [a + n for a, n in zip(low, shape)])
    return read(r, eqn, vals, function)


@written_as("conv_general_dilated")
def _conv(x, w, *, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count,
          batch_group_count, precision=None, preferred_element_type=None, out_sharding=None):
    """A product of the entries at each offset of the window, added."""
    x, w = x.transpose(dimension_numbers.lhs_spec), w.transpose(dimension_numbers.rhs_spec)
    x = _padded(x, ((0, 0), (0, 0), *padding), (1, 1, *lhs_dilation), 0)
    one = (1, 1)
    total = None
    for at, _, part in _windows(x, (*one, *w.shape[2:]), (*one, *window_strides), (*one, *rhs_dilation)):
        weights = w[(slice(None), slice(None), *at[2:])]
        if feature_group_count > 1:
            g = feature_group_count
            apart = part.reshape(part.shape[0], g, -1, *part.shape[2:])
            term = jnp.einsum("ngc...,goc->ngo...", apart, weights.reshape(g, -1, weights.shape[1]))
            term = term.reshape(term.shape[0], -1, *term.shape[3:])
        elif batch_group_count > 1:
            g = batch_group_count
            apart = part.reshape(g, -1, *part.shape[1:])
            term = jnp.einsum("gnc...,goc->ngo...", apart, weights.reshape(g, -1, weights.shape[1]))
            term = term.reshape(term.shape[0], -1, *term.shape[3:])
        else:
            term = jnp.einsum("nc...,oc->no...", part, weights)
        total = term if total is None else total + term
    return total.transpose(np.argsort(dimension_numbers.out_spec))


@rule("ragged_dot_general")
def _ragged_dot(r: Reader, eqn, vals):
    """The product of each row with the matrix of its group."""
    numbers = eqn.params["ragged_dot_dimension_numbers"]
    if (numbers.dot_dimension_numbers, tuple(numbers.lhs_ragged_dimensions), tuple(numbers.rhs_group_dimensions)) \
            != ((((1,), (1,)), ((), ())), (0,), (0,)):
        raise r.problem("`ragged_dot_general` of other dims than `ragged_dot`: rows of groups by a matrix of each group")

    def function(x, w, sizes):
        ends = jnp.cumsum(sizes)
        rows = jnp.arange(x.shape[0])[:, None]
        mine = (rows >= ends - sizes) & (rows < ends)
        return jnp.einsum("mk,gkn,mg->mn", x, w, mine.astype(x.dtype))
    return read(r, eqn, vals, function)


# Entries


def one_window(r: Reader, eqn, vals: list[Val]) -> list[int] | None:
    """Where the one window of a scatter begins, if that is known: its start in each dim of the operand."""
    numbers, index = eqn.params["dimension_numbers"], eqn.invars[1].aval.shape
    if prod(index[:-1]) != 1 or numbers.operand_batching_dims:
        return None
    if vals[1].columns[:2] == (vals[1].text, vals[1].pos):
        at = [v.literal for v in vals[1].columns[2]]
    elif vals[1].literal is not None:
        at = [vals[1].literal] * index[-1]
    else:
        found = next((array for name, array in r.dims.constants.values() if name == vals[1].text), None)
        at = [None] if found is None or list(found.shape) != vals[1].extents() else list(found.reshape(-1))
    if None in at:
        return None
    start = [0] * len(eqn.invars[0].aval.shape)
    for p, i in zip(numbers.scatter_dims_to_operand_dims, at):
        start[p] = int(i)
    return start


def _columns(r: Reader, eqn, x: Val, indices: Val, mapped, tied: dict[int, int]) -> tuple[list[Val], list[int], dict[int, int]]:
    """An array of ids for each dim of the operand that they name, those dims, and the dims of the ids that go along one:
    in x[arange(n)[:, None], ids] the first does."""
    if indices.columns[:2] == (indices.text, indices.pos):
        columns = indices.columns[2]
    else:
        columns = traced(r, lambda ids: tuple(ids[..., k] for k in range(len(mapped))), [indices])
    shape, tied, kept = eqn.invars[0].aval.shape, dict(tied), []
    for p, column in zip(mapped, columns):
        of = column.affine
        along = [i for i, row in enumerate(column.pos) if any(not f.virtual for f in row)]
        if of and (of.const, of.scale, of.ranks, of.extent) == (0, 1, (), shape[p]) and len(along) == 1 \
                and column.extents()[along[0]] == shape[p] and along[0] not in tied and p not in tied.values():
            tied[along[0]] = p
        else:
            kept.append((p, column))
    if any(f.axes for p, _ in kept for f in x.pos[p]):
        raise r.problem(f"`{eqn.primitive.name}` along a dim that is split, with ids that count in the whole", "finding")
    for p, column in kept:
        r.name_entries(column, x.pos[p])
    return [column for _, column in kept], [p for p, _ in kept], tied


def _stands(shape, of_ids: int, tied: dict[int, int]) -> tuple[list[int], int]:
    """Where the dims of the ids stand: at the operand's, or after them. And how many there are."""
    free = iter(range(len(shape), len(shape) + of_ids))
    at = [tied[i] if i in tied else next(free) for i in range(of_ids)]
    return at, max([len(shape), *(p + 1 for p in at)])


def _spread(x, at: list[int], rank: int):
    """x with its dims at their places."""
    return x.transpose(np.argsort(at)).reshape([x.shape[at.index(q)] if q in at else 1 for q in range(rank)])


def _hits(columns, shape, mapped, at, rank):
    """Whether an entry of the operand is the one that the ids name."""
    hit = np.ones([1] * rank, bool)
    for ids, p in zip(columns, mapped):
        hit &= lax.broadcasted_iota("int32", [shape[q] if q == p else 1 for q in range(rank)], p) == _spread(ids, at, rank)
    return hit


def _whole(r: Reader, eqn, numbers, mapped, gone, sizes) -> None:
    if tuple(gone) != tuple(sorted(mapped)) or any(size != n for p, (size, n) in enumerate(zip(sizes, eqn.invars[0].aval.shape))
                                                   if p not in (*gone, *numbers.operand_batching_dims)):
        raise r.problem(f"`{eqn.primitive.name}` of windows at offsets that are data")


def gathered(r: Reader, eqn, vals: list[Val]) -> list[Val]:
    """Entries along several dims, or several of each row: a sum with one term that is not 0."""
    d, shape = eqn.params["dimension_numbers"], eqn.invars[0].aval.shape
    _whole(r, eqn, d, d.start_index_map, d.collapsed_slice_dims, eqn.params["slice_sizes"])
    tied = dict(zip(d.start_indices_batching_dims, d.operand_batching_dims))
    columns, mapped, tied = _columns(r, eqn, vals[0], vals[1], d.start_index_map, tied)
    at, rank = _stands(shape, len(eqn.invars[1].aval.shape) - 1, tied)
    rest = iter(p for p in range(len(shape)) if p not in (*d.start_index_map, *d.operand_batching_dims))
    of_ids = iter(at)
    order = [next(rest) if i in d.offset_dims else next(of_ids) for i in range(len(eqn.outvars[0].aval.shape))]

    def function(x, *columns):
        hit = _hits(columns, shape, mapped, at, rank)
        x = jnp.where(hit, _spread(x, list(range(x.ndim)), rank), jnp.zeros((), x.dtype)).sum(tuple(mapped), keepdims=True)
        return x.squeeze(tuple(p for p in range(rank) if p not in order)).transpose(np.argsort(np.argsort(order)))
    return traced(r, function, [vals[0], *columns])


def added(r: Reader, eqn, vals: list[Val]) -> list[Val]:
    """Updates at entries that ids name along several dims, or several of each row. Only of sums the order does not matter:
    others have one update for an entry."""
    d, shape = eqn.params["dimension_numbers"], eqn.invars[0].aval.shape
    windows = iter(eqn.invars[2].aval.shape[i] for i in d.update_window_dims)
    gone = (*d.inserted_window_dims, *d.operand_batching_dims)
    _whole(r, eqn, d, d.scatter_dims_to_operand_dims, d.inserted_window_dims,
           [1 if p in gone else next(windows) for p in range(len(shape))])
    tied = dict(zip(d.scatter_indices_batching_dims, d.operand_batching_dims))
    columns, mapped, tied = _columns(r, eqn, vals[0], vals[1], d.scatter_dims_to_operand_dims, tied)
    at, rank = _stands(shape, len(eqn.invars[1].aval.shape) - 1, tied)
    rest = iter(p for p in range(len(shape)) if p not in gone)
    of_ids = iter(at)
    place = [next(rest) if i in d.update_window_dims else next(of_ids) for i in range(len(eqn.invars[2].aval.shape))]

    combine = COMBINE[eqn.primitive.name]
    if rank > len(shape) and combine is not lax.add:
        raise r.problem(f"`{eqn.primitive.name}` at several ids that are data: two of them may be the same")

    def function(x, y, *columns):
        hit = _hits(columns, shape, mapped, at, rank)
        if combine is not lax.add:
            return jnp.where(hit, combine(x, jnp.broadcast_to(_spread(y, place, rank), x.shape)), x)
        return x + jnp.where(hit, _spread(y, place, rank), jnp.zeros((), y.dtype)).sum(tuple(range(len(shape), rank)))
    return traced(r, function, [vals[0], vals[2], *columns])


COMBINE = {"scatter": lambda old, new: new, "scatter-add": lax.add, "scatter_add": lax.add, "scatter-sub": lax.sub,
           "scatter-mul": lax.mul, "scatter_mul": lax.mul, "scatter-max": lax.max, "scatter_max": lax.max,
           "scatter-min": lax.min, "scatter_min": lax.min}


def scattered(r: Reader, eqn, vals: list[Val], start: list[int]) -> list[Val]:
    """One window of an operand, combined with its update: x.at[:, 1:3].set(y)."""
    numbers, (x, _, y) = eqn.params["dimension_numbers"], eqn.invars
    combine = COMBINE[eqn.primitive.name]
    rows = iter(y.aval.shape[i] for i in numbers.update_window_dims)
    sizes = [1 if p in numbers.inserted_window_dims else next(rows) for p in range(len(x.aval.shape))]
    outside = [not 0 <= s <= n - size for s, n, size in zip(start, x.aval.shape, sizes)]
    if any(outside):
        if eqn.params["mode"] == lax.GatherScatterMode.FILL_OR_DROP:
            return [vals[0]]
        raise r.problem(f"`{eqn.primitive.name}` at an entry that is not there")

    def function(x, at, y):
        y = y.reshape(sizes)
        old = lax.slice(x, start, [s + size for s, size in zip(start, sizes)])
        new = combine(old, y)
        if sum(n != size for n, size in zip(x.shape, sizes)) < 2:
            return lax.dynamic_update_slice(x, new, start)
        around = [(s, n - s - size, 0) for s, n, size in zip(start, x.shape, sizes)]
        here = lax.pad(jnp.ones(sizes, "float32"), np.float32(0), around) > 0
        return jnp.where(here, lax.pad(new, jnp.zeros((), x.dtype), around), x)
    return read(r, eqn, vals, function)


@rule("scatter", "scatter-sub", "scatter-mul", "scatter_mul", "scatter-max", "scatter_max", "scatter-min", "scatter_min")
def _scatter(r: Reader, eqn, vals):
    start = one_window(r, eqn, vals)
    return scattered(r, eqn, vals, start) if start is not None else added(r, eqn, vals)


@rule("xor")
def _xor(r: Reader, eqn, vals):
    if eqn.invars[0].aval.dtype != bool:
        raise r.problem("`xor` of the bits of integers")
    return RULES["ne"](r, eqn, vals)


@rule("shift_left", "shift_right_arithmetic")
def _shift(r: Reader, eqn, vals):
    by = vals[1].literal
    if by is None or not 0 <= by < 31:
        raise r.problem(f"`{eqn.primitive.name}` by a number of bits that is not a constant")
    left = eqn.primitive.name == "shift_left"
    return read(r, eqn, vals, lambda x, _: x * 2 ** int(by) if left else jnp.floor_divide(x, 2 ** int(by)))


@rule("platform_index")
def _platform(r: Reader, eqn, vals):
    """Of branches that compute the same on each platform, the one for all others."""
    names = eqn.params["platforms"]
    at = next((i for i, each in enumerate(names) if each is None), None)
    if at is None:
        raise r.problem("`lax.platform_dependent` without a default")
    return r.scalar(at, "int32", [])


__all__ = ["added", "gathered", "moved", "one_window", "read", "scattered", "traced"]
