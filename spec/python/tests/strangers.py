"""Pairs of programs in the many ways in which JAX can be written; wrong ones beside right ones."""
from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P
from programs import Pair, ids

PAIRS: list[Pair] = []
MESH = AbstractMesh((2, 4), ("d", "t"))
DEEP = AbstractMesh((2, 2, 2), ("a", "b", "c"))


def pair(name, model, in_specs, out_specs, *shapes, bug="", mesh=MESH):
    def add(body):
        PAIRS.append(Pair(name, not bug, model, body, in_specs, out_specs, shapes, bug, mesh))
        return body
    return add


# Other spellings of products


def scores(q, k):
    return jnp.einsum("bqhd,bkhd->bhqk", q, k)


QK = (P("d", None, "t"), P("d", None, "t")), P("d", "t"), (4, 6, 8, 5), (4, 7, 8, 5)


@pair("einsum_ellipsis", scores, *QK)
def _(q, k):
    return jnp.einsum("...qhd,...khd->...hqk", q, k)


@pair("matmul_swapaxes", scores, *QK)
def _(q, k):
    return jnp.swapaxes(q, 1, 2) @ jnp.moveaxis(k, 1, -1)


@pair("vmap_of_dot", scores, *QK)
def _(q, k):
    return jax.vmap(jax.vmap(lambda q, k: q @ k.T, (1, 1)))(q, k)


@pair("scores_of_the_wrong_head", scores, *QK, bug="heads reversed on each rank")
def _(q, k):
    return jnp.einsum("bqhd,bkhd->bhqk", q, k[:, :, ::-1])


def gram(x):
    return jnp.einsum("ij,kj->ik", x, x)


@pair("gram_gathered", gram, (P("d"),), P("d"), (8, 6))
def _(x):
    return jnp.tensordot(x, lax.all_gather(x, "d", axis=0, tiled=True), axes=((1,), (1,)))


@pair("gram_local", gram, (P("d"),), P("d", None), (8, 6),
      bug="each rank multiplies its own rows")
def _(x):
    y = x @ x.T
    return jnp.concatenate([y, y], 1)


@pair("vdot_and_trace", lambda x, y: jnp.vdot(x, y) + jnp.trace(x @ y.T), (P(None, "t"), P(None, "t")), P(),
      (4, 8), (4, 8))
def _(x, y):
    return lax.psum(2 * jnp.vdot(x, y), "t")


# Collectives: tiled or not, over two axes, with arithmetic on the index


def total(x):
    return x / jnp.linalg.norm(x)


@pair("norm_over_two_axes", total, (P("d", "t"),), P("d", "t"), (8, 16))
def _(x):
    return x / jnp.sqrt(lax.psum(jnp.sum(jnp.square(x)), ("d", "t")))


@pair("norm_over_one_axis", total, (P("d", "t"),), P("d", "t"), (8, 16), bug="C1 one of two axes is not reduced")
def _(x):
    return x / jnp.sqrt(lax.psum(jnp.sum(jnp.square(x)), "t"))


def shifted(x):
    return x - x.mean(0, keepdims=True)


@pair("gather_not_tiled", shifted, (P("d"),), P("d"), (8, 6))
def _(x):
    all_x = lax.all_gather(x, "d")
    return x - all_x.reshape(-1, x.shape[1]).mean(0)


@pair("gather_not_tiled_mean", shifted, (P("d"),), P("d"), (8, 6))
def _(x):
    return x - lax.all_gather(x.mean(0), "d").mean(0)


@pair("gather_not_tiled_first", shifted, (P("d"),), P("d"), (8, 6), bug="the mean of the first rank alone")
def _(x):
    return x - lax.all_gather(x.mean(0), "d")[0]


@pair("scatter_not_tiled", lambda x, w: x @ w, (P(None, "t"), P("t")), P("t"), (8, 16), (16, 6))
def _(x, w):
    y = x @ w
    return lax.psum_scatter(y.reshape(4, -1, y.shape[1]), "t")


@pair("all_to_all_not_tiled", lambda x: x / x.sum(0), (P("t", None),), P(None, "t"), (8, 12))
def _(x):
    x = x.reshape(x.shape[0], 4, -1)
    x = lax.all_to_all(x, "t", 1, 0)
    x = x.reshape(-1, x.shape[-1])
    return x / x.sum(0)


@pair("all_to_all_of_the_wrong_columns", lambda x: x / x.sum(0), (P("t", None),), P(None, "t"), (8, 12),
      bug="each rank gets every fourth column")
def _(x):
    x = x.reshape(x.shape[0], -1, 4)
    x = lax.all_to_all(x, "t", 2, 0)
    x = x.reshape(-1, x.shape[-1])
    return x / x.sum(0)


@pair("rank_arithmetic", lambda x: x * jnp.arange(x.shape[0])[:, None], (P(("d", "t")),), P(("d", "t")), (16, 6))
def _(x):
    rank = lax.axis_index("d") * lax.axis_size("t") + lax.axis_index("t")
    return x * (rank * x.shape[0] + jnp.arange(x.shape[0]))[:, None]


