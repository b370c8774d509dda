"""Near misses of what is read in a special way."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

from . import ids, pair

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
