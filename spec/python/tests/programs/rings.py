"""Attention in which keys and values go around an axis, as Ring Attention has it."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import pair

RING = (P("d", "t"),) * 3, P("d", "t"), *[(4, 8, 5)] * 3


def attention(q, k, v):
    return jnp.einsum("blm,bmd->bld", jax.nn.softmax(jnp.einsum("bld,bmd->blm", q, k), -1), v)


def causal(q, k, v):
    at = jnp.arange(q.shape[1])
    s = jnp.where(at[:, None] >= at[None, :], jnp.einsum("bld,bmd->blm", q, k) / q.shape[2] ** 0.5, -1e10)
    return jnp.einsum("blm,bmd->bld", jax.nn.softmax(s, -1), v)


def sent(x, by=1):
    n = lax.axis_size("t")
    return lax.ppermute(x, "t", [(i, (i + by) % n) for i in range(n)])


def added(carry, s, v):
    """Running maximum, sum and output with another block's scores and values."""
    m, z, o = carry
    most = jnp.maximum(m, s.max(-1))
    p, old = jnp.exp(s - most[..., None]), jnp.exp(m - most)
    return most, old * z + p.sum(-1), old[..., None] * o + jnp.einsum("blm,bmd->bld", p, v)


def nothing(q):
    return jnp.full(q.shape[:2], -1e30), jnp.zeros(q.shape[:2]), jnp.zeros_like(q)


@pair("ring_attention", attention, *RING)
def _(q, k, v):
    def step(carry, _):
        k, v, own = carry
        own = added(own, jnp.einsum("bld,bmd->blm", q, k), v)
        return (sent(k), sent(v), own), None
    (_, _, (_, z, o)), _ = lax.scan(step, (k, v, nothing(q)), None, length=lax.axis_size("t"))
    return o / z[..., None]


@pair("ring_attention_without_rescaling", attention, *RING, bug="the sums so far are not rescaled to the new maximum")
def _(q, k, v):
    def step(carry, _):
        k, v, (m, z, o) = carry
        s = jnp.einsum("bld,bmd->blm", q, k)
        most = jnp.maximum(m, s.max(-1))
        p = jnp.exp(s - most[..., None])
        return (sent(k), sent(v), (most, z + p.sum(-1), o + jnp.einsum("blm,bmd->bld", p, v))), None
    (_, _, (_, z, o)), _ = lax.scan(step, (k, v, nothing(q)), None, length=lax.axis_size("t"))
    return o / z[..., None]


@pair("ring_attention_one_block_short", attention, *RING, bug="the last block is left out")
def _(q, k, v):
    def step(carry, _):
        k, v, own = carry
        own = added(own, jnp.einsum("bld,bmd->blm", q, k), v)
        return (sent(k), sent(v), own), None
    (_, _, (_, z, o)), _ = lax.scan(step, (k, v, nothing(q)), None, length=lax.axis_size("t") - 1)
    return o / z[..., None]


def causal_ring(q, k, v, by=1, source=lambda i, s, n: (i - s) % n, first=0):
    """Each device knows by the step whose block it has."""
    n, i, block = lax.axis_size("t"), lax.axis_index("t"), q.shape[1]
    mine = i * block + jnp.arange(block)

    def step(s, carry):
        k, v, own = carry
        theirs = source(i, s, n) * block + jnp.arange(block) + first
        scores = jnp.einsum("bld,bmd->blm", q, k) / q.shape[2] ** 0.5
        own = added(own, jnp.where(mine[:, None] >= theirs[None, :], scores, -1e10), v)
        return sent(k, by), sent(v, by), own
    _, _, (_, z, o) = lax.fori_loop(0, n, step, (k, v, nothing(q)))
    return o / z[..., None]


@pair("causal_ring", causal, *RING)
def _(q, k, v):
    return causal_ring(q, k, v)


@pair("causal_ring_backwards", causal, *RING)
def _(q, k, v):
    return causal_ring(q, k, v, by=-1, source=lambda i, s, n: lax.rem(i + s, n))


@pair("causal_ring_of_positive_numbers", causal, *RING)
def _(q, k, v):
    return causal_ring(q, k, v, source=lambda i, s, n: lax.rem(i - s + n, n))


@pair("causal_ring_of_the_other_way", causal, *RING, bug="the mask is of the blocks that go the other way")
def _(q, k, v):
    return causal_ring(q, k, v, by=-1)


@pair("causal_ring_of_the_next_step", causal, *RING, bug="the mask is of the block of the step before")
def _(q, k, v):
    return causal_ring(q, k, v, source=lambda i, s, n: (i - s + 1) % n)


@pair("causal_ring_one_position_late", causal, *RING, bug="C9 positions of keys are one too many")
def _(q, k, v):
    return causal_ring(q, k, v, first=1)