@pair("rank_arithmetic_swapped", lambda x: x * jnp.arange(x.shape[0])[:, None], (P(("d", "t")),), P(("d", "t")),
      (16, 6), bug="B3 ranks counted in the other order")
def _(x):
    rank = lax.axis_index("t") * lax.axis_size("d") + lax.axis_index("d")
    return x * (rank * x.shape[0] + jnp.arange(x.shape[0]))[:, None]


@pair("own_rows_of_a_copy", lambda x, w: x * w, (P("t"), P()), P("t"), (16, 6), (16, 6))
def _(x, w):
    n = x.shape[0]
    return x * lax.dynamic_slice_in_dim(w, lax.axis_index("t") * n, n)


@pair("next_rank_and_back", lambda x: jnp.roll(x, 0, 0) * 3, (P("t"),), P("t"), (16, 6))
def _(x):
    n = lax.axis_size("t")
    y = lax.ppermute(x, "t", [(i, (i + 1) % n) for i in range(n)])
    return 2 * x + lax.ppermute(y, "t", [(i, (i - 1) % n) for i in range(n)])


@pair("next_rank_not_back", lambda x: x * 3, (P("t"),), P("t"), (16, 6), bug="rows of the neighbour")
def _(x):
    n = lax.axis_size("t")
    return 2 * x + lax.ppermute(x, "t", [(i, (i + 1) % n) for i in range(n)])


@pair("sum_by_a_ring", lambda x, w: x @ w, (P(None, "t"), P("t")), P(), (8, 16), (16, 6))
def _(x, w):
    n = lax.axis_size("t")
    part = total = x @ w
    for _ in range(n - 1):
        part = lax.ppermute(part, "t", [(i, (i + 1) % n) for i in range(n)])
        total = total + part
    return total


# Loops


def stacked(ws, x):
    return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0]


STACK = (P(None, None, "t"), P("d")), P("d"), (3, 8, 8), (4, 8)


def column(x, w):
    return lax.all_gather(jnp.tanh(x @ w), "t", axis=1, tiled=True)


@pair("unrolled_layers", stacked, *STACK)
def _(ws, x):
    for i in range(ws.shape[0]):
        x = column(x, ws[i])
    return x


@pair("fori_layers", stacked, *STACK)
def _(ws, x):
    return lax.fori_loop(0, ws.shape[0], lambda i, x: column(x, ws[i]), x)


@pair("fori_layers_one_short", stacked, *STACK, bug="the last layer is left out")
def _(ws, x):
    return lax.fori_loop(0, ws.shape[0] - 1, lambda i, x: column(x, ws[i]), x)


def per_example(x, w):
    return jax.vmap(lambda row: jax.nn.softmax(row @ w))(x)


@pair("map_in_place_of_vmap", per_example, (P("d"), P()), P("d"), (8, 6), (6, 5))
def _(x, w):
    return lax.map(lambda row: jax.nn.softmax(row @ w), x)


@pair("vmap_with_a_collective", per_example, (P("d"), P(None, "t")), P("d", "t"), (8, 6), (6, 8))
def _(x, w):
    def one(row):
        z = row @ w
        e = jnp.exp(z - lax.pmax(z.max(), "t"))
        return e / lax.psum(e.sum(), "t")
    return jax.vmap(one)(x)


@pair("vmap_of_a_local_softmax", per_example, (P("d"), P(None, "t")), P("d", "t"), (8, 6), (6, 8),
      bug="C7 the denominator is the rank's own")
def _(x, w):
    return jax.vmap(lambda row: jax.nn.softmax(row @ w))(x)


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


# Types and trees


class Weights(NamedTuple):
    up: jax.Array
    down: jax.Array


def dict_model(p, x):
    return jnp.where(x > 0, x, 0) @ p["w"].up @ p["w"].down + p["b"]


DICT = ({"w": Weights(P(None, "t"), P("t", None)), "b": P()}, P("d")), P("d"), \
    {"w": Weights((6, 8), (8, 6)), "b": (6,)}, (8, 6)


@pair("trees_and_weak_types", dict_model, *DICT)
def _(p, x):
    @jax.jit
    def inner(x, *, p):
        return lax.psum(jnp.maximum(x, 0) @ p["w"].up @ p["w"].down, "t")
    return inner(x, p=p) + p["b"]


@pair("trees_bias_in_the_sum", dict_model, *DICT, bug="C7 the bias is added on every rank")
def _(p, x):
    return lax.psum(jnp.maximum(x, 0) @ p["w"].up @ p["w"].down + p["b"], "t")


@pair("bfloat16_casts", lambda x, w: x @ w, (P("d", "t"), P("t")), P("d"), (8, 16), (16, 6))
def _(x, w):
    y = jnp.matmul(x, w, preferred_element_type=jnp.float32)
    return lax.psum(y.astype(jnp.float32), "t").astype(x.dtype)


