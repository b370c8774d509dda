"""Pairs of programs in the styles of JAX's libraries: modules, trees of parameters, mixed precision, vmap, remat."""
from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P
from programs import Pair, ids

PAIRS: list[Pair] = []
MESH = AbstractMesh((2, 4), ("data", "model"))
THREE = AbstractMesh((2, 2, 2), ("data", "fsdp", "tensor"))


def pair(name, model, in_specs, out_specs, *shapes, bug="", mesh=MESH):
    def add(body):
        PAIRS.append(Pair(name, not bug, model, body, in_specs, out_specs, shapes, bug, mesh))
        return body
    return add


def gather(x, axis, dim):
    return lax.all_gather(x, axis, axis=dim, tiled=True)


def scatter(x, axis, dim):
    return lax.psum_scatter(x, axis, scatter_dimension=dim, tiled=True)


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


# Einsum in place of einops


def heads(x, wq, wk, wv, wo):
    q, k, v = (jnp.einsum("bld,dhk->bhlk", x, w) for w in (wq, wk, wv))
    s = jnp.einsum("bhlk,bhmk->bhlm", q, k) * k.shape[-1] ** -0.5
    s = jnp.where(jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool)), s, -1e30)
    o = jnp.einsum("bhlm,bhmk->bhlk", jax.nn.softmax(s, axis=-1), v)
    return jnp.einsum("bhlk,hkd->bld", o, wo)


HEADS = (P("data"), *[P(None, "model")] * 3, P("model")), P("data"), (4, 6, 8), *[(8, 4, 5)] * 3, (4, 5, 8)


@pair("einsum_heads", heads, *HEADS)
def _(x, wq, wk, wv, wo):
    return lax.psum(heads(x, wq, wk, wv, wo), "model")


@pair("einsum_heads_mean", heads, *HEADS, bug="C3 mean over the heads' ranks")
def _(x, wq, wk, wv, wo):
    return lax.pmean(heads(x, wq, wk, wv, wo), "model")


@pair("einsum_heads_scaled_by_all", heads, *HEADS, bug="C3 the scale has the number of ranks in it")
def _(x, wq, wk, wv, wo):
    q, k, v = (jnp.einsum("bld,dhk->bhlk", x, w) for w in (wq, wk, wv))
    s = jnp.einsum("bhlk,bhmk->bhlm", q, k) * (k.shape[-1] * lax.axis_size("model")) ** -0.5
    s = jnp.where(jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool)), s, -1e30)
    o = jnp.einsum("bhlm,bhmk->bhlk", jax.nn.softmax(s, axis=-1), v)
    return lax.psum(jnp.einsum("bhlk,hkd->bld", o, wo), "model")


def grouped(x, wq, wkv, wo):
    b, l, _ = x.shape
    q = (x @ wq).reshape(b, l, -1, 2, 4)
    k, v = jnp.split((x @ wkv).reshape(b, l, -1, 8), 2, -1)
    s = jnp.einsum("blgqk,bmgk->bgqlm", q, k) / jnp.sqrt(jnp.float32(4))
    p = jax.nn.softmax(s.astype(jnp.float32), -1).astype(x.dtype)
    o = jnp.einsum("bgqlm,bmgk->blgqk", p, v)
    return o.reshape(b, l, -1) @ wo


GROUPED = (P("data"), P(None, "model"), P(None, "model"), P("model")), P("data"), (4, 6, 10), (10, 64), (10, 64), (64, 10)


@pair("grouped_heads", grouped, *GROUPED)
def _(x, wq, wkv, wo):
    return lax.psum(grouped(x, wq, wkv, wo), "model")


@pair("grouped_heads_other_order", grouped, *GROUPED, bug="the query's groups are read in another order")
def _(x, wq, wkv, wo):
    b, l, _ = x.shape
    q = (x @ wq).reshape(b, l, 2, -1, 4)
    k, v = jnp.split((x @ wkv).reshape(b, l, -1, 8), 2, -1)
    s = jnp.einsum("blqgk,bmgk->bgqlm", q, k) / jnp.sqrt(jnp.float32(4))
    o = jnp.einsum("bgqlm,bmgk->blqgk", jax.nn.softmax(s, -1), v)
    return lax.psum(o.reshape(b, l, -1) @ wo, "model")


# vmap inside of shard_map


def ensemble(ws, x):
    return jax.vmap(lambda w: jnp.tanh(x @ w))(ws).mean(0)


@pair("vmap_of_an_ensemble", ensemble, (P("model"), P("data")), P("data"), (8, 6, 5), (8, 6))
def _(ws, x):
    return lax.pmean(jax.vmap(lambda w: jnp.tanh(x @ w))(ws).mean(0), "model")


