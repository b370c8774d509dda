"""Programs as a visitor writes them: a router, convolutions, custom backwards, ZeRO, caches, recurrent nets, attention split by sequence."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

from . import gather, ids, pair

SMALL = AbstractMesh((2, 2), ("d", "t"))


# A router that picks one expert; the experts are split over t.


def routed(x, w):
    g = jax.nn.softmax(x @ w)
    return jax.nn.one_hot(jnp.argmax(g, -1), w.shape[1]) * g


def experts(x, up, down, weights):
    y = jnp.einsum("ebf,efm->ebm", jax.nn.gelu(jnp.einsum("bm,emf->ebf", x, up)), down)
    return jnp.einsum("ebm,be->bm", y, weights)


def moe(x, w, up, down):
    return experts(x, up, down, routed(x, w))


MOE = (P("d"), P(), P("t"), P("t")), P("d"), (8, 6), (6, 8), (8, 6, 10), (8, 10, 6)


@pair("visitors_moe", moe, *MOE)
def _(x, w, up, down):
    n = up.shape[0]
    mine = lax.dynamic_slice_in_dim(routed(x, w), lax.axis_index("t") * n, n, 1)
    return lax.psum(experts(x, up, down, mine), "t")


@pair("visitors_moe_first_experts", moe, *MOE, bug="C9 each device takes the weights of the first experts")
def _(x, w, up, down):
    return lax.psum(experts(x, up, down, routed(x, w)[:, :up.shape[0]]), "t")


# A convolution whose channels are split.


def convolved(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def cnn(x, w, b):
    return jax.nn.relu(convolved(x, w) + b).mean((1, 2))


CNN = (P("d", None, None, "t"), P(None, None, "t"), P()), P("d"), (4, 5, 5, 4), (3, 3, 4, 6), (6,)


@pair("visitors_cnn", cnn, *CNN, mesh=SMALL)
def _(x, w, b):
    return jax.nn.relu(lax.psum(convolved(x, w), "t") + b).mean((1, 2))


@pair("visitors_cnn_bias_in_the_sum", cnn, *CNN, mesh=SMALL, bug="C7 the bias is added on each device")
def _(x, w, b):
    return jax.nn.relu(lax.psum(convolved(x, w) + b, "t")).mean((1, 2))


@pair("visitors_cnn_no_halo", lambda x, w: convolved(x, w), (P("d", "t"), P()), P("d", "t"), (4, 8, 5, 3), (3, 3, 3, 5), mesh=SMALL,
      bug="C9 rows of the neighbours are taken for zeros")
def _(x, w):
    return convolved(x, w)


# Megatron's f and g as custom backwards.


@jax.custom_vjp
def copied(x):
    return x


copied.defvjp(lambda x: (x, None), lambda _, g: (lax.psum(g, "t"),))


@jax.custom_vjp
def summed(x):
    return lax.psum(x, "t")


summed.defvjp(lambda x: (lax.psum(x, "t"), None), lambda _, g: (g,))


def gradients(w, x):
    return jax.grad(lambda w, x: (jnp.tanh(x @ w[0]) @ w[1]).sum(), argnums=(0, 1))(w, x)


SPLIT = (P(None, "t"), P("t"))
STEP = (SPLIT, P("d")), (SPLIT, P("d")), ((6, 8), (8, 6)), (8, 6)


def by_hand(w, x, enter):
    g = jax.grad(lambda w, x: summed(jnp.tanh(enter(x) @ w[0]) @ w[1]).sum(), argnums=(0, 1))(w, x)
    return jax.tree.map(lambda g: lax.psum(g, "d"), g[0]), g[1]


@pair("visitors_f_and_g", gradients, *STEP)
def _(w, x):
    return by_hand(w, x, copied)


@pair("visitors_without_f", gradients, *STEP, bug="C1 the input's gradient is not summed over t")
def _(w, x):
    return by_hand(w, x, lambda x: x)


# A step whose optimizer state is split, with clipping.


def updated(w, g, mu, nu, norm):
    g = g * jnp.minimum(1.0, 1.0 / (norm + 1e-6))
    mu, nu = 0.9 * mu + 0.1 * g, 0.99 * nu + 0.01 * g * g
    return mu / (jnp.sqrt(nu) + 1e-8), mu, nu


def gradient(w, x, y):
    return jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w)


def step(w, x, y, mu, nu):
    g = gradient(w, x, y)
    up, mu, nu = updated(w, g, mu, nu, jnp.sqrt(jnp.sum(g * g)))
    return w - 1e-3 * up, mu, nu


ZERO = (P(), P("d"), P("d"), P("d"), P("d")), (P(), P("d"), P("d")), (8, 6), (8, 8), (8, 6), (8, 6), (8, 6)


def split_step(w, x, y, mu, nu, total):
    g = lax.psum_scatter(gradient(w, x, y), "d", scatter_dimension=0, tiled=True) / lax.axis_size("d")
    up, mu, nu = updated(w, g, mu, nu, jnp.sqrt(total(jnp.sum(g * g))))
    return w - 1e-3 * gather(up, "d", 0), mu, nu


@pair("visitors_zero", step, *ZERO)
def _(w, x, y, mu, nu):
    return split_step(w, x, y, mu, nu, lambda s: lax.psum(s, "d"))


@pair("visitors_zero_own_norm", step, *ZERO, bug="C11 each rank clips by the norm of its own part")
def _(w, x, y, mu, nu):
    return split_step(w, x, y, mu, nu, lambda s: s)


# Statistics of a batch.


def normed(x, mean, var, g, b):
    return jax.vmap(lambda row: (row - mean) / jnp.sqrt(var + 1e-5) * g + b)(x)


def batch_norm(x, g, b):
    return normed(x, x.mean(0), x.var(0), g, b)


NORM = (P("d"), P(), P()), P("d"), (8, 6), (6,), (6,)


@pair("visitors_batch_norm", batch_norm, *NORM)
def _(x, g, b):
    mean = lax.pmean(x.mean(0), "d")
    return normed(x, mean, lax.pmean(((x - mean) ** 2).mean(0), "d"), g, b)


@pair("visitors_batch_norm_own_mean", batch_norm, *NORM, bug="C7 the variance is about each rank's own mean")
def _(x, g, b):
    return normed(x, lax.pmean(x.mean(0), "d"), lax.pmean(x.var(0), "d"), g, b)


# Attention with the sequence split.


def attention(q, k, v, start=0):
    s = jnp.einsum("bthd,bshd->bhts", q, k) / np.sqrt(q.shape[-1])
    seen = start + jnp.arange(q.shape[1])[:, None] >= jnp.arange(k.shape[1])
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(jnp.where(seen, s, -jnp.inf)), v)


HEADS = (P("d", "t"),) * 3, P("d", "t"), *((4, 8, 4, 6),) * 3


@pair("visitors_ulysses", attention, *HEADS)
def _(q, k, v):
    to_heads = [lax.all_to_all(x, "t", split_axis=2, concat_axis=1, tiled=True) for x in (q, k, v)]
    return lax.all_to_all(attention(*to_heads), "t", split_axis=1, concat_axis=2, tiled=True)


@pair("visitors_context", attention, *HEADS)
def _(q, k, v):
    return attention(q, gather(k, "t", 1), gather(v, "t", 1), lax.axis_index("t") * q.shape[1])


@pair("visitors_context_own_positions", attention, *HEADS, bug="C9 the mask counts from 0 on each rank")
def _(q, k, v):
    return attention(q, gather(k, "t", 1), gather(v, "t", 1))


# A cache that is written at a position of each row; sums along a dim; a recurrent net.


def cached(cache, new, at):
    return cache.at[jnp.arange(cache.shape[0]), at].set(new)


CACHE = (P("d", None, "t"), P("d", "t"), P("d")), P("d", None, "t"), (4, 5, 8), (4, 8), ids(4)


@pair("visitors_cache", cached, *CACHE)
def _(cache, new, at):
    return cached(cache, new, at)


@pair("visitors_cache_added", cached, *CACHE, bug="an entry is added to, where it is to be written")
def _(cache, new, at):
    return cache.at[jnp.arange(cache.shape[0]), at].add(new)


@pair("visitors_running_sum_of_a_block", lambda x: lax.cumlogsumexp(x, 1), P("d", "t"), P("d", "t"), (4, 8),
      bug="C9 the sum begins anew on each rank")
def _(x):
    return lax.cumlogsumexp(x, 1)


def recurrent(x, enter, turn, whole=lambda h: h):
    def one(h, row):
        h = jnp.tanh(row @ enter + whole(h) @ turn)
        return h, h
    return lax.scan(one, jnp.zeros((x.shape[0], turn.shape[1])), x.swapaxes(0, 1))[1]


RNN = (P("d"), P(None, "t"), P(None, "t")), P(None, "d", "t"), (8, 5, 6), (6, 8), (8, 8)


@pair("visitors_rnn", recurrent, *RNN)
def _(x, enter, turn):
    return recurrent(x, enter, turn, lambda h: gather(h, "t", 1))


@pair("visitors_rnn_own_state", recurrent, *RNN, bug="C1 the state of the first devices is used, not gathered")
def _(x, enter, turn):
    return recurrent(x, enter, turn[:turn.shape[1]])


def adapted(x, w, a, b):
    return x @ w + (x @ a) @ b * 2.0


LORA = (P("d", "t"), P("t"), P("t"), P()), P("d"), (8, 8), (8, 6), (8, 3), (3, 6)


@pair("visitors_lora", adapted, *LORA)
def _(x, w, a, b):
    return lax.psum(adapted(x, w, a, b), "t")


@pair("visitors_lora_counted_twice", adapted, *LORA, bug="C2 the adapter is summed twice")
def _(x, w, a, b):
    return lax.psum(x @ w + lax.psum(x @ a, "t") @ b * 2.0, "t")
