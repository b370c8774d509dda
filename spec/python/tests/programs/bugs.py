"""Wrong programs with bugs that happened in real projects, and right ones beside them: the table of table.py."""
from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import gather, ids, pair, scatter

# Feed-forward


def mlp(x, a, b):
    return jax.nn.gelu(x @ a) @ b


MLP = (P("d", None), P(None, "t"), P("t", None)), P("d", None), (8, 16), (16, 32), (32, 16)


@pair("mlp_tp", mlp, *MLP)
def _(x, a, b):
    return lax.psum(jax.nn.gelu(x @ a) @ b, "t")


@pair("mlp_missing_psum", mlp, *MLP, bug="C1 missing reduction")
def _(x, a, b):
    return jax.nn.gelu(x @ a) @ b


@pair("mlp_psum_twice", mlp, *MLP, bug="C2 double reduction")
def _(x, a, b):
    return lax.psum(lax.psum(jax.nn.gelu(x @ a) @ b, "t"), "t")


@pair("mlp_pmean", mlp, *MLP, bug="C3 average instead of sum")
def _(x, a, b):
    return lax.pmean(jax.nn.gelu(x @ a) @ b, "t")


@pair("mlp_wrong_axis", mlp, *MLP, bug="C5 reduction over the wrong axis")
def _(x, a, b):
    return lax.psum(jax.nn.gelu(x @ a) @ b, "d")


@pair("mlp_row_split_first", mlp, (P("d", "t"), P("t", None), P(None, None)), P("d", None), (8, 16),
      (16, 32), (32, 16), bug="C7 gelu of an unreduced value")
def _(x, a, b):
    return lax.pmean(jax.nn.gelu(x @ a) @ b, "t")


def mlp_bias(x, a, b, c):
    return jax.nn.gelu(x @ a) @ b + c


@pair("mlp_bias", mlp_bias, (*MLP[0], P(None)), P("d", None), *MLP[2:], (16,))
def _(x, a, b, c):
    return lax.psum(jax.nn.gelu(x @ a) @ b, "t") + c


@pair("mlp_bias_t_times", mlp_bias, (*MLP[0], P(None)), P("d", None), *MLP[2:], (16,),
      bug="C7 bias added before the all_reduce")
def _(x, a, b, c):
    return lax.psum(jax.nn.gelu(x @ a) @ b + c, "t")


@pair("mlp_fsdp", mlp, (P("d", None), P("d", "t"), P("t", "d")), P("d", None), *MLP[2:])
def _(x, a, b):
    return lax.psum(jax.nn.gelu(x @ gather(a, "d", 0)) @ gather(b, "d", 1), "t")


@pair("mlp_gather_order", mlp, (P("d", None), P(("d", "t"), None), P(None, None)), P("d", None),
      *MLP[2:], bug="B3 axes gathered in another order than they are stored")
def _(x, a, b):
    return jax.nn.gelu(x @ lax.all_gather(a, ("t", "d"), axis=0, tiled=True)) @ b


@pair("mlp_gather_both", mlp, (P("d", None), P(("d", "t"), None), P(None, None)), P("d", None),
      *MLP[2:])
def _(x, a, b):
    return jax.nn.gelu(x @ lax.all_gather(a, ("d", "t"), axis=0, tiled=True)) @ b


@pair("mlp_scatter", mlp, MLP[0], P("d", "t"), *MLP[2:])
def _(x, a, b):
    return scatter(jax.nn.gelu(x @ a) @ b, "t", 1)


@pair("mlp_scatter_of_sum", mlp, MLP[0], P("d", "t"), *MLP[2:], bug="B5 psum_scatter of a copy")
def _(x, a, b):
    return scatter(lax.psum(jax.nn.gelu(x @ a) @ b, "t"), "t", 1)


# Norms


def rms(x, g):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * g


@pair("norm_split", rms, (P("d", "t"), P("t")), P("d", "t"), (8, 16), (16,))
def _(x, g):
    n = lax.pmean(jnp.mean(x * x, -1, keepdims=True), "t")
    return x * lax.rsqrt(n + 1e-6) * g


