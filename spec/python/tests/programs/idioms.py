"""Idioms of positions, look-ups, exchanges and casts, as programs of users have them."""
from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import PartitionSpec as P

from . import DEEP, gather, ids, pair, scatter

# Look-ups in a table that is split


def embed(table, i):
    return jnp.take(table, i, axis=0)


TABLE = (P("t"), P("d")), P("d"), (32, 6), ids(4, 5)


@pair("rows_filled_outside", embed, *TABLE)
def _(table, i):
    local = i - lax.axis_index("t") * table.shape[0]
    local = jnp.where(local < 0, table.shape[0], local)
    return lax.psum(jnp.take(table, local, axis=0, mode="fill", fill_value=0), "t")


@pair("rows_got_with_fill", embed, *TABLE)
def _(table, i):
    start = lax.axis_index("t") * table.shape[0]
    local = jnp.where(i >= start, i - start, table.shape[0])
    return lax.psum(table.at[local].get(mode="fill", fill_value=0.0), "t")


@pair("rows_filled_negative", embed, *TABLE, bug="C9 a negative index is one from the end")
def _(table, i):
    local = i - lax.axis_index("t") * table.shape[0]
    return lax.psum(jnp.take(table, local, axis=0, mode="fill", fill_value=0), "t")


@pair("rows_by_remainder_of_the_wrong_rank", embed, *TABLE, bug="C9 the ranks' rows are counted from 1")
def _(table, i):
    n = table.shape[0]
    here = i // n == lax.axis_index("t") + 1
    return lax.psum(jnp.where(here[..., None], table[i % n], 0), "t")


@pair("rows_by_equality", embed, *TABLE)
def _(table, i):
    rows = lax.axis_index("t") * table.shape[0] + lax.broadcasted_iota(jnp.int32, (1, 1, table.shape[0]), 2)
    return lax.psum(jnp.einsum("...v,vm->...m", (i[..., None] == rows).astype(table.dtype), table), "t")


# Biases of heads and of positions


def alibi(q, k):
    heads, length = q.shape[1], q.shape[0]
    slopes = 2.0 ** (-8.0 * (jnp.arange(heads) + 1) / heads)
    far = jnp.arange(length)[None, :] - jnp.arange(length)[:, None]
    s = jnp.einsum("qhd,khd->hqk", q, k) * q.shape[-1] ** -0.5 + slopes[:, None, None] * far
    return jax.nn.softmax(jnp.where(far <= 0, s, -1e9), axis=-1)


ALIBI = (P(None, "t"), P(None, "t")), P("t"), (6, 8, 5), (6, 8, 5)


@pair("alibi_slopes_of_own_heads", alibi, *ALIBI)
def _(q, k):
    own, length = q.shape[1], q.shape[0]
    heads = own * lax.axis_size("t")
    slopes = 2.0 ** (-8.0 * (lax.axis_index("t") * own + jnp.arange(own) + 1) / heads)
    far = jnp.arange(length)[None, :] - jnp.arange(length)[:, None]
    s = jnp.einsum("qhd,khd->hqk", q, k) * q.shape[-1] ** -0.5 + slopes[:, None, None] * far
    return jax.nn.softmax(jnp.where(far <= 0, s, -1e9), axis=-1)


@pair("alibi_slopes_of_the_first_heads", alibi, *ALIBI, bug="C9 every rank has the slopes of the first heads")
def _(q, k):
    own, length = q.shape[1], q.shape[0]
    slopes = 2.0 ** (-8.0 * (jnp.arange(own) + 1) / (own * lax.axis_size("t")))
    far = jnp.arange(length)[None, :] - jnp.arange(length)[:, None]
    s = jnp.einsum("qhd,khd->hqk", q, k) * q.shape[-1] ** -0.5 + slopes[:, None, None] * far
    return jax.nn.softmax(jnp.where(far <= 0, s, -1e9), axis=-1)


@pair("alibi_slopes_of_a_rank", alibi, *ALIBI, bug="C3 slopes by the number of a rank's heads")
def _(q, k):
    return alibi(q, k)


def learned_positions(x, table):
    return x + table[: x.shape[1]]


LEARNED = (P("d", "t"), P()), P("d", "t"), (4, 16, 6), (16, 6)


@pair("learned_positions", learned_positions, *LEARNED)
def _(x, table):
    n = x.shape[1]
    return x + lax.dynamic_slice(table, (lax.axis_index("t") * n, 0), (n, table.shape[1]))


@pair("learned_positions_by_look_up", learned_positions, *LEARNED)
def _(x, table):
    n = x.shape[1]
    return x + jnp.take(table, lax.axis_index("t") * n + jnp.arange(n), axis=0)