@pair("integers_promoted", lambda x, n: x / n + n ** 2 + n // 2, (P("d"), P("d")), P("d"), (8,), ids(8))
def _(x, n):
    return x / n.astype(float) + (n * n) + n // 2


@functools.partial(jax.jit, static_argnums=2, static_argnames="scale")
def static(x, w, power, *, scale=1.0):
    return jnp.power(x @ w, power) * scale


@pair("integers_not_cast", lambda x, n: x * 0 + n // 2, (P("d"), P("d")), P("d"), (8,), ids(8), bug="the result is an integer")
def _(x, n):
    return n // 2 + 1


@pair("static_arguments", lambda x, w: static(x, w, 2, scale=0.5), (P("d"), P(None, "t")), P("d", "t"), (8, 6),
      (6, 8))
def _(x, w):
    return static(x, w, 2, scale=0.5)


@pair("static_argument_differs", lambda x, w: static(x, w, 2, scale=0.5), (P("d"), P(None, "t")), P("d", "t"),
      (8, 6), (6, 8), bug="the cube in place of the square")
def _(x, w):
    return static(x, w, 3, scale=0.5)


@pair("log_likelihood", lambda z, y: optax.softmax_cross_entropy_with_integer_labels(z, y).mean(),
      (P("d"), P("d")), P(), (8, 6), ids(8))
def _(z, y):
    return lax.pmean(optax.softmax_cross_entropy_with_integer_labels(z, y).mean(), "d")


@pair("one_hot_likelihood", lambda z, y: -jnp.mean(jnp.sum(jax.nn.log_softmax(z) * jax.nn.one_hot(y, 6), -1)),
      (P("d"), P("d")), P(), (8, 6), ids(8))
def _(z, y):
    picked = jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], -1)
    return -lax.pmean(picked.mean(), "d")


@pair("one_hot_likelihood_summed", lambda z, y: -jnp.mean(jnp.sum(jax.nn.log_softmax(z) * jax.nn.one_hot(y, 6), -1)),
      (P("d"), P("d")), P(), (8, 6), ids(8), bug="C3 the sum of means")
def _(z, y):
    return -lax.psum((jax.nn.log_softmax(z) * jax.nn.one_hot(y, 6)).sum(-1).mean(), "d")


def normed(x, g, b):
    m = x.mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


LN = (P("d", "t"), P("t"), P("t")), P("d", "t"), (8, 16), (16,), (16,)


@pair("layer_norm_split", normed, *LN)
def _(x, g, b):
    m = lax.pmean(x.mean(-1, keepdims=True), "t")
    v = lax.pmean(jnp.square(x - m).mean(-1, keepdims=True), "t")
    return (x - m) * lax.rsqrt(v + 1e-5) * g + b


@pair("layer_norm_two_moments", normed, *LN)
def _(x, g, b):
    m, s = lax.pmean((x.mean(-1, keepdims=True), (x * x).mean(-1, keepdims=True)), "t")
    return (x - m) * lax.rsqrt(s - m * m + 1e-5) * g + b


@pair("layer_norm_own_mean", normed, *LN, bug="C7 the variance is about each rank's own mean")
def _(x, g, b):
    m = lax.pmean(x.mean(-1, keepdims=True), "t")
    v = lax.pmean(x.var(-1, keepdims=True), "t")
    return (x - m) * lax.rsqrt(v + 1e-5) * g + b


# Three axes, attention, mixtures, optimizers


def attention(q, k, v):
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(mask, s, -1e10), -1), v)


ATTENTION = (P("a", "b", "c"),) * 3, P("a", "b", "c"), *[(4, 8, 4, 6)] * 3


@pair("attention_gathered_keys", attention, *ATTENTION, mesh=DEEP)
def _(q, k, v):
    k, v = (lax.all_gather(x, "b", axis=1, tiled=True) for x in (k, v))
    rows = lax.axis_index("b") * q.shape[1] + jnp.arange(q.shape[1])
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    s = jnp.where(rows[:, None] >= jnp.arange(k.shape[1]), s, -1e10)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1), v)


@pair("attention_mask_of_local_rows", attention, *ATTENTION, mesh=DEEP, bug="C9 rows counted from 0 on every rank")
def _(q, k, v):
    k, v = (lax.all_gather(x, "b", axis=1, tiled=True) for x in (k, v))
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    s = jnp.where(jnp.arange(q.shape[1])[:, None] >= jnp.arange(k.shape[1]), s, -1e10)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1), v)


@pair("attention_ulysses", attention, *ATTENTION, mesh=DEEP)
def _(q, k, v):
    q, k, v = (lax.all_to_all(x, "b", 2, 1, tiled=True) for x in (q, k, v))
    return lax.all_to_all(attention(q, k, v), "b", 1, 2, tiled=True)


@pair("attention_dot_product", lambda q, k, v: jax.nn.dot_product_attention(q, k, v), (P("d", None, "t"),) * 3,
      P("d", None, "t"), *[(4, 6, 8, 5)] * 3)
def _(q, k, v):
    return jax.nn.dot_product_attention(q, k, v)


def experts(x, gate, w):
    route = jax.nn.one_hot(jnp.argmax(x @ gate, -1), gate.shape[1])
    return jnp.einsum("be,bm,emf->bf", route, x, w)


EXPERTS = (P("d"), P(), P("t")), P("d"), (8, 6), (6, 8), (8, 6, 5)


