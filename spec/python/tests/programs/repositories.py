"""Programs as repositories have them: Levanter's ALiBi, MLA of DeepSeek, routers by segment_sum, kernels with a backward by hand,
chains of optax, state-space scans, CLIP's loss, Muon."""
import functools

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import PartitionSpec as P

from . import gather, ids, pair


def rms(x, scale):
    return x * lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-6) * scale


# ALiBi: the slope of a head is of its number among all heads.

def alibi(q, k, v, first=0, heads=8):
    slopes = 2.0 ** (-8.0 * (jnp.arange(q.shape[2]) + first + 1) / heads)
    at = jnp.arange(q.shape[1])
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    s = s - slopes[:, None, None] * jnp.abs(at[:, None] - at[None, :])
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1), v)


ALIBI = alibi, (P("d", None, "t"),) * 3, P("d", None, "t"), *[(4, 6, 8, 5)] * 3


@pair("alibi", *ALIBI)
def _(q, k, v):
    return alibi(q, k, v, lax.axis_index("t") * q.shape[2])


@pair("alibi_of_own_heads", *ALIBI, bug="each device's slopes begin with those of head 0")
def _(q, k, v):
    return alibi(q, k, v)


# Multi-head latent attention.

def mla(x, p):
    n = p["up_k"].shape[1]
    latent = rms(x @ p["down"], p["norm"])
    q = jnp.einsum("blm,mhd->blhd", x, p["q"])
    q, q_rope = jnp.split(q, [4], -1)
    k, v = (jnp.einsum("blc,chd->blhd", latent, p[name]) for name in ("up_k", "up_v"))
    k_rope = jnp.broadcast_to((x @ p["k_rope"])[:, :, None], (*x.shape[:2], n, p["k_rope"].shape[1]))
    s = jnp.einsum("bqhd,bkhd->bhqk", jnp.concatenate([q, q_rope], -1), jnp.concatenate([k, k_rope], -1))
    at = jnp.arange(x.shape[1])
    s = jnp.where(at[:, None] >= at, s / 6 ** 0.5, -1e10)
    return jnp.einsum("bhqk,bkhd,hdm->bqm", jax.nn.softmax(s, -1), v, p["o"])


MLA = mla, (P("d"), {"down": P(), "norm": P(), "q": P(None, "t"), "up_k": P(None, "t"), "up_v": P(None, "t"), "k_rope": P(), "o": P("t")}), \
    P("d"), (4, 5, 9), {"down": (9, 7), "norm": (7,), "q": (9, 8, 6), "up_k": (7, 8, 4), "up_v": (7, 8, 3), "k_rope": (9, 2), "o": (8, 3, 9)}


@pair("latent_attention", *MLA)
def _(x, p):
    return lax.psum(mla(x, p), "t")


@pair("latent_attention_averaged", *MLA, bug="the heads' outputs are averaged, not added")
def _(x, p):
    return lax.pmean(mla(x, p), "t")


# A kernel with a backward by hand, as Liger and Transformer Engine have them.

@jax.custom_vjp
def fused_rms(x, scale):
    return rms(x, scale)


def fused_rms_forward(x, scale):
    r = lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    return x * r * scale, (x, r, scale)


def fused_rms_backward(kept, g):
    x, r, scale = kept
    gs = g * scale
    return r * (gs - x * r * r * jnp.mean(gs * x, -1, keepdims=True)), jnp.sum(g * x * r, tuple(range(g.ndim - 1)))


fused_rms.defvjp(fused_rms_forward, fused_rms_backward)


def norm_loss(norm, x, scale, w):
    return jnp.mean(jnp.square(norm(x, scale) @ w))


NORM = jax.grad(functools.partial(norm_loss, rms), (1, 2)), (P("d"), P(), P(None, "t")), (P(), P(None, "t")), (4, 6, 9), (9,), (9, 8)


def fused_gradients(x, scale, w, axes):
    scale, w = lax.psum(0.0, ()) + scale, w
    of_scale, of_w = jax.grad(functools.partial(norm_loss, fused_rms), (1, 2))(x, scale, w)
    n = lax.axis_size("d") * lax.axis_size("t")
    return lax.psum(of_scale, axes) / n, lax.psum(of_w, "d") / n


@pair("kernel_with_a_backward", *NORM)
def _(x, scale, w):
    return fused_gradients(x, scale, w, ("d", "t"))