@pair("learned_positions_of_rank_0", learned_positions, *LEARNED, bug="C9 positions from 0 on each rank")
def _(x, table):
    return x + table[: x.shape[1]]


def window(q, k, v):
    far = jnp.arange(q.shape[0])[:, None] - jnp.arange(k.shape[0])[None]
    s = jnp.where((far >= 0) & (far < 3), q @ k.T, -1e30)
    return jax.nn.softmax(s) @ v


WINDOW = (P("t"),) * 3, P("t"), *[(16, 6)] * 3


@pair("window_of_gathered_keys", window, *WINDOW)
def _(q, k, v):
    k, v = lax.all_gather((k, v), "t", tiled=True)
    rows = lax.axis_index("t") * q.shape[0] + lax.broadcasted_iota(jnp.int32, (q.shape[0], 1), 0)
    far = rows - jnp.arange(k.shape[0])[None]
    s = jnp.where(jnp.logical_and(far >= 0, far < 3), q @ k.T, -1e30)
    return jax.nn.softmax(s) @ v


@pair("window_one_wider", window, *WINDOW, bug="the window has one key more")
def _(q, k, v):
    k, v = lax.all_gather((k, v), "t", tiled=True)
    far = lax.axis_index("t") * q.shape[0] + jnp.arange(q.shape[0])[:, None] - jnp.arange(k.shape[0])[None]
    s = jnp.where(jnp.logical_and(far >= 0, far <= 3), q @ k.T, -1e30)
    return jax.nn.softmax(s) @ v


def shifted(x, w):
    before = jnp.concatenate([jnp.zeros_like(x[:, :1]), x[:, :-1]], axis=1)
    return x + w * before


@pair("tokens_shifted", shifted, (P("d"), P()), P("d"), (8, 5, 6), (6,))
def _(x, w):
    return x + w * jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]


@pair("tokens_shifted_on_each_rank", shifted, (P(None, "d"), P()), P(None, "d"), (4, 8, 6), (6,),
      bug="C9 the last token of the rank before is not there")
def _(x, w):
    return shifted(x, w)


def started(x, start):
    return jnp.concatenate([jnp.broadcast_to(start, (x.shape[0], 2, x.shape[2])), x], axis=1)


@pair("two_first_tokens", started, (P("d"), P()), P("d"), (8, 5, 6), (6,))
def _(x, start):
    return jnp.concatenate([jnp.tile(start, (x.shape[0], 2, 1)), x], axis=1)


# Products whose collectives are taken apart (the shard_map tutorial's collective matmul)


def product(x, w):
    return x @ w


@pair("gather_and_product_other_way", product, (P("t"), P(None, "t")), P(None, "t"), (16, 6), (6, 8),
      bug="C13 blocks travel up, and are taken for those that travel down")
def _(x, w):
    n, rows = lax.axis_size("t"), x.shape[0]
    y = jnp.zeros((n * rows, w.shape[1]), x.dtype)
    for i in range(n):
        at = (lax.axis_index("t") + i) % n * rows
        y = lax.dynamic_update_slice(y, x @ w, (at, 0))
        x = lax.ppermute(x, "t", [(j, (j + 1) % n) for j in range(n)])
    return y


@pair("rows_from_the_end", lambda x, i: jnp.take(x, i, axis=0), (P(None, "t"), P()), P(None, "t"), (8, 16), ids(3))
def _(x, i):
    return jnp.stack([lax.dynamic_index_in_dim(x, i[j], 0, keepdims=False) for j in range(i.shape[0])])


# Exchanges


def switch(x, gate, w):
    p = jax.nn.softmax(x @ gate)
    y = jnp.tanh(jnp.einsum("gtm,emf->gtef", x, w))
    return jnp.einsum("gte,gtef->gtf", p, y)


SWITCH = (P("t"), P(), P("t")), P("t"), (8, 3, 6), (6, 8), (8, 6, 5)


@pair("experts_by_all_to_all", switch, *SWITCH)
def _(x, gate, w):
    p = jax.nn.softmax(x @ gate)
    mine = jnp.einsum("gte,gtm->egtm", jnp.ones_like(p), x)
    mine = lax.all_to_all(mine, "t", split_axis=0, concat_axis=1, tiled=True)
    y = jnp.tanh(jnp.einsum("egtm,emf->egtf", mine, w))
    y = lax.all_to_all(y, "t", split_axis=1, concat_axis=0, tiled=True)
    return jnp.einsum("gte,egtf->gtf", p, y)


