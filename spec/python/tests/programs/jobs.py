"""Training and inference steps as programs of users have them: check_vma on, gradients inside and outside of shard_map,
trees of modules, optax, microbatches, caches."""
from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import PartitionSpec as P

from . import THREE, gather, ids, named_pair, pair, scatter

vma_pair = functools.partial(pair, vma=True)


# Gradients with check_vma: what is a copy gets the sum of the devices' gradients


def net(p, x):
    h = jax.nn.silu(x @ p["up"]) * (x @ p["gate"])
    return h @ p["down"] + p["bias"]


def net_loss(p, x, y):
    return jnp.mean(jnp.square(net(p, x) - y))


SPECS = {"up": P(None, "t"), "gate": P(None, "t"), "down": P("t"), "bias": P()}
NET = (SPECS, P("d"), P("d")), (P(), SPECS), {"up": (6, 16), "gate": (6, 16), "down": (16, 6), "bias": (6,)}, (8, 6), (8, 6)


def net_on_mesh(p, x):
    h = jax.nn.silu(x @ p["up"]) * (x @ p["gate"])
    return lax.psum(h @ p["down"], "t") + p["bias"]


@vma_pair("vma_gradient_of_a_mean", jax.value_and_grad(net_loss), *NET)
def _(p, x, y):
    return jax.value_and_grad(lambda p: lax.pmean(jnp.mean(jnp.square(net_on_mesh(p, x) - y)), "d"))(p)


@vma_pair("vma_gradient_of_own_loss", jax.value_and_grad(net_loss), *NET, bug="C3 the sum of the ranks' gradients of means")
def _(p, x, y):
    loss, g = jax.value_and_grad(lambda p: jnp.mean(jnp.square(net_on_mesh(p, x) - y)))(p)
    return lax.pmean(loss, "d"), g


@vma_pair("vma_gradient_averaged_again", jax.value_and_grad(net_loss), *NET)
def _(p, x, y):
    loss, g = jax.value_and_grad(lambda p: lax.pmean(jnp.mean(jnp.square(net_on_mesh(p, x) - y)), "d"))(p)
    return loss, lax.pmean(g, "d")


@pair("no_vma_gradient_of_a_mean", jax.value_and_grad(net_loss), *NET, bug="C1 the gradient of a rank's own loss")
def _(p, x, y):
    loss, g = jax.value_and_grad(lambda p: jnp.mean(jnp.square(net_on_mesh(p, x) - y)))(p)
    return lax.pmean(loss, "d"), g


def fsdp_net(p, x, y):
    return jax.value_and_grad(net_loss)(p, x, y)


FSDP = {"up": P("d"), "gate": P("d"), "down": P("d"), "bias": P()}
ZERO = (FSDP, P("d"), P("d")), (P(), FSDP), *NET[2:]


@vma_pair("vma_fsdp", fsdp_net, *ZERO)
def _(p, x, y):
    def loss(p):
        whole = {name: gather(w, "d", 0) if w.ndim == 2 else w for name, w in p.items()}
        return lax.pmean(net_loss(whole, x, y), "d")
    return jax.value_and_grad(loss)(p)


@vma_pair("vma_fsdp_sum_of_means", fsdp_net, *ZERO, bug="C3 the loss is the sum of the ranks' means")
def _(p, x, y):
    def loss(p):
        whole = {name: gather(w, "d", 0) if w.ndim == 2 else w for name, w in p.items()}
        return lax.psum(net_loss(whole, x, y), "d")
    return jax.value_and_grad(loss)(p)


# optax: AdamW with a schedule, a mask of what decays, clipping by the norm of all devices' parts


class Optimizer(NamedTuple):
    count: Any
    mu: Any
    nu: Any


def schedule(count):
    return optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 100)(count)


def decays(p):
    return jax.tree.map(lambda x: x.ndim > 1, p)


def adamw(p, g, state):
    tx = optax.chain(optax.scale_by_adam(b1=0.9, b2=0.95), optax.add_decayed_weights(0.1, mask=decays),
                     optax.scale_by_learning_rate(schedule))
    full = tx.init(p)
    full = (full[0]._replace(count=state.count, mu=state.mu, nu=state.nu), full[1], full[2]._replace(count=state.count))
    updates, new = tx.update(g, full, p)
    return optax.apply_updates(p, updates), Optimizer(new[0].count, new[0].mu, new[0].nu)