@pair("experts_split", experts, *EXPERTS)
def _(x, gate, w):
    route = jax.nn.one_hot(jnp.argmax(x @ gate, -1), gate.shape[1])
    n = w.shape[0]
    mine = lax.dynamic_slice_in_dim(route, lax.axis_index("t") * n, n, 1)
    return lax.psum(jnp.einsum("be,bm,emf->bf", mine, x, w), "t")


@pair("experts_first_ones", experts, *EXPERTS, bug="C9 every rank routes to its own experts as if they were the first")
def _(x, gate, w):
    route = jax.nn.one_hot(jnp.argmax(x @ gate, -1), gate.shape[1])
    return lax.psum(jnp.einsum("be,bm,emf->bf", route[:, :w.shape[0]], x, w), "t")


def momentum(p, m, x):
    opt = optax.sgd(0.1, momentum=0.9, nesterov=True)
    state = opt.init(p)
    state = (state[0]._replace(trace=m), *state[1:])
    g = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"]) ** 2))(p)
    updates, _ = opt.update(g, state, p)
    return optax.apply_updates(p, updates)


MOMENTUM = ({"w": P(), "b": P()}, {"w": P(), "b": P()}, P("d")), {"w": P(), "b": P()}, \
    {"w": (6, 5), "b": (5,)}, {"w": (6, 5), "b": (5,)}, (8, 6)


@pair("optax_sgd", momentum, *MOMENTUM)
def _(p, m, x):
    opt = optax.sgd(0.1, momentum=0.9, nesterov=True)
    state = opt.init(p)
    state = (state[0]._replace(trace=m), *state[1:])
    g = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"]) ** 2))(p)
    updates, _ = opt.update(lax.pmean(g, "d"), state, p)
    return optax.apply_updates(p, updates)


@pair("optax_sgd_not_reduced", momentum, *MOMENTUM, bug="C1 gradients are not averaged")
def _(p, m, x):
    return momentum(p, m, x)


@pair("gradient_of_a_linear_loss", lambda x, w: jax.grad(lambda w: jnp.mean(x @ w))(w), (P("d"), P()), P(), (8, 6), (6, 5))
def _(x, w):
    return lax.pmean(jax.grad(lambda w: jnp.mean(x @ w))(w), "d")


# Loops, trees, masks, steps


@functools.partial(jax.tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=["rate"])
@dataclasses.dataclass
class Layer:
    w: jax.Array
    b: jax.Array
    rate: float = 0.1


def train(layer, x, y):
    def loss(layer):
        return jnp.mean(jnp.square(x @ layer.w + layer.b - y))
    value, g = jax.value_and_grad(loss)(layer)
    return value, jax.tree.map(lambda p, g: p - layer.rate * g, layer, g)


DATA = (Layer(P(), P()), P("d"), P("d")), (P(), Layer(P(), P())), Layer((6, 5), (5,)), (8, 6), (8, 5)


@pair("dataclass", train, *DATA)
def _(layer, x, y):
    def loss(layer):
        return lax.pmean(jnp.mean(jnp.square(x @ layer.w + layer.b - y)), "d")
    value, g = jax.value_and_grad(loss)(layer)
    g = lax.pmean(g, "d")
    return value, jax.tree.map(lambda p, g: p - layer.rate * g, layer, g)


@pair("ring_by_a_loop", lambda x, w: x @ w, (P(None, "t"), P("t")), P(), (8, 16), (16, 6))
def _(x, w):
    n = lax.axis_size("t")

    def step(_, c):
        part, total = c
        part = lax.ppermute(part, "t", [(i, (i + 1) % n) for i in range(n)])
        return part, total + part
    part = x @ w
    return lax.fori_loop(0, n - 1, step, (part, part))[1]


@pair("ring_by_a_loop_too_short", lambda x, w: x @ w, (P(None, "t"), P("t")), P(), (8, 16), (16, 6),
      bug="one rank's term is not added")
def _(x, w):
    n = lax.axis_size("t")

    def step(_, c):
        part, total = c
        part = lax.ppermute(part, "t", [(i, (i + 1) % n) for i in range(n)])
        return part, total + part
    part = x @ w
    return lax.fori_loop(0, n - 2, step, (part, part))[1]


@pair("halo_is_not_sent", lambda x: jnp.roll(x, 1, 0) + x, (P("t"),), P("t"), (16, 6),
      bug="roll on each rank's own rows")
def _(x):
    return jnp.roll(x, 1, 0) + x


@pair("gather_of_two_axes_one_by_one", lambda x: x - x.max(0), (P(("d", "t")),), P(("d", "t")), (16, 6))
def _(x):
    y = lax.all_gather(lax.all_gather(x, "t", axis=0, tiled=True), "d", axis=0, tiled=True)
    return x - y.max(0)


@pair("pmin", lambda x: x - x.min(), (P("d", "t"),), P("d", "t"), (8, 16))
def _(x):
    return x - lax.pmin(x.min(), ("d", "t"))


@pair("pmin_by_pmax", lambda x: x - x.min(), (P("d", "t"),), P("d", "t"), (8, 16))
def _(x):
    return x + lax.pmax(jnp.max(-x), ("d", "t"))


@pair("psum_of_a_tree", lambda p: jax.tree.map(lambda x: x.sum(0), p), ({"a": P("d"), "b": [P("d")]},), P(),
      {"a": (8, 6), "b": [(4, 2)]})
