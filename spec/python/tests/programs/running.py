"""Where the largest entry of a split dim stands, and running sums along one, from what each device has of its block."""
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import pair


def first(x):
    return jnp.argmax(x, -1)


def place(x, axes="t"):
    return first(x) + lax.axis_index(axes) * x.shape[-1]


def smallest(x, index, own=None, axes="t", beyond=2 ** 30):
    own = x.max(-1) if own is None else own
    return lax.pmin(jnp.where(own == lax.pmax(own, axes), index, beyond), axes)




SPLIT = first, (P(None, "t"),), P(), (6, 16)


@pair("first_of_all_by_pmin", *SPLIT)
def _(x):
    return smallest(x, place(x))


@pair("first_of_all_over_two_axes", first, (P(None, ("d", "t")),), P(), (6, 32))
def _(x):
    return smallest(x, place(x, ("d", "t")), axes=("d", "t"))


@pair("first_of_all_of_a_vector", first, (P("t"),), P(), (16,))
def _(x):
    index = lax.all_gather(place(x), "t")
    return index[jnp.argmax(lax.all_gather(x.max(), "t"))]


@pair("first_of_all_by_device", *SPLIT)
def _(x):
    most, index = lax.all_gather(x.max(-1), "t"), lax.all_gather(place(x), "t")
    return jnp.take_along_axis(index, jnp.argmax(most, 0)[None], 0)[0]


@pair("first_of_all_by_pmax", *SPLIT)
def _(x):
    return -lax.pmax(jnp.where(x.max(-1) == lax.pmax(x.max(-1), "t"), -place(x), -(2 ** 30)), "t")


@pair("first_in_blocks_by_pmax", *SPLIT, bug="C9 the indices count in each device's block")
def _(x):
    return -lax.pmax(jnp.where(x.max(-1) == lax.pmax(x.max(-1), "t"), -first(x), -(2 ** 30)), "t")


@pair("first_in_blocks", *SPLIT, bug="C9 the indices count in each device's block")
def _(x):
    return smallest(x, first(x))


@pair("first_offset_of_another_axis", *SPLIT, bug="C5 the offset is that of d")
def _(x):
    return smallest(x, place(x, "d"))


@pair("first_of_absolute_values", *SPLIT, bug="the maximum is that of others")
def _(x):
    return smallest(x, place(x), jnp.abs(x).max(-1))


@pair("first_beyond_too_small", *SPLIT, bug="an index of later devices is larger than what is beyond")
def _(x):
    return smallest(x, place(x), beyond=6)


@pair("first_of_reversed_devices", *SPLIT, bug="C6 the index of another device")
def _(x):
    most, index = lax.all_gather(x.max(-1), "t"), lax.all_gather(place(x), "t")[::-1]
    return jnp.take_along_axis(index, jnp.argmax(most, 0)[None], 0)[0]


@pair("first_on_each_device", *SPLIT, bug="D15 each device's own")
def _(x):
    return first(x)


@pair("terms_of_half_the_devices", lambda x: x.sum(0), (P("t"),), P(), (8, 6), bug="C1 the terms of two devices")
def _(x):
    return lax.all_gather(x.sum(0), "t")[:2].sum(0)


@pair("terms_in_two_halves", lambda x: x.sum(0), (P("t"),), P(), (8, 6))
def _(x):
    terms = lax.all_gather(x.sum(0), "t")
    return terms[:2].sum(0) + terms[2:].sum(0)


# Running sums


def earlier(terms, axis="t", mask=jnp.less):
    here = mask(jnp.arange(lax.axis_size("t")), lax.axis_index(axis))
    return jnp.where(here.reshape(-1, *[1] * (terms.ndim - 1)), terms, 0).sum(0)


def running(x):
    return jnp.cumsum(x, 0)


ROWS = running, (P("t"),), P("t"), (64, 4)


@pair("running_of_sums", *ROWS)
def _(x):
    return running(x) + earlier(lax.all_gather(x.sum(0), "t"))


@pair("running_of_last_entries", *ROWS)
def _(x):
    own = running(x)
    return own + earlier(lax.all_gather(own[-1], "t"))


@pair("running_by_a_product", running, (P("t"),), P("t"), (64,))
def _(x):
    terms = lax.all_gather(x.sum(), "t")
    return running(x) + (terms * (lax.axis_index("t") > jnp.arange(terms.shape[0]))).sum()


@pair("running_with_the_own_block_twice", *ROWS, bug="C9 the device's own block is before it")
def _(x):
    return running(x) + earlier(lax.all_gather(x.sum(0), "t"), mask=jnp.less_equal)


@pair("running_by_another_axis", *ROWS, bug="C5 the devices before on another axis")
def _(x):
    return running(x) + earlier(lax.all_gather(x.sum(0), "t"), "d")


@pair("running_of_first_entries", *ROWS, bug="C9 the first entries of the blocks")
def _(x):
    own = running(x)
    return own + earlier(lax.all_gather(own[0], "t"))


@pair("running_of_means", *ROWS, bug="C3 the means of the blocks")
def _(x):
    return running(x) + earlier(lax.all_gather(x.mean(0), "t"))


@pair("running_along_the_other_dim", running, (P("t"),), P("t"), (64, 16), bug="C6 a row's sum for a column's")
def _(x):
    return running(x) + earlier(lax.all_gather(x.sum(0), "t"))[:, None]


@pair("running_of_blocks", *ROWS, bug="C6 each device begins at 0")
def _(x):
    return running(x)
