"""Rows of a block that are found by division: ids // n is the device, ids % n the row."""
from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import ids, pair

TABLE = ((P("t"), P("d")), P("d"), (16, 6), ids(4))


def rows(divide, rest, rank=lambda w: lax.axis_index("t")):
    def body(w, i):
        n = w.shape[0]
        mine = divide(i, n) == rank(w)
        return lax.psum(jnp.where(mine[:, None], w[rest(i, n)], 0.0), "t")
    return body


def gradient_of(body):
    return lambda w, i: jax.grad(lambda w: jnp.sum(jnp.sin(body(w, i))))(w)


def whole(w, i):
    return w[i]


GRADIENT = ((P("t"), P()), P("t"), (16, 6), ids(4))
pair("division", whole, *TABLE)(rows(jnp.floor_divide, jnp.remainder))
pair("division_of_lax", whole, *TABLE)(rows(lax.div, lax.rem))
pair("division_by_two_axes", whole, (P(("d", "t")), P()), P(), (16, 6), ids(4))(
    lambda w, i: lax.psum(rows(jnp.floor_divide, jnp.remainder, lambda w: lax.axis_index(("d", "t")))(w, i), "d"))
pair("division_gradient", gradient_of(whole), *GRADIENT, vma=True)(gradient_of(rows(jnp.floor_divide, jnp.remainder)))
pair("division_n_and_1", whole, *TABLE, bug="divided by n + 1")(rows(lambda i, n: i // (n + 1), jnp.remainder))
pair("division_rest_n_and_1", whole, *TABLE, bug="the rest by n - 1")(rows(jnp.floor_divide, lambda i, n: i % (n - 1)))
pair("division_next_rank", whole, *TABLE, bug="the rows of the next device")(
    rows(jnp.floor_divide, jnp.remainder, lambda w: lax.axis_index("t") + 1))
pair("division_two_ranks", whole, *TABLE, bug="every second device has rows")(
    rows(jnp.floor_divide, jnp.remainder, lambda w: 2 * lax.axis_index("t")))
pair("division_swapped_axes", whole, (P(("d", "t")), P()), P(), (16, 6), ids(4), bug="the axes of the rank are swapped")(
    lambda w, i: lax.psum(rows(jnp.floor_divide, jnp.remainder, lambda w: lax.axis_index(("t", "d")))(w, i), "d"))


@pair("division_target", lambda z, y: jnp.take_along_axis(z, y[:, None], 1)[:, 0], (P("d", "t"), P("d")), P("d"), (4, 16), ids(4))
def _(z, y):
    n = z.shape[1]
    device, row = jnp.divmod(y, n)
    at = jnp.take_along_axis(z, row[:, None], 1)[:, 0]
    return lax.psum(jnp.where(device == lax.axis_index("t"), at, 0.0), "t")


@pair("division_both_masked", whole, *TABLE)
def _(w, i):
    n = w.shape[0]
    mine = i // n == lax.axis_index("t")
    return lax.psum(w[jnp.where(mine, i % n, 0)] * mine[:, None], "t")


@pair("division_offset", whole, *TABLE)
def _(w, i):
    n, rank = w.shape[0], lax.axis_index("t")
    mine = i // n == rank
    return lax.psum(jnp.where(mine[:, None], w[jnp.where(mine, i - rank * n, 0)], 0.0), "t")


@pair("division_masks_others", whole, *TABLE, bug="the rows that the device has not")
def _(w, i):
    n = w.shape[0]
    mine = i // n != lax.axis_index("t")
    return lax.psum(jnp.where(mine[:, None], w[i % n], 0.0), "t")


@pair("division_of_other_ids", lambda w, i, j: w[i] + 0 * w[j], (P("t"), P("d"), P("d")), P("d"), (16, 6), ids(4), ids(4),
      bug="the mask is of other ids")
def _(w, i, j):
    n = w.shape[0]
    mine = j // n == lax.axis_index("t")
    return lax.psum(jnp.where(mine[:, None], w[i % n], 0.0), "t")


@pair("division_unmasked", whole, *TABLE, bug="not masked")
def _(w, i):
    return lax.psum(w[i % w.shape[0]], "t")


def floor_divide(i, n):
    """Not jnp's."""
    return (i + 1) // n


@pair("division_by_another_function", whole, *TABLE, bug="a function of that name")
def _(w, i):
    n = w.shape[0]
    mine = jax.jit(floor_divide)(i, n) == lax.axis_index("t")
    return lax.psum(jnp.where(mine[:, None], w[i % n], 0.0), "t")