@pair("vmap_of_an_ensemble_sum", ensemble, (P("model"), P("data")), P("data"), (8, 6, 5), (8, 6),
      bug="C3 the means of the ranks are added")
def _(ws, x):
    return lax.psum(jax.vmap(lambda w: jnp.tanh(x @ w))(ws).mean(0), "model")


def per_example_grads(w, x, y):
    grads = jax.vmap(jax.grad(lambda w, x, y: jnp.sum((jnp.tanh(x @ w) - y) ** 2)), (None, 0, 0))(w, x, y)
    norms = jnp.sqrt(jnp.sum(grads ** 2, (1, 2)))
    return jnp.mean(grads * jnp.minimum(1.0, 1.0 / norms)[:, None, None], 0)


PRIVATE = (P(), P("data"), P("data")), P(), (6, 5), (8, 6), (8, 5)


@pair("clipped_for_each_example", per_example_grads, *PRIVATE)
def _(w, x, y):
    return lax.pmean(per_example_grads(w, x, y), "data")


@pair("clipped_after_the_mean", per_example_grads, *PRIVATE, bug="the mean is clipped, not each example")
def _(w, x, y):
    grads = jax.vmap(jax.grad(lambda w, x, y: jnp.sum((jnp.tanh(x @ w) - y) ** 2)), (None, 0, 0))(w, x, y)
    grads = lax.pmean(grads.mean(0), "data")
    return grads * jnp.minimum(1.0, 1.0 / jnp.sqrt(jnp.sum(grads ** 2)))


@pair("vmap_with_axis_size", lambda x, w: jax.vmap(lambda v: v / jnp.sum(v))(x @ w), (P("data"), P(None, "model")),
      P("data", "model"), (8, 6), (6, 8))
def _(x, w):
    return jax.vmap(lambda v: v / lax.psum(jnp.sum(v), "model"), in_axes=0, out_axes=0)(x @ w)


# lax.scan over layers, of trees, with remat


def rms(x, g):
    return x * lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-5) * g


