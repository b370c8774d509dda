"""Programs as frameworks structure them: modules, chains of optimizers, carries that are trees, hand-written derivatives."""
from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import PartitionSpec as P

from . import gather, pair, scatter


# Modules as classes of functions: init'ed trees, apply by path

class Dense:
    def __init__(self, name, reduce=None, bias=True):
        self.name, self.reduce, self.bias = name, reduce, bias

    def __call__(self, params, x):
        y = jnp.einsum("...i,io->...o", x, params[self.name]["kernel"])
        y = lax.psum(y, self.reduce) if self.reduce else y
        return y + params[self.name]["bias"] if self.bias else y


class Sequential:
    def __init__(self, *layers):
        self.layers = layers

    def __call__(self, params, x):
        return functools.reduce(lambda h, f: f(params, h) if isinstance(f, (Dense, Sequential)) else f(h), self.layers, x)


NET = {"up": {"kernel": (16, 24), "bias": (24,)}, "down": {"kernel": (24, 16), "bias": (16,)}}
NET_SPECS = {"up": {"kernel": P(None, "t"), "bias": P("t")}, "down": {"kernel": P("t", None), "bias": P()}}
whole_net = Sequential(Dense("up"), jax.nn.silu, Dense("down"))
X = P("d", None, None)


@pair("flax_sequential", whole_net, (NET_SPECS, X), X, NET, (4, 6, 16))
def _(p, x):
    return Sequential(Dense("up"), jax.nn.silu, Dense("down", "t"))(p, x)


@pair("flax_bias_in_sum", whole_net, (NET_SPECS, X), X, NET, (4, 6, 16), bug="the bias of the second layer is summed too")
def _(p, x):
    return lax.psum(Sequential(Dense("up"), jax.nn.silu, Dense("down"))(p, x), "t")


@pair("flax_reduce_first", whole_net, (NET_SPECS, X), X, NET, (4, 6, 16), bug="the first layer is reduced, the second not")
def _(p, x):
    return Sequential(Dense("up", "t"), jax.nn.silu, Dense("down"))(p, x)


# Train states and optax chains

class TrainState(NamedTuple):
    params: dict
    momentum: dict


def mse(p, x, y):
    return jnp.mean((jnp.tanh(x @ p["a"]) @ p["b"] - y) ** 2)


W = {"a": (8, 16), "b": (16, 6)}
momentum_chain = optax.chain(optax.clip_by_global_norm(1.0), optax.add_decayed_weights(0.01), optax.trace(0.9), optax.scale(-0.1))


def chain_step(p, m, x, y):
    g = jax.grad(mse)(p, x, y)
    u, s = momentum_chain.update(g, (optax.EmptyState(), optax.EmptyState(), optax.TraceState(m), optax.EmptyState()), p)
    return optax.apply_updates(p, u), s[2].trace


def dp_step(reduce):
    def body(p, m, x, y):
        g = reduce(jax.grad(mse)(p, x, y))
        u, s = momentum_chain.update(g, (optax.EmptyState(), optax.EmptyState(), optax.TraceState(m), optax.EmptyState()), p)
        return optax.apply_updates(p, u), s[2].trace
    return body


DP = ((P(), P(), P("d"), P("d")), (P(), P()), W, W, (8, 8), (8, 6))
pair("chain_dp", chain_step, *DP)(dp_step(lambda g: lax.pmean(g, "d")))
pair("chain_dp_sum", chain_step, *DP, bug="gradients are summed, not averaged")(dp_step(lambda g: lax.psum(g, "d")))
pair("chain_dp_late", chain_step, *DP, bug="the norm of each rank's gradient clips")(
    lambda p, m, x, y: jax.tree.map(lambda z: lax.pmean(z, "d"), dp_step(lambda g: g)(p, m, x, y)))


def adam_step(p, mu, nu, count, x, y):
    opt = optax.chain(optax.scale_by_adam(), optax.scale(-1e-3))
    g = jax.grad(mse)(p, x, y)
    u, (s, _) = opt.update(g, (optax.ScaleByAdamState(count, mu, nu), optax.EmptyState()), p)
    return optax.apply_updates(p, u), s.mu, s.nu