@pair("causal_ring_of_negative_numbers", causal, *RING, bug="lax.rem rounds to 0: the number of a block may be below 0")
def _(q, k, v):
    return causal_ring(q, k, v, source=lambda i, s, n: lax.rem(i - s, n))


# Products whose blocks come, or whose sums go, around an axis while the device computes.

def product(x, w):
    return x @ w


GATHERED = product, (P("t"), P(None, "t")), P(None, "t"), (8, 6), (6, 12)
CONTRACTED = product, (P("d", "t"), P(None, "t")), P("d", "t"), (4, 8), (8, 12)
SCATTERED = product, (P(None, "t"), P("t")), P("t"), (8, 12), (12, 6)


def gathered_product(x, w, by=1, source=lambda i, s, n: (i - s) % n):
    n, i, rows = lax.axis_size("t"), lax.axis_index("t"), x.shape[0]

    def step(s, carry):
        x, y = carry
        return sent(x, by), lax.dynamic_update_slice(y, x @ w, (source(i, s, n) * rows, 0))
    return lax.fori_loop(0, n, step, (x, jnp.zeros((n * rows, w.shape[1]))))[1]


@pair("gathered_product_of_a_loop", *GATHERED)
def _(x, w):
    return gathered_product(x, w)


@pair("gathered_product_backwards", *GATHERED)
def _(x, w):
    return gathered_product(x, w, -1, lambda i, s, n: (i + s) % n)


@pair("gathered_product_of_the_other_way", *GATHERED, bug="C13 each block is written where that of the other way belongs")
def _(x, w):
    return gathered_product(x, w, -1)


@pair("gathered_product_in_one_place", *GATHERED, bug="each block is written at the device's own place")
def _(x, w):
    return gathered_product(x, w, source=lambda i, s, n: i)


def contracted_product(x, w, ahead=0):
    n, i, rows = lax.axis_size("t"), lax.axis_index("t"), x.shape[1]

    def step(carry, s):
        x, y = carry
        y = y + x @ lax.dynamic_slice_in_dim(w, (i - s + ahead) % n * rows, rows, 0)
        return (sent(x), y), None
    return lax.scan(step, (x, jnp.zeros((x.shape[0], w.shape[1]))), jnp.arange(n))[0][1]


@pair("contracted_product_of_a_loop", *CONTRACTED)
def _(x, w):
    return contracted_product(x, w)


@pair("contracted_product_with_other_rows", *CONTRACTED, bug="the rows of the weight are those of the next device's block")
def _(x, w):
    return contracted_product(x, w, 1)


def scattered_product(x, w, ahead=1, last=True, by=1):
    """With `last` the sum is sent after each device has added to it, else before."""
    n, i, rows = lax.axis_size("t"), lax.axis_index("t"), x.shape[0] // lax.axis_size("t")

    def step(total, s):
        term = lax.dynamic_slice_in_dim(x, (i - by * (s + ahead)) % n * rows, rows, 0) @ w
        return (sent(total + term, by) if last else sent(total, by) + term), None
    return lax.scan(step, jnp.zeros((rows, w.shape[1])), jnp.arange(n))[0]


@pair("scattered_product_sent_before", *SCATTERED)
def _(x, w):
    return scattered_product(x, w, last=False)


@pair("scattered_product_sent_after", *SCATTERED)
def _(x, w):
    return scattered_product(x, w, 0)


@pair("scattered_product_backwards", *SCATTERED)
def _(x, w):
    return scattered_product(x, w, last=False, by=-1)


@pair("scattered_product_of_a_step_before", *SCATTERED, bug="the sum ends one device too early")
def _(x, w):
    return scattered_product(x, w, 0, last=False)


@pair("scattered_product_of_a_step_after", *SCATTERED, bug="the sum ends one device too late")
def _(x, w):
    return scattered_product(x, w)


# The same, with steps that Python writes out.

def steps_of(q, k, v, count=None, source=lambda i, s, n: (i - s) % n):
    n, i, block = lax.axis_size("t"), lax.axis_index("t"), q.shape[1]
    mine, own = i * block + jnp.arange(block), nothing(q)
    for s in range(count or n):
        theirs = source(i, s, n) * block + jnp.arange(block)
        scores = jnp.einsum("bld,bmd->blm", q, k) / q.shape[2] ** 0.5
        own = added(own, jnp.where(mine[:, None] >= theirs[None, :], scores, -1e10), v)
        if s < n - 1:
            k, v = sent(k), sent(v)
    return own[2] / own[1][..., None]


@pair("causal_steps", causal, *RING)
def _(q, k, v):
    return steps_of(q, k, v)