def decoder(layers, x):
    def layer(x, p):
        h = rms(x, p["norm"])
        return x + (jax.nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"], None
    return lax.scan(layer, x, layers)[0]


LAYERS = ({"norm": P(), "gate": P(None, None, "model"), "up": P(None, None, "model"), "down": P(None, "model")},
          P("data")), P("data"), \
    {"norm": (3, 6), "gate": (3, 6, 8), "up": (3, 6, 8), "down": (3, 8, 6)}, (4, 5, 6)


@pair("scan_of_layers", decoder, *LAYERS)
def _(layers, x):
    @jax.checkpoint
    def layer(x, p):
        h = rms(x, p["norm"])
        return x + lax.psum((jax.nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"], "model"), None
    return lax.scan(layer, x, layers)[0]


@pair("scan_of_layers_residual", decoder, *LAYERS, bug="C7 the residual is in the sum")
def _(layers, x):
    @jax.checkpoint
    def layer(x, p):
        h = rms(x, p["norm"])
        return lax.psum(x + (jax.nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"], "model"), None
    return lax.scan(layer, x, layers)[0]


@pair("scan_of_layers_gates_swapped", decoder, *LAYERS, bug="gate and up are swapped")
def _(layers, x):
    def layer(x, p):
        h = rms(x, p["norm"])
        return x + lax.psum((jax.nn.silu(h @ p["up"]) * (h @ p["gate"])) @ p["down"], "model"), None
    return lax.scan(layer, x, layers)[0]


def decoder_loss(layers, x, y):
    return jnp.mean((decoder(layers, x) - y) ** 2)


FSDP_LAYERS = {"norm": P(None, "fsdp"), "gate": P(None, "fsdp", "tensor"), "up": P(None, "fsdp", "tensor"),
               "down": P(None, "tensor", "fsdp")}
FSDP = (FSDP_LAYERS, P(("data", "fsdp")), P(("data", "fsdp"))), FSDP_LAYERS, \
    {"norm": (3, 6), "gate": (3, 6, 8), "up": (3, 6, 8), "down": (3, 8, 6)}, (8, 5, 6), (8, 5, 6)


def fsdp_loss(layers, x, y, reduce=lambda h: lax.psum(h, "tensor")):
    @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.nothing_saveable)
    def layer(x, p):
        norm, gate, up = gather(p["norm"], "fsdp", 0), gather(p["gate"], "fsdp", 0), gather(p["up"], "fsdp", 0)
        h = into(rms(x, norm))
        return x + reduce((jax.nn.silu(h @ gate) * (h @ up)) @ gather(p["down"], "fsdp", 1)), None
    return jnp.mean((lax.scan(layer, x, layers)[0] - y) ** 2)


@jax.custom_vjp
def into(x):
    return x


into.defvjp(lambda x: (x, None), lambda _, g: (lax.psum(g, "tensor"),))


@jax.custom_vjp
def out_of(x):
    return lax.psum(x, "tensor")


out_of.defvjp(lambda x: (out_of(x), None), lambda _, g: (g,))


@pair("scan_fsdp_gradient", jax.grad(decoder_loss), *FSDP, mesh=THREE)
def _(layers, x, y):
    grads = jax.grad(fsdp_loss)(layers, x, y, out_of)
    return jax.tree.map(lambda g: lax.pmean(g, "data") / lax.axis_size("fsdp"), grads)


@pair("scan_fsdp_gradient_not_divided", jax.grad(decoder_loss), *FSDP, mesh=THREE,
      bug="C3 the reduce-scatter of fsdp adds, and is not divided")
def _(layers, x, y):
    grads = jax.grad(fsdp_loss)(layers, x, y, out_of)
    return jax.tree.map(lambda g: lax.pmean(g, "data"), grads)


@pair("scan_fsdp_gradient_over_fsdp_again", jax.grad(decoder_loss), *FSDP, mesh=THREE,
      bug="C5 shards of fsdp are averaged with one another")
def _(layers, x, y):
    grads = jax.grad(fsdp_loss)(layers, x, y, out_of)
    return jax.tree.map(lambda g: lax.pmean(g, ("data", "fsdp")), grads)


# custom_vjp


@jax.custom_vjp
def soft_cap(x):
    return 30.0 * jnp.tanh(x / 30.0)


def _cap_fwd(x):
    t = jnp.tanh(x / 30.0)
    return 30.0 * t, t


soft_cap.defvjp(_cap_fwd, lambda t, g: (g * (1 - t * t),))


def capped(w, x):
    return jax.grad(lambda w: jnp.sum(soft_cap(x @ w) ** 2))(w)


@pair("custom_vjp_of_a_cap", lambda w, x: jax.grad(lambda w: jnp.sum((30.0 * jnp.tanh(x @ w / 30.0)) ** 2))(w),
      (P(None, "model"), P("data")), P(None, "model"), (6, 8), (8, 6))
def _(w, x):
    return lax.psum(capped(w, x), "data")


@jax.custom_vjp
def wrong_cap(x):
    return 30.0 * jnp.tanh(x / 30.0)


wrong_cap.defvjp(_cap_fwd, lambda t, g: (g * (1 - t),))


@pair("custom_vjp_that_is_wrong", lambda w, x: jax.grad(lambda w: jnp.sum((30.0 * jnp.tanh(x @ w / 30.0)) ** 2))(w),
      (P(None, "model"), P("data")), P(None, "model"), (6, 8), (8, 6), bug="a hand-written backward without a square")
def _(w, x):
    return lax.psum(jax.grad(lambda w: jnp.sum(wrong_cap(x @ w) ** 2))(w), "data")


def vocab_loss(h, table, targets):
    logits = h @ table.T
    return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, targets[:, None], -1)[:, 0])


@jax.custom_vjp
def vocab_split(h, table, targets):
    return _vocab_fwd(h, table, targets)[0]


def _vocab_fwd(h, table, targets):
    logits = h @ table.T
    top = lax.pmax(lax.stop_gradient(logits.max(-1)), "model")
    e = jnp.exp(logits - top[:, None])
    z = lax.psum(e.sum(-1), "model")
    local = targets - lax.axis_index("model") * table.shape[0]
    here = (local >= 0) & (local < table.shape[0])
    safe = jnp.where(here, local, 0)
    mine = jnp.where(here, jnp.take_along_axis(logits, safe[:, None], -1)[:, 0], 0.0)
    loss = jnp.log(z) + top - lax.psum(mine, "model")
    return jnp.mean(loss), (h, table, e / z[:, None], safe, here)


def _vocab_bwd(saved, g):
    h, table, p, safe, here = saved
    d = p - jax.nn.one_hot(safe, table.shape[0]) * here[:, None]
    d = d * (g / h.shape[0])
    return lax.psum(d @ table, "model"), d.T @ h, None


vocab_split.defvjp(_vocab_fwd, _vocab_bwd)
VOCAB = (P("data"), P("model"), P("data")), (P(), (P("data"), P("model"))), (8, 6), (16, 6), ids(8)


@pair("custom_vjp_of_a_split_vocabulary", jax.value_and_grad(vocab_loss, (0, 1)), *VOCAB)
def _(h, table, targets):
    loss, (dh, dt) = jax.value_and_grad(vocab_split, (0, 1))(h, table, targets)
    n = lax.axis_size("data")
    return lax.pmean(loss, "data"), (dh / n, lax.pmean(dt, "data"))


def _vocab_bwd_wrong(saved, g):
    h, table, p, safe, here = saved
    d = (p - jax.nn.one_hot(safe, table.shape[0]) * here[:, None]) * (g / h.shape[0])
    return d @ table, d.T @ h, None


@jax.custom_vjp
def vocab_wrong(h, table, targets):
    return _vocab_fwd(h, table, targets)[0]


vocab_wrong.defvjp(_vocab_fwd, _vocab_bwd_wrong)


@pair("custom_vjp_of_a_split_vocabulary_not_summed", jax.value_and_grad(vocab_loss, (0, 1)), *VOCAB,
      bug="C1 the backward of the hidden state is not summed over the vocabulary")
def _(h, table, targets):
    loss, (dh, dt) = jax.value_and_grad(vocab_wrong, (0, 1))(h, table, targets)
    n = lax.axis_size("data")
    return lax.pmean(loss, "data"), (dh / n, lax.pmean(dt, "data"))


# Mixed precision


def bf16(tree):
    return jax.tree.map(lambda x: x.astype(jnp.bfloat16), tree)


def mixed(p, x, y):
    h = jnp.dot(x.astype(jnp.bfloat16), p["w"].astype(jnp.bfloat16), preferred_element_type=jnp.float32)
    out = jax.nn.relu(h).astype(jnp.bfloat16) @ p["v"].astype(jnp.bfloat16)
    return jnp.mean((out.astype(jnp.float32) - y) ** 2)


MIXED = ({"w": P("data", "model"), "v": P("model", "data")}, P("data"), P("data")), \
    {"w": P("data", "model"), "v": P("model", "data")}, {"w": (6, 8), "v": (8, 4)}, (8, 6), (8, 4)


def mixed_local(p, x, y, g_of, f_of):
    w, v = gather(p["w"].astype(jnp.bfloat16), "data", 0), gather(p["v"].astype(jnp.bfloat16), "data", 1)
    h = jnp.dot(f_of(x.astype(jnp.bfloat16)), w, preferred_element_type=jnp.float32)
    out = g_of(jax.nn.relu(h).astype(jnp.bfloat16) @ v)
    return jnp.mean((out.astype(jnp.float32) - y) ** 2)


def summed(axis):
    @jax.custom_vjp
    def f(x):
        return lax.psum(x, axis)
    f.defvjp(lambda x: (f(x), None), lambda _, g: (g,))
    return f


@pair("mixed_precision", jax.grad(mixed), *MIXED)
def _(p, x, y):
    grads = jax.grad(mixed_local)(p, x, y, summed("model"), lambda x: x)
    return jax.tree.map(lambda g: g / lax.axis_size("data"), grads)


@pair("mixed_precision_loss_scale", jax.grad(mixed), *MIXED)
def _(p, x, y):
    scale = 1024.0
    grads = jax.grad(lambda p: scale * mixed_local(p, x, y, summed("model"), lambda x: x))(p)
    return jax.tree.map(lambda g: g.astype(jnp.float32) / (scale * lax.axis_size("data")), grads)


@pair("mixed_precision_scale_left", jax.grad(mixed), *MIXED, bug="the loss scale is divided out of one gradient only")
def _(p, x, y):
    scale = 1024.0
    grads = jax.grad(lambda p: scale * mixed_local(p, x, y, summed("model"), lambda x: x))(p)
    n = lax.axis_size("data")
    return {"w": grads["w"] / (scale * n), "v": grads["v"] / n}


def master(p, g, m):
    m = 0.9 * m + 0.1 * g.astype(jnp.float32)
    new = p - 0.01 * m
    return new, new.astype(jnp.bfloat16), m


@pair("master_weights", master, (P("data"), P(), P("data")), (P("data"), P(), P("data")), (8, 6), (8, 6), (8, 6))
def _(p, g, m):
    n = p.shape[0]
    mine = lax.dynamic_slice_in_dim(g, lax.axis_index("data") * n, n, 0)
    new, low, m = master(p, mine, m)
    return new, gather(low, "data", 0), m


@pair("master_weights_of_rank_0", master, (P("data"), P(), P("data")), (P("data"), P(), P("data")), (8, 6), (8, 6),
      (8, 6), bug="C9 every rank takes the first rows of the gradient")
def _(p, g, m):
    mine = lax.dynamic_slice_in_dim(g, 0, p.shape[0], 0)
    new, low, m = master(p, mine, m)
    return new, gather(low, "data", 0), m


# Optimizers


def adamw_tree(p, g, m, v, count):
    t = count + 1.0
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    new = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / (1 - 0.9 ** t) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
                                                   + 0.01 * p), p, m, v)
    return new, m, v