SHARDED = {"a": P("d", None), "b": P("d", None)}
ADAM = ((SHARDED, SHARDED, SHARDED, P(), P("d"), P("d")), (SHARDED, SHARDED, SHARDED), W, W, W,
        jax.ShapeDtypeStruct((), "int32"), (8, 8), (8, 6))


def zero_step(mean, whole=True):
    def body(p, mu, nu, count, x, y):
        opt = optax.chain(optax.scale_by_adam(), optax.scale(-1e-3))
        full = jax.tree.map(lambda w: gather(w, "d", 0), p)
        g = jax.tree.map(lambda g: scatter(g, "d", 0), jax.grad(mse)(full, x, y))
        g = jax.tree.map(lambda g: g / lax.axis_size("d"), g) if mean else g
        u, (s, _) = opt.update(g, (optax.ScaleByAdamState(count, mu, nu), optax.EmptyState()), p)
        return optax.apply_updates(p, u), s.mu, s.nu
    return body


pair("adam_zero", adam_step, *ADAM)(zero_step(True))
pair("adam_zero_sum", adam_step, *ADAM, bug="scattered gradients are not divided")(zero_step(False))


# Carries that are tuples and dicts

def recurrent(w, u, x):
    def cell(carry, xt):
        h, (c, n) = carry["h"], carry["state"]
        h = jnp.tanh(xt @ w + h @ u)
        c = 0.9 * c + h
        return {"h": h, "state": (c, n + 1.0)}, h * c
    zero = jnp.zeros((x.shape[1], w.shape[1]))
    last, ys = lax.scan(cell, {"h": zero, "state": (zero, jnp.zeros(()))}, x)
    return last["state"][0] / last["state"][1], ys


def recurrent_tp(gathered, times=1.0):
    def body(w, u, x):
        def cell(carry, xt):
            h, (c, n) = carry["h"], carry["state"]
            full = gather(h, "t", 1) if gathered else lax.psum(h, "t")[:, :1] * jnp.ones((1, u.shape[0]))
            h = jnp.tanh(xt @ w + full @ u)
            c = 0.9 * c + times * h
            return {"h": h, "state": (c, n + 1.0)}, h * c
        zero = jnp.zeros((x.shape[1], w.shape[1]))
        last, ys = lax.scan(cell, {"h": zero, "state": (zero, jnp.zeros(()))}, x)
        return last["state"][0] / last["state"][1], ys
    return body


RNN = ((P(None, "t"), P(None, "t"), P(None, "d")), (P("d", "t"), P(None, "d", "t")), (6, 8), (8, 8), (5, 4, 6))
pair("rnn_tp", recurrent, *RNN)(recurrent_tp(True))
pair("rnn_tp_sum", recurrent, *RNN, bug="the state is summed, not gathered")(recurrent_tp(False))
pair("rnn_tp_count", recurrent, *RNN, bug="a carry counts twice")(recurrent_tp(True, 2.0))


# custom_vjp: f and g of Megatron by hand

def megatron(forward_f, backward_f, forward_g, backward_g):
    @jax.custom_vjp
    def f(x):
        return forward_f(x)
    f.defvjp(lambda x: (forward_f(x), None), lambda _, g: (backward_f(g),))

    @jax.custom_vjp
    def g(x):
        return forward_g(x)
    g.defvjp(lambda x: (forward_g(x), None), lambda _, c: (backward_g(c),))

    def body(a, b, x):
        def loss(a, b, x):
            return jnp.sum(jnp.sin(g(jnp.tanh(f(x) @ a) @ b)))
        return jax.grad(loss, (0, 1, 2))(a, b, x)
    return body


def same(x):
    return x


def psum_t(x):
    return lax.psum(x, "t")


def mlp_grads(a, b, x):
    return jax.grad(lambda a, b, x: jnp.sum(jnp.sin(jnp.tanh(x @ a) @ b)), (0, 1, 2))(a, b, x)