def _(p):
    return lax.psum(jax.tree.map(lambda x: x.sum(0), p), "d")


@pair("psum_of_one", lambda x: x.sum() / x.size, (P(("d", "t")),), P(), (16, 6))
def _(x):
    n = lax.psum(1, ("d", "t"))
    return lax.psum(x.sum(), ("d", "t")) / (x.size * n)


@pair("count_of_one_rank", lambda x: x.sum() / x.size, (P(("d", "t")),), P(), (16, 6), bug="C3 the ranks are not counted")
def _(x):
    return lax.psum(x.sum(), ("d", "t")) / x.size


@pair("masked_with_finfo", lambda s, m: jax.nn.softmax(jnp.where(m > 0, s, jnp.finfo(s.dtype).min), -1),
      (P("d", "t"), P("d")), P("d", "t"), (4, 8, 6), (4, 1, 6))
def _(s, m):
    return jax.nn.softmax(jnp.where(m > 0, s, jnp.finfo(s.dtype).min), -1)


@pair("masked_with_infinity", lambda s, m: jax.nn.softmax(s, -1, where=m > 0), (P("d", "t"), P("d")),
      P("d", "t"), (4, 8, 6), (4, 1, 6))
def _(s, m):
    return jax.nn.softmax(s, -1, where=m > 0)


def accumulated(w, xs):
    return jax.grad(lambda w: jnp.mean((xs @ w) ** 2))(w)


@pair("accumulation", accumulated, (P(), P(None, "d")), P(), (6, 5), (3, 8, 6))
def _(w, xs):
    def step(g, x):
        return g + jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w), None
    g = lax.scan(step, jnp.zeros_like(w), xs)[0]
    return lax.pmean(g / xs.shape[0], "d")


@pair("accumulation_not_divided", accumulated, (P(), P(None, "d")), P(), (6, 5), (3, 8, 6),
      bug="transformers 34191: microbatches are summed")
def _(w, xs):
    def step(g, x):
        return g + jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w), None
    return lax.pmean(lax.scan(step, jnp.zeros_like(w), xs)[0], "d")


def rope(x):
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[0])[:, None] / 10000 ** (jnp.arange(half) / half)
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


@pair("rope_from_a_start", rope, (P("t"),), P("t"), (16, 8))
def _(x):
    half = x.shape[-1] // 2
    position = lax.axis_index("t") * x.shape[0] + lax.iota(jnp.int32, x.shape[0])
    angle = position[:, None] / 10000 ** (jnp.arange(half) / half)
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


@pair("rope_of_local_positions", rope, (P("t"),), P("t"), (16, 8), bug="C9 positions start at 0 on each rank")
def _(x):
    return rope(x)


@pair("rope_interleaved", rope, (P("t"),), P("t"), (16, 8), bug="pairs (0, 1) in place of halves")
def _(x):
    half = x.shape[-1] // 2
    position = lax.axis_index("t") * x.shape[0] + jnp.arange(x.shape[0])
    angle = position[:, None] / 10000 ** (jnp.arange(half) / half)
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    a, b = x[..., 0::2], x[..., 1::2]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def adam(w, m, v, x):
    g = jax.grad(lambda w: jnp.sum((x @ w) ** 2))(w)
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return w - 1e-3 * (m / 0.1) / (jnp.sqrt(v / 0.01) + 1e-8), m, v


ZERO = (P("d"), P("d"), P("d"), P("d")), (P("d"), P("d"), P("d")), (8, 5), (8, 5), (8, 5), (4, 8)


@pair("zero_adam", adam, *ZERO)
def _(w, m, v, x):
    whole = lax.all_gather(w, "d", tiled=True)
    g = lax.psum_scatter(jax.grad(lambda w: jnp.sum((x @ w) ** 2))(whole), "d", tiled=True)
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * jnp.square(g)
    return w - 1e-3 * (m / 0.1) / (jnp.sqrt(v / 0.01) + 1e-8), m, v


@pair("zero_adam_square_first", adam, *ZERO, bug="second moment of each rank's own gradient")
def _(w, m, v, x):
    whole = lax.all_gather(w, "d", tiled=True)
    g = jax.grad(lambda w: jnp.sum((x @ w) ** 2))(whole)
    g, s = (lax.psum_scatter(y, "d", tiled=True) for y in (g, g * g))
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * s
    return w - 1e-3 * (m / 0.1) / (jnp.sqrt(v / 0.01) + 1e-8), m, v


def conv(x, w):
    return sum(jnp.pad(x, ((0, 0), (i, 0)))[:, :x.shape[1]] * w[i] for i in range(3))


@pair("causal_shift", conv, (P("d"), P()), P("d"), (8, 12), (3,))
def _(x, w):
    return sum(jnp.pad(x, ((0, 0), (i, 0)))[:, :x.shape[1]] * w[i] for i in range(3))


def topk_gate(x, w):
    z = jax.nn.softmax(x @ w)
    v, i = lax.top_k(z, 2)
    return (jax.nn.one_hot(i, w.shape[1]) * (v / v.sum(-1, keepdims=True))[..., None]).sum(1)