@pair("kernel_whose_scale_is_summed_over_batches", *NORM, bug="C2 the gradient of the norm's scale is not summed over t")
def _(x, scale, w):
    return fused_gradients(x, scale, w, ("d",))


# A router whose experts' outputs are added to their tokens by segment_sum.

def routed(x, w, expert, token, weight):
    """Each entry names a token, its expert and the weight of what that computes."""
    y = jnp.einsum("sm,smf->sf", x[token], w[expert]) * weight[:, None]
    return jax.ops.segment_sum(y, token, num_segments=x.shape[0])


ROUTED = routed, (P(), P("t"), P(), P(), P()), P(), (6, 5), (8, 5, 7), ids(10), ids(10), (10,)


def routed_on_experts(x, w, expert, token, weight):
    mine = expert - lax.axis_index("t") * w.shape[0]
    here = (mine >= 0) & (mine < w.shape[0])
    of_expert = jnp.where(here[:, None, None], w[jnp.where(here, mine, 0)], 0.0)
    y = jnp.einsum("sm,smf->sf", x[token], of_expert) * weight[:, None]
    return jax.ops.segment_sum(y, token, num_segments=x.shape[0])


@pair("experts_by_segments", *ROUTED)
def _(*args):
    return lax.psum(routed_on_experts(*args), "t")


@pair("experts_by_segments_the_largest", *ROUTED, bug="the largest of the experts' outputs, not their sum")
def _(*args):
    return lax.pmax(routed_on_experts(*args), "t")


# Names that checkpoint keeps.

def named_block(x, w):
    h = checkpoint_name(jax.nn.gelu(x @ w["up"]), "hidden")
    return x + checkpoint_name(h @ w["down"], "out")


def named_loss(w, x):
    return jnp.mean(jnp.square(jax.checkpoint(named_block, policy=jax.checkpoint_policies.save_only_these_names("hidden"))(x, w)))


NAMED = jax.value_and_grad(named_loss), ({"up": P(None, "t"), "down": P("t")}, P("d")), (P(), {"up": P(None, "t"), "down": P("t")}), \
    {"up": (6, 8), "down": (8, 6)}, (4, 5, 6)


def block_on_mesh(x, w):
    h = checkpoint_name(jax.nn.gelu(x @ w["up"]), "hidden")
    return x + checkpoint_name(lax.psum(h @ w["down"], "t"), "out")


def named_step(w, x, mean):
    def loss(w):
        y = jax.checkpoint(block_on_mesh, policy=jax.checkpoint_policies.save_only_these_names("hidden"))(x, w)
        return mean(jnp.mean(jnp.square(y)))
    return jax.value_and_grad(loss)(w)


@pair("checkpoint_of_names", *NAMED, vma=True)
def _(w, x):
    return named_step(w, x, lambda y: lax.pmean(y, "d"))


@pair("checkpoint_of_names_summed", *NAMED, vma=True, bug="the batches' means are added")
def _(w, x):
    return named_step(w, x, lambda y: lax.psum(y, "d"))


# A chain of optax with gradients of accumulated microbatches.

CHAIN = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(), optax.add_decayed_weights(0.1), optax.scale(-1e-2))


def accumulated(w, x, loss):
    def step(total, each):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(w, each)), None
    total, _ = lax.scan(step, jax.tree.map(jnp.zeros_like, w), x)
    return jax.tree.map(lambda g: g / x.shape[0], total)


def two_layers(w, x):
    return jnp.mean(jnp.square(jnp.tanh(x @ w["a"]) @ w["b"]))


def chained(w, x):
    updates, _ = CHAIN.update(accumulated(w, x, two_layers), CHAIN.init(w), w)
    return optax.apply_updates(w, updates)


CHAINED = chained, ({"a": P(), "b": P()}, P(None, "d")), {"a": P(), "b": P()}, {"a": (6, 7), "b": (7, 5)}, (3, 4, 6)


def chained_on_mesh(w, x, mean_first):
    g = accumulated(w, x, two_layers)
    if mean_first:
        g = lax.pmean(g, "d")
    updates, _ = CHAIN.update(g, CHAIN.init(w), w)
    return optax.apply_updates(w, updates if mean_first else lax.pmean(updates, "d"))


@pair("chain_of_accumulated_gradients", *CHAINED)
def _(w, x):
    return chained_on_mesh(w, x, True)


@pair("chain_averaged_after_its_clip", *CHAINED, bug="E each device clips and scales its own gradient, then updates are averaged")
def _(w, x):
    return chained_on_mesh(w, x, False)