TREE, SPLIT = {"a": (8, 6), "b": (8,)}, {"a": P("data"), "b": P("data")}
ADAM = ({"a": P(), "b": P()}, {"a": P(None, None), "b": P()}, SPLIT, SPLIT, P()), \
    ({"a": P(), "b": P()}, SPLIT, SPLIT), TREE, TREE, TREE, TREE, jax.ShapeDtypeStruct((), "float32")


def own(x):
    return lax.dynamic_slice_in_dim(x, lax.axis_index("data") * (x.shape[0] // 2), x.shape[0] // 2, 0)


@pair("zero_one_by_hand", adamw_tree, *ADAM)
def _(p, g, m, v, count):
    new, m, v = adamw_tree(jax.tree.map(own, p), jax.tree.map(own, g), m, v, count)
    return jax.tree.map(lambda x: gather(x, "data", 0), new), m, v


@pair("zero_one_other_bias", adamw_tree, *ADAM, bug="the bias correction is one step behind")
def _(p, g, m, v, count):
    new, m, v = adamw_tree(jax.tree.map(own, p), jax.tree.map(own, g), m, v, count - 1.0)
    return jax.tree.map(lambda x: gather(x, "data", 0), new), m, v


def lion(p, m, x):
    g = jax.grad(lambda p: jnp.mean(jnp.tanh(x @ p)))(p)
    u = jnp.sign(0.9 * m + 0.1 * g)
    return p - 0.01 * u, 0.99 * m + 0.01 * g


@pair("lion", lion, (P(), P(), P("data")), (P(), P()), (6, 5), (6, 5), (8, 6))
def _(p, m, x):
    g = lax.pmean(jax.grad(lambda p: jnp.mean(jnp.tanh(x @ p)))(p), "data")
    u = jnp.sign(0.9 * m + 0.1 * g)
    return p - 0.01 * u, 0.99 * m + 0.01 * g


@pair("lion_votes", lion, (P(), P(), P("data")), (P(), P()), (6, 5), (6, 5), (8, 6), bug="C7 the mean of signs is not the sign of the mean")
def _(p, m, x):
    g = jax.grad(lambda p: jnp.mean(jnp.tanh(x @ p)))(p)
    u = lax.pmean(jnp.sign(0.9 * m + 0.1 * g), "data")
    return p - 0.01 * u, 0.99 * m + 0.01 * lax.pmean(g, "data")


def clipped_adam(p, x):
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))
    g = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"]) ** 2))(p)
    updates, _ = tx.update(g, tx.init(p), p)
    return optax.apply_updates(p, updates)


