"""A law for each primitive: on random shapes the imported function has JAX's values (the oracle), and
split over two axes the imported plan has them as well (the core on threads)."""
import os
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shardproof
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

MESH = AbstractMesh((2, 2), ("d", "t"))
CASES = 6 if os.environ.get("SHARDPROOF_FULL") else 1
f32 = np.float32


def ids(*shape):
    return jax.ShapeDtypeStruct(shape, "int32")


def convolved(x, w, strides, padding, layout, **more):
    return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=(layout, layout[1:-1] + "IO", layout), **more)


# name: (function, a shape of each argument from the sizes a b c d; its first dim is split over d)
LAWS = {
    "add": (lambda x, y: x + y, "ab ab"), "sub": (lambda x, y: x - y, "ab ab"),
    "mul": (lambda x, y: x * y, "ab ab"), "div": (lambda x, y: x / y, "ab ab"),
    "neg": (lambda x: -x, "ab"), "exp": (jnp.exp, "ab"), "tanh": (jnp.tanh, "ab"),
    "log": (lambda x: jnp.log(x * x + 0.5), "ab"), "sqrt": (lambda x: jnp.sqrt(x * x + 0.5), "ab"),
    "rsqrt": (lambda x: lax.rsqrt(x * x + 0.5), "ab"), "sin": (jnp.sin, "ab"), "cos": (jnp.cos, "ab"),
    "abs": (jnp.abs, "ab"), "sign": (jnp.sign, "ab"), "floor": (lambda x: jnp.floor(3 * x), "ab"),
    "erf": (lax.erf, "ab"), "erfc": (lax.erfc, "ab"), "expm1": (jnp.expm1, "ab"),
    "log1p": (lambda x: jnp.log1p(x * x), "ab"), "logistic": (jax.nn.sigmoid, "ab"),
    "square": (jnp.square, "ab"), "integer_pow": (lambda x: x ** 3 + (x + 3) ** -2, "ab"),
    "pow": (lambda x, y: (x * x + 0.5) ** y, "ab ab"),
    "max": (jnp.maximum, "ab ab"), "min": (jnp.minimum, "ab ab"),
    "clamp": (lambda x: jnp.clip(x, -0.5, 0.5), "ab"),
    "compare": (lambda x, y: jnp.where(x > y, x, 0) + jnp.where((x <= y) & (x >= -1), y, 1), "ab ab"),
    "or_not": (lambda x, y: jnp.where((x < y) | ~(x != 0.5), x, y), "ab ab"),
    "select_n": (lambda x, y: jnp.where(x > 0, x, y * 2), "ab ab"),
    "convert": (lambda x: (x > 0).astype(f32) + jnp.arange(x.shape[1]), "ab"),
    "stop_gradient": (lambda x: x * lax.stop_gradient(x), "ab"),
    "dot": (lambda x, y: x @ y, "ab bc"), "dot_batch": (lambda x, y: jnp.einsum("abc,acd->abd", x, y), "abc acd"),
    "dot_outer": (lambda x, y: jnp.einsum("ab,c->cab", x, y), "ab c"),
    "dot_square": (lambda x: jnp.einsum("abc,adc->abd", x, x), "abc"),
    "dot_square_turned": (lambda x: jnp.einsum("abc,adc->adb", x, x * x), "abc"),
    "dot_of_broadcast": (lambda x: jnp.broadcast_to(x[:, :, None], (*x.shape, 3)).sum(-1), "ab"),
    "sum": (lambda x: x.sum(1), "abc"), "sum_all": (lambda x: x.sum((1, 2)), "abc"),
    "mean": (lambda x: x.mean(-1, keepdims=True) * x, "ab"), "max_of": (lambda x: x.max(1), "abc"),
    "min_of": (lambda x: x.min(-1), "ab"), "argmax": (lambda x: x.argmax(-1) * 1.0, "ab"),
    "cumsum": (lambda x: jnp.cumsum(x, 1), "abc"),
    "cumsum_reverse": (lambda x: lax.cumsum(x, 1, reverse=True), "abc"),
    "cumsum_grad": (lambda x: jax.grad(lambda x: (jnp.cumsum(x, 1) ** 2).sum())(x), "ab"),
    "rev": (lambda x: x[:, ::-1] * 2, "abc"), "rev_plus": (lambda x: x + x[:, ::-1], "ab"),
    "rev_two": (lambda x: x[:, ::-1, ::-1] * 2, "abc"),
    "rem": (lambda x: x * (jnp.arange(x.shape[1]) % 3), "ab"),
    "rem_negative": (lambda x: x * lax.rem(jnp.arange(x.shape[1]) - 3, 2), "ab"),
    "mod_negative": (lambda x: x * ((jnp.arange(x.shape[1]) - 3) % 2), "ab"),
    "div_negative": (lambda x: x * lax.div(jnp.arange(x.shape[1]) - 3, 2), "ab"),
    "floor_divide": (lambda x: x * ((jnp.arange(x.shape[1]) - 3) // 2), "ab"),
    "rem_float": (lambda x: lax.rem(3 * x, f32(0.7)), "ab"), "mod_float": (lambda x: (3 * x) % f32(0.7), "ab"),
    "top_k": (lambda x: lax.top_k(x, 3)[0] * 2, "ab"), "top_k_at": (lambda x: lax.top_k(x, 2)[1] * 1.0, "ab"),
    "top_k_of_1": (lambda x: lax.top_k(x, 1)[0] * lax.top_k(x, 1)[1], "ab"),
    "sort": (lambda x: jnp.sort(x, -1) * 2, "ab"), "sort_middle": (lambda x: jnp.sort(x, 1), "abc"),
    "argsort": (lambda x: jnp.argsort(x, -1) * 1.0, "ab"),
    "sort_pairs": (lambda x, y: lax.sort((x, y), dimension=1, num_keys=1)[1], "ab ab"),
    "argmin": (lambda x: x.argmin(-1) * 1.0, "ab"), "any": (lambda x: jnp.any(x > 0.9, 1) * 1.0, "ab"),
    "all": (lambda x: jnp.all(x < 0.9, 1) * 1.0, "ab"),
    "slice_strided": (lambda x: x[:, 1::2] * x[:, ::2], "a(8)"),
    "round": (lambda x: jnp.round(3 * x), "ab"), "atan2": (lambda x, y: jnp.arctan2(x, y), "ab ab"),
    "tan": (jnp.tan, "ab"), "sinh": (jnp.sinh, "ab"), "cosh": (jnp.cosh, "ab"), "ceil": (lambda x: jnp.ceil(3 * x), "ab"),
    "cond": (lambda x, y: lax.cond(y[0] > 0, lambda x: jnp.sin(x), lambda x: x * 2, x), "ab b"),
    "cond_known": (lambda x: lax.cond(x.shape[0] > 0, lambda x: jnp.sin(x), lambda x: x * 2, x), "ab"),
    "while": (lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.sin(c[1]) * c[0]), (0, x))[1], "ab"),
    "fori": (lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + i, x), "ab"),
    "broadcast": (lambda x, y: x + y[None, :], "ab b"), "broadcast_3": (lambda x: x[:, None, :] * jnp.ones((1, 3, 1)), "ab"),
    "transpose": (lambda x: x.transpose(0, 2, 1) * 2, "abc"),
    "transpose_square": (lambda x, y: jnp.einsum("ab,cb->ac", y @ x, x) @ x, "bb ab"),
    "transpose_plus": (lambda x, y: y @ (x + x.T), "bb ab"),
    "squeeze": (lambda x: (x[:, None] + 1)[:, 0], "ab"),
    "reshape_merge": (lambda x, y: x.reshape(x.shape[0], -1) @ y, "abc (bc)d"),
    "reshape_split": (lambda x, y: jnp.tanh(x @ y).reshape(x.shape[0], 3, -1).sum(-1), "ab b(3c)"),
    "iota": (lambda x: x * jnp.arange(x.shape[1]), "ab"),
    "mask": (lambda x: jnp.where(jnp.arange(x.shape[1])[:, None] >= jnp.arange(x.shape[1]), x[:, :, None] * x[:, None, :], 0), "ab"),
    "slice": (lambda x: x[:, 1:3] * 2, "ab"), "slice_one": (lambda x: x[:, 1] * 2, "abc"),
    "slice_last": (lambda x: x[:, -1], "abc"), "split": (lambda x: jnp.split(x, [1], 1)[1] * 2, "ab"),
    "pad": (lambda x: jnp.pad(x, ((0, 0), (1, 2))), "ab"), "concatenate": (lambda x, y: jnp.concatenate([x, y * 2], 1), "ab ac"),
    "pad_of_ones": (lambda x: jnp.sign(jnp.pad(jnp.ones((3,)), (0, 2))) * x, "a(5)"),
    "cumsum_of_ones": (lambda x: x * jnp.cumsum(jnp.ones((x.shape[1],))), "ab"),
    "pad_of_positions": (lambda x: x * jnp.pad(jnp.arange(3), (1, 1)), "a(5)"),
    "concatenate_3": (lambda x: jnp.concatenate([x, x, -x], 1), "ab"),
    "rotate_half": (lambda x: jnp.concatenate([-x[:, 2:], x[:, :2]], 1) * 3, "a(4)"),
    "concatenate_entries": (lambda x, y: jnp.concatenate([x[:, 1:2], y, x, 0 * x[:, :1], y[:, -1:]], 1), "ab ac"),
    "concatenate_start": (lambda x, y: jnp.concatenate([jnp.broadcast_to(y, (x.shape[0], y.shape[0])), x], 1), "ab c"),
    "stack": (lambda x, y: jnp.stack([x, y, x + 1, jnp.ones_like(x)], 1), "ab ab"), "stack_last": (lambda x: jnp.stack([x, -x], -1), "abc"),
    "stack_of_numbers": (lambda x: x[:, :3] * jnp.stack([1.0, 3.0, 2.0]), "ab"),
    "unstack": (lambda x: x[:, 0] * sum(jnp.unstack(x, axis=1)), "ab"), "tile": (lambda x: jnp.tile(x, (1, 2, 3)) * 2, "abc"),
    "tile_plus": (lambda x, y: jnp.tile(x, (1, 2)) + y, "ab a(2b)"),
    "entry_at": (lambda x, i: lax.dynamic_index_in_dim(x, i, 1), "abc #b"),
    "update_at": (lambda x, y, i: lax.dynamic_update_index_in_dim(x, y, i, 1), "ab a #b"),
    "update_beyond": (lambda x, y, i: lax.dynamic_update_slice(x, y[:, None], (0, 5 * i - 9)), "ab a #b"),
    "scatter_add_first": (lambda x: jax.grad(lambda x: jnp.sin(jnp.take(x, 0, 1)).sum())(x), "ab"),
    "fill": (lambda i, t: jnp.take(t, i, 0, mode="fill", fill_value=0), "a#b bc"),
    "dynamic_slice": (lambda x: lax.dynamic_slice_in_dim(x, 1, 2, 1), "ab"),
    "dynamic_update_slice": (lambda x, y: lax.dynamic_update_slice_in_dim(x, y[:, :2], 1, 1), "ab ab"),
    "gather": (lambda i, t: t[i], "a#b bc"), "take_along_axis": (lambda x, i: jnp.take_along_axis(x, i[:, None], 1)[:, 0], "ab a#b"),
    "take": (lambda i, t: jnp.take(t, i, 0), "ac#b bd"),
    "scatter_add": (lambda i, t, g: jax.grad(lambda t: (t[i] * g).sum())(t).sum() * g, "a#b bc ac"),
    "take_along_axis_grad": (lambda x, i: jax.grad(lambda x: jnp.sin(jnp.take_along_axis(x, i[:, None], 1)).sum())(x), "ab a#b"),
    "softmax": (lambda x: jax.nn.softmax(x, -1), "ab"), "log_softmax": (lambda x: jax.nn.log_softmax(x, -1), "ab"),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, -1), "ab"), "gelu": (jax.nn.gelu, "ab"),
    "silu": (jax.nn.silu, "ab"), "relu": (jax.nn.relu, "ab"), "one_hot": (lambda i, t: jax.nn.one_hot(i, t.shape[0]) @ t, "a#b bc"),
    "scan": (lambda x, w: lax.scan(lambda c, v: (jnp.tanh(c * v), c.sum(-1)), x, w), "ab cb"),
    "scan_reverse": (lambda x, w: lax.scan(lambda c, v: (jnp.tanh(c * v), c + 1), x, w, reverse=True), "ab cb"),
    "scan_grad": (lambda x, w: jax.grad(lambda x: lax.scan(lambda c, v: (jnp.tanh(c * v), None), x, w)[0].sum())(x), "ab cb"),
    "inverse": (lambda x: jnp.arcsin(jnp.tanh(x)) + jnp.arccos(jnp.tanh(x)) * jnp.arctan(x - 0.5), "ab"),
    "inverse_hyperbolic": (lambda x: jnp.arcsinh(x) + jnp.arccosh(x * x + 1.5) + jnp.arctanh(x / (1 + x * x)), "ab"),
    "cbrt_round": (lambda x: jnp.cbrt(x - 0.5) + lax.round(3 * x - 1.5), "ab"),
    "cumprod": (lambda x: lax.cumprod(x, 1), "ab"), "cummax": (lambda x: lax.cummax(x, 1, reverse=True), "abc"),
    "cummin": (lambda x: lax.cummin(x, 1), "ab"), "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, 1), "abc"),
    "prod": (lambda x: jnp.prod(x, (1, 2)), "abc"), "xor": (lambda x, y: jnp.where((x > y) ^ (x > 0.5), x, 0), "ab ab"),
    "shift": (lambda x: x * ((jnp.arange(x.shape[1]) - 3 >> 1) + (jnp.arange(x.shape[1]) << 2)), "ab"),
    "select_many": (lambda x: jnp.select([x > 0.8, x > 0.5, x > 0.2], [x, 2 * x, 3 * x], 1.0), "ab"),
    "slice_uneven": (lambda x: x[:, 1::3] * 2, "a(8)"), "slice_of_merged": (lambda x: x.reshape(x.shape[0], -1)[:, 1:-2] * 2, "abc"),
    "iota_of_merged": (lambda x: (x * jnp.arange(x.shape[1])).reshape(x.shape[0], 3, -1).sum(1), "a(3b)"),
    "pad_between": (lambda x: lax.pad(x, f32(0), ((0, 0, 0), (1, 2, 1))), "ab"),
    "associative_scan": (lambda x, y: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, y), axis=1)[1], "ab ab"),
    "average_pool": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 1), (1, 2, 1), "SAME") / 3, "a(5)c"),
    "max_pool": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 1), (1, 2, 1), "SAME"), "a(5)c"),
    "max_pool_grad": (lambda x: jax.grad(lambda x: (lax.reduce_window(
        x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID") ** 2).sum())(x), "a(4)(6)"),
    "conv": (lambda x, w: convolved(x, w, (1,), "SAME", "NWC"), "abc (3)cd"),
    "conv_of_channels": (lambda x, w: convolved(x, w[:, None], (1,), [(3, 0)], "NWC", feature_group_count=x.shape[2]), "abc (4)c"),
    "conv_strided": (lambda x, w: convolved(x, w, (2, 2), "SAME", "NHWC"), "a(6)(5)c (3)(3)cd"),
    "conv_dilated": (lambda x, w: convolved(x, w, (1,), "VALID", "NWC", rhs_dilation=(2,)), "a(7)c (3)cd"),
    "conv_grad": (lambda x, w: jax.grad(lambda x: (convolved(x, w, (2,), "SAME", "NWC") ** 2).sum())(x), "a(6)c (3)cd"),
    "conv_grad_of_weights": (lambda x, y, w: x[:, None, None, None] * jax.grad(
        lambda w: (convolved(y, w, (1,), "SAME", "NWC") ** 2).sum())(w), "a (2)(5)c (3)cd"),
    "ragged_dot": (lambda x, y, w: x[:, None, None] * lax.ragged_dot(y, w, 1 + jnp.arange(3)), "a (6)b (3)bc"),
    "scatter_entry": (lambda x, y: x.at[:, 1].set(y), "ab a"), "scatter_window": (lambda x: x.at[:, 1:3, 2].set(2.0), "abc"),
    "scatter_combined": (lambda x: x.at[:, 0].multiply(3.0).at[:, 1].max(0.5).at[:, 2].min(0.5).at[:, 1:3].add(1.0), "ab"),
    "scatter_beyond": (lambda x: x.at[:, 99].set(1.0).at[:, 99].add(1.0), "ab"),
    "scatter_rows": (lambda x, i, y: x.at[jnp.arange(x.shape[0]), i].set(y), "ab a#b a"),
    "scatter_add_rows": (lambda x, i: x.at[jnp.arange(x.shape[0])[:, None], i].add(2.0), "ab a(3)#b"),
    "gather_rows": (lambda x, i: jnp.sin(x[jnp.arange(x.shape[0])[:, None], i]), "ab a(3)#b"),
    "gather_several": (lambda x, i: jax.vmap(lambda x, i: x[i])(x, i), "abc a(3)#b"),
    "gather_several_grad": (lambda x, i: jax.grad(lambda x: jnp.sin(jnp.take_along_axis(x, i, 1)).sum())(x), "ab a(3)#b"),
    "gather_diagonal": (lambda x: jax.vmap(lambda x: jnp.diagonal(jnp.outer(x, x)) + jnp.outer(x, x)[1, 2])(x), "ab"),
    "remat": (lambda x, w: jax.grad(lambda x: jax.checkpoint(lambda x: jnp.tanh(x @ w))(x).sum())(x), "ab bb"),
    "custom_jvp": (lambda x: jax.grad(lambda x: jax.nn.relu(x * x).sum())(x), "ab"),
    "value_and_grad": (lambda x, w: jax.value_and_grad(lambda x: jnp.tanh(x @ w).sum(1).sum())(x)[1], "ab bc"),
}


def parsed(text, sizes):
    """Sizes, dims, the size that ids stay below, of one argument."""
    text, _, below = text.partition("#")
    shape, dims, i = [], [], 0
    while i < len(text):
        word = text[i]
        if word == "(":
            word = text[i + 1:text.index(")", i)]
            i += len(word) + 1
        size = 1
        for letter in word:
            size *= int(letter) if letter.isdigit() else sizes[letter]
        shape.append(size)
        dims.append(word)
        i += 1
    return tuple(shape), dims, sizes.get(below)


@pytest.mark.parametrize("case", range(CASES))
@pytest.mark.parametrize("name", LAWS)
def test_values(name, case):
    function, texts = LAWS[name]
    draw = random.Random(f"{name} {case}")
    sizes = dict(zip("abcd", (draw.choice([4, 8]), *draw.sample([3, 5, 6, 7], 3))))
    if case == 0:
        sizes = {"a": 4, "b": 5, "c": 3, "d": 6}
    parts = [parsed(text, sizes) for text in texts.split()]
    shapes = [jax.ShapeDtypeStruct(s, "int32" if below else "float32") for s, _, below in parts]
    specs = tuple(P("d") if dims[:1] == ["a"] else P() for _, dims, _ in parts)
    out = jax.eval_shape(function, *shapes)
    out_specs = jax.tree.map(lambda x: P(*("d" if n == sizes["a"] and i == at_of(x, sizes) else None
                                           for i, n in enumerate(x.shape))), out)
    sharded = jax.shard_map(function, mesh=MESH, in_specs=specs, out_specs=out_specs, check_vma=False)
    report = shardproof.prove(function, sharded, *shapes, meshes=1)
    agree = [check for check in report.checks if "agree to" in check]
    if name in ("scatter_add",):  # a sum over all of the batch: the plan is wrong, and said to be
        assert report.verdict == "refuted" and len(agree) == 1, report
        return
    assert report.proved and len(agree) == 2, report


def at_of(x, sizes):
    """The position of the batch in a result."""
    return x.shape.index(sizes["a"]) if sizes["a"] in x.shape else -1