@pair("norm_local", rms, (P("d", "t"), P("t")), P("d", "t"), (8, 16), (16,),
      bug="C7 norm over a device's part")
def _(x, g):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * g


@pair("norm_of_means_root", rms, (P("d", "t"), P("t")), P("d", "t"), (8, 16), (16,),
      bug="C7 mean of roots")
def _(x, g):
    n = lax.pmean(lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6), "t")
    return x * n * g


@pair("softmax_split", lambda x: jax.nn.softmax(x, -1), (P("d", "t"),), P("d", "t"), (8, 16))
def _(x):
    m = lax.pmax(lax.stop_gradient(x.max(-1, keepdims=True)), "t")
    e = jnp.exp(x - m)
    return e / lax.psum(e.sum(-1, keepdims=True), "t")


@pair("softmax_local_max", lambda x: jax.nn.softmax(x, -1), (P("d", "t"),), P("d", "t"), (8, 16),
      bug="C7 each device subtracts its own maximum")
def _(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / lax.psum(e.sum(-1, keepdims=True), "t")


# Losses


def mse(x, w, y):
    return jnp.mean((x @ w - y) ** 2)


LOSS = (P("d", None), P(None, None), P("d", None)), P(), (8, 16), (16, 12), (8, 12)


@pair("loss_dp", mse, *LOSS)
def _(x, w, y):
    return lax.pmean(jnp.mean((x @ w - y) ** 2), "d")


@pair("loss_psum_of_means", mse, *LOSS, bug="C3 mean of means without the division")
def _(x, w, y):
    return lax.psum(jnp.mean((x @ w - y) ** 2), "d")


@pair("loss_pmean_all", mse, *LOSS)
def _(x, w, y):
    return lax.pmean(jnp.mean((x @ w - y) ** 2), ("d", "t"))


def masked_mean(x, m):
    return jnp.sum(x * m) / jnp.sum(m)


@pair("loss_count", masked_mean, (P("d", None), P("d", None)), P(), (8, 16), (8, 16))
def _(x, m):
    return lax.psum(jnp.sum(x * m), "d") / lax.psum(jnp.sum(m), "d")


@pair("loss_local_count", masked_mean, (P("d", None), P("d", None)), P(), (8, 16), (8, 16),
      bug="C4 each rank divides by its own count")
def _(x, m):
    return lax.pmean(jnp.sum(x * m) / jnp.sum(m), "d")


# Gradients


def dw(x, w, y):
    return jax.grad(mse, 1)(x, w, y)


@pair("grad_dp", dw, LOSS[0], P(None, None), *LOSS[2:])
def _(x, w, y):
    return lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w), "d")


@pair("grad_not_reduced", dw, LOSS[0], P(None, None), *LOSS[2:], bug="C1 gradient not reduced")
def _(x, w, y):
    return jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)


@pair("grad_summed", dw, LOSS[0], P(None, None), *LOSS[2:], bug="C3 sum where the mean is meant")
def _(x, w, y):
    return lax.psum(jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w), "d")


@pair("grad_fsdp", dw, (P("d", None), P("d", None), P("d", None)), P("d", None), *LOSS[2:])
def _(x, w, y):
    return jax.grad(lambda w: jnp.mean((x @ gather(w, "d", 0) - y) ** 2) / lax.axis_size("d"))(w)


@pair("grad_fsdp_not_divided", dw, (P("d", None), P("d", None), P("d", None)), P("d", None),
      *LOSS[2:], bug="C3 gradient |d| times too large")
def _(x, w, y):
    return jax.grad(lambda w: jnp.mean((x @ gather(w, "d", 0) - y) ** 2))(w)


def clipped(g, h):
    n = jnp.sqrt(jnp.sum(g * g) + jnp.sum(h * h))
    return g * jnp.minimum(1.0, 1.0 / n), h * jnp.minimum(1.0, 1.0 / n)


CLIP = (P("d", None), P(None)), (P("d", None), P(None)), (8, 6), (5,)


@pair("clip", clipped, *CLIP)
def _(g, h):
    n = jnp.sqrt(lax.psum(jnp.sum(g * g), "d") + jnp.sum(h * h))
    return g * jnp.minimum(1.0, 1.0 / n), h * jnp.minimum(1.0, 1.0 / n)