FG = ((P(None, "t"), P("t", None), P()), (P(None, "t"), P("t", None), P()), (8, 16), (16, 6), (4, 8))
pair("megatron_f_g", mlp_grads, *FG)(megatron(same, psum_t, psum_t, same))
pair("megatron_f_without_psum", mlp_grads, *FG, bug="f's backward does not reduce")(megatron(same, same, psum_t, same))
pair("megatron_g_twice", mlp_grads, *FG, bug="g's backward reduces too")(megatron(same, psum_t, psum_t, psum_t))
pair("megatron_f_mean", mlp_grads, *FG, bug="f's backward averages")(
    megatron(same, lambda g: lax.pmean(g, "t"), psum_t, same))


# Checkpoint policies

def named_block(reduce):
    def block(x, w):
        h = checkpoint_name(jnp.tanh(x @ w["a"]), "hidden")
        return x + reduce(h @ w["b"])
    return block


def remat_loss(block):
    kept = jax.checkpoint(block, policy=jax.checkpoint_policies.save_only_these_names("hidden"))

    def loss(w, x):
        x, _ = lax.scan(lambda x, l: (kept(x, l), None), x, w)
        return x
    return loss


def remat_model(w, x):
    return jax.grad(lambda w: jnp.mean(remat_loss(named_block(same))(w, x) ** 2))(w)


STACK = {"a": (3, 8, 16), "b": (3, 16, 8)}
STACK_SPECS = {"a": P(None, None, "t"), "b": P(None, "t", None)}
REMAT = ((STACK_SPECS, P("d")), STACK_SPECS, STACK, (4, 8))


def remat_body(reduce, end):
    def body(w, x):
        return jax.tree.map(end, jax.grad(lambda w: jnp.mean(remat_loss(named_block(reduce))(w, x) ** 2))(w))
    return body


pair("remat_policy", remat_model, *REMAT, vma=True)(remat_body(psum_t, lambda g: g / lax.axis_size("d")))
pair("remat_policy_no_mean", remat_model, *REMAT, vma=True, bug="the ranks' gradients are summed, not averaged")(
    remat_body(psum_t, same))
pair("remat_policy_no_reduction", remat_model, *REMAT, bug="no psum over t")(
    remat_body(same, lambda g: lax.pmean(g, "d")))


# vmap inside of shard_map, and shard_map's collectives in vmap

def experts(x, w):
    return jax.vmap(lambda x, w: jax.nn.relu(x @ w), (0, 0))(x, w)


@pair("vmap_experts", experts, (P("t"), P("t")), P("t"), (8, 5, 6), (8, 6, 7))
def _(x, w):
    return jax.vmap(lambda x, w: jax.nn.relu(x @ w))(x, w)


@pair("vmap_psum", lambda x, w: jax.vmap(lambda r: r @ w)(x), (P("d", "t"), P("t")), P("d"), (4, 8), (8, 6))
def _(x, w):
    return jax.vmap(lambda r: lax.psum(r @ w, "t"))(x)


@pair("vmap_heads", lambda q, k: jax.vmap(jax.vmap(lambda q, k: jax.nn.softmax(q @ k.T, -1), (1, 1), 1))(q, k),
      (P("d", None, "t"), P("d", None, "t")), P("d", None, "t"), (4, 5, 8, 6), (4, 7, 8, 6))
def _(q, k):
    return jax.vmap(jax.vmap(lambda q, k: jax.nn.softmax(q @ k.T, -1), (1, 1), 1))(q, k)


@pair("vmap_heads_swapped", lambda q, k: jax.vmap(jax.vmap(lambda q, k: jax.nn.softmax(q @ k.T, -1), (1, 1), 1))(q, k),
      (P("d", None, "t"), P("d", None, "t")), P("d", None, "t"), (4, 5, 8, 5), (4, 5, 8, 5), bug="q and k are swapped")
def _(q, k):
    return jax.vmap(jax.vmap(lambda q, k: jax.nn.softmax(k @ q.T, -1), (1, 1), 1))(q, k)


@pair("vmap_psum_over_wrong", lambda x, w: jax.vmap(lambda r: r @ w)(x), (P("d", "t"), P("t")), P("d"), (4, 8), (8, 6),
      bug="each row is reduced over both axes")
