"""Programs that are proved device by device: partial softmaxes that are merged, products in rings, halos, gradients of pipelines."""
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, PartitionSpec as P

from . import gather, pair

RING = [(i, (i + 1) % 4) for i in range(4)]

# Attention over keys that are split


def decode(q, k, v):
    s = jnp.einsum("bhd,bkhd->bhk", q, k) * 0.25
    return jnp.einsum("bhk,bkhd->bhd", jax.nn.softmax(s, -1), v)


DECODE = (P("d"), P("d", "t"), P("d", "t")), P("d"), (4, 3, 8), (4, 16, 3, 8), (4, 16, 3, 8)


def partial_softmax(q, k, v):
    """Of a device's keys: their maximum, the sum of weights, and of weighted values."""
    s = jnp.einsum("bhd,bkhd->bhk", q, k) * 0.25
    m = s.max(-1)
    p = jnp.exp(s - m[..., None])
    return m, p.sum(-1), jnp.einsum("bhk,bkhd->bhd", p, v)


@pair("flash_decoding", decode, *DECODE)
def _rescaled(q, k, v):
    m, total, out = partial_softmax(q, k, v)
    c = jnp.exp(m - lax.pmax(m, "t"))
    return lax.psum(out * c[..., None], "t") / lax.psum(total * c, "t")[..., None]


@pair("flash_decoding_of_gathered_logsumexp", decode, *DECODE)
def _merged(q, k, v):
    m, total, out = partial_softmax(q, k, v)
    lse = m + jnp.log(total)
    weight = jnp.exp(lse - jax.nn.logsumexp(lax.all_gather(lse, "t"), 0))
    return lax.psum(out / total[..., None] * weight[..., None], "t")


@pair("flash_decoding_not_rescaled", decode, *DECODE, bug="C7 each device subtracts its own maximum")
def _not_rescaled(q, k, v):
    _, total, out = partial_softmax(q, k, v)
    return lax.psum(out, "t") / lax.psum(total, "t")[..., None]


@pair("flash_decoding_rescaled_once", decode, *DECODE, bug="C7 the sum of weights is not rescaled")
def _half_rescaled(q, k, v):
    m, total, out = partial_softmax(q, k, v)
    c = jnp.exp(m - lax.pmax(m, "t"))
    return lax.psum(out * c[..., None], "t") / lax.psum(total, "t")[..., None]


# Products whose operands arrive by a ring


def product(x, w):
    return x @ w


def gathered_in_ring(x, w, way):
    rank, rows = lax.axis_index("t"), x.shape[0]
    y = jnp.zeros((4 * rows, w.shape[1]))
    for k in range(4):
        y = lax.dynamic_update_slice_in_dim(y, x @ w, (rank - way * k) % 4 * rows, 0)
        x = lax.ppermute(x, "t", RING)
    return y


GATHERED = (P("t"), P(None, "t")), P(None, "t"), (16, 8), (8, 12)


@pair("ring_that_gathers_rows", product, *GATHERED)
def _gathered(x, w):
    return gathered_in_ring(x, w, 1)


@pair("ring_that_writes_at_the_wrong_rows", product, *GATHERED, bug="blocks come from the other neighbour")
def _gathered_wrong(x, w):
    return gathered_in_ring(x, w, -1)


def scattered_in_ring(x, w, first):
    rank, rows = lax.axis_index("t"), x.shape[0] // 4
    total = jnp.zeros((rows, w.shape[1]))
    for k in range(4):
        total = lax.ppermute(total, "t", RING)
        total = total + lax.dynamic_slice_in_dim(x, (rank + first - k) % 4 * rows, rows, 0) @ w
    return total


SCATTERED = (P(None, "t"), P("t")), P("t"), (16, 8), (8, 12)


@pair("ring_that_scatters_sums", product, *SCATTERED)
def _scattered(x, w):
    return scattered_in_ring(x, w, -1)


@pair("ring_that_scatters_to_the_neighbour", product, *SCATTERED, bug="the sums end one device on")
def _scattered_wrong(x, w):
    return scattered_in_ring(x, w, 0)


# Windows at the edges of blocks


def convolved(x, w, padding="SAME"):
    return lax.conv_general_dilated(x, w, (1,), padding, dimension_numbers=("NWC", "WIO", "NWC"))


CONVOLVED = (P("d", "t"), P()), P("d", "t"), (4, 16, 3), (3, 3, 5)


@pair("convolution_of_gathered_rows", convolved, *CONVOLVED)
def _own_rows(x, w):
    rows = x.shape[1]
    x = jnp.pad(gather(x, "t", 1), ((0, 0), (1, 1), (0, 0)))
    return convolved(lax.dynamic_slice_in_dim(x, lax.axis_index("t") * rows, rows + 2, 1), w, "VALID")