CLIP = ({"w": P(), "b": P()}, P("data")), {"w": P(), "b": P()}, {"w": (6, 5), "b": (5,)}, (8, 6)


@pair("optax_chain", clipped_adam, *CLIP)
def _(p, x):
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))
    g = lax.pmean(jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"]) ** 2))(p), "data")
    updates, _ = tx.update(g, tx.init(p), p)
    return optax.apply_updates(p, updates)


@pair("optax_chain_clips_first", clipped_adam, *CLIP, bug="C7 each rank clips by the norm of its own gradient")
def _(p, x):
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))
    g = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"]) ** 2))(p)
    updates, _ = tx.update(g, tx.init(p), p)
    return optax.apply_updates(p, lax.pmean(updates, "data"))


# Sequence parallel, norms, RoPE


def rotate(x, positions, base=10000.0):
    freqs = base ** (-jnp.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = positions[:, None] * freqs
    cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    one, two = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([one * cos - two * sin, two * cos + one * sin], axis=-1)


ROTATE = (P("data", "model"),), P("data", "model"), (4, 8, 3, 6)


@pair("rope_of_global_positions", lambda x: rotate(x, jnp.arange(x.shape[1])), *ROTATE)
def _(x):
    return rotate(x, lax.axis_index("model") * x.shape[1] + jnp.arange(x.shape[1]))


@pair("rope_from_zero", lambda x: rotate(x, jnp.arange(x.shape[1])), *ROTATE, bug="C9 positions from 0 on each rank")
def _(x):
    return rotate(x, jnp.arange(x.shape[1]))


@pair("rope_of_the_other_axis", lambda x: rotate(x, jnp.arange(x.shape[1])), *ROTATE, bug="C5 offset by another axis")
def _(x):
    return rotate(x, lax.axis_index("data") * x.shape[1] + jnp.arange(x.shape[1]))


def sequence_block(x, g, a, b):
    return x + jax.nn.gelu(rms(x, g) @ a) @ b


SEQUENCE = (P("data", "model"), P(), P(None, "model"), P("model")), P("data", "model"), (4, 8, 6), (6,), (6, 8), (8, 6)


@pair("sequence_parallel", sequence_block, *SEQUENCE)
def _(x, g, a, b):
    h = gather(rms(x, g), "model", 1)
    return x + scatter(jax.nn.gelu(h @ a) @ b, "model", 1)


@pair("sequence_parallel_scatters_features", sequence_block, *SEQUENCE, bug="B3 gathered along one dim, scattered along another")
def _(x, g, a, b):
    h = gather(rms(x, g), "model", 1)
    y = lax.psum(jax.nn.gelu(h @ a) @ b, "model")
    return x + y[:, :x.shape[1]]


def packed_mask(q, k, v, seg):
    l = q.shape[1]
    s = jnp.einsum("blhd,bmhd->bhlm", q, k) / jnp.sqrt(q.shape[-1])
    same = seg[:, :, None] == seg[:, None, :]
    causal = jnp.arange(l)[:, None] >= jnp.arange(l)[None, :]
    s = jnp.where((same & causal)[:, None], s, jnp.finfo(jnp.float32).min)
    return jnp.einsum("bhlm,bmhd->blhd", jax.nn.softmax(s), v)


PACKED = (P("data", None, "model"),) * 3 + (P("data"),), P("data", None, "model"), *[(4, 6, 8, 5)] * 3, ids(4, 6)


@pair("packed_attention", packed_mask, *PACKED)
def _(q, k, v, seg):
    return jax.vmap(packed_mask, in_axes=(2, 2, 2, None), out_axes=2)(
        *(x[:, :, :, None] for x in (q, k, v)), seg)[:, :, :, 0]


@pair("packed_attention_not_causal", packed_mask, *PACKED, bug="the mask has lost its causal part")
def _(q, k, v, seg):
    s = jnp.einsum("blhd,bmhd->bhlm", q, k) / jnp.sqrt(q.shape[-1])
    same = seg[:, :, None] == seg[:, None, :]
    s = jnp.where(same[:, None], s, jnp.finfo(jnp.float32).min)
    return jnp.einsum("bhlm,bmhd->blhd", jax.nn.softmax(s), v)


# Losses


def masked_mean(logits, y, mask):
    nll = optax.softmax_cross_entropy_with_integer_labels(logits, y)
    return jnp.sum(nll * mask) / jnp.maximum(jnp.sum(mask), 1.0)


MASKED = (P("data"), P("data"), P("data")), P(), (8, 6), ids(8), (8,)


@pair("masked_loss", masked_mean, *MASKED)
def _(logits, y, mask):
    nll = optax.softmax_cross_entropy_with_integer_labels(logits, y)
    total, count = lax.psum((jnp.sum(nll * mask), jnp.sum(mask)), "data")
    return total / jnp.maximum(count, 1.0)


@pair("masked_loss_mean_of_means", masked_mean, *MASKED, bug="C3 a mean of the ranks' means with unlike counts")
def _(logits, y, mask):
    return lax.pmean(masked_mean(logits, y, mask), "data")


def contrastive(a, b):
    a, b = (x / jnp.sqrt(jnp.sum(x * x, -1, keepdims=True)) for x in (a, b))
    logits = a @ b.T * 10.0
    labels = jnp.arange(a.shape[0])
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))


