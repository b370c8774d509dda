"""Functions with derivatives of their own, higher derivatives, branches, one device, constants, repeated heads."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

from . import ids, pair

# Functions with derivatives of their own


@jax.custom_jvp
def clipped_log(x):
    return jnp.log(jnp.maximum(x, 1e-3))


clipped_log.defjvp(lambda primals, tangents: (clipped_log(*primals), tangents[0] / jnp.maximum(primals[0], 1e-3)))


@jax.custom_vjp
def tripled(x):
    return 3 * x


tripled.defvjp(lambda x: (3 * x, None), lambda _, g: (3 * g,))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def copy_to(x, axis):
    return x


copy_to.defvjp(lambda x, axis: (x, None), lambda axis, _, g: (lax.psum(g, axis),))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def reduce_from(x, axis):
    return lax.psum(x, axis)


reduce_from.defvjp(lambda x, axis: (lax.psum(x, axis), None), lambda axis, _, g: (g,))


def custom_gradient(x, w):
    return jax.grad(lambda w: jnp.sum(tripled(clipped_log(jnp.exp(x @ w)))))(w)


@pair("custom_rules", custom_gradient, (P("d"), P()), P(), (8, 6), (6, 5))
def _(x, w):
    return lax.psum(custom_gradient(x, w), "d")


def megatron(x, a, b):
    return jax.value_and_grad(lambda x, a, b: jnp.sum((jnp.tanh(x @ a) @ b) ** 2), (0, 1, 2))(x, a, b)


MEGATRON = (P(), P(None, "t"), P("t", None)), (P(), (P(), P(None, "t"), P("t", None))), (8, 6), (6, 12), (12, 6)


@pair("f_and_g", megatron, *MEGATRON)
def _(x, a, b):
    return jax.value_and_grad(lambda x, a, b: jnp.sum(
        reduce_from(jnp.tanh(copy_to(x, "t") @ a) @ b, "t") ** 2), (0, 1, 2))(x, a, b)


@pair("f_left_out", megatron, *MEGATRON, bug="Megatron's f is left out: the gradient of x is one rank's")
def _(x, a, b):
    return jax.value_and_grad(lambda x, a, b: jnp.sum(
        reduce_from(jnp.tanh(x @ a) @ b, "t") ** 2), (0, 1, 2))(x, a, b)


def remat_loss(ws, x):
    def layer(x, w):
        return jnp.sin(x @ w), None
    return jax.grad(lambda ws: jnp.sum(lax.scan(layer, x, ws)[0]))(ws)


@pair("checkpoint_policy", remat_loss, (P(None, "d"), P("d")), P(None, "d"), (3, 8, 8), (4, 8))
def _(ws, x):
    @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    def layer(x, w):
        with jax.named_scope("layer"):
            return jnp.sin(x @ lax.all_gather(w, "d", axis=0, tiled=True)), None
    return jax.grad(lambda ws: jnp.sum(lax.scan(layer, x, ws)[0]))(ws)


@pair("checkpoint_gradient_averaged", remat_loss, (P(None, "d"), P("d")), P(None, "d"), (3, 8, 8), (4, 8),
      bug="C3 the average of gradients of a sum")
def _(ws, x):
    @jax.checkpoint
    def layer(x, w):
        return jnp.sin(x @ lax.all_gather(w, "d", axis=0, tiled=True)), None
    return jax.grad(lambda ws: jnp.sum(lax.scan(layer, x, ws)[0]) / lax.axis_size("d"))(ws)


# Derivatives, branches, one device, constants, repeated heads


@pair(
    "jvp",
    lambda x, w: jax.jvp(lambda w: jnp.tanh(x @ w), (w,), (w * w,))[1],
    (P("d"), P(None, "t")),
    P("d", "t"),
    (8, 6),
    (6, 8),
)
def _(x, w):
    return jax.jvp(lambda w: jnp.tanh(x @ w), (w,), (w * w,))[1]


@pair(
    "vjp_linearize",
    lambda x, w: jax.vjp(lambda w: jnp.sin(x @ w), w)[1](jnp.ones((x.shape[0], w.shape[1])))[0],
    (P("d"), P(None, "t")),
    P(None, "t"),
    (8, 6),
    (6, 8),
)
def _(x, w):
    return lax.psum(jax.vjp(lambda w: jnp.sin(x @ w), w)[1](jnp.ones((x.shape[0], w.shape[1])))[0], "d")


@pair(
    "hvp",
    lambda x, w: jax.grad(lambda w: jnp.vdot(jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w), w))(w),
    (P("d"), P()),
    P(),
    (8, 6),
    (6, 5),
)
def _(x, w):
    return lax.psum(jax.grad(lambda w: jnp.vdot(jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w), w))(w), "d")


@pair("switch_static", lambda x: jnp.sin(x), (P("d"),), P("d"), (8, 6))
def _(x):
    return lax.switch(1, [jnp.cos, jnp.sin, jnp.tanh], x)


def chosen(x, i):
    return jnp.where(i >= 1, jnp.tanh(x), x * x)


@pair("switch_clamps", chosen, (P("d", "t"), P()), P("d", "t"), (8, 8), ids())
def _(x, i):
    return lax.switch(i, [jnp.square, jnp.tanh, jnp.tanh], x)


@pair("switch_third", chosen, (P("d", "t"), P()), P("d", "t"), (8, 8), ids(), bug="an index of 2 or more is as 0")
def _(x, i):
    return lax.switch(i, [jnp.square, jnp.tanh, jnp.square], x)


ROWS = (lambda x, i: chosen(x, i[:, None]), (P("d", "t"), P("d")), P("d", "t"), (8, 8), ids(8))


@pair("switch_of_each_row", *ROWS)
def _(x, i):
    return jax.vmap(lambda x, i: lax.switch(i, [jnp.square, jnp.tanh], x))(x, i)


@pair("switch_of_each_row_from_2", *ROWS, bug="the index counts from 1")
def _(x, i):
    return jax.vmap(lambda x, i: lax.switch(i - 1, [jnp.square, jnp.tanh], x))(x, i)


@pair("switch_data", lambda x, i: lax.switch(i, [jnp.cos, jnp.sin, jnp.tanh], x), (P("d"), P()), P("d"), (8, 6), ids())
def _(x, i):
    return lax.switch(i, [jnp.cos, jnp.sin, jnp.tanh], x)


@pair("tuple_index", lambda x: x * jnp.arange(x.shape[0])[:, None], (P(("d", "t")),), P(("d", "t")), (16, 6))
def _(x):
    return x * (lax.axis_index(("d", "t")) * x.shape[0] + jnp.arange(x.shape[0]))[:, None]


@pair(
    "gather_last_axis", lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True), (P(None, "t"),), P(None, "t"), (8, 8)
)
def _(x):
    return x / jnp.linalg.norm(lax.all_gather(x, "t", axis=1, tiled=True), axis=-1, keepdims=True)


@pair("first_rank_only", lambda x: x.sum(0), (P("d"),), P(), (8, 6))
def _(x):
    s = lax.psum(x.sum(0), "d")
    return lax.psum(jnp.where(lax.axis_index("d") == 0, s, 0.0), "d")


@pair("broadcast_from_first", lambda x, b: x + b, (P("d"), P()), P("d"), (8, 6), (6,))
def _(x, b):
    b = jnp.where(lax.axis_index("d") == 0, b, jnp.zeros_like(b))
    return x + lax.psum(b, "d")


@pair("one_hot_matmul_embed", lambda t, i: t[i], (P("t"), P("d")), P("d"), (8, 6), ids(8))
def _(t, i):
    n = t.shape[0]
    return lax.psum(jax.nn.one_hot(i - lax.axis_index("t") * n, n) @ t, "t")


@pair("one_hot_matmul_embed_wrong", lambda t, i: t[i], (P("t"), P("d")), P("d"), (8, 6), ids(8), bug="no offset")
def _(t, i):
    return lax.psum(jax.nn.one_hot(i, t.shape[0]) @ t, "t")


@pair("mean_var_three", lambda x: (x - x.mean()) / x.std(), (P("d", "t"),), P("d", "t"), (8, 8))
def _(x):
    m = lax.pmean(x.mean(), ("d", "t"))
    v = lax.pmean(((x - m) ** 2).mean(), ("d", "t"))
    return (x - m) / jnp.sqrt(v)


@pair("argmax_split", lambda x: jnp.argmax(x, -1), (P("d", "t"),), P("d"), (8, 8), bug="own argmax")
def _(x):
    return lax.pmax(jnp.argmax(x, -1), "t")


@pair(
    "numpy_constant",
    lambda x: x * np.float32(2) + np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], np.float32),
    (P("d"),),
    P("d"),
    (8, 6),
)
def _(x):
    return x * 2 + np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], np.float32)


@pair("tril_constant", lambda x: jnp.tril(jnp.ones((8, 8))) @ x, (P(None, "t"),), P(None, "t"), (8, 8))
def _(x):
    return jnp.tril(jnp.ones((8, 8))) @ x


@pair("np_tril_constant", lambda x: np.tril(np.ones((8, 8), np.float32)) @ x, (P(None, "t"),), P(None, "t"), (8, 8))
def _(x):
    return np.tril(np.ones((8, 8), np.float32)) @ x


@pair("at_add", lambda x, i, u: x.at[i].add(u), (P(None, "t"), P(), P(None, "t")), P(None, "t"), (8, 8), ids(5), (5, 8))
def _(x, i, u):
    return x.at[i].add(u)


@pair("segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 8), (P("d"), P("d")), P(), (8, 6), ids(8))
def _(x, i):
    return lax.psum(jax.ops.segment_sum(x, i, 8), "d")


@pair(
    "repeat_kv",
    lambda q, k: jnp.einsum("lhd,mhd->hlm", q, jnp.repeat(k, 2, 1)),
    (P(None, "t"), P(None, "t")),
    P("t"),
    (4, 16, 3),
    (4, 8, 3),
)
def _(q, k):
    return jnp.einsum("lhd,mhd->hlm", q, jnp.repeat(k, 2, 1))


@pair(
    "tile_kv_wrong",
    lambda q, k: jnp.einsum("lhd,mhd->hlm", q, jnp.repeat(k, 2, 1)),
    (P(None, "t"), P(None, "t")),
    P("t"),
    (4, 16, 3),
    (4, 8, 3),
    bug="tile for repeat",
)
def _(q, k):
    return jnp.einsum("lhd,mhd->hlm", q, jnp.tile(k, (1, 2, 1)))


@pair("tril_triu", lambda x: jnp.triu(x) + jnp.tril(x, -1), (P(None),), P(None), (8, 8))
def _(x):
    return x


@pair(
    "activations",
    lambda x: jax.nn.softplus(x)
    + jax.nn.log_sigmoid(x)
    + jax.nn.elu(x)
    + jax.nn.leaky_relu(x)
    + jax.nn.hard_tanh(x)
    + jax.nn.swish(x)
    + jax.nn.relu6(x)
    + jax.nn.squareplus(x)
    + jax.nn.mish(x)
    + jax.nn.selu(x),
    (P("d"),),
    P("d"),
    (8, 8),
)
def _(x):
    return (
        jax.nn.softplus(x)
        + jax.nn.log_sigmoid(x)
        + jax.nn.elu(x)
        + jax.nn.leaky_relu(x)
        + jax.nn.hard_tanh(x)
        + jax.nn.swish(x)
        + jax.nn.relu6(x)
        + jax.nn.squareplus(x)
        + jax.nn.mish(x)
        + jax.nn.selu(x)
    )
