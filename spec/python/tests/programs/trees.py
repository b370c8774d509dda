"""Types, trees of parameters, static arguments, norms."""
from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import PartitionSpec as P

from . import ids, pair

# Types and trees


class Weights(NamedTuple):
    up: jax.Array
    down: jax.Array


def dict_model(p, x):
    return jnp.where(x > 0, x, 0) @ p["w"].up @ p["w"].down + p["b"]


DICT = ({"w": Weights(P(None, "t"), P("t", None)), "b": P()}, P("d")), P("d"), \
    {"w": Weights((6, 8), (8, 6)), "b": (6,)}, (8, 6)


@pair("trees_and_weak_types", dict_model, *DICT)
def _(p, x):
    @jax.jit
    def inner(x, *, p):
        return lax.psum(jnp.maximum(x, 0) @ p["w"].up @ p["w"].down, "t")
    return inner(x, p=p) + p["b"]


@pair("trees_bias_in_the_sum", dict_model, *DICT, bug="C7 the bias is added on every rank")
def _(p, x):
    return lax.psum(jnp.maximum(x, 0) @ p["w"].up @ p["w"].down + p["b"], "t")


@pair("bfloat16_casts", lambda x, w: x @ w, (P("d", "t"), P("t")), P("d"), (8, 16), (16, 6))
def _(x, w):
    y = jnp.matmul(x, w, preferred_element_type=jnp.float32)
    return lax.psum(y.astype(jnp.float32), "t").astype(x.dtype)


@pair("integers_promoted", lambda x, n: x / n + n ** 2 + n // 2, (P("d"), P("d")), P("d"), (8,), ids(8))
def _(x, n):
    return x / n.astype(float) + (n * n) + n // 2


@functools.partial(jax.jit, static_argnums=2, static_argnames="scale")
def static(x, w, power, *, scale=1.0):
    return jnp.power(x @ w, power) * scale


@pair("integers_not_cast", lambda x, n: x * 0 + n // 2, (P("d"), P("d")), P("d"), (8,), ids(8), bug="the result is an integer")
def _(x, n):
    return n // 2 + 1


@pair("static_arguments", lambda x, w: static(x, w, 2, scale=0.5), (P("d"), P(None, "t")), P("d", "t"), (8, 6),
      (6, 8))
def _(x, w):
    return static(x, w, 2, scale=0.5)


@pair("static_argument_differs", lambda x, w: static(x, w, 2, scale=0.5), (P("d"), P(None, "t")), P("d", "t"),
      (8, 6), (6, 8), bug="the cube in place of the square")
def _(x, w):
    return static(x, w, 3, scale=0.5)


@pair("log_likelihood", lambda z, y: optax.softmax_cross_entropy_with_integer_labels(z, y).mean(),
      (P("d"), P("d")), P(), (8, 6), ids(8))
def _(z, y):
    return lax.pmean(optax.softmax_cross_entropy_with_integer_labels(z, y).mean(), "d")


@pair("one_hot_likelihood", lambda z, y: -jnp.mean(jnp.sum(jax.nn.log_softmax(z) * jax.nn.one_hot(y, 6), -1)),
      (P("d"), P("d")), P(), (8, 6), ids(8))
def _(z, y):
    picked = jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], -1)
    return -lax.pmean(picked.mean(), "d")


@pair("one_hot_likelihood_summed", lambda z, y: -jnp.mean(jnp.sum(jax.nn.log_softmax(z) * jax.nn.one_hot(y, 6), -1)),
      (P("d"), P("d")), P(), (8, 6), ids(8), bug="C3 the sum of means")
def _(z, y):
    return -lax.psum((jax.nn.log_softmax(z) * jax.nn.one_hot(y, 6)).sum(-1).mean(), "d")


def normed(x, g, b):
    m = x.mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


LN = (P("d", "t"), P("t"), P("t")), P("d", "t"), (8, 16), (16,), (16,)


@pair("layer_norm_split", normed, *LN)
def _(x, g, b):
    m = lax.pmean(x.mean(-1, keepdims=True), "t")
    v = lax.pmean(jnp.square(x - m).mean(-1, keepdims=True), "t")
    return (x - m) * lax.rsqrt(v + 1e-5) * g + b


@pair("layer_norm_two_moments", normed, *LN)
def _(x, g, b):
    m, s = lax.pmean((x.mean(-1, keepdims=True), (x * x).mean(-1, keepdims=True)), "t")
    return (x - m) * lax.rsqrt(s - m * m + 1e-5) * g + b


@pair("layer_norm_own_mean", normed, *LN, bug="C7 the variance is about each rank's own mean")
def _(x, g, b):
    m = lax.pmean(x.mean(-1, keepdims=True), "t")
    v = lax.pmean(x.var(-1, keepdims=True), "t")
    return (x - m) * lax.rsqrt(v + 1e-5) * g + b
