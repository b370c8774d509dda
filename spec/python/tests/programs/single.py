"""Meshes on which a device has one entry of a dim: its heads, its experts, its rows."""
from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import pair


def attention(x, wq, wk, wv, wo, heads):
    q, k, v = ((x @ w).reshape(*x.shape[:2], heads, -1) for w in (wq, wk, wv))
    p = jax.nn.softmax(jnp.einsum("bqhk,blhk->bhql", q, k) / k.shape[-1] ** 0.5, -1)
    return jnp.einsum("bhql,blhk->bqhk", p, v).reshape(*x.shape[:2], -1) @ wo


HEADS = (P("d"), *[P(None, "t")] * 3, P("t")), P("d"), (4, 6, 8), (8, 24), (8, 24), (8, 24), (24, 8)


@pair("one_head_of_each_device", lambda *a: attention(*a, 4), *HEADS)
def _(*a):
    return lax.psum(attention(*a, 1), "t")


@pair("one_head_of_each_device_not_summed", lambda *a: attention(*a, 4), *HEADS, bug="C1 the heads' terms are not summed")
def _(*a):
    return attention(*a, 1)


def scored(q, k, v):
    return (jnp.einsum("hql,hlk->hqk", jax.nn.softmax(jnp.einsum("hqk,hlk->hql", q, k), -1), v) ** 2).sum()


def gradients(q, k, v):
    return jax.grad(scored, (0, 1, 2))(q, k, v)


SPLIT = (P("t"),) * 3
SCORES = SPLIT, SPLIT, (4, 6, 5), (4, 6, 5), (4, 6, 5)


@pair("gradients_of_one_head", gradients, *SCORES)
def _(q, k, v):
    return gradients(q, k, v)


@pair("gradients_of_one_head_summed", gradients, *SCORES, bug="C2 each head has its own gradients")
def _(q, k, v):
    return jax.tree.map(lambda g: lax.psum(g, "t"), gradients(q, k, v))