def clipped(g, norm):
    return jax.tree.map(lambda x: x * jnp.minimum(1.0, 1.0 / (norm + 1e-6)), g)


def optimizer_step(p, state, x, y):
    loss, g = jax.value_and_grad(net_loss)(p, x, y)
    return loss, *adamw(p, clipped(g, optax.global_norm(g)), state)


def states(of):
    return Optimizer(ids() if isinstance(of["bias"], tuple) and not isinstance(of["bias"], P) else P(), of, of)


STEP = (SPECS, states(SPECS), P("d"), P("d")), (P(), SPECS, states(SPECS)), NET[2], states(NET[2]), *NET[3:]


def squares(g):
    """The sum of squares over all devices: each part once."""
    return sum(lax.psum(jnp.sum(x * x), "t") if name != "bias" else jnp.sum(x * x) for name, x in g.items())


def loss_and_gradient(p, x, y):
    return jax.value_and_grad(lambda p: lax.pmean(jnp.mean(jnp.square(net_on_mesh(p, x) - y)), "d"))(p)


@vma_pair("optax_adamw_schedule", optimizer_step, *STEP)
def _(p, state, x, y):
    loss, g = loss_and_gradient(p, x, y)
    return loss, *adamw(p, clipped(g, jnp.sqrt(squares(g))), state)


@pair("optax_norm_of_own_parts", optimizer_step, *STEP, bug="C11 each rank clips by the norm of its own parts")
def _(p, state, x, y):
    loss, g = loss_and_gradient(p, x, y)
    return loss, *adamw(p, clipped(g, optax.global_norm(g)), state)


@vma_pair("optax_bias_counted_on_each_rank", optimizer_step, *STEP, bug="C11 a copy is counted on each rank")
def _(p, state, x, y):
    loss, g = loss_and_gradient(p, x, y)
    norm = jnp.sqrt(lax.psum(sum(jnp.sum(x * x) for x in jax.tree.leaves(g)), "t"))
    return loss, *adamw(p, clipped(g, norm), state)


@vma_pair("optax_norm_of_norms", optimizer_step, *STEP, bug="C11 norms are added, not their squares")
def _(p, state, x, y):
    loss, g = loss_and_gradient(p, x, y)
    split = {name: x for name, x in g.items() if name != "bias"}
    norm = lax.psum(optax.global_norm(split), "t") + jnp.sqrt(jnp.sum(g["bias"] ** 2))
    return loss, *adamw(p, clipped(g, norm), state)


# Microbatches: trees in the carry of a scan, counts of tokens


def token_loss(w, x, y, mask):
    z = jnp.tanh(x @ w["h"]) @ w["o"]
    return jnp.sum(optax.softmax_cross_entropy_with_integer_labels(z, y) * mask), jnp.sum(mask)


def whole_batch(w, x, y, mask):
    def mean(w):
        total, count = token_loss(w, x.reshape(-1, x.shape[-1]), y.reshape(-1), mask.reshape(-1))
        return total / count
    return jax.value_and_grad(mean)(w)


MICRO = ({"h": P(), "o": P()}, P(None, "d"), P(None, "d"), P(None, "d")), (P(), {"h": P(), "o": P()}), \
    {"h": (6, 5), "o": (5, 7)}, (3, 8, 6), ids(3, 8), (3, 8)


@pair("microbatches_with_counts", whole_batch, *MICRO)
def _(w, x, y, mask):
    def step(carry, batch):
        total, count, g = carry
        (l, n), dw = jax.value_and_grad(token_loss, has_aux=True)(w, *batch)
        return (total + l, count + n, jax.tree.map(jnp.add, g, dw)), None
    zero = (jnp.zeros(()), jnp.zeros(()), jax.tree.map(jnp.zeros_like, w))
    total, count, g = lax.psum(lax.scan(step, zero, (x, y, mask))[0], "d")
    return total / count, jax.tree.map(lambda x: x / count, g)


@pair("microbatches_mean_of_means", whole_batch, *MICRO, bug="C4 each microbatch divides by its own count")
def _(w, x, y, mask):
    def step(carry, batch):
        total, g = carry
        l, dw = jax.value_and_grad(lambda w: (lambda s, n: s / n)(*token_loss(w, *batch)))(w)
        return (total + l, jax.tree.map(jnp.add, g, dw)), None
    zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, w))
    total, g = lax.scan(step, zero, (x, y, mask))[0]
    return lax.pmean((total / x.shape[0], jax.tree.map(lambda g: g / x.shape[0], g)), "d")


