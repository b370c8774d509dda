"""The operators of a torch graph in JAX: one function of (operands) each."""
from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src import source_info_util

from .dims import ImportProblem

source_info_util.register_exclusion(__file__)  # a line of this file is no line of the user's

OPS: dict[str, Callable] = {}


def op(*names: str):
    def add(function):
        OPS.update(dict.fromkeys(names, function))
        return function
    return add


# torch gathers and scatters along dim 0 alone: for another dim it splits and concatenates.


@dataclass
class Pieces:
    """Piece `index` of `count` of `whole` along `dim`; whole may be Gathered."""

    whole: Any
    count: int
    dim: int
    index: int


@dataclass
class Stacked:
    """The pieces of `value` along `dim`, concatenated along dim 0."""

    value: Any
    count: int
    dim: int


@dataclass
class Gathered:
    """The blocks of the devices of a group, concatenated along dim 0."""

    value: Any
    axes: tuple[str, ...]
    count: int


def forced(x: Any) -> Any:
    """A lazy value as an array."""
    if isinstance(x, Gathered):
        return lax.all_gather(x.value, x.axes, axis=0, tiled=True)
    if isinstance(x, Pieces):
        whole = forced(x.whole)
        size = whole.shape[x.dim] // x.count
        return lax.slice_in_dim(whole, x.index * size, (x.index + 1) * size, axis=x.dim)
    if isinstance(x, Stacked):
        return lax.concatenate([forced(Pieces(x.value, x.count, x.dim, i)) for i in range(x.count)], 0)
    if isinstance(x, (list, tuple)):
        return type(x)(forced(v) for v in x)
    return x


def shape_of(x: Any) -> tuple[int, ...]:
    if isinstance(x, Gathered):
        return (x.value.shape[0] * x.count, *x.value.shape[1:])
    return x.value.shape if isinstance(x, Stacked) else x.shape


LAZY = {"split.Tensor", "split_with_sizes.default", "cat.default", "getitem"}