@pair("convolution_without_a_halo", convolved, *CONVOLVED, bug="windows at the edges of a block miss the neighbour's rows")
def _no_halo(x, w):
    return convolved(x, w)


# Pipelines whose microbatches are stacked, and their gradients

STAGES = AbstractMesh((4,), ("p",))


def layers(w, x):
    return jnp.mean(lax.scan(lambda h, a: (jnp.tanh(h @ a), None), x.reshape(-1, x.shape[-1]), w)[0] ** 2)


def ticks(w, x, last=3):
    stage, h, outs = lax.axis_index("p"), jnp.zeros_like(x[0]), []
    for t in range(len(x) + 3):
        h = jnp.tanh(jnp.where(stage == 0, x[min(t, len(x) - 1)], h) @ w[0])
        if t >= 3:
            outs.append(h)
        h = lax.ppermute(h, "p", RING)
    return lax.psum(jnp.where(stage == last, jnp.mean(jnp.stack(outs) ** 2), 0.0), "p")


PIPED = (P("p"), P()), P(), (4, 6, 6), (3, 5, 6)


@pair("pipeline_of_stacked_microbatches", layers, *PIPED, mesh=STAGES)
def _piped(w, x):
    return ticks(w, x)


@pair("pipeline_that_ends_one_stage_early", layers, *PIPED, mesh=STAGES, bug="the loss is taken from the last stage but one")
def _early(w, x):
    return ticks(w, x, 2)


PIPED_GRADIENT = (P("p"), P()), P("p"), (4, 6, 6), (3, 5, 6)


@pair("gradient_inside_of_a_pipeline", jax.grad(layers), *PIPED_GRADIENT, mesh=STAGES)
def _gradient(w, x):
    return jax.grad(ticks)(w, x) / 4  # without vma the psum's gradient is a psum


@pair("gradient_of_a_pipeline_four_times", jax.grad(layers), *PIPED_GRADIENT, mesh=STAGES,
      bug="C3 without vma the gradient of a psum is a psum")
def _gradient_wrong(w, x):
    return jax.grad(ticks)(w, x)


# Blocks go around one axis; the others stay axes of a plan

BESIDE = AbstractMesh((2, 2, 4), ("d", "t", "c"))
HEADS, OUT, ROWS = P("d", "c", "t"), P("t"), P("d", "c")


def attended(q, k, v):
    return jnp.einsum("bhlm,bmhe->blhe", jax.nn.softmax(jnp.einsum("blhe,bmhe->bhlm", q, k) * 0.5, -1), v)


def around(q, k, v, shift=lax.stop_gradient):
    """Ring attention, whose gradient is JAX's own."""
    m, z, o = jnp.full((*q.shape[:3], 1), -jnp.inf), jnp.zeros((*q.shape[:3], 1)), jnp.zeros_like(q)

    def step(carry, _):
        k, v, m, z, o = carry
        s = jnp.einsum("blhe,bmhe->blhm", q, k) * 0.5
        following = shift(jnp.maximum(m, s.max(-1, keepdims=True)))
        p, before = jnp.exp(s - following), jnp.exp(m - following)
        z, o = z * before + p.sum(-1, keepdims=True), o * before + jnp.einsum("blhm,bmhe->blhe", p, v)
        return (*lax.ppermute((k, v), "c", RING), following, z, o), None
    *_, z, o = lax.scan(step, (k, v, m, z, o), None, length=lax.axis_size("c"))[0]
    return o / z


def with_gradients(attention, summed=lambda y, w: (y, w)):
    def body(q, k, v, w, g):
        y, back = jax.vjp(lambda q, k, v, w: jnp.einsum("blhe,hem->blm", attention(q, k, v), w), q, k, v, w)
        *others, dw = back(g)
        y, dw = summed(y, dw)
        return y, *others, dw
    return body


def beside(name, summed, bug="", attention=around):
    pair(name, with_gradients(attended), (HEADS,) * 3 + (OUT, ROWS), (ROWS,) + (HEADS,) * 3 + (OUT,),
         *((2, 8, 2, 3),) * 3, (2, 3, 5), (2, 8, 5), mesh=BESIDE, bug=bug)(with_gradients(attention, summed))


def each_once(y, w):
    return lax.psum(y, "t"), lax.psum(w, ("d", "c"))


beside("gradient_of_a_ring_beside_heads", each_once)
beside("gradient_of_a_ring_through_its_maximum", each_once, attention=lambda *of: around(*of, shift=lambda m: m))
beside("gradient_of_a_ring_summed_over_batches_alone", lambda y, w: (lax.psum(y, "t"), lax.psum(w, "d")),
       "C5 the gradient of the projection is not summed over the ring")
beside("gradient_of_a_ring_averaged", lambda y, w: (lax.pmean(y, "t"), lax.psum(w, ("d", "c"))), "C3 average instead of sum")