@pair("top_k_gate", topk_gate, (P("d"), P(None, "t")), P("d"), (8, 6), (6, 8))
def _(x, w):
    return topk_gate(x, lax.all_gather(w, "t", axis=1, tiled=True))


@pair("top_k_gate_gathered_wrong", topk_gate, (P("d"), P(None, "t")), P("d"), (8, 6), (6, 8),
      bug="softmax before the gather")
def _(x, w):
    z = lax.all_gather(jax.nn.softmax(x @ w), "t", axis=1, tiled=True)
    v, i = lax.top_k(z, 2)
    return (jax.nn.one_hot(i, z.shape[1]) * (v / v.sum(-1, keepdims=True))[..., None]).sum(1)


def sequence(x, w):
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h
    return lax.scan(step, jnp.zeros_like(x[0]), x)[1]


@pair("recurrence", sequence, (P(None, "d"), P()), P(None, "d"), (5, 8, 6), (6, 6))
def _(x, w):
    return sequence(x, w)


@pair("recurrence_split_hidden", sequence, (P(None, "d", "t"), P(None, "t")), P(None, "d", "t"), (5, 8, 8), (8, 8))
def _(x, w):
    def step(h, x):
        h = jnp.tanh(lax.all_gather(h, "t", axis=1, tiled=True) @ w + x)
        return h, h
    return lax.scan(step, jnp.zeros_like(x[0]), x)[1]


@pair("recurrence_of_own_hidden", sequence, (P(None, "d", "t"), P("t", None)), P(None, "d", "t"), (5, 8, 8), (8, 8),
      bug="the product is reduced after the tanh")
def _(x, w):
    def step(h, x):
        h = lax.psum_scatter(jnp.tanh(h @ w), "t", scatter_dimension=1, tiled=True) + x
        return h, h
    return lax.scan(step, jnp.zeros_like(x[0]), x)[1]


@pair("where_of_weak_types", lambda x: jnp.where(x > 0, 1, 0.5) * x + jnp.where(x < 0, x, 2), (P("d", "t"),),
      P("d", "t"), (8, 16))
def _(x):
    return jnp.where(x > 0, 1, 0.5) * x + jnp.where(x < 0, x, 2)


@pair("lookup_of_two_tables", lambda a, b, i: a[i] + jnp.take(b, jnp.minimum(i, 3), axis=0), (P(), P(), P("d")), P("d"),
      (8, 6), (4, 6), ids(8))
def _(a, b, i):
    return jnp.take(a, i, axis=0) + b[jnp.minimum(i, 3)]


@pair("three_axes_loss", lambda x, w, v: jnp.sum(jnp.tanh(x @ w) @ v), (P("a"), P("b", "c"), P("c")), P(), (8, 6),
      (6, 8), (8, 4), mesh=DEEP)
def _(x, w, v):
    h = jnp.tanh(x @ lax.all_gather(w, "b", tiled=True))
    return lax.psum(jnp.sum(h @ v), ("a", "c"))


@pair("three_axes_loss_counts_b", lambda x, w, v: jnp.sum(jnp.tanh(x @ w) @ v), (P("a"), P("b", "c"), P("c")), P(), (8, 6),
      (6, 8), (8, 4), mesh=DEEP, bug="C2 also summed over b, where it is a copy")
def _(x, w, v):
    h = jnp.tanh(x @ lax.all_gather(w, "b", tiled=True))
    return lax.psum(jnp.sum(h @ v), ("a", "b", "c"))


def clipped_step(p, g):
    opt = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1))
    return optax.apply_updates(p, opt.update(g, opt.init(p), p)[0])


@pair("optax_clip_of_blocks", clipped_step, ({"w": P("d"), "b": P()}, {"w": P("d"), "b": P()}), {"w": P("d"), "b": P()},
      {"w": (8, 5), "b": (5,)}, {"w": (8, 5), "b": (5,)}, bug="C11 each rank's own norm")
def _(p, g):
    return clipped_step(p, g)


@pair("optax_clip_of_copies", clipped_step, ({"w": P(), "b": P()}, {"w": P(), "b": P()}), {"w": P(), "b": P()},
      {"w": (8, 5), "b": (5,)}, {"w": (8, 5), "b": (5,)})
def _(p, g):
    return clipped_step(p, lax.pmean(g, "d"))


def masked_attention(q, k, v, m):
    s = jnp.where(m, q @ k.T, -jnp.inf)
    return jax.nn.softmax(s, -1) @ v


MASKED = (P("d"), P("t"), P("t"), P("d", "t")), P("d"), (8, 6), (12, 6), (12, 6), jax.ShapeDtypeStruct((8, 12), "bool")


@pair("attention_masked_with_infinity", masked_attention, *MASKED)
def _(q, k, v, m):
    k, v = (lax.all_gather(x, "t", tiled=True) for x in (k, v))
    return masked_attention(q, k, v, lax.all_gather(m, "t", axis=1, tiled=True))


