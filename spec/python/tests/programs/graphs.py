"""Sums of messages by id, with edges that are split; and masks of NaN, which no real number is."""
from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import ids, pair

EDGES = (P(), P("d"), P("d")), P(), (6, 5), ids(8), ids(8)


def total(h, source, target):
    return jax.ops.segment_sum(h[source], target, num_segments=6)


def count(target):
    return jax.ops.segment_sum(jnp.ones(len(target)), target, num_segments=6)


def mean_of_messages(h, source, target):
    return total(h, source, target) / jnp.maximum(count(target), 1)[:, None]


@pair("mean_of_split_messages", mean_of_messages, *EDGES)
def _(h, source, target):
    return lax.psum(total(h, source, target), "d") / jnp.maximum(lax.psum(count(target), "d"), 1)[:, None]


@pair("mean_of_means_of_messages", mean_of_messages, *EDGES, bug="C4 each device divides by its own count")
def _(h, source, target):
    return lax.pmean(mean_of_messages(h, source, target), "d")


@pair("count_of_own_messages", mean_of_messages, *EDGES, bug="C12 the count is that of the device's own edges")
def _(h, source, target):
    return lax.psum(total(h, source, target), "d") / jnp.maximum(count(target), 1)[:, None]


def mean_but_nan(x):
    return jnp.nansum(jnp.nan_to_num(x)) / jnp.sum(~jnp.isnan(x))


@pair("mean_of_what_is_not_nan", lambda x: jnp.mean(x), P("d"), P(), (8, 5))
def _(x):
    return lax.pmean(mean_but_nan(x), "d")
