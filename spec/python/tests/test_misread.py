"""What the importer may read as another program than JAX runs. Nothing is evaluated: what was read is what decides."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import programs
import pytest
import shardproof
from jax import lax
from jax.sharding import PartitionSpec as P
from programs import ids

ROWS = (P("d"),), P("d")
PAIRS: dict[str, programs.Pair] = {}


def pair(model, in_specs, out_specs, *shapes, right=False):
    def add(body):
        name = body.__name__
        PAIRS[name] = programs.Pair(name, model, body, in_specs, out_specs, shapes, "" if right else "wrong")
        return body
    return add


def numbers(kind, *shape):
    return jax.ShapeDtypeStruct(shape, kind)


# Rows of a block


def rows(table, ids, other=None):
    return table[ids] if other is None else table[ids] * jnp.ones_like(other)[:, None]


TABLE = (P("t"), P()), P(), (8, 6), ids(8)
WITH_FLAG = (P("t"), P(), P()), P(), (8, 6), ids(8), ids(8)


def own(table, ids):
    """Ids in a device's block, and whether they are."""
    local = ids - lax.axis_index("t") * table.shape[0]
    return local, (local >= 0) & (local < table.shape[0])


def kept(mask, value):
    return lax.psum(jnp.where(mask[..., None], value, 0.0), "t")


@pair(rows, *WITH_FLAG)
def the_first_row_where_a_flag_says_so(table, ids, flag):
    local, mask = own(table, ids)
    return kept(mask, table[jnp.clip(jnp.where(flag >= 0, local, 0), 0, table.shape[0] - 1)]) * jnp.ones_like(flag)[:, None]


@pair(rows, *WITH_FLAG)
def rows_of_other_ids_where_a_flag_says_so(table, ids, flag):
    local, mask = own(table, ids)
    return kept(mask, table[jnp.where(flag >= 0, local, own(table, flag)[0])]) * jnp.ones_like(flag)[:, None]


@pair(rows, *TABLE)
def clipped_to_all_but_the_last_row(table, ids):
    local, mask = own(table, ids)
    return kept(mask, table[jnp.clip(local, 0, table.shape[0] - 2)])


@pair(rows, *TABLE)
def clipped_to_all_but_the_first_row(table, ids):
    local, mask = own(table, ids)
    return kept(mask, table[jnp.maximum(local, 1)])


@pair(rows, *TABLE)
def the_row_before(table, ids):
    local, mask = own(table, ids)
    return kept(mask, table[jnp.clip(local - 1, 0, table.shape[0] - 1)])


@pair(rows, *TABLE)
def rows_at_the_offset_of_another_axis(table, ids):
    local = ids - lax.axis_index("d") * table.shape[0]
    return kept(own(table, ids)[1], table[jnp.clip(local, 0, table.shape[0] - 1)])


