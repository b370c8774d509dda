"""Losses, batch norm, experts, low rank, recurrences, tied embeddings."""
from __future__ import annotations

from collections import OrderedDict

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import PartitionSpec as P

from . import gather, ids, named_pair as pair

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
