"""Modules as Haiku, Flax and Equinox have them, and trees of parameters and of state."""
from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import named_pair as pair

# Haiku: a dict of modules, each a dict of arrays


def linear(params, x, name):
    p = params[name]
    y = jnp.dot(x, p["w"])
    return y + jnp.broadcast_to(p["b"], y.shape) if "b" in p else y


def haiku_mlp(params, x):
    h = jax.nn.relu(linear(params, x, "mlp/~/linear_0"))
    return linear(params, h, "mlp/~/linear_1")


HAIKU = ({"mlp/~/linear_0": {"w": P(None, "model"), "b": P("model")},
          "mlp/~/linear_1": {"w": P("model", None), "b": P()}}, P("data", None)), P("data", None), \
    {"mlp/~/linear_0": {"w": (6, 16), "b": (16,)}, "mlp/~/linear_1": {"w": (16, 6), "b": (6,)}}, (8, 6)


@pair("haiku", haiku_mlp, *HAIKU)
def _(params, x):
    h = jax.nn.relu(linear(params, x, "mlp/~/linear_0"))
    last = params["mlp/~/linear_1"]
    return lax.psum(jnp.dot(h, last["w"]), "model") + last["b"]


@pair("haiku_bias_of_every_rank", haiku_mlp, *HAIKU, bug="C7 bias added before the sum")
def _(params, x):
    h = jax.nn.relu(linear(params, x, "mlp/~/linear_0"))
    return lax.psum(linear(params, h, "mlp/~/linear_1"), "model")


def haiku_loss(params, x, y):
    return jnp.mean(jnp.sum(jnp.square(haiku_mlp(params, x) - y), axis=-1))


HAIKU_STEP = (*HAIKU[0], P("data", None)), HAIKU[0][0], *HAIKU[2:], (8, 6)