def _(x, w):
    return jax.vmap(lambda r: lax.psum(r @ w, ("d", "t")))(x)


# einsum with an ellipsis

@pair("ellipsis", lambda x, w: jnp.einsum("...m,...mhd->...hd", x, w[None, None]), (P("d", None, "t"), P("t")), P("d"),
      (4, 5, 8), (8, 3, 6))
def _(x, w):
    return lax.psum(jnp.einsum("...m,mhd->...hd", x, w), "t")


@pair("ellipsis_two", lambda x, y: jnp.einsum("b...k,b...k->...", x, y), (P("d"), P("d")), P(), (4, 5, 3, 6), (4, 5, 3, 6))
def _(x, y):
    return lax.psum(jnp.einsum("b...k,b...k->...", x, y), "d")


@pair("ellipsis_mean", lambda x, w: jnp.einsum("...m,mh->...h", x, w) / x.shape[-1], (P("d", "t"), P("t")), P("d"),
      (4, 8), (8, 3), bug="divided by the local size")
def _(x, w):
    return lax.psum(jnp.einsum("...m,mh->...h", x, w) / x.shape[-1], "t")


# Collectives of tuples and trees

@pair("psum_of_tuple", lambda x: (x.mean(), x.var()), (P("d"),), (P(), P()), (8, 6))
def _(x):
    s, q, n = lax.psum((x.sum(), (x * x).sum(), x.size), "d")
    return s / n, q / n - (s / n) ** 2


@pair("psum_of_tuple_crossed", lambda x: (x.mean(), x.var()), (P("d"),), (P(), P()), (8, 6), bug="two sums are crossed")
def _(x):
    q, s, n = lax.psum((x.sum(), (x * x).sum(), x.size), "d")
    return s / n, q / n - (s / n) ** 2


@pair("psum_of_tree", lambda w, x: jax.tree.map(lambda v: (x @ v).sum(0), w), ({"a": P("t"), "b": P("t")}, P("d", "t")),
      {"a": P(), "b": P()}, {"a": (8, 3), "b": (8, 5)}, (4, 8))
def _(w, x):
    return lax.psum(jax.tree.map(lambda v: (x @ v).sum(0), w), ("d", "t"))


@pair("psum_of_tree_half", lambda w, x: jax.tree.map(lambda v: (x @ v).sum(0), w), ({"a": P("t"), "b": P("t")}, P("d", "t")),
      {"a": P(), "b": P()}, {"a": (8, 3), "b": (8, 5)}, (4, 8), bug="one leaf is reduced over one axis")
def _(w, x):
    y = lax.psum(jax.tree.map(lambda v: (x @ v).sum(0), w), "d")
    return {"a": lax.psum(y["a"], "t"), "b": y["b"]}


# all_gather and psum_scatter, tiled or not

@pair("gather_untiled", lambda x, w: x @ w, (P("d"), P(None, "t")), P("d"), (4, 8), (8, 12))
def _(x, w):
    w = lax.all_gather(w, "t", axis=1)  # [8, t, 3]
    return jnp.einsum("bm,mtf->btf", x, w).reshape(x.shape[0], -1)


@pair("gather_untiled_order", lambda x, w: x @ w, (P("d"), P(None, "t")), P("d"), (4, 8), (8, 12),
      bug="the ranks' dim is the last when merged")
def _(x, w):
    w = lax.all_gather(w, "t", axis=2)  # [8, 3, t]
    return jnp.einsum("bm,mft->bft", x, w).reshape(x.shape[0], -1)


@pair("gather_moved", lambda x, w: x @ w, (P("d"), P(None, "t")), P("d"), (4, 8), (8, 12))
def _(x, w):
    w = jnp.moveaxis(lax.all_gather(w, "t"), 0, 1).reshape(w.shape[0], -1)
    return x @ w


@pair("scatter_untiled", lambda x, w: x @ w, (P("d", "t"), P("t")), P("d", "t"), (4, 8), (8, 12))
def _(x, w):
    y = x @ w
    return lax.psum_scatter(y.reshape(y.shape[0], lax.axis_size("t"), -1), "t", scatter_dimension=1)


