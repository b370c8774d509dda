"""What each device has computed of its own part, merged: variances of blocks, softmaxes of few keys, sums of the devices before."""
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, PartitionSpec as P

from . import pair

SIXTEEN, FOUR = AbstractMesh((16,), ("t",)), AbstractMesh((4,), ("t",))

# Attention over keys that are split 16 ways


def decode(q, k, v):
    s = jnp.einsum("bhd,bkhd->bhk", q, k) / q.shape[-1] ** 0.5
    return jnp.einsum("bhk,bkhd->bhd", jax.nn.softmax(s, -1), v)


def part(q, k, v):
    """Attention over a device's keys, and the log-sum-exp of its scores."""
    return decode(q, k, v), jax.nn.logsumexp(jnp.einsum("bhd,bkhd->bhk", q, k) / q.shape[-1] ** 0.5, -1)


DECODE = (P(), P(None, "t"), P(None, "t")), P(), (2, 3, 5), (2, 32, 3, 5), (2, 32, 3, 7)


@pair("decoding_16_ways", decode, *DECODE, mesh=SIXTEEN)
def _(q, k, v):
    out, lse = part(q, k, v)
    weight = jnp.exp(lse - lax.pmax(lse, "t"))
    return lax.psum(out * weight[..., None], "t") / lax.psum(weight, "t")[..., None]


@pair("decoding_16_ways_of_means", decode, *DECODE, mesh=SIXTEEN, bug="parts with other sums of weights count alike")
def _(q, k, v):
    return lax.pmean(part(q, k, v)[0], "t")


# Moments of blocks


def variance(x):
    return jnp.var(x, 0)


ROWS = (P("d"),), P(), (8, 6)


@pair("variance_of_blocks", variance, *ROWS)
def _(x):
    mean = x.mean(0)
    return lax.pmean(jnp.var(x, 0) + (mean - lax.pmean(mean, "d")) ** 2, "d")


@pair("variance_of_gathered_blocks", variance, *ROWS)
def _(x):
    n, mean = x.shape[0], x.mean(0)
    squares, means = lax.all_gather(((x - mean) ** 2).sum(0), "d"), lax.all_gather(mean, "d")
    return (squares.sum(0) + n * ((means - means.mean(0)) ** 2).sum(0)) / (n * len(means))


@pair("variance_within_blocks", variance, *ROWS, bug="C7 the means of the blocks differ too")
def _(x):
    return lax.pmean(jnp.var(x, 0), "d")


@pair("variance_of_means_once", variance, *ROWS, bug="C4 a mean counts once and not for each of its rows")
def _(x):
    n, mean = x.shape[0], x.mean(0)
    return lax.psum(((x - mean) ** 2).sum(0) + (mean - lax.pmean(mean, "d")) ** 2, "d") / (n * lax.axis_size("d"))


# Sums of what the devices before have, by a ring


def before(x, devices):
    total, found = x.sum(0), jnp.zeros_like(x[0])
    for step in range(1, 4):
        total = lax.ppermute(total, "t", [(i, (i + 1) % 4) for i in range(4)])
        found += jnp.where(devices(lax.axis_index("t"), step), total, 0)
    return found


RUNNING = lambda x: jnp.cumsum(x, 0), (P("t"),), P("t"), (8, 6)


@pair("running_sum_by_a_ring", *RUNNING, mesh=FOUR)
def _(x):
    return jnp.cumsum(x, 0) + before(x, lambda device, step: device >= step)


@pair("running_sum_of_all_others", *RUNNING, mesh=FOUR, bug="C9 the devices behind are added too")
def _(x):
    return jnp.cumsum(x, 0) + before(x, lambda device, step: True)