@pair("contrastive", contrastive, (P("data"), P("data")), P(), (8, 6), (8, 6))
def _(a, b):
    a, b = (x / jnp.sqrt(jnp.sum(x * x, -1, keepdims=True)) for x in (a, b))
    logits = a @ gather(b, "data", 0).T * 10.0
    labels = lax.axis_index("data") * a.shape[0] + jnp.arange(a.shape[0])
    return lax.pmean(jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels)), "data")


@pair("contrastive_labels_from_zero", contrastive, (P("data"), P("data")), P(), (8, 6), (8, 6),
      bug="C9 labels count from 0 on each rank")
def _(a, b):
    a, b = (x / jnp.sqrt(jnp.sum(x * x, -1, keepdims=True)) for x in (a, b))
    logits = a @ gather(b, "data", 0).T * 10.0
    return lax.pmean(jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(a.shape[0]))), "data")


@pair("contrastive_own_negatives", contrastive, (P("data"), P("data")), P(), (8, 6), (8, 6),
      bug="each rank sees its own negatives only")
def _(a, b):
    return lax.pmean(contrastive(a, b), "data")


def z_loss(h, table, y):
    logits = jnp.asarray(h @ table, jnp.float32)
    lse = jax.scipy.special.logsumexp(logits, axis=-1)
    gold = jnp.sum(jax.nn.one_hot(y, table.shape[1]) * logits, -1)
    return jnp.mean(lse - gold + 1e-4 * lse ** 2)