@pair("clip_copy_counted_twice", clipped, *CLIP, bug="C11 a copy counted on every rank")
def _(g, h):
    n = jnp.sqrt(lax.psum(jnp.sum(g * g) + jnp.sum(h * h), "d"))
    return g * jnp.minimum(1.0, 1.0 / n), h * jnp.minimum(1.0, 1.0 / n)


@pair("clip_averaged", clipped, *CLIP, bug="C11 llm.c 7018280: averaged instead of summed")
def _(g, h):
    n = jnp.sqrt(lax.pmean(jnp.sum(g * g), "d") + jnp.sum(h * h))
    return g * jnp.minimum(1.0, 1.0 / n), h * jnp.minimum(1.0, 1.0 / n)


# Look-ups and positions


def embed(table, i):
    return table[i]


EMBED = (P("t", None), P("d", None)), P("d", None, None), (32, 6), ids(4, 5)


@pair("embed_vocab", embed, *EMBED)
def _(table, i):
    n = table.shape[0]
    local = i - lax.axis_index("t") * n
    ok = (local >= 0) & (local < n)
    rows = table[jnp.where(ok, local, 0)]
    return lax.psum(jnp.where(ok[..., None], rows, 0.0), "t")


@pair("embed_off_by_one", embed, *EMBED, bug="C9 vocabulary range")
def _(table, i):
    n = table.shape[0]
    local = i - lax.axis_index("t") * n
    ok = (local >= 0) & (local <= n)
    rows = table[jnp.where(ok, local, 0)]
    return lax.psum(jnp.where(ok[..., None], rows, 0.0), "t")


@pair("embed_not_masked", embed, *EMBED, bug="C9 rows of other ranks not masked")
def _(table, i):
    n = table.shape[0]
    local = i - lax.axis_index("t") * n
    return lax.psum(table[jnp.clip(local, 0, n - 1)], "t")


def positions(x):
    return x * jnp.cos(jnp.arange(x.shape[0]) * 0.5)[:, None]


@pair("positions", positions, (P("t", None),), P("t", None), (16, 6))
def _(x):
    n = x.shape[0]
    return x * jnp.cos((lax.axis_index("t") * n + jnp.arange(n)) * 0.5)[:, None]


@pair("positions_local", positions, (P("t", None),), P("t", None), (16, 6),
      bug="C9 positions start at 0 on every rank")
def _(x):
    return x * jnp.cos(jnp.arange(x.shape[0]) * 0.5)[:, None]


# Exchanges


def heads(x, w):
    return jnp.einsum("lhk,hkm->lm", jnp.cumsum(x, 0), w)


@pair("all_to_all", heads, (P("t", None, None), P("t", None, None)), P("t", None), (16, 8, 3),
      (8, 3, 6))
def _(x, w):
    x = lax.all_to_all(x, "t", 1, 0, tiled=True)
    return scatter(jnp.einsum("lhk,hkm->lm", jnp.cumsum(x, 0), w), "t", 0)


@pair("all_to_all_left_out", heads, (P("t", None, None), P(None, None, None)), P("t", None),
      (16, 8, 3), (8, 3, 6), bug="C6 a sum along a dim that is split")
def _(x, w):
    return jnp.einsum("lhk,hkm->lm", jnp.cumsum(x, 0), w)


def split_heads(x, w):
    q = (x @ w).reshape(x.shape[0], 8, -1)
    return jnp.tanh(q).sum(-1)


@pair("reshape_heads", split_heads, (P("d", None), P(None, "t")), P("d", "t"), (4, 6), (6, 32))
def _(x, w):
    return jnp.tanh((x @ w).reshape(x.shape[0], 2, -1)).sum(-1)


@pair("reshape_wrong_factor", split_heads, (P("d", None), P(None, "t")), P("d", "t"), (4, 6),
      (6, 32), bug="transformers-neuronx 109: reshape keeps the shard on the wrong factor")
def _(x, w):
    return jnp.tanh((x @ w).reshape(x.shape[0], -1, 2)).sum(1)