@pair("scatter_untiled_strided", lambda x, w: x @ w, (P("d", "t"), P("t")), P("d", "t"), (4, 8), (8, 12),
      bug="each rank keeps every fourth column")
def _(x, w):
    y = x @ w
    return lax.psum_scatter(y.reshape(y.shape[0], -1, lax.axis_size("t")), "t", scatter_dimension=2)


# Arithmetic of axis_index

@pair("flat_rank", lambda x: x * jnp.arange(x.shape[0])[:, None], (P(("d", "t")),), P(("d", "t")), (24, 6))
def _(x):
    rank = lax.axis_index("d") * lax.axis_size("t") + lax.axis_index("t")
    return x * (rank * x.shape[0] + jnp.arange(x.shape[0]))[:, None]


@pair("flat_rank_tuple", lambda x: x * jnp.arange(x.shape[0])[:, None], (P(("d", "t")),), P(("d", "t")), (24, 6))
def _(x):
    return x * (lax.axis_index(("d", "t")) * x.shape[0] + jnp.arange(x.shape[0]))[:, None]


@pair("flat_rank_swapped", lambda x: x * jnp.arange(x.shape[0])[:, None], (P(("d", "t")),), P(("d", "t")), (24, 6),
      bug="the axes of the rank are swapped")
def _(x):
    rank = lax.axis_index("t") * lax.axis_size("d") + lax.axis_index("d")
    return x * (rank * x.shape[0] + jnp.arange(x.shape[0]))[:, None]


@pair("own_block_of_copy", lambda x, w: x @ w, (P("d"), P()), P("d", "t"), (4, 8), (8, 12))
def _(x, w):
    n = w.shape[1] // lax.axis_size("t")
    return x @ lax.dynamic_slice_in_dim(w, lax.axis_index("t") * n, n, 1)


@pair("own_block_of_other", lambda x, w: x @ w, (P("d"), P()), P("d", "t"), (4, 8), (8, 12),
      bug="each rank takes the next one's block")
def _(x, w):
    n = w.shape[1] // lax.axis_size("t")
    return x @ lax.dynamic_slice_in_dim(w, (lax.axis_index("t") + 1) % lax.axis_size("t") * n, n, 1)


@pair("causal_offsets", lambda q, k: jnp.where(jnp.arange(8)[:, None] >= jnp.arange(8), q @ k.T, 0.0).sum(1),
      (P("t"), P()), P("t"), (8, 6), (8, 6))
def _(q, k):
    rows = lax.axis_index("t") * q.shape[0] + lax.broadcasted_iota(jnp.int32, (q.shape[0], k.shape[0]), 0)
    return jnp.where(rows >= lax.broadcasted_iota(jnp.int32, rows.shape, 1), q @ k.T, 0.0).sum(1)


@pair("causal_offsets_missing", lambda q, k: jnp.where(jnp.arange(8)[:, None] >= jnp.arange(8), q @ k.T, 0.0).sum(1),
      (P("t"), P()), P("t"), (8, 6), (8, 6), bug="local rows")
def _(q, k):
    rows = lax.broadcasted_iota(jnp.int32, (q.shape[0], k.shape[0]), 0)
    return jnp.where(rows >= lax.broadcasted_iota(jnp.int32, rows.shape, 1), q @ k.T, 0.0).sum(1)


# Labels that count, and losses over tokens of all ranks

@pair("token_mean", lambda z, m: (z * m).sum() / jnp.maximum(m.sum(), 1.0), (P("d", "t"), P("d", "t")), P(), (4, 8), (4, 8))
def _(z, m):
    s, n = lax.psum(((z * m).sum(), m.sum()), ("d", "t"))
    return s / jnp.maximum(n, 1.0)


@pair("token_mean_local_floor", lambda z, m: (z * m).sum() / jnp.maximum(m.sum(), 1.0), (P("d", "t"), P("d", "t")), P(), (4, 8), (4, 8),
      bug="each rank's count is at least 1")
def _(z, m):
    s, n = lax.psum(((z * m).sum(), jnp.maximum(m.sum(), 1.0)), ("d", "t"))
    return s / n