@pair("z_loss", z_loss, (P("data"), P(None, "model"), P("data")), P(), (8, 6), (6, 16), ids(8))
def _(h, table, y):
    logits = h @ table
    top = lax.pmax(logits.max(-1), "model")
    lse = top + jnp.log(lax.psum(jnp.exp(logits - top[:, None]).sum(-1), "model"))
    start = lax.axis_index("model") * table.shape[1]
    hit = (start + jnp.arange(table.shape[1]))[None] == y[:, None]
    gold = lax.psum(jnp.sum(jnp.where(hit, logits, 0.0), -1), "model")
    return lax.pmean(jnp.mean(lse - gold + 1e-4 * lse ** 2), "data")


@pair("z_loss_of_own_words", z_loss, (P("data"), P(None, "model"), P("data")), P(), (8, 6), (6, 16), ids(8),
      bug="C7 the squared term has each rank's own log-sum-exp")
def _(h, table, y):
    logits = h @ table
    top = lax.pmax(logits.max(-1), "model")
    own = jnp.exp(logits - top[:, None]).sum(-1)
    lse = top + jnp.log(lax.psum(own, "model"))
    start = lax.axis_index("model") * table.shape[1]
    hit = (start + jnp.arange(table.shape[1]))[None] == y[:, None]
    gold = lax.psum(jnp.sum(jnp.where(hit, logits, 0.0), -1), "model")
    return lax.pmean(lax.pmean(jnp.mean(lse - gold + 1e-4 * (top + jnp.log(own)) ** 2), "data"), "model")


# Batch norm, dropout without random numbers, experts, low rank


def batch_norm(x, scale, mean, var):
    m, v = x.mean(0), x.var(0)
    y = (x - m) / jnp.sqrt(v + 1e-5) * scale
    return y, 0.9 * mean + 0.1 * m, 0.9 * var + 0.1 * v


BN = (P("data"), P(), P(), P()), (P("data"), P(), P()), (8, 6), (6,), (6,), (6,)


@pair("sync_batch_norm", batch_norm, *BN)
def _(x, scale, mean, var):
    m = lax.pmean(x.mean(0), "data")
    v = lax.pmean(jnp.mean((x - m) ** 2, 0), "data")
    return (x - m) / jnp.sqrt(v + 1e-5) * scale, 0.9 * mean + 0.1 * m, 0.9 * var + 0.1 * v


@pair("batch_norm_not_synced", batch_norm, *BN, bug="C7 the variance of each rank about its own mean")
def _(x, scale, mean, var):
    m, v = lax.pmean(x.mean(0), "data"), lax.pmean(x.var(0), "data")
    return (x - m) / jnp.sqrt(v + 1e-5) * scale, 0.9 * mean + 0.1 * m, 0.9 * var + 0.1 * v


def group_norm(x, g):
    b, c = x.shape
    x = x.reshape(b, -1, 4)
    x = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    return x.reshape(b, c) * g


@pair("group_norm", group_norm, (P("data", "model"), P("model")), P("data", "model"), (6, 32), (32,))
def _(x, g):
    return group_norm(x, g)


def lora(x, w, a, b):
    return x @ w + 2.0 * (x @ a) @ b


@pair("lora_row_split", lora, (P("data", "model"), P("model"), P("model"), P()), P("data"), (8, 8), (8, 6), (8, 3), (3, 6))
def _(x, w, a, b):
    base, low = lax.psum((x @ w, x @ a), "model")
    return base + 2.0 * low @ b


@pair("lora_scaled_on_each", lora, (P("data", "model"), P("model"), P("model"), P()), P("data"), (8, 8), (8, 6), (8, 3),
      (3, 6), bug="C1 the low-rank part is not reduced")
def _(x, w, a, b):
    return lax.psum(x @ w, "model") + 2.0 * (x @ a) @ b


def switch_moe(x, gate, w1, w2):
    p = jax.nn.softmax(x @ gate)
    y = jnp.einsum("td,edf->etf", x, w1)
    y = jnp.einsum("etf,efd->etd", jax.nn.relu(y), w2)
    return jnp.einsum("te,etd->td", p, y)


MOE = (P("data"), P(), P("model"), P("model")), P("data"), (8, 6), (6, 8), (8, 6, 5), (8, 5, 6)


