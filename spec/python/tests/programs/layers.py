"""Einsums of heads, vmap, scans over layers with remat, sequence parallelism."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from . import THREE, gather, ids, named_pair as pair, scatter

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
