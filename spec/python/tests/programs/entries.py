"""Ids that name entries, of which others do not occur."""
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import ids, pair


def smoothed(z, y):
    log = jax.nn.log_softmax(z)
    return jnp.mean(-0.9 * jnp.take_along_axis(log, y[:, None], 1)[:, 0] - 0.1 * log.mean(1))


def on_parts(z, y, words):
    n = z.shape[1]
    most = lax.pmax(lax.stop_gradient(z.max(1)), "t")
    total = jnp.log(lax.psum(jnp.exp(z - most[:, None]).sum(1), "t")) + most
    own = y - lax.axis_index("t") * n
    here = (own >= 0) & (own < n)
    target = jnp.take_along_axis(z, jnp.clip(own, 0, n - 1)[:, None], 1)[:, 0]
    target = lax.psum(jnp.where(here, target, 0.0), "t")
    return jnp.mean(total - 0.9 * target - 0.1 * lax.psum(z.sum(1), "t") / words)


SMOOTHED = (P(None, "t"), P()), P(), (4, 16), ids(4)


@pair("label_smoothing_over_split_words", smoothed, *SMOOTHED)
def _(z, y):
    return on_parts(z, y, z.shape[1] * lax.axis_size("t"))


@pair("label_smoothing_over_own_words", smoothed, *SMOOTHED, bug="Megatron-LM 737: averaged over each rank's words")
def _(z, y):
    return on_parts(z, y, z.shape[1])


def written(cache, row, at):
    return lax.dynamic_update_slice(cache, row, (0, at, 0))


CACHE = (P(None, "t"), P(), P()), P(None, "t"), (2, 16, 3), (2, 1, 3), ids()


@pair("cache_split_by_positions", written, *CACHE)
def _(cache, row, at):
    n = cache.shape[1]
    here = lax.axis_index("t") * n + jnp.arange(n) == at
    return jnp.where(here[None, :, None], row, cache)


@pair("cache_row_on_every_device", written, *CACHE, bug="C9 each device writes the row into its block")
def _(cache, row, at):
    return lax.dynamic_update_slice(cache, row, (0, at - lax.axis_index("t") * cache.shape[1], 0))


def masked(z, y, total=lambda x: x):
    log = jax.nn.log_softmax(z)
    each = -jnp.take_along_axis(log, y[:, None], 1)[:, 0]
    return total(jnp.where(y == -100, 0.0, each).sum()) / total((y != -100).astype(jnp.float32).sum())


MASKED = (P("d"), P("d")), P(), (8, 6), ids(8)


@pair("labels_that_do_not_count", masked, *MASKED)
def _(z, y):
    return masked(z, y, lambda x: lax.psum(x, "d"))


@pair("labels_that_do_not_count_on_a_rank", masked, *MASKED, bug="C4 each rank divides by its own count")
def _(z, y):
    return lax.pmean(masked(z, y), "d")