@pair(rows, *TABLE)
def rest_of_a_division_clipped(table, ids):
    n = table.shape[0]
    return kept(ids // n == lax.axis_index("t"), table[jnp.minimum(ids % n, n - 2)])


@pair(rows, *TABLE)
def one_hot_of_ids_from_the_end(table, ids):
    local, _ = own(table, ids)
    n = table.shape[0]
    return lax.psum(jax.nn.one_hot(jnp.where(local < 0, local + n, local), n) @ table, "t")


@pair(rows, *TABLE, right=True)
def chosen_and_clipped(table, ids):
    local, mask = own(table, ids)
    return kept(mask, table[jnp.clip(jnp.where(mask, local, 0), 0, table.shape[0] - 1)])


MATRIX = (P("t"), P()), P(), (8, 6), ids(8, 8)


@pair(lambda table, ids: table[ids.T], *MATRIX, right=True)
def turned_before(table, ids):
    local, mask = own(table, ids.T)
    return kept(mask, table[jnp.where(mask, local, 0)])


@pair(lambda table, ids: table[ids.T], *MATRIX)
def turned_in_between(table, ids):
    local, mask = own(table, ids)
    return kept(mask, table[jnp.where(mask, local, 0).T])


@pair(lambda x, at, flag, u: x.at[at].add(u) * jnp.ones_like(flag)[:, None], (P("t"), P(), P(), P()), P("t"), (8, 6), ids(8), ids(8), (8, 6))
def added_to_the_first_row_where_a_flag_says_so(x, at, flag, u):
    local, mask = own(x, at)
    ones = lax.dynamic_slice_in_dim(jnp.ones_like(flag), lax.axis_index("t") * x.shape[0], x.shape[0])
    return x.at[jnp.clip(jnp.where(flag >= 0, local, 0), 0, x.shape[0] - 1)].add(jnp.where(mask[:, None], u, 0.0)) * ones[:, None]


# Broadcasts


@pair(lambda k: jnp.repeat(k, 2, 1), *ROWS, (8, 4, 6))
def copies_side_by_side(k):
    return jnp.tile(k, (1, 2, 1))


# Integers of few bits


TWO = (P("d"), P("d")), P("d"), numbers("int8", 8, 6), numbers("int8", 8, 6)
PRODUCT = (P(None, "t"), P("t")), P(), numbers("int8", 8, 8), numbers("int8", 8, 4)


def wide_product(a, b):
    return jnp.dot(a, b, preferred_element_type=jnp.int32)


@pair(lambda a, b: a.astype("int32") * b.astype("int32"), *TWO)
def product_of_few_bits(a, b):
    return (a * b).astype("int32")


@pair(lambda a, b: a.astype("float32") + b.astype("float32"), *TWO)
def sum_of_few_bits(a, b):
    return (a + b).astype("float32")


@pair(lambda a: a.astype("int32") - 1, *ROWS, numbers("uint8", 8))
def difference_below_0(a):
    return (a - jnp.uint8(1)).astype("int32")


@pair(lambda a: a.astype("float32") - 1, *ROWS, numbers("uint32", 8))
def difference_below_0_of_many_bits(a):
    return (a - jnp.uint32(1)).astype("float32")


@pair(wide_product, *PRODUCT)
def sums_of_few_bits(a, b):
    return lax.psum(jnp.dot(a, b), "t").astype("int32")


@pair(wide_product, *PRODUCT)
def terms_of_few_bits(a, b):
    return lax.psum(jnp.dot(a, b).astype("int32"), "t")


@pair(wide_product, *PRODUCT, right=True)
def sums_of_many_bits(a, b):
    return lax.psum(wide_product(a, b), "t")


@pair(jnp.dot, *PRODUCT, right=True)
def both_of_few_bits(a, b):
    return lax.psum(jnp.dot(a, b), "t")


@pair(lambda x: (x * 100).astype("int32"), *ROWS, (8, 6))
def float_as_few_bits(x):
    return (x * 100).astype("int8").astype("int32")


def quantized(x, w, s, total):
    sums = total(wide_product(jnp.round(x / s).clip(-127, 127).astype("int8"), w))
    return sums.astype("float32") * s


@pair(lambda x, w, s: quantized(x, w, s, lambda y: y), (P(None, "t"), P("t"), P()), P(), (8, 8), numbers("int8", 8, 4), (), right=True)
def product_of_quantized_values(x, w, s):
    return quantized(x, w, s, lambda y: lax.psum(y, "t"))


@pair(lambda a: (a // 3).astype("int32"), *ROWS, numbers("uint8", 8), right=True)
def quotient_without_signs(a):
    return lax.div(a, jnp.uint8(3)).astype("int32")


# Some and all of the entries of a split dim


SOME = (P("d"),), P(), numbers("bool", 8, 6)


def some(m):
    return m.any(0)


def every(m):
    return m.all(0)


@pair(some, *SOME, right=True)
def some_by_a_count(m):
    return lax.psum(m.sum(0), "d") > 0


@pair(some, *SOME, right=True)
def some_by_flags(m):
    return lax.psum(m.any(0).astype("int32"), "d") != 0


@pair(some, *SOME, right=True)
def some_by_the_largest(m):
    return lax.pmax(m.any(0).astype("int32"), "d") > 0


@pair(every, *SOME, right=True)
def every_by_the_smallest(m):
    return lax.pmin(m.all(0).astype("int32"), "d") == 1


@pair(every, *SOME, right=True)
def every_by_flags(m):
    return lax.psum(m.all(0).astype("float32"), "d") == lax.axis_size("d")


@pair(every, *SOME, right=True)
def every_by_a_count_of_the_others(m):
    return lax.psum((~m).sum(0), "d") == 0


@pair(some, *SOME)
def more_than_one_device(m):
    return lax.psum(m.any(0).astype("int32"), "d") > 1


@pair(some, *SOME)
def some_on_each_device(m):
    return lax.pmin(m.any(0).astype("int32"), "d") > 0


@pair(every, *SOME)
def every_on_some_device(m):
    return lax.pmax(m.all(0).astype("int32"), "d") > 0


@pair(every, *SOME)
def every_on_some_device_by_flags(m):
    return lax.psum(m.all(0).astype("int32"), "d") > 0


@pair(every, *SOME)
def every_on_all_but_one(m):
    return lax.psum(m.all(0).astype("int32"), "d") >= lax.axis_size("d") - 1


@pair(some, *SOME)
def some_over_another_axis(m):
    return lax.psum(m.any(0).astype("int32"), "t") > 0


@pair(some, *SOME)
def some_as_not_every(m):
    return lax.psum(m.any(0).astype("int32"), "d") == 0


@pair(lambda m: m.sum(0) > 1, *SOME)
def one_is_enough(m):
    return lax.psum(m.sum(0), "d") >= 1


# The -inf of masks, which the inputs of an evaluation may not have


MASKED = (P("d"), P("d")), P("d"), ids(8), (8,)


def masked(i, x):
    return jnp.where(i > 100, -jnp.inf, x)


@pair(lambda i, x: jnp.where(jnp.exp(masked(i, x)) > 0, x, 2 * x), *MASKED)
def exp_is_positive(i, x):
    return x


@pair(lambda i, x: jnp.sign(jnp.exp(masked(i, x))), *MASKED)
def sign_of_exp(i, x):
    return jnp.ones_like(x)


@pair(lambda i, x: jnp.where(masked(i, x) > masked(i, x) - 1, x, 2 * x), *MASKED)
def more_than_one_less(i, x):
    return x


@pair(lambda i, x: jnp.isfinite(2 * masked(i, x)), *MASKED)
def twice_is_finite(i, x):
    return jnp.ones(x.shape, bool)


@pair(lambda i, x: jnp.isinf(masked(i, x)), *MASKED)
def none_is_infinite(i, x):
    return jnp.zeros(x.shape, bool)


@pair(lambda i, x: jnp.isinf(masked(i, x)), *MASKED, right=True)
def some_are_infinite(i, x):
    return jnp.isneginf(masked(i, x))


@pair(lambda i, x: jnp.where(lax.scan(lambda c, _: (c - 1, None), masked(i, x), None, length=9)[0] < 0, x, 2 * x), *MASKED)
def computed_in_a_loop(i, x):
    return jnp.where(lax.scan(lambda c, _: (c - 1, None), masked(i, x), None, length=9)[0] < -masked(i, x), x, 2 * x)


TRIANGLE = np.where(np.tril(np.ones((6, 6))), 0, -np.inf).astype("float32")


@pair(lambda s: jnp.isfinite(s + TRIANGLE), *ROWS, (8, 6, 6))
def array_with_infinity(s):
    return jnp.ones(s.shape, bool)


@pair(lambda s: jax.nn.softmax(s + TRIANGLE, -1), *ROWS, (8, 6, 6), right=True)
def softmax_of_array_with_infinity(s):
    e = jnp.exp(s + TRIANGLE - (s + TRIANGLE).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def filtered(logits, k, largest):
    return jax.nn.softmax(jnp.where(logits < largest(logits, k), -jnp.inf, logits), -1)


@pair(lambda i, x: jnp.argmax(filtered(masked(i, x), 2, lambda x, k: lax.top_k(x, k)[0][..., -1:]) * 0 + masked(i, x), -1),
      (P("d"), P("d")), P("d"), ids(8, 12), (8, 12))
def largest_of_what_is_computed(i, x):
    return jnp.argmax(masked(i, x), -1)


@pair(lambda i, x: filtered(masked(i, x), 2, lambda x, k: lax.top_k(x, k)[0][..., -1:]), (P("d"), P("d")), P("d"), ids(8, 12), (8, 12), right=True)
def filter_of_a_filter(i, x):
    return filtered(jnp.where(i > 100, -jnp.inf, x), 2, lambda x, k: lax.top_k(x, k)[0][:, -1:])


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_read(name):
    each = PAIRS[name]
    report = shardproof.prove(each.model, each.sharded(), *each.shapes, validate=False, meshes=1)
    assert report.proved == each.right, report
