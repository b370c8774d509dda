"""Loops, scans of microbatches, masks, positions, steps."""
from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import PartitionSpec as P

from . import DEEP, ids, pair

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