@pair("causal_steps_one_short", causal, *RING, bug="the last block is left out")
def _(q, k, v):
    return steps_of(q, k, v, lax.axis_size("t") - 1)


@pair("causal_steps_of_the_other_way", causal, *RING, bug="the mask is of the blocks that go the other way")
def _(q, k, v):
    return steps_of(q, k, v, source=lambda i, s, n: (i + s) % n)


@pair("causal_steps_with_another_last", causal, *RING, bug="the mask of the last step is of the device's own block")
def _(q, k, v):
    return steps_of(q, k, v, source=lambda i, s, n: (i - s % (n - 1)) % n)


@pair("gathered_product_of_the_tutorial", *GATHERED)
def _(x, w):
    n, i, rows = lax.axis_size("t"), lax.axis_index("t"), x.shape[0]
    y = jnp.zeros((n * rows, w.shape[1]))
    for s in range(n - 1):
        following = sent(x)
        y = lax.dynamic_update_slice(y, x @ w, ((i - s) % n * rows, 0))
        x = following
    return lax.dynamic_update_slice(y, x @ w, ((i - (n - 1)) % n * rows, 0))


def scattered_steps(x, w, last=0):
    n, i, rows = lax.axis_size("t"), lax.axis_index("t"), x.shape[0] // lax.axis_size("t")
    total = jnp.zeros((rows, w.shape[1]))
    for s in range(n):
        if s:
            total = sent(total)
        total = total + lax.dynamic_slice_in_dim(x, (i - s - 1 + last) % n * rows, rows, 0) @ w
    return total


@pair("scattered_product_of_steps", *SCATTERED)
def _(x, w):
    return scattered_steps(x, w)


@pair("scattered_product_of_steps_off_by_one", *SCATTERED, bug="the sum ends one device too early")
def _(x, w):
    return scattered_steps(x, w, 1)


@pair("scattered_product_begun_with_its_number", product, *SCATTERED[1:], bug="the sum begins with the device's number, which goes around")
def _(x, w):
    n, i, rows = lax.axis_size("t"), lax.axis_index("t"), x.shape[0] // lax.axis_size("t")
    total = jnp.zeros((rows, w.shape[1])) + i
    for s in range(n):
        if s:
            total = sent(total)
        total = total + lax.dynamic_slice_in_dim(x, (i - s - 1) % n * rows, rows, 0) @ w
    return total


def squares(x, w):
    return x ** 2 @ w


def contracted_steps(x, w, power=lambda s, n: 2):
    """The sums after each step."""
    n, i, rows = lax.axis_size("t"), lax.axis_index("t"), x.shape[1]
    sums = [jnp.zeros((x.shape[0], w.shape[1]))]
    for s in range(n):
        sums.append(sums[-1] + x ** power(s, n) @ lax.dynamic_slice_in_dim(w, (i - s) % n * rows, rows, 0))
        x = sent(x)
    return sums


@pair("contracted_squares_of_steps", squares, *CONTRACTED[1:])
def _(x, w):
    return contracted_steps(x, w)[-1]


@pair("contracted_squares_and_a_cube", squares, *CONTRACTED[1:], bug="the last block is cubed")
def _(x, w):
    return contracted_steps(x, w, lambda s, n: 3 if s == n - 1 else 2)[-1]


@pair("contracted_squares_of_the_step_before", squares, *CONTRACTED[1:], bug="the sum without the last block")
def _(x, w):
    return contracted_steps(x, w)[-2]


# A backward written by hand: keys and values go around once more, and their gradients with them.

GRADIENT = (P("d", "t"),) * 4, (P("d", "t"),) * 3, *[(4, 8, 5)] * 4


def gradient(f):
    return lambda q, k, v, g: jax.vjp(f, q, k, v)[1](g)


def masked(q, k, v):
    at = jnp.arange(q.shape[1])
    s = jnp.where(at[:, None] >= at[None, :], jnp.einsum("bld,bmd->blm", q, k), -jnp.inf)
    return jnp.einsum("blm,bmd->bld", jax.nn.softmax(s, -1), v)


def scored(q, k, step, causal):
    s, block = jnp.einsum("bld,bmd->blm", q, k), jnp.arange(q.shape[1])
    n, i = lax.axis_size("t"), lax.axis_index("t")
    seen = i * len(block) + block[:, None] >= (i - step) % n * len(block) + block[None, :]
    return jnp.where(seen, s, -jnp.inf) if causal else s