@pair("microbatches_count_of_the_last", whole_batch, *MICRO, bug="C12 the count of the last microbatch alone")
def _(w, x, y, mask):
    def step(carry, batch):
        total, count, g = carry
        (l, n), dw = jax.value_and_grad(token_loss, has_aux=True)(w, *batch)
        return (total + l, n, jax.tree.map(jnp.add, g, dw)), None
    zero = (jnp.zeros(()), jnp.zeros(()), jax.tree.map(jnp.zeros_like, w))
    total, count, g = lax.psum(lax.scan(step, zero, (x, y, mask))[0], "d")
    return total / count, jax.tree.map(lambda x: x / count, g)


# A causal language model: modules as frozen dataclasses, a class token, labels that are left out


@functools.partial(jax.tree_util.register_dataclass, data_fields=["q", "k", "v", "o"], meta_fields=["axis"])
@dataclasses.dataclass(frozen=True)
class Attention:
    q: Any
    k: Any
    v: Any
    o: Any
    axis: str | None = None

    def __call__(self, x):
        q, k, v = (jnp.einsum("...ld,dhk->...hlk", x, w) for w in (self.q, self.k, self.v))
        s = jnp.einsum("...qk,...mk->...qm", q, k) / jnp.sqrt(q.shape[-1])
        s = jnp.where(jnp.tri(x.shape[-2], dtype=bool), s, jnp.finfo(s.dtype).min)
        y = jnp.einsum("...hqm,...hmk,hkd->...qd", jax.nn.softmax(s), v, self.o)
        return lax.psum(y, self.axis) if self.axis else y


HEAD = P(None, "t")
CAUSAL = (Attention(HEAD, HEAD, HEAD, P("t")), P("d")), P("d"), Attention(*[(6, 8, 5)] * 3, (8, 5, 6)), (4, 7, 6)


@pair("module_that_holds_its_axis", lambda m, x: m(x), *CAUSAL)
def _(m, x):
    return dataclasses.replace(m, axis="t")(x)


@pair("module_of_another_axis", lambda m, x: m(x), *CAUSAL, bug="C5 the module sums over the data axis")
def _(m, x):
    return dataclasses.replace(m, axis="d")(x)


def with_token(token, x, w):
    x = jnp.concatenate([jnp.broadcast_to(token, (x.shape[0], 1, x.shape[-1])), x], axis=1)
    return jax.nn.softmax(x @ w, axis=1)[:, 0]


TOKEN = (P(), P("d"), P(None, "t")), P("d", "t"), (6,), (8, 5, 6), (6, 8)


@pair("class_token", with_token, *TOKEN)
def _(token, x, w):
    first = jnp.tile(token[None, None], (x.shape[0], 1, 1))
    return jax.nn.softmax(jnp.hstack([first, x]) @ w, axis=1)[:, 0]


@pair("class_token_at_the_end", with_token, *TOKEN, bug="the token is last, and the first position is read")
def _(token, x, w):
    first = jnp.tile(token[None, None], (x.shape[0], 1, 1))
    return jax.nn.softmax(jnp.hstack([x, first]) @ w, axis=1)[:, 0]


def ignored(logits, labels):
    keep = labels != 0
    nll = jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return jnp.where(keep, nll, 0.0).sum() / jnp.maximum(keep.sum(), 1)


IGNORED = (P("d", None, "t"), P("d")), P(), (8, 5, 16), ids(8, 5)


def split_nll(logits, labels):
    n = logits.shape[-1]
    top = lax.stop_gradient(lax.pmax(logits.max(-1), "t"))
    lse = jnp.log(lax.psum(jnp.sum(jnp.exp(logits - top[..., None]), -1), "t")) + top
    local = labels - lax.axis_index("t") * n
    mine = jax.nn.one_hot(local, n, dtype=logits.dtype)
    return lse - lax.psum(jnp.einsum("...v,...v->...", logits, mine), "t")


@pair("labels_left_out", ignored, *IGNORED)
def _(logits, labels):
    keep = labels != 0
    total = jnp.sum(split_nll(logits, labels), where=keep)
    return lax.psum(total, "d") / jnp.maximum(lax.psum(keep.sum(), "d"), 1)