@pair("experts_by_all_to_all_not_back", switch, *SWITCH, bug="C6 the second exchange is the first again")
def _(x, gate, w):
    p = jax.nn.softmax(x @ gate)
    mine = jnp.einsum("gte,gtm->egtm", jnp.ones_like(p), x)
    mine = lax.all_to_all(mine, "t", split_axis=0, concat_axis=1, tiled=True)
    y = jnp.tanh(jnp.einsum("egtm,emf->egtf", mine, w))
    y = lax.all_to_all(y.reshape(y.shape[1], y.shape[0], *y.shape[2:]), "t", split_axis=0, concat_axis=1, tiled=True)
    return jnp.einsum("gte,gtef->gtf", p, jnp.moveaxis(y, 1, 2))


def softmax_of_heads(q, k, v):
    return jnp.einsum("hlm,mhd->lhd", jax.nn.softmax(jnp.einsum("lhd,mhd->hlm", q, k)), v)


ULYSSES = (P("b", "c"),) * 3, P("b", "c"), *[(8, 8, 5)] * 3


@pair("ulysses_stacked", softmax_of_heads, *ULYSSES, mesh=DEEP)
def _(q, k, v):
    qkv = lax.all_to_all(jnp.stack([q, k, v]), "b", split_axis=2, concat_axis=1, tiled=True)
    return lax.all_to_all(softmax_of_heads(*qkv), "b", split_axis=0, concat_axis=1, tiled=True)


@pair("ulysses_over_the_heads_axis", softmax_of_heads, *ULYSSES, mesh=DEEP, bug="C5 exchanged over the axis of the heads")
def _(q, k, v):
    qkv = lax.all_to_all(jnp.stack([q, k, v]), "c", split_axis=2, concat_axis=1, tiled=True)
    return lax.all_to_all(softmax_of_heads(*qkv), "c", split_axis=0, concat_axis=1, tiled=True)


# Casts and names


def gated(x, wi, wo):
    gate, up = jnp.split(jnp.einsum("...m,mf->...f", x, wi), 2, axis=-1)
    return jnp.einsum("...f,fm->...m", jax.nn.gelu(gate) * up, wo)


GATED = (P("d"), P(None, None, "t"), P("t")), P("d"), (4, 5, 6), (6, 2, 16), (16, 6)


def gated_stacked(x, wi, wo):
    gate, up = jnp.einsum("...m,mcf->c...f", x, wi)
    return jnp.einsum("...f,fm->...m", jax.nn.gelu(gate) * up, wo)


@pair("bf16_products_f32_sums", gated_stacked, *GATED)
def _(x, wi, wo):
    low = x.astype(jnp.bfloat16)
    gate, up = jnp.einsum("...m,mcf->c...f", low, wi.astype(jnp.bfloat16), preferred_element_type=jnp.float32)
    h = checkpoint_name(jax.nn.gelu(gate) * up, "h")
    y = jnp.einsum("...f,fm->...m", h.astype(jnp.bfloat16), wo.astype(jnp.bfloat16))
    return lax.psum(y.astype(jnp.float32), "t").astype(x.dtype)


@pair("bf16_gate_and_up_swapped", gated_stacked, *GATED, bug="up goes through the gelu")
def _(x, wi, wo):
    up, gate = jnp.einsum("...m,mcf->c...f", x.astype(jnp.bfloat16), wi.astype(jnp.bfloat16))
    y = jnp.einsum("...f,fm->...m", jax.nn.gelu(gate) * up, wo.astype(jnp.bfloat16))
    return lax.psum(y.astype(jnp.float32), "t")


@pair("gate_and_up_in_one_split_matrix", gated, (P("d"), P(None, "t"), P("t")), P("d"), (4, 5, 6), (6, 32), (16, 6),
      bug="C6 each rank's halves are not the halves of the whole")
def _(x, wi, wo):
    return lax.psum(gated(x, wi, wo), "t")


@pair("scatter_of_features_then_gather", lambda x, w: jnp.tanh(x @ w), (P("d", "t"), P("t")), P("d"), (8, 16), (16, 12))
def _(x, w):
    return gather(jnp.tanh(scatter(x @ w, "t", 1)), "t", 1)


@pair("scatter_of_rows_gather_of_features", lambda x, w: jnp.sin(x @ w), (P("d", "t"), P("t")), P("d"), (16, 16), (16, 12),
      bug="C6 scattered along rows, gathered along features")
def _(x, w):
    y = jnp.sin(scatter(x @ w, "t", 0))
    return gather(y, "t", 1).reshape(x.shape[0], -1)