@pair("online_softmax_with_infinity", masked_attention, *MASKED)
def _(q, k, v, m):
    s = jnp.where(m, q @ k.T, -jnp.inf)
    top = lax.pmax(s.max(-1, keepdims=True), "t")
    e = jnp.exp(s - top)
    return lax.psum(e @ v, "t") / lax.psum(e.sum(-1, keepdims=True), "t")


@pair("online_softmax_of_own_top", masked_attention, *MASKED, bug="C7 each rank subtracts its own maximum")
def _(q, k, v, m):
    s = jnp.where(m, q @ k.T, -jnp.inf)
    e = jnp.exp(s - jnp.maximum(s.max(-1, keepdims=True), -9.0))
    return lax.psum(e @ v, "t") / lax.psum(e.sum(-1, keepdims=True), "t")


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


# Near misses of what is read in a special way


@pair("ring_twice_one", lambda x, w: x @ w, (P(None, "t"), P("t")), P(), (8, 16), (16, 6), bug="one rotation twice")
def _(x, w):
    n = lax.axis_size("t")
    p = [(i, (i + 1) % n) for i in range(n)]
    a = x @ w
    b = lax.ppermute(a, "t", p)
    c = lax.ppermute(b, "t", p)
    return a + b + c + c


@pair("ring_minus", lambda x, w: x @ w, (P(None, "t"), P("t")), P(), (8, 16), (16, 6), bug="one is subtracted")
def _(x, w):
    n = lax.axis_size("t")
    p = [(i, (i + 1) % n) for i in range(n)]
    a = x @ w
    b = lax.ppermute(a, "t", p)
    c = lax.ppermute(b, "t", p)
    d = lax.ppermute(c, "t", p)
    return a + b + c - d


@pair("ring_scaled", lambda x, w: x @ w, (P(None, "t"), P("t")), P(), (8, 16), (16, 6), bug="one is doubled")
def _(x, w):
    n = lax.axis_size("t")
    p = [(i, (i + 1) % n) for i in range(n)]
    a = x @ w
    b = lax.ppermute(a, "t", p)
    c = lax.ppermute(b, "t", p)
    d = lax.ppermute(c, "t", p)
    return a + b + c + 2 * d


@pair("ring_transposed", lambda x, w: x @ w, (P(None, "t"), P("t")), P(), (8, 16), (16, 8), bug="one is transposed")
def _(x, w):
    n = lax.axis_size("t")
    p = [(i, (i + 1) % n) for i in range(n)]
    a = x @ w
    b = lax.ppermute(a, "t", p)
    c = lax.ppermute(b, "t", p)
    d = lax.ppermute(c, "t", p)
    return a + b + c + d.T


@pair("one_device_twice", lambda x, b: x + b, (P("d"), P()), P("d"), (8, 6), (6,), bug="added on two devices")
def _(x, b):
    i = lax.axis_index("t")
    return x + lax.psum(jnp.where(i == 0, b, 0.0) + jnp.where(i == 1, b, 0.0), "t")


@pair(
    "one_device_of_other_axis", lambda x, b: x + b, (P("d"), P()), P("d"), (8, 6), (6,), bug="picked on d, added over t"
)
def _(x, b):
    return x + lax.psum(jnp.where(lax.axis_index("d") == 0, b, 0.0), "t")


@pair("one_device_of_a_block", lambda x: x.sum(0), (P("d"),), P(), (8, 6), bug="only the first block")
def _(x):
    return lax.psum(jnp.where(lax.axis_index("d") == 0, x.sum(0), 0.0), "d")


@pair("but_one_device", lambda x, b: x + b, (P("d"), P()), P("d"), (8, 6), (6,), bug="all but the first")
def _(x, b):
    return x + lax.psum(jnp.where(lax.axis_index("t") != 0, b, 0.0), "t")


@pair("one_hot_other_axis", lambda t, i: t[i], (P("t"), P()), P(), (8, 6), ids(8), bug="index of d for blocks of t")
def _(t, i):
    n = t.shape[0]
    return lax.psum(jax.nn.one_hot(i - lax.axis_index("d") * n, n) @ t, "t")


@pair("untiled_transposed", lambda x: x, (P("d"),), P(), (8, 6), bug="devices as the second position")
def _(x):
    return lax.all_gather(x, "d", axis=1).reshape(-1, x.shape[1])


@pair("untiled_right", lambda x: x, (P("d"),), P(), (8, 6))
def _(x):
    return lax.all_gather(x, "d", axis=0).reshape(-1, x.shape[1])


@pair(
    "untiled_scatter_wrong_order",
    lambda x, w: x @ w,
    (P(None, "t"), P("t")),
    P("t"),
    (8, 16),
    (16, 6),
    bug="rows strided over devices",
)
def _(x, w):
    y = x @ w
    return lax.psum_scatter(y.reshape(-1, 4, y.shape[1]), "t", scatter_dimension=1)


@pair(
    "fori_from_one",
    lambda ws, x: lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0],
    (P(), P("d")),
    P("d"),
    (4, 6, 6),
    (8, 6),
    bug="starts at 1",
)
def _(ws, x):
    return lax.fori_loop(1, ws.shape[0], lambda i, x: jnp.tanh(x @ ws[i]), x)