def haiku_sgd(params, x, y):
    grads = jax.grad(haiku_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def haiku_local(params, x, y):
    h = jax.nn.relu(linear(params, x, "mlp/~/linear_0"))
    last = params["mlp/~/linear_1"]
    out = lax.psum(jnp.dot(h, last["w"]), "model") + last["b"]
    return jnp.mean(jnp.sum(jnp.square(out - y), axis=-1))


@pair("haiku_step_with_f_and_g", haiku_sgd, *HAIKU_STEP)
def _(params, x, y):
    @jax.custom_vjp
    def g_of(x):
        return lax.psum(x, "model")
    g_of.defvjp(lambda x: (g_of(x), None), lambda _, g: (g,))

    def loss(params):
        h = jax.nn.relu(linear(params, x, "mlp/~/linear_0"))
        last = params["mlp/~/linear_1"]
        out = g_of(jnp.dot(h, last["w"])) + last["b"]
        return jnp.mean(jnp.sum(jnp.square(out - y), axis=-1))
    grads = jax.tree.map(lambda g: lax.pmean(g, "data"), jax.grad(loss)(params))
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


@pair("haiku_step_psum_of_psum", haiku_sgd, *HAIKU_STEP, bug="C2 the gradient of a psum is a psum again")
def _(params, x, y):
    grads = jax.tree.map(lambda g: lax.pmean(g, "data"), jax.grad(haiku_local)(params, x, y))
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


# Flax: modules that hold their sizes, apply(variables, x), trees of "params"


class Dense:
    def __init__(self, features, axis=None):
        self.features, self.axis = features, axis

    def apply(self, variables, x):
        kernel, bias = variables["params"]["kernel"], variables["params"].get("bias")
        y = lax.dot_general(x, kernel, (((x.ndim - 1,), (0,)), ((), ())))
        if self.axis:
            y = lax.psum(y, self.axis)
        return y if bias is None else y + jnp.reshape(bias, (1,) * (y.ndim - 1) + (-1,))


class LayerNorm:
    def __init__(self, axis=None):
        self.axis = axis

    def apply(self, variables, x):
        p = variables["params"]
        mean = jnp.mean(x, -1, keepdims=True)
        mean2 = jnp.mean(lax.square(x), -1, keepdims=True)
        if self.axis:
            mean, mean2 = lax.pmean((mean, mean2), self.axis)
        var = jnp.maximum(0.0, mean2 - lax.square(mean))
        return (x - mean) * (lax.rsqrt(var + 1e-6) * p["scale"]) + p["bias"]


class Block:
    def __init__(self, axis=None):
        self.norm, self.wi, self.wo = LayerNorm(), Dense(16), Dense(6, axis)

    def apply(self, variables, x):
        p = variables["params"]
        h = self.norm.apply({"params": p["norm"]}, x)
        h = jax.nn.gelu(self.wi.apply({"params": p["wi"]}, h), approximate=False)
        return x + self.wo.apply({"params": p["wo"]}, h)


FLAX = ({"params": {"norm": {"scale": P(), "bias": P()}, "wi": {"kernel": P(None, "model"), "bias": P("model")},
                    "wo": {"kernel": P("model"), "bias": P()}}}, P("data")), P("data"), \
    {"params": {"norm": {"scale": (6,), "bias": (6,)}, "wi": {"kernel": (6, 16), "bias": (16,)},
                "wo": {"kernel": (16, 6), "bias": (6,)}}}, (4, 5, 6)


@pair("flax_block", lambda v, x: Block().apply(v, x), *FLAX)
def _(variables, x):
    return Block("model").apply(variables, x)


@pair("flax_block_without_axis", lambda v, x: Block().apply(v, x), *FLAX, bug="C1 the module is not told its axis")
def _(variables, x):
    return Block().apply(variables, x)


NORM_SPLIT = ({"params": {"scale": P("model"), "bias": P("model")}}, P("data", "model")), P("data", "model"), \
    {"params": {"scale": (8,), "bias": (8,)}}, (6, 8)


@pair("flax_norm_split", lambda v, x: LayerNorm().apply(v, x), *NORM_SPLIT)
def _(variables, x):
    return LayerNorm("model").apply(variables, x)


@pair("flax_norm_of_own_features", lambda v, x: LayerNorm().apply(v, x), *NORM_SPLIT,
      bug="C7 statistics of each rank's own features")
def _(variables, x):
    return LayerNorm().apply(variables, x)


# Equinox: a module is a dataclass and a tree


@functools.partial(jax.tree_util.register_dataclass, data_fields=["weight", "bias"], meta_fields=["act"])
@dataclasses.dataclass(frozen=True)
class EqxLinear:
    weight: Any
    bias: Any
    act: Any = None

    def __call__(self, x):
        y = self.weight @ x + self.bias
        return self.act(y) if self.act else y


@functools.partial(jax.tree_util.register_dataclass, data_fields=["layers"], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class EqxMLP:
    layers: tuple

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def eqx(w1, b1, w2, b2):
    return EqxMLP((EqxLinear(w1, b1, jax.nn.silu), EqxLinear(w2, b2)))


EQX = (eqx(P("model", None), P("model"), P(None, "model"), P()), P("data")), P("data"), \
    eqx((16, 6), (16,), (7, 16), (7,)), (8, 6)


@pair("equinox", lambda m, x: jax.vmap(m)(x), *EQX)
def _(m, x):
    first, last = m.layers

    def one(x):
        return lax.psum(last.weight @ first(x), "model") + last.bias
    return jax.vmap(one)(x)


@pair("equinox_mean", lambda m, x: jax.vmap(m)(x), *EQX, bug="C3 pmean where the sum is meant")
def _(m, x):
    first, last = m.layers
    return jax.vmap(lambda x: lax.pmean(last.weight @ first(x), "model") + last.bias)(x)


@pair("equinox_bias_divided", lambda m, x: jax.vmap(m)(x), *EQX)
def _(m, x):
    first, last = m.layers

    def one(x):
        h = first(x)
        return lax.psum(last.weight @ h + last.bias / lax.axis_size("model"), "model")
    return jax.vmap(one)(x)


# A NamedTuple of parameters and of state


class TrainState(NamedTuple):
    step: Any
    params: Any
    mu: Any


def momentum_step(state, x, y):
    def loss(p):
        return jnp.mean((jnp.tanh(x @ p["w"]) @ p["v"] - y) ** 2)
    value, grads = jax.value_and_grad(loss)(state.params)
    mu = jax.tree.map(lambda m, g: 0.9 * m + g, state.mu, grads)
    lr = 0.1 / jnp.sqrt(1.0 + state.step)
    params = jax.tree.map(lambda p, m: p - lr * m, state.params, mu)
    return TrainState(state.step + 1, params, mu), value


STATE = (TrainState(P(), {"w": P(), "v": P()}, {"w": P(), "v": P()}), P("data"), P("data")), \
    (TrainState(P(), {"w": P(), "v": P()}, {"w": P(), "v": P()}), P()), \
    TrainState(jax.ShapeDtypeStruct((), "float32"), {"w": (6, 5), "v": (5, 3)}, {"w": (6, 5), "v": (5, 3)}), \
    (8, 6), (8, 3)


@pair("train_state", momentum_step, *STATE)
def _(state, x, y):
    def loss(p):
        return jnp.mean((jnp.tanh(x @ p["w"]) @ p["v"] - y) ** 2)
    value, grads = jax.value_and_grad(loss)(state.params)
    value, grads = lax.pmean((value, grads), axis_name="data")
    mu = jax.tree.map(lambda m, g: 0.9 * m + g, state.mu, grads)
    lr = 0.1 / jnp.sqrt(1.0 + state.step)
    return TrainState(state.step + 1, jax.tree.map(lambda p, m: p - lr * m, state.params, mu), mu), value


@pair("train_state_sum", momentum_step, *STATE, bug="C3 gradients are summed, not averaged")
def _(state, x, y):
    def loss(p):
        return jnp.mean((jnp.tanh(x @ p["w"]) @ p["v"] - y) ** 2)
    value, grads = jax.value_and_grad(loss)(state.params)
    value, grads = lax.pmean(value, "data"), lax.psum(grads, axis_name="data")
    mu = jax.tree.map(lambda m, g: 0.9 * m + g, state.mu, grads)
    lr = 0.1 / jnp.sqrt(1.0 + state.step)
    return TrainState(state.step + 1, jax.tree.map(lambda p, m: p - lr * m, state.params, mu), mu), value


@pair("train_state_after_the_update", momentum_step, *STATE, bug="C1 the momentum is averaged, the update is not")
def _(state, x, y):
    def loss(p):
        return jnp.mean((jnp.tanh(x @ p["w"]) @ p["v"] - y) ** 2)
    value, grads = jax.value_and_grad(loss)(state.params)
    mu = jax.tree.map(lambda m, g: 0.9 * m + g, state.mu, grads)
    lr = 0.1 / jnp.sqrt(1.0 + state.step)
    params = jax.tree.map(lambda p, m: p - lr * m, state.params, mu)
    return TrainState(state.step + 1, params, lax.pmean(mu, "data")), lax.pmean(value, "data")
