"""The largest entries of a dim that is split."""
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import gather, pair


def largest(x):
    return lax.top_k(x, 2)


def own(x, axes="t"):
    v, i = largest(x)
    return v, i + lax.axis_index(axes) * x.shape[1]


def of_all(v, i, axes="t"):
    v, i = gather(v, axes, 1), gather(i, axes, 1)
    v, j = largest(v)
    return v, jnp.take_along_axis(i, j, 1)


SPLIT, BOTH = ((P(None, "t"),), (P(), P()), (2, 16)), ((P(None, ("d", "t")),), (P(), P()), (2, 32))


@pair("largest_of_the_devices", largest, *SPLIT)
def _(x):
    return of_all(*own(x))


@pair("largest_over_two_axes", largest, *BOTH)
def _(x):
    return of_all(*own(x, ("d", "t")), ("d", "t"))


@pair("largest_indices_in_blocks", largest, *SPLIT, bug="C9 the indices count in each device's block")
def _(x):
    return of_all(*largest(x))


@pair("largest_offset_of_another_axis", largest, *SPLIT, bug="C5 the offset is that of d")
def _(x):
    v, i = largest(x)
    return of_all(v, i + lax.axis_index("d") * x.shape[1])


@pair("largest_one_of_each", lambda x: largest(x)[0], SPLIT[0], P(), (2, 16), bug="one entry of each device")
def _(x):
    return largest(gather(lax.top_k(x, 1)[0], "t", 1))[0]


@pair("largest_indices_transposed", largest, (P(None, "t"),), (P(), P()), (2, 8), bug="C6 the indices of the other row")
def _(x):
    v, i = (gather(y, "t", 1) for y in own(x))
    v, j = largest(v)
    return v, jnp.take_along_axis(i, j.T, 1)