@pair("experts_by_slice", switch_moe, *MOE)
def _(x, gate, w1, w2):
    p = jax.nn.softmax(x @ gate)
    n = w1.shape[0]
    p = lax.dynamic_slice(p, (0, lax.axis_index("model") * n), (p.shape[0], n))
    y = jax.vmap(lambda w1, w2: jax.nn.relu(x @ w1) @ w2)(w1, w2)
    return lax.psum(jnp.einsum("te,etd->td", p, y), "model")


@pair("experts_softmax_of_own", switch_moe, *MOE, bug="C7 the softmax is over each rank's own experts")
def _(x, gate, w1, w2):
    n = w1.shape[0]
    own_gate = lax.dynamic_slice(gate, (0, lax.axis_index("model") * n), (gate.shape[0], n))
    y = jax.vmap(lambda w1, w2: jax.nn.relu(x @ w1) @ w2)(w1, w2)
    return lax.psum(jnp.einsum("te,etd->td", jax.nn.softmax(x @ own_gate), y), "model")


# State space and recurrences, polynomials, trees of lists


def ssm(a, b, x):
    def step(h, t):
        h = jnp.exp(-jax.nn.softplus(a)) * h + b * t
        return h, h.sum(-1)
    return lax.scan(step, jnp.zeros((x.shape[1], a.shape[0])), x[:, :, None])[1]


@pair("state_space_split", ssm, (P("model"), P("model"), P(None, "data")), P(None, "data"), (8,), (8,), (5, 4))
def _(a, b, x):
    def step(h, t):
        h = jnp.exp(-jax.nn.softplus(a)) * h + b * t
        return h, lax.psum(h.sum(-1), "model")
    return lax.scan(step, jnp.zeros((x.shape[1], a.shape[0])), x[:, :, None])[1]


@pair("state_space_not_reduced", ssm, (P("model"), P("model"), P(None, "data")), P(None, "data"), (8,), (8,), (5, 4),
      bug="C1 the states' sum is not reduced")
def _(a, b, x):
    def step(h, t):
        h = jnp.exp(-jax.nn.softplus(a)) * h + b * t
        return h, h.sum(-1)
    return lax.scan(step, jnp.zeros((x.shape[1], a.shape[0])), x[:, :, None])[1]


def gru(p, x):
    def cell(h, x):
        z = jax.nn.sigmoid(x @ p["wz"] + h @ p["uz"])
        c = jnp.tanh(x @ p["wh"] + h @ p["uh"])
        return (1 - z) * h + z * c, None
    return lax.scan(cell, jnp.zeros((x.shape[1], p["uz"].shape[0])), x)[0]


@pair("gru_data_parallel", gru, (dict.fromkeys(("wz", "uz", "wh", "uh"), P()), P(None, "data")), P("data"),
      {"wz": (6, 5), "uz": (5, 5), "wh": (6, 5), "uh": (5, 5)}, (3, 8, 6))
def _(p, x):
    return gru(p, x)


def tied(params: OrderedDict, tokens):
    x = params["embed"][tokens]
    for w in params["blocks"]:
        x = x + jnp.tanh(x @ w)
    return jax.nn.log_softmax(x @ params["embed"].T, axis=-1)


TIED = (OrderedDict(embed=P("model"), blocks=[P(), P()]), P("data")), P("data", None, "model"), \
    OrderedDict(embed=(16, 6), blocks=[(6, 6), (6, 6)]), ids(4, 5)


def look_up(table, tokens):
    local = tokens - lax.axis_index("model") * table.shape[0]
    ok = jnp.logical_and(local >= 0, local < table.shape[0])
    rows = jnp.take(table, jnp.clip(local, 0, table.shape[0] - 1), axis=0)
    return lax.psum(rows * ok[..., None], "model")


@pair("tied_embedding", tied, *TIED)
def _(params, tokens):
    x = look_up(params["embed"], tokens)
    for w in params["blocks"]:
        x = x + jnp.tanh(x @ w)
    z = x @ params["embed"].T
    top = lax.pmax(jnp.max(z, -1, keepdims=True), "model")
    return z - top - jnp.log(lax.psum(jnp.sum(jnp.exp(z - top), -1, keepdims=True), "model"))


@pair("tied_embedding_not_masked", tied, *TIED, bug="rows of other ranks are not masked")
def _(params, tokens):
    table = params["embed"]
    local = jnp.clip(tokens - lax.axis_index("model") * table.shape[0], 0, table.shape[0] - 1)
    x = lax.psum(jnp.take(table, local, axis=0), "model")
    for w in params["blocks"]:
        x = x + jnp.tanh(x @ w)
    z = x @ table.T
    top = lax.pmax(jnp.max(z, -1, keepdims=True), "model")
    return z - top - jnp.log(lax.psum(jnp.sum(jnp.exp(z - top), -1, keepdims=True), "model"))
