"""Backwards by hand, mixed precision, optimizers."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import PartitionSpec as P

from . import gather, ids, named_pair as pair

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