@pair("labels_left_out_of_the_sum_only", ignored, *IGNORED, bug="C4 labels that are left out are counted")
def _(logits, labels):
    keep = labels != 0
    total = jnp.sum(split_nll(logits, labels), where=keep)
    return lax.psum(total, "d") / lax.psum(keep.size, "d")


def smoothed(logits, labels):
    logp = jax.nn.log_softmax(logits)
    targets = optax.smooth_labels(jax.nn.one_hot(labels, logits.shape[-1]), 0.1)
    return -jnp.mean(jnp.sum(logp * targets, -1))


SMOOTH = (P("d", "t"), P("d")), P(), (8, 16), ids(8)


@pair("smoothed_labels", smoothed, *SMOOTH)
def _(logits, labels):
    vocab = logits.shape[-1] * lax.axis_size("t")
    top = lax.pmax(logits.max(-1, keepdims=True), "t")
    logp = logits - top - jnp.log(lax.psum(jnp.exp(logits - top).sum(-1, keepdims=True), "t"))
    columns = lax.axis_index("t") * logits.shape[-1] + jnp.arange(logits.shape[-1])
    targets = 0.9 * (labels[:, None] == columns) + 0.1 / vocab
    return -lax.pmean(lax.psum(jnp.sum(logp * targets, -1), "t").mean(), "d")


@pair("smoothed_over_own_words", smoothed, *SMOOTH, bug="Megatron-LM 737: smoothing over the rank's own vocabulary")
def _(logits, labels):
    top = lax.pmax(logits.max(-1, keepdims=True), "t")
    logp = logits - top - jnp.log(lax.psum(jnp.exp(logits - top).sum(-1, keepdims=True), "t"))
    columns = lax.axis_index("t") * logits.shape[-1] + jnp.arange(logits.shape[-1])
    targets = 0.9 * (labels[:, None] == columns) + 0.1 / logits.shape[-1]
    return -lax.pmean(lax.psum(jnp.sum(logp * targets, -1), "t").mean(), "d")


# A cache that is written at a position, factored moments, an average of parameters


def decode(cache, q, k, at):
    cache = lax.dynamic_update_slice_in_dim(cache, k[:, None], at, 1)
    s = jnp.einsum("bhk,bthk->bht", q, cache)
    s = jnp.where(jnp.arange(cache.shape[1]) <= at, s, -1e9)
    return cache, jnp.einsum("bht,bthk->bhk", jax.nn.softmax(s), cache)


CACHE = (P("d", None, "t"), P("d", "t"), P("d", "t"), P()), (P("d", None, "t"), P("d", "t")), \
    (4, 7, 8, 5), (4, 8, 5), (4, 8, 5), ids()


@pair("cache_written_at_a_position", decode, *CACHE)
def _(cache, q, k, at):
    return decode(cache, q, k, at)


@pair("cache_masked_one_short", decode, *CACHE, bug="C9 the new key is masked")
def _(cache, q, k, at):
    cache = lax.dynamic_update_slice_in_dim(cache, k[:, None], at, 1)
    s = jnp.einsum("bhk,bthk->bht", q, cache)
    s = jnp.where(jnp.arange(cache.shape[1]) < at, s, -1e9)
    return cache, jnp.einsum("bht,bthk->bhk", jax.nn.softmax(s), cache)


def factored(w, g, row, column):
    row = 0.9 * row + 0.1 * jnp.mean(g * g, axis=1)
    column = 0.9 * column + 0.1 * jnp.mean(g * g, axis=0)
    second = jnp.outer(row, column) / jnp.mean(row)
    update = g * lax.rsqrt(second + 1e-30)
    update = update / jnp.maximum(1.0, jnp.sqrt(jnp.mean(update ** 2)))
    return w - 0.01 * update, row, column


FACTORED = (P("d", "t"), P("d", "t"), P("d"), P("t")), (P("d", "t"), P("d"), P("t")), (8, 16), (8, 16), (8,), (16,)


@pair("adafactor_of_blocks", factored, *FACTORED)
def _(w, g, row, column):
    row = 0.9 * row + 0.1 * lax.pmean(jnp.mean(g * g, axis=1), "t")
    column = 0.9 * column + 0.1 * lax.pmean(jnp.mean(g * g, axis=0), "d")
    second = jnp.outer(row, column) / lax.pmean(jnp.mean(row), "d")
    update = g * lax.rsqrt(second + 1e-30)
    rms = jnp.sqrt(lax.pmean(jnp.mean(update ** 2), ("d", "t")))
    return w - 0.01 * update / jnp.maximum(1.0, rms), row, column


