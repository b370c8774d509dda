"""What is easily read wrong: groups of an axis, bits, offsets beyond an array, copies that are none."""
from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import gather, ids, pair


def product(x, w):
    return x @ w


@pair("groups_of_sum", product, (P(None, "t"), P("t")), P(), (8, 16), (16, 6), bug="summed in halves of t")
def _(x, w):
    return lax.psum(x @ w, "t", axis_index_groups=[[0, 1], [2, 3]])


@pair("groups_of_gather", product, (P(), P(None, "t")), P(), (8, 16), (16, 8), bug="gathered in another order of t")
def _(x, w):
    return x @ lax.all_gather(w, "t", axis=1, tiled=True, axis_index_groups=[[1, 0, 2, 3]])


@pair("group_of_all", product, (P(None, "t"), P("t")), P(None, "t"), (8, 16), (16, 8))
def _(x, w):
    return lax.psum_scatter(x @ w, "t", scatter_dimension=1, tiled=True, axis_index_groups=[[0, 1, 2, 3]])


ROWS = ((P("d"),), P("d"))


@pair("slice_moved_in", lambda x: x[:, 2:6], *ROWS, (8, 6))
def _(x):
    return lax.dynamic_slice(x, (0, 5), (x.shape[0], 4))


@pair("slice_not_moved", lambda x: x[:, 1:5], *ROWS, (8, 6), bug="the offset is moved into the array, by one entry")
def _(x):
    return lax.dynamic_slice(x, (0, 3), (x.shape[0], 4))


@pair("update_moved_in", lambda x, y: jnp.concatenate([x[:, :2], y], 1), (P("d"), P("d")), P("d"), (8, 6), (8, 4))
def _(x, y):
    return lax.dynamic_update_slice(x, y, (0, 4))


@pair("bits_of_ids", lambda i: i & 3, *ROWS, ids(8))
def _(i):
    return i % 4


@pair("bits_not", lambda i: ~i, *ROWS, ids(8))
def _(i):
    return -i - 1


@pair("bits_or", lambda i: i | 2, *ROWS, ids(8), bug="added, which carries")
def _(i):
    return i + 2


@pair("copies_differ", lambda x: 2 * x, *ROWS, (8, 6), bug="the first device of t alone doubles")
def _(x):
    return lax.cond(lax.axis_index("t") == 0, lambda: x * 2, lambda: x)


@pair("transposed_square", lambda x, y: jnp.einsum("bij,bjk->bik", x, y), (P("d"), P("d")), P("d"), (4, 5, 5), (4, 5, 5),
      bug="the product in the other order")
def _(x, y):
    return jnp.einsum("...jk,...ij->...ik", x, y)


@pair("two_halves", lambda x: jnp.concatenate([x[:, 3:], x[:, :3]], 1), (P("d", "t"),), P("d", None), (8, 8),
      bug="turned by the size of another block")
def _(x):
    return jnp.roll(gather(x, "t", 1), -x.shape[1], 1)


@pair("loop_of_one_step_apart", lambda w, x: lax.scan(lambda x, w: (x + w, None), x, w)[0], (P("d"), P()), P(), (2, 6), (6,),
      bug="each device adds its own step")
def _(w, x):
    return lax.scan(lambda x, w: (x + w, None), x, w)[0]
