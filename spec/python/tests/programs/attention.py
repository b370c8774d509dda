"""Attention on three axes, mixtures of experts, momentum."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import PartitionSpec as P

from . import DEEP, pair

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


# T5's bias by buckets of the distance: the rows of its table are computed


def bucket(distance):
    near = jnp.abs(distance)
    far = 2 + (jnp.log(near / 2 + 1e-6) / jnp.log(8.0) * 2).astype(jnp.int32)
    return jnp.where(distance > 0, 4, 0) + jnp.where(near < 2, near, jnp.minimum(far, 3))


def biased(q, k, v, table, first=0):
    distance = jnp.arange(k.shape[1])[None, :] - (first + jnp.arange(q.shape[1]))[:, None]
    s = jnp.einsum("blhd,bmhd->bhlm", q, k) + table[bucket(distance)].transpose(2, 0, 1)
    return jnp.einsum("bhlm,bmhd->blhd", jax.nn.softmax(s, -1), v)


BIASED = (P("d", "t"), P("d"), P("d"), P()), P("d", "t"), *[(4, 8, 3, 5)] * 3, (8, 3)


@pair("bias_by_buckets", biased, *BIASED)
def _(q, k, v, table):
    return biased(q, k, v, table, lax.axis_index("t") * q.shape[1])


@pair("bias_of_own_positions", biased, *BIASED, bug="C9 each device counts its queries from 0")
def _(q, k, v, table):
    return biased(q, k, v, table)