@pair(
    "fori_reversed",
    lambda ws, x: lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0],
    (P(), P("d")),
    P("d"),
    (4, 6, 6),
    (8, 6),
    bug="last layer first",
)
def _(ws, x):
    return lax.fori_loop(0, ws.shape[0], lambda i, x: jnp.tanh(x @ ws[ws.shape[0] - 1 - i]), x)


@pair(
    "fori_reversed_right",
    lambda ws, x: lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws, reverse=True)[0],
    (P(), P("d")),
    P("d"),
    (4, 6, 6),
    (8, 6),
)
def _(ws, x):
    return lax.fori_loop(0, ws.shape[0], lambda i, x: jnp.tanh(x @ ws[ws.shape[0] - 1 - i]), x)


@pair(
    "fori_tail_right",
    lambda ws, x: lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws[1:])[0],
    (P(), P("d")),
    P("d"),
    (4, 6, 6),
    (8, 6),
)
def _(ws, x):
    return lax.fori_loop(1, ws.shape[0], lambda i, x: jnp.tanh(x @ ws[i]), x)


@pair(
    "infinite_mask_inverted",
    lambda s, m: jax.nn.softmax(jnp.where(m, s, -jnp.inf), -1),
    (P("d"), P("d")),
    P("d"),
    (8, 12),
    jax.ShapeDtypeStruct((8, 12), "bool"),
    bug="mask inverted",
)
def _(s, m):
    return jax.nn.softmax(jnp.where(m, -jnp.inf, s), -1)


@pair(
    "infinite_mask_for_zero",
    lambda s, m: jax.nn.softmax(jnp.where(m, s, -jnp.inf), -1),
    (P("d"), P("d")),
    P("d"),
    (8, 12),
    jax.ShapeDtypeStruct((8, 12), "bool"),
    bug="0 in place of -inf",
)
def _(s, m):
    return jax.nn.softmax(jnp.where(m, s, 0.0), -1)


@pair("other_constant", lambda x: x * np.arange(6.0, dtype=np.float32), (P("d"),), P("d"), (8, 6), bug="another array")
def _(x):
    return x * (np.arange(6.0, dtype=np.float32) + 1)


@pair(
    "constant_on_a_block",
    lambda x: x * np.arange(8.0, dtype=np.float32),
    (P(None, "t"),),
    P(None, "t"),
    (8, 8),
    bug="a block of the array is meant",
)
def _(x):
    return x * np.arange(2.0, dtype=np.float32)


@pair(
    "switch_other_order",
    lambda x, i: lax.switch(i, [jnp.cos, jnp.sin, jnp.tanh], x),
    (P("d"), P()),
    P("d"),
    (8, 6),
    ids(),
    bug="branches in another order",
)
def _(x, i):
    return lax.switch(i, [jnp.cos, jnp.tanh, jnp.sin], x)


@pair(
    "at_add_on_every_rank",
    lambda x, i, u: x.at[i].add(u),
    (P(), P("d"), P("d")),
    P(),
    (8, 6),
    ids(8),
    (8, 6),
    bug="base counted on each rank",
)
def _(x, i, u):
    return lax.psum(x.at[i].add(u), "d")


@pair("at_add_split_right", lambda x, i, u: x.at[i].add(u), (P(), P("d"), P("d")), P(), (8, 6), ids(8), (8, 6))
def _(x, i, u):
    return x + lax.psum(jnp.zeros_like(x).at[i].add(u), "d")


@pair("pmin_own", lambda x: x - x.min(), (P("d"),), P("d"), (8, 6), bug="own minimum")
def _(x):
    return x - x.min()


@pair("pmin_as_pmax", lambda x: x - x.min(), (P("d"),), P("d"), (8, 6), bug="largest of the minima")
def _(x):
    return x - lax.pmax(x.min(), "d")


@pair("square_and_transposed", lambda x, w: x @ w + (x @ w).T, (P(None, "t"), P("t")), P(), (8, 16), (16, 8))
def _(x, w):
    y = lax.psum(x @ w, "t")
    return y + y.T


@pair("ring_halves_overlap", lambda x, w: x @ w, (P(None, "t"), P("t")), P(), (8, 16), (16, 6), bug="one rotation twice")
def _(x, w):
    n = lax.axis_size("t")
    p = [(i, (i + 1) % n) for i in range(n)]
    a = x @ w
    b = lax.ppermute(a, "t", p)
    c = lax.ppermute(b, "t", p)
    return (a + b + c) + (c + lax.ppermute(c, "t", p))


@pair("one_device_by_a_factor", lambda x, b: x + b, (P("d"), P()), P("d"), (8, 6), (6,))
def _(x, b):
    return x + lax.psum(b * (lax.axis_index("t") == 0), "t")


@pair("one_device_by_a_factor_elsewhere", lambda x, b: x + b, (P("d"), P()), P("d"), (8, 6), (6,), bug="picked on d, added over t")
def _(x, b):
    return x + lax.psum((lax.axis_index("d") == 0) * b, "t")


@pair("all_but_one_device_by_a_factor", lambda x, b: x + b, (P("d"), P()), P("d"), (8, 6), (6,), bug="all but the first")
def _(x, b):
    return x + lax.psum(b * (lax.axis_index("t") > 0), "t")