@op("split.Tensor")
def _split(x, size, dim=0):
    total = shape_of(x)[dim]
    if total % size:
        x = forced(x)
        bounds = [*range(0, total, size), total]
        return [lax.slice_in_dim(x, a, b, axis=dim) for a, b in zip(bounds, bounds[1:])]
    dim %= len(shape_of(x))
    return [Pieces(x, total // size, dim, i) for i in range(total // size)]


@op("split_with_sizes.default")
def _split_sizes(x, sizes, dim=0):
    if len(set(sizes)) == 1:
        return _split(x, sizes[0], dim)
    x = forced(x)
    bounds = np.cumsum([0, *sizes])
    return [lax.slice_in_dim(x, int(a), int(b), axis=dim % x.ndim) for a, b in zip(bounds, bounds[1:])]


@op("cat.default")
def _cat(xs, dim=0):
    first = xs[0]
    if isinstance(first, Pieces) and len(xs) == first.count and all(
            isinstance(x, Pieces) and x.whole is first.whole and x.index == i
            for i, x in enumerate(xs)):
        dim %= len(shape_of(first.whole))
        if isinstance(first.whole, Gathered) and first.dim == 0 and first.count == first.whole.count:
            return lax.all_gather(first.whole.value, first.whole.axes, axis=dim, tiled=True)
        if dim == 0 and not isinstance(first.whole, (Gathered, Stacked)):
            return Stacked(first.whole, first.count, first.dim) if first.dim else first.whole
    xs = [x for x in forced(xs) if x.size]
    return lax.concatenate(xs, dim % xs[0].ndim)


@op("getitem")
def _getitem(x, i):
    return x[i]


def own_piece(first, axis, mesh):
    """The piece of a whole value that belongs to a rank's place on an axis."""
    if not isinstance(first, Pieces) or first.count != mesh[axis]:
        raise ImportProblem(f"a rank takes a piece by its place on {axis}, and there are others than it")
    whole = forced(first.whole)
    size = whole.shape[first.dim] // first.count
    start = lax.mul(lax.axis_index(axis), np.int32(size))
    return lax.dynamic_slice_in_dim(whole, start, size, axis=first.dim)


def all_gather(x, axes, count):
    return Gathered(forced(x), axes, count)


def reduce_scatter(x, kind, axes, count):
    dim = 0
    if isinstance(x, Stacked) and x.count == count:
        x, dim = x.value, x.dim
    x = lax.psum_scatter(forced(x), axes, scatter_dimension=dim, tiled=True)
    return lax.div(x, np.float32(count)) if kind == "avg" else x


def all_reduce(x, kind, axes, count):
    if kind == "max":
        return lax.pmax(x, axes)
    if kind not in ("sum", "avg"):
        raise ImportProblem(f"an all_reduce of kind `{kind}`: sum, avg and max are known")
    x = lax.psum(x, axes)
    return lax.div(x, np.float32(count)) if kind == "avg" else x


def all_to_all(x, out_sizes, in_sizes, axes, count):
    if len(set(out_sizes)) > 1 or list(out_sizes) != list(in_sizes):
        raise ImportProblem("an all_to_all with unequal pieces: only equal ones are known")
    return lax.all_to_all(x, axes, 0, 0, tiled=True)


# Shapes


def as_array(x, like=None):
    if isinstance(x, (bool, int, float)):
        dtype = like.dtype if like is not None else np.float32
        if isinstance(x, float) and jnp.issubdtype(dtype, jnp.integer):
            dtype = np.float32
        return np.asarray(x, dtype)
    return x


def spread(x, shape):
    """x broadcast to a shape, by torch's rules."""
    if tuple(np.shape(x)) == tuple(shape):
        return x
    shift = len(shape) - np.ndim(x)
    keep = [i for i, n in enumerate(np.shape(x)) if n != 1 or shape[i + shift] == 1]
    x = lax.reshape(x, [np.shape(x)[i] for i in keep]) if len(keep) < np.ndim(x) else x
    return lax.broadcast_in_dim(x, shape, [i + shift for i in keep])


def together(*xs):
    """Operands of one shape and one dtype."""
    like = next(x for x in xs if not isinstance(x, (bool, int, float)))
    xs = [as_array(x, like) for x in xs]
    shape = np.broadcast_shapes(*(np.shape(x) for x in xs))
    dtype = jnp.result_type(*xs)
    return [spread(lax.convert_element_type(x, dtype) if x.dtype != dtype else x, shape) for x in xs]


@op("view.default", "_unsafe_view.default", "reshape.default", "view_copy.default")
def _view(x, shape):
    shape = list(shape)
    if -1 in shape:
        at = shape.index(-1)
        shape[at] = int(np.prod(x.shape)) // max(1, prod(n for n in shape if n != -1))
    return x if list(x.shape) == shape else lax.reshape(x, shape)


@op("clone.default", "alias.default", "detach.default", "contiguous.default", "wait_tensor",
    "lift_fresh_copy.default", "lift_fresh.default")
def _same(x, *_, **__):
    return x


@op("copy.default")
def _copy(x, source, non_blocking=False):
    """The source, with the shape and dtype of what it is copied to."""
    return spread(lax.convert_element_type(as_array(source, x), x.dtype), np.shape(x))


@op("_to_copy.default", "to.dtype")
def _to_copy(x, dtype=None, **_):
    if dtype is None or ("float" in str(dtype) and jnp.issubdtype(x.dtype, jnp.floating)):
        return x
    return lax.convert_element_type(x, dtype_like(dtype, x))


OPS["convert_element_type.default"] = _to_copy


@op("t.default")
def _t(x):
    return lax.transpose(x, (1, 0)) if x.ndim == 2 else x


@op("transpose.int")
def _transpose(x, a, b):
    order = list(range(x.ndim))
    order[a], order[b] = order[b], order[a]
    return lax.transpose(x, order)


@op("permute.default")
def _permute(x, order):
    return lax.transpose(x, [i % x.ndim for i in order])


@op("unsqueeze.default")
def _unsqueeze(x, dim):
    return lax.expand_dims(x, [dim % (x.ndim + 1)])


@op("squeeze.dim", "squeeze.dims", "squeeze.default")
def _squeeze(x, dims=None):
    dims = range(x.ndim) if dims is None else [dims] if isinstance(dims, int) else dims
    return lax.squeeze(x, [d % x.ndim for d in dims if x.shape[d] == 1])


@op("expand.default")
def _expand(x, shape, implicit=False):
    shift = len(shape) - np.ndim(x)
    return spread(x, [np.shape(x)[i - shift] if n == -1 else n for i, n in enumerate(shape)])


@op("slice.Tensor")
def _slice(x, dim=0, start=None, end=None, step=1):
    if step != 1:
        raise ImportProblem("a slice with a step: write the parts with reshape")
    n = x.shape[dim]
    start, end = start or 0, n if end is None else min(end, n)
    start, end = start + n * (start < 0), end + n * (end < 0)
    return x if (start, end) == (0, n) else lax.slice_in_dim(x, start, end, axis=dim % x.ndim)


@op("select.int")
def _select(x, dim, index):
    n = x.shape[dim]
    return lax.squeeze(lax.slice_in_dim(x, index % n, index % n + 1, axis=dim % x.ndim), [dim % x.ndim])


@op("unbind.int")
def _unbind(x, dim=0):
    return [_select(x, dim, i) for i in range(x.shape[dim])]


@op("slice_backward.default")
def _slice_backward(g, sizes, dim, start, end, step):
    if step != 1:
        raise ImportProblem("a slice with a step: write the parts with reshape")
    pads = [(0, 0, 0)] * len(sizes)
    pads[dim] = (start, sizes[dim] - start - g.shape[dim], 0)
    return lax.pad(g, np.float32(0), pads)


@op("slice_scatter.default")
def _slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    if step != 1:
        raise ImportProblem("a slice with a step: write the parts with reshape")
    start = (start or 0) + x.shape[dim] * ((start or 0) < 0)
    return lax.dynamic_update_slice_in_dim(x, src, np.int32(start), dim % x.ndim)


@op("select_backward.default")
def _select_backward(g, sizes, dim, index):
    dim %= len(sizes)
    return _slice_backward(lax.expand_dims(g, [dim]), sizes, dim, index % sizes[dim], None, 1)


# Windows that begin at another entry on each rank: where their beginning and end stand among the operands.

WINDOWS = {"slice.Tensor": (2, 3), "slice_scatter.default": (3, 4), "slice_backward.default": (3, 4), "select.int": (2, None),
           "select_backward.default": (3, None)}


def window(name: str, args, start, size: int) -> Any:
    """One of these operators, from `start` on."""
    x, dim = forced(args[0]), args[WINDOWS[name][0] - 1]
    if name.startswith("select_backward"):
        x = lax.expand_dims(x, [dim % len(args[1])])
    if "scatter" in name:
        return lax.dynamic_update_slice_in_dim(x, forced(args[1]), start, dim % x.ndim)
    if "backward" in name:
        return lax.dynamic_update_slice_in_dim(lax.full(args[1], 0, x.dtype), x, start, dim % len(args[1]))
    found = lax.dynamic_slice_in_dim(x, start, size, axis=dim % x.ndim)
    return lax.squeeze(found, [dim % x.ndim]) if name.startswith("select") else found


@op("constant_pad_nd.default")
def _pad(x, pads, value=0.0):
    config = [(0, 0, 0)] * (x.ndim - len(pads) // 2)
    config += [(pads[i], pads[i + 1], 0) for i in range(len(pads) - 2, -1, -2)]
    return lax.pad(x, as_array(value, x), config)


def dtype_like(dtype, value) -> Any:
    """The dtype that torch was told, else that of a number."""
    kind = str(dtype) if dtype is not None else type(value).__name__
    return np.float32 if "float" in kind else bool if "bool" in kind else np.int32


def made(kind):
    def make(shape, *value, dtype=None, **_):
        fill = value[0] if value else kind
        return lax.full(tuple(shape), fill, dtype_like(dtype, fill))
    return make


OPS.update({"ones.default": made(1.0), "zeros.default": made(0.0), "full.default": made(0.0)})


@op("ones_like.default", "zeros_like.default", "full_like.default")
def _full_like(x, value=None, **_):
    return value


for _name, _value in {"ones_like.default": 1, "zeros_like.default": 0}.items():
    OPS[_name] = lambda x, _value=_value, **_: lax.full(np.shape(x), _value, x.dtype)
OPS["full_like.default"] = lambda x, value, **_: lax.full(np.shape(x), value, x.dtype)
OPS["scalar_tensor.default"] = lambda x, dtype=None, **_: dtype_like(dtype, x)(x)


@op("arange.default", "arange.start", "arange.start_step")
def _arange(*bounds, dtype=None, **_):
    start, end, step = {1: (0, *bounds, 1), 2: (*bounds, 1), 3: bounds}[len(bounds)]
    x = lax.iota(np.int32, len(range(int(start), int(end), int(step))))
    x = x if step == 1 else lax.mul(x, np.int32(step))
    x = x if start == 0 else lax.add(x, np.int32(start))
    return lax.convert_element_type(x, np.float32) if "float" in str(dtype) else x


OPS["iota.default"] = lambda n, start=0, step=1, **_: _arange(start, start + n * step, step)


# Elementwise


def pointwise(name, function):
    OPS[name] = lambda *xs, **_: function(*together(*xs))


@op("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "rsub.Scalar")
def _add(x, y, alpha=1):
    x, y = together(x, y)
    return lax.add(x, y if alpha == 1 else lax.mul(y, as_array(alpha, y)))


OPS["sub.Tensor"] = OPS["sub.Scalar"] = lambda x, y, alpha=1: lax.sub(
    *together(x, y if alpha == 1 else _mul(y, alpha)))
OPS["rsub.Scalar"] = lambda x, y: lax.sub(*reversed(together(x, y)))


@op("mul.Tensor", "mul.Scalar")
def _mul(x, y):
    return lax.mul(*together(x, y))


@op("div.Tensor", "div.Scalar")
def _div(x, y):
    x, y = together(x, y)
    if jnp.issubdtype(x.dtype, jnp.integer):
        x, y = (lax.convert_element_type(v, np.float32) for v in (x, y))
    return lax.div(x, y)


for _name, _fn in {"ge": lax.ge, "gt": lax.gt, "le": lax.le, "lt": lax.lt, "eq": lax.eq,
                   "ne": lax.ne}.items():
    pointwise(f"{_name}.Tensor", _fn)
    pointwise(f"{_name}.Scalar", _fn)
for _name, _fn in {"maximum": lax.max, "minimum": lax.min, "logical_and": lax.bitwise_and,
                   "logical_or": lax.bitwise_or, "bitwise_and": lax.bitwise_and,
                   "bitwise_or": lax.bitwise_or}.items():
    pointwise(f"{_name}.default", _fn)
    pointwise(f"{_name}.Tensor", _fn)
for _name, _fn in {"neg": lax.neg, "exp": lax.exp, "log": lax.log, "sin": lax.sin, "cos": lax.cos,
                   "tanh": lax.tanh, "erf": lax.erf, "sqrt": lax.sqrt, "rsqrt": lax.rsqrt,
                   "sigmoid": lax.logistic, "abs": lax.abs, "sign": lax.sign, "floor": lax.floor, "ceil": lax.ceil, "trunc": jnp.trunc, "round": jnp.round,
                   "tan": lax.tan, "sinh": lax.sinh, "cosh": lax.cosh, "asin": lax.asin, "acos": lax.acos, "atan": lax.atan,
                   "logical_not": lax.bitwise_not, "bitwise_not": lax.bitwise_not,
                   "expm1": lax.expm1, "log1p": lax.log1p}.items():
    OPS[f"{_name}.default"] = lambda x, _fn=_fn: _fn(x)
OPS["reciprocal.default"] = lambda x: lax.div(np.float32(1) if x.ndim == 0 else
                                              lax.full(x.shape, 1, x.dtype), x)
OPS["relu.default"] = lambda x: lax.max(x, lax.full(x.shape, 0, x.dtype))
OPS["silu.default"] = lambda x: lax.mul(x, lax.logistic(x))
OPS["clamp.default"] = lambda x, low=None, high=None: functools.reduce(
    lambda y, each: each[0](*together(y, each[1])), [(f, b) for f, b in ((lax.max, low), (lax.min, high)) if b is not None], x)
OPS["clamp_min.default"] = lambda x, low: lax.max(*together(x, low))


@op("pow.Tensor_Scalar")
def _pow(x, y):
    if y == int(y):
        return x if y == 1 else lax.integer_pow(x, int(y))
    return lax.pow(*together(x, y))


pointwise("pow.Tensor_Tensor", lax.pow)


@op("where.self", "where.ScalarSelf", "where.ScalarOther")
def _where(condition, x, y):
    x, y = together(x, y)
    shape = np.broadcast_shapes(condition.shape, np.shape(x))
    return lax.select(spread(condition, shape), spread(x, shape), spread(y, shape))


@op("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(x, mask, value):
    return _where(mask, value if not hasattr(value, "shape") else value, x)


def triangle(x, compare, diagonal):
    rows, columns = (lax.broadcasted_iota(np.int32, x.shape[-2:], i) for i in (0, 1))
    inside = spread(compare(columns, lax.add(rows, full(rows, diagonal))), x.shape)
    return lax.select(inside, x, full(x, 0))


OPS["tril.default"] = lambda x, diagonal=0: triangle(x, lax.le, diagonal)
OPS["triu.default"] = lambda x, diagonal=0: triangle(x, lax.ge, diagonal)


@op("gelu.default")
def _gelu(x, approximate="none"):
    half = lax.mul(x, full(x, 0.5))
    if approximate == "none":
        return lax.mul(half, lax.add(full(x, 1.0), lax.erf(lax.mul(x, full(x, 0.5 ** 0.5)))))
    cube = lax.mul(full(x, 0.044715), lax.integer_pow(x, 3))
    inner = lax.mul(full(x, (2 / np.pi) ** 0.5), lax.add(x, cube))
    return lax.mul(half, lax.add(full(x, 1.0), lax.tanh(inner)))


@op("pow.Tensor_Tensor", "pow.Scalar")
def _power(x, y):
    return lax.pow(*together(x, y))


@op("remainder.Scalar", "remainder.Tensor")
def _remainder(x, y):
    return jnp.mod(*together(x, y))


@op("fmod.Scalar", "fmod.Tensor")
def _fmod(x, y):
    return lax.rem(*together(x, y))


@op("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(x, y, rounding_mode=None):
    if rounding_mode == "floor":
        return jnp.floor_divide(*together(x, y))
    return _div(x, y) if rounding_mode is None else jnp.trunc(_div(x, y)).astype(together(x, y)[0].dtype)


def full(x, value):
    return lax.full(np.shape(x), value, x.dtype)


# Sums and products


def dims_of(x, dims):
    dims = range(x.ndim) if dims is None or dims == [] else [dims] if isinstance(dims, int) else dims
    return sorted(d % x.ndim for d in dims)


def reduced(x, dims, keepdim, function):
    dims = dims_of(x, dims)
    y = function(x, axes=tuple(dims))
    return lax.expand_dims(y, dims) if keepdim else y


@op("sum.default", "sum.dim_IntList")
def _sum(x, dims=None, keepdim=False, dtype=None):
    x = lax.convert_element_type(x, np.int32) if x.dtype == bool else x
    return reduced(x, dims, keepdim, lambda v, axes: lax.reduce_sum_p.bind(
        v, axes=axes, out_sharding=None))


@op("mean.default", "mean.dim")
def _mean(x, dims=None, keepdim=False, dtype=None):
    count = prod(x.shape[d] for d in dims_of(x, dims))
    y = _sum(x, dims, keepdim)
    return lax.div(y, full(y, float(count)))


@op("amax.default", "max.default")
def _amax(x, dims=None, keepdim=False):
    return reduced(x, dims, keepdim, lambda v, axes: lax.reduce_max_p.bind(
        v, axes=axes, out_sharding=None))


@op("amin.default", "min.default")
def _amin(x, dims=None, keepdim=False):
    return reduced(x, dims, keepdim, lambda v, axes: lax.reduce_min_p.bind(v, axes=axes, out_sharding=None))


@op("argmax.default")
def _argmax(x, dim=None, keepdim=False):
    return jnp.argmax(x, dim, keepdims=keepdim)


OPS["argmin.default"] = lambda x, dim=None, keepdim=False: jnp.argmin(x, dim, keepdims=keepdim)
OPS["cumsum.default"] = lambda x, dim, dtype=None: lax.cumsum(x, dim % x.ndim)


@op("var.correction", "var_mean.correction")
def _var(x, dims=None, correction=1, keepdim=False):
    mean = _mean(x, dims, True)
    count = prod(x.shape[d] for d in dims_of(x, dims)) - correction
    y = _sum(lax.integer_pow(lax.sub(*together(x, mean)), 2), dims, keepdim)
    return lax.div(y, full(y, float(count)))


OPS["var_mean.correction"] = lambda x, dims=None, correction=1, keepdim=False: (
    _var(x, dims, correction, keepdim), _mean(x, dims, keepdim))


@op("_softmax.default", "_safe_softmax.default")  # the latter is 0 in a row that is masked as a whole
def _softmax(x, dim, half_to_float=False):
    e = lax.exp(lax.sub(*together(x, _amax(x, dim, True))))
    return lax.div(*together(e, _sum(e, dim, True)))


@op("_log_softmax.default")
def _log_softmax(x, dim, half_to_float=False):
    x = lax.sub(*together(x, _amax(x, dim, True)))
    return lax.sub(*together(x, lax.log(_sum(lax.exp(x), dim, True))))


@op("mm.default")
def _mm(x, y):
    return lax.dot_general(x, y, (((1,), (0,)), ((), ())))


@op("bmm.default")
def _bmm(x, y):
    return lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,))))


@op("addmm.default")
def _addmm(b, x, y, beta=1, alpha=1):
    z = _mm(x, y)
    z = z if alpha == 1 else _mul(z, alpha)
    return _add(z, b if beta == 1 else _mul(b, beta))


@op("flip.default")
def _flip(x, dims):
    return lax.rev(x, [d % x.ndim for d in dims])


@op("repeat.default")
def _repeat(x, repeats):
    return jnp.tile(x, repeats)


@op("gather.default")
def _gather(x, dim, index, **_):
    return jnp.take_along_axis(x, index, dim, mode="clip")


@op("scatter.value", "scatter.src")
def _scatter(x, dim, index, value):
    """Of one entry in each row."""
    if index.shape[dim] != 1:
        raise ImportProblem("a scatter of several entries in a row")
    hit = lax.eq(lax.broadcasted_iota(index.dtype, x.shape, dim % x.ndim), spread(index, x.shape))
    return _where(hit, value, x)


def by_dim(indices):
    """The ids of each dim; all of its entries where there are none."""
    return tuple(slice(None) if i is None else i for i in indices)


@op("index_put.default", "index_put_.default", "_unsafe_index_put.default")
def _index_put(x, indices, values, accumulate=False):
    """One number where a mask says so, or what is set or added at ids."""
    (at,) = indices if len(indices) == 1 else (None,)
    if at is not None and at.dtype == bool and np.size(values) == 1 and not accumulate:
        mask = spread(lax.reshape(at, (*at.shape, *[1] * (x.ndim - at.ndim))), x.shape)
        return lax.select(mask, spread(lax.reshape(values, ()), x.shape), x)
    if any(i is not None and i.dtype == bool for i in indices):
        raise ImportProblem("an index_put of several numbers by a mask")
    entries = x.at[by_dim(indices)]
    return entries.add(values) if accumulate else entries.set(values)


@op("index.Tensor")
def _index(x, indices):
    """Entries at ids along some dims, each of which is one of its."""
    if any(i is not None and i.dtype == bool for i in indices):
        raise ImportProblem("entries picked by a mask: how many there are is data")
    return x[by_dim(indices)]


@op("index_select.default")
def _index_select(x, dim, ids):
    return jnp.take(x, ids, axis=dim, mode="clip")


@op("embedding_dense_backward.default")
def _embedding_backward(g, ids, count, padding, scale):
    if padding >= 0 or scale:
        raise ImportProblem("an embedding with padding_idx or scale_grad_by_freq")
    return lax.full((count, g.shape[-1]), 0, g.dtype).at[ids].add(g)


@op("embedding.default")
def _embedding(table, ids, *_, **__):
    return jnp.take(table, ids, axis=0, mode="clip")


def along_channels(v, x):
    """A vector of channels beside an array that has them as its second dim."""
    return lax.broadcast_in_dim(v, x.shape, (1,))


@op("native_batch_norm.default", "_native_batch_norm_legit.no_stats")
def _batch_norm(x, weight, bias, *options):
    *running, training, _, eps = options  # the running mean and variance are not there with no_stats
    others = [d for d in range(x.ndim) if d != 1]
    if training is True:
        mean = jnp.mean(x, others)
        variance = jnp.mean(jnp.square(x - along_channels(mean, x)), others)
    else:
        mean, variance = running
    scale = lax.rsqrt(variance + eps)
    y = (x - along_channels(mean, x)) * along_channels(scale, x)
    y = y if weight is None else y * along_channels(weight, x)
    return (y if bias is None else y + along_channels(bias, x)), mean, scale


@op("native_batch_norm_backward.default")
def _batch_norm_backward(g, x, weight, running_mean, running_variance, mean, scale, training, eps, wanted):
    others = [d for d in range(x.ndim) if d != 1]
    if not training:
        mean, scale = running_mean, lax.rsqrt(running_variance + eps)
    normed = (x - along_channels(mean, x)) * along_channels(scale, x)
    of_bias, of_weight = jnp.sum(g, others), jnp.sum(g * normed, others)
    factor = scale if weight is None else scale * weight
    own = g
    if training:
        n = np.prod([x.shape[d] for d in others])
        own = g - along_channels(of_bias / n, x) - normed * along_channels(of_weight / n, x)
    return tuple(each if asked else None for each, asked in zip((own * along_channels(factor, x), of_weight, of_bias), wanted))


RANDOM = ("bernoulli", "native_dropout", "dropout", "rand", "normal", "uniform", "empty")  # dropout draws into an empty array


def call(name: str, args, kwargs) -> Any:
    """The value of an operator, `aten` names without the namespace."""
    if name not in OPS and name.lstrip("_").startswith(RANDOM):
        raise ImportProblem(f"the operator `{name}` is of random numbers, as of dropout: prove the module with `p=0` or after `eval()`, or "
                            "pass what is drawn as an argument")
    if name not in OPS:
        raise ImportProblem(f"the operator `{name}` of torch is not known: write it with others, or "
                            "add it to shardproof/torch_ops.py")
    if name not in LAZY:
        args = [forced(a) for a in args]
    try:
        return OPS[name](*args, **kwargs)
    except (TypeError, ValueError) as error:
        raise ImportProblem(f"the operator `{name}` of torch is not known with these operands: "
                            f"{error}") from error


__all__ = ["call", "forced", "jax"]
