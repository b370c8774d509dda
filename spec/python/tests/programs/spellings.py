"""Products and collectives in the many ways in which JAX can say them."""
from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import pair

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