# A state-space layer: its channels are split, its scan is along the sequence.

def ssm(x, a, b, c):
    """h' = sigmoid(a) h + b x along the sequence, y = c h summed over states."""
    decay = jax.nn.sigmoid(a)

    def step(h, x):
        h = decay * h + b * x[..., None]
        return h, jnp.einsum("bfn,fn->bf", h, c)
    h = jnp.zeros((x.shape[0], *a.shape))
    return lax.scan(step, h, x.swapaxes(0, 1))[1].swapaxes(0, 1)


SSM = ssm, (P("d", None, "t"), *[P("t")] * 3), P("d", None, "t"), (4, 6, 8), *[(8, 3)] * 3


@pair("state_space", *SSM)
def _(x, a, b, c):
    return ssm(x, a, b, c)


@pair("state_space_of_parts_of_the_sequence", ssm, (P("d", "t"), P(), P(), P()), P("d", "t"), *[(4, 8, 8)], *[(8, 3)] * 3,
      bug="each device begins with the state 0")
def _(x, a, b, c):
    return ssm(x, a, b, c)


# CLIP: features of all devices are gathered, and labels are their own rows.

def clip_loss(a, b, scale):
    a, b = (x / jnp.linalg.norm(x, axis=-1, keepdims=True) for x in (a, b))
    z = jnp.exp(scale) * a @ b.T
    label = jnp.arange(z.shape[0])
    return (optax.softmax_cross_entropy_with_integer_labels(z, label).mean()
            + optax.softmax_cross_entropy_with_integer_labels(z.T, label).mean()) / 2


CLIP = clip_loss, (P("d"), P("d"), P()), P(), (8, 5), (8, 5), ()


def clip_on_mesh(a, b, scale, first):
    a, b = (x / jnp.linalg.norm(x, axis=-1, keepdims=True) for x in (a, b))
    label = first + jnp.arange(a.shape[0])
    one, two = (jnp.exp(scale) * x @ gather(y, "d", 0).T for x, y in ((a, b), (b, a)))
    each = [optax.softmax_cross_entropy_with_integer_labels(z, label).mean() for z in (one, two)]
    return lax.pmean(sum(each) / 2, "d")


@pair("clip_of_gathered_features", *CLIP)
def _(a, b, scale):
    return clip_on_mesh(a, b, scale, lax.axis_index("d") * a.shape[0])


@pair("clip_with_labels_of_the_first_device", *CLIP, bug="C9 labels of rows of the first device")
def _(a, b, scale):
    return clip_on_mesh(a, b, scale, 0)


# Muon: the momentum is made orthogonal as a whole.

def orthogonal(m):
    m = m / (jnp.linalg.norm(m) + 1e-7)
    for _ in range(2):
        a = m @ m.T
        m = 3.4445 * m + (-4.7750 * a + 2.0315 * a @ a) @ m
    return m


MUON = (lambda w, g, m: w - 0.02 * orthogonal(0.95 * m + g)), (P("t"),) * 3, P("t"), *[(8, 6)] * 3


@pair("muon_gathered", *MUON)
def _(w, g, m):
    whole = orthogonal(gather(0.95 * m + g, "t", 0))
    return w - 0.02 * lax.dynamic_slice_in_dim(whole, lax.axis_index("t") * w.shape[0], w.shape[0], 0)


@pair("muon_of_parts", *MUON, bug="each device makes its own rows orthogonal")
def _(w, g, m):
    return w - 0.02 * orthogonal(0.95 * m + g)


# A branch on the step, with heads by vmap.

def scheduled(x, q, k, step):
    def head(q, k):
        s = (x @ q) @ (x @ k).T
        return jax.nn.softmax(lax.cond(step < 100, lambda s: s / 10.0, lambda s: s / jnp.sqrt(q.shape[1]), s), -1) @ x
    return jax.vmap(head, in_axes=(1, 1), out_axes=1)(q, k).mean(1)


SCHEDULED = scheduled, (P(), P(None, "t"), P(None, "t"), P()), P(), (6, 5), (5, 8, 3), (5, 8, 3), ids()


@pair("heads_by_vmap_and_a_branch", *SCHEDULED)
def _(x, q, k, step):
    return lax.pmean(scheduled(x, q, k, step), "t")


@pair("heads_by_vmap_added", *SCHEDULED, bug="the devices' means are added")
def _(x, q, k, step):
    return lax.psum(scheduled(x, q, k, step), "t")