def with_backward(causal, of_keys=sent, steps=0, rows=True, outside=None):
    """Ring attention and its backward from the output and the log-sum-exp. Where the last step stands `outside`, keys and values
    are sent once less, and that is what is done with their gradients."""
    def run(q, k, v):
        def step(i, carry):
            k, v, own = carry
            return *sent((k, v)), added(own, scored(q, k, i, causal), v)
        _, _, (m, z, o) = lax.fori_loop(0, lax.axis_size("t"), step, (k, v, nothing(q)))
        return o / z[..., None], (q, k, v, o / z[..., None], m + jnp.log(z))

    def back(saved, g):
        q, k, v, o, lse = saved

        def terms(i, k, v, dk, dv, dq):
            p = jnp.exp(scored(q, k, i, causal) - lse[..., None])
            ds = p * (jnp.einsum("bld,bmd->blm", g, v) - (rows and (o * g).sum(-1)[..., None]))
            return (dk + jnp.einsum("blm,bld->bmd", ds, q), dv + jnp.einsum("blm,bld->bmd", p, g),
                    dq + jnp.einsum("blm,bmd->bld", ds, k))

        def step(i, carry):
            dk, dv, dq = terms(i, *carry)
            return *sent(carry[:2]), of_keys(dk), sent(dv), dq
        n, start = lax.axis_size("t"), (k, v, *map(jnp.zeros_like, (k, v, q)))
        *others, dk, dv, dq = lax.fori_loop(0, n - 1 if outside else n + steps, step, start)
        if outside:
            dk, dv, dq = terms(n - 1, *others, dk, dv, dq)
            dk, dv = outside(dk), outside(dv)
        return dq, dk, dv

    ring = jax.custom_vjp(lambda q, k, v: run(q, k, v)[0])
    ring.defvjp(run, back)
    return gradient(ring)


pair("gradient_of_a_ring", gradient(attention), *GRADIENT)(with_backward(False))
pair("gradient_of_a_causal_ring", gradient(masked), *GRADIENT)(with_backward(True))
pair("gradient_of_a_ring_that_stays", gradient(attention), *GRADIENT,
     bug="C13 the gradient of keys does not go on with its block")(with_backward(False, lambda d: d))
pair("gradient_of_a_ring_back", gradient(attention), *GRADIENT,
     bug="C13 the gradient of keys goes the other way")(with_backward(False, lambda d: sent(d, -1)))
pair("gradient_of_a_ring_twice", gradient(attention), *GRADIENT,
     bug="the gradient of keys is sent before and after")(with_backward(False, lambda d: sent(sent(d))))
pair("gradient_of_a_causal_ring_one_short", gradient(masked), *GRADIENT,
     bug="the last block is left out")(with_backward(True, steps=-1))
pair("gradient_of_a_causal_ring_without_rows", gradient(masked), *GRADIENT,
     bug="the softmax's own term is left out")(with_backward(True, rows=False))


# The last step, or the first one, stands beside the loop: nothing is sent there.

def short(q, k, v, first=False, step=lambda i, n: i):
    n = lax.axis_size("t")

    def one(i, k, v, own):
        return added(own, scored(q, k, step(i, n), True), v)

    if first:
        def after(i, carry):
            k, v = sent(carry[:2])
            return k, v, one(i, k, v, carry[2])
        _, _, (_, z, o) = lax.fori_loop(1, n, after, (k, v, one(0, k, v, nothing(q))))
    else:
        k, v, own = lax.fori_loop(0, n - 1, lambda i, carry: (*sent(carry[:2]), one(i, *carry)), (k, v, nothing(q)))
        _, z, o = one(n - 1, k, v, own)
    return o / z[..., None]


pair("ring_with_its_last_step_outside", masked, *RING)(short)
pair("ring_with_its_first_step_outside", masked, *RING)(lambda q, k, v: short(q, k, v, True))
pair("ring_with_its_last_step_twice", masked, *RING, bug="the last step is masked as the one before")(
    lambda q, k, v: short(q, k, v, step=lambda i, n: min(i, n - 2) if isinstance(i, int) else i))

pair("gradient_of_a_ring_with_its_last_step_outside", gradient(masked), *GRADIENT)(with_backward(True, outside=sent))
pair("gradient_of_a_ring_that_is_not_home", gradient(masked), *GRADIENT,
     bug="C13 the gradients are one device short of home")(with_backward(True, outside=lambda d: d))


def sent_before(last, q, k, v):
    """Nothing is sent from step n - `last` on."""
    def step(i, carry):
        k, v, own = carry
        own = added(own, scored(q, k, i, True), v)
        return *lax.cond(i < lax.axis_size("t") - last, sent, lambda blocks: blocks, (k, v)), own
    _, _, (_, z, o) = lax.fori_loop(0, lax.axis_size("t"), step, (k, v, nothing(q)))
    return o / z[..., None]


pair("ring_that_sends_before_its_last_step", masked, *RING)(functools.partial(sent_before, 1))
pair("ring_that_sends_too_seldom", masked, *RING, bug="the last two steps have the same block")(functools.partial(sent_before, 2))