@pair("adafactor_of_own_block", factored, *FACTORED, bug="C11 the update's size is that of the rank's block")
def _(w, g, row, column):
    row = 0.9 * row + 0.1 * lax.pmean(jnp.mean(g * g, axis=1), "t")
    column = 0.9 * column + 0.1 * lax.pmean(jnp.mean(g * g, axis=0), "d")
    second = jnp.outer(row, column) / lax.pmean(jnp.mean(row), "d")
    update = g * lax.rsqrt(second + 1e-30)
    return w - 0.01 * update / jnp.maximum(1.0, jnp.sqrt(jnp.mean(update ** 2))), row, column


def orthogonalized(w, g):
    def iterate(x, _):
        a = x @ x.T
        return 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x, None
    x = g / (jnp.linalg.norm(g) + 1e-7)
    return w - 0.02 * lax.scan(iterate, x, None, length=5)[0]


@pair("muon_of_gathered_rows", orthogonalized, (P("d"), P("d")), P("d"), (8, 10), (8, 10))
def _(w, g):
    n = w.shape[0]
    whole = orthogonalized(jnp.zeros((n * lax.axis_size("d"), w.shape[1])), gather(g, "d", 0))
    return w + lax.dynamic_slice_in_dim(whole, lax.axis_index("d") * n, n)


@pair("muon_of_own_rows", orthogonalized, (P("d"), P("d")), P("d"), (8, 10), (8, 10), bug="C11 each rank's own rows are made orthogonal")
def _(w, g):
    return orthogonalized(w, g)


# Sequence parallelism with a backward of its own: the gradients of the norms


def normed_mlp(p, x):
    h = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * p["g"]
    return x + jax.nn.relu(h @ p["a"]) @ p["b"]


def sequence_loss(p, x):
    return jnp.sum(normed_mlp(p, x) ** 2)


SEQ_SPECS = {"g": P(), "a": P(None, "t"), "b": P("t")}
SEQUENCE = (SEQ_SPECS, P("d", "t")), SEQ_SPECS, {"g": (6,), "a": (6, 8), "b": (8, 6)}, (4, 8, 6)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def enter(x, axis):
    return gather(x, axis, 1)


enter.defvjp(lambda x, axis: (enter(x, axis), None), lambda axis, _, g: (scatter(g, axis, 1),))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def leave(x, axis):
    return scatter(x, axis, 1)


leave.defvjp(lambda x, axis: (leave(x, axis), None), lambda axis, _, g: (gather(g, axis, 1),))


def sequence_local(p, x):
    h = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * p["g"]
    y = x + leave(jax.nn.relu(enter(h, "t") @ p["a"]) @ p["b"], "t")
    return jnp.sum(y ** 2)


@pair("sequence_norm_gradient_summed", jax.grad(sequence_loss), *SEQUENCE)
def _(p, x):
    g = jax.grad(sequence_local)(p, x)
    return {"g": lax.psum(g["g"], ("d", "t")), **lax.psum({"a": g["a"], "b": g["b"]}, "d")}


@pair("sequence_norm_gradient_not_summed", jax.grad(sequence_loss), *SEQUENCE, bug="Megatron-LM 1446")
def _(p, x):
    return lax.psum(jax.grad(sequence_local)(p, x), "d")


# Rows of stages, one axis at a time


def hybrid(w, x):
    return jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)


HYBRID = (P("fsdp"), P(("data", "fsdp"))), P("fsdp"), (8, 6), (8, 8)


@named_pair("hybrid_fsdp", hybrid, *HYBRID, mesh=THREE)
def _(w, x):
    g = jax.grad(lambda w: jnp.mean(jnp.tanh(x @ gather(w, "fsdp", 0)) ** 2))(w)
    return lax.pmean(g, "data") / lax.axis_size("fsdp")


@named_pair("hybrid_fsdp_of_one_group", hybrid, *HYBRID, mesh=THREE, bug="C5 reduced within the shard group alone")
def _(w, x):
    g = jax.grad(lambda w: jnp.mean(jnp.tanh(x @ gather(w, "fsdp", 0)) ** 2))(w)
    return g / lax.axis_size("fsdp")
