"""A Llama training step in plain JAX, and the same with FSDP over d and tensor parallelism over t:
layers in a scan, vocabulary split over t, gradients, clipping by the global norm and AdamW."""
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

mesh = AbstractMesh((2, 4), ("d", "t"))


def rms_norm(x, gain):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * gain


def rope(x):
    """x: [batch, length, heads.., depth]."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    angle = angle.reshape(1, x.shape[1], *[1] * (x.ndim - 3), half)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle),
                            b * jnp.cos(angle) + a * jnp.sin(angle)], -1)


def attention(q, k, v):
    """q: [b, l, k, g, d], k and v: [b, l, k, d]."""
    s = jnp.einsum("bqkgd,bpkd->bkgqp", rope(q), rope(k)) / jnp.sqrt(1.0 * q.shape[-1])
    length = q.shape[1]
    causal = jnp.arange(length)[:, None] >= jnp.arange(length)[None, :]
    p = jax.nn.softmax(jnp.where(causal, s, -1e10), -1)
    return jnp.einsum("bkgqp,bpkd->bqkgd", p, v)


def layer(x, w):
    n = rms_norm(x, w["ln1"])
    q = jnp.einsum("blm,mkgd->blkgd", n, w["q"])
    k = jnp.einsum("blm,mkd->blkd", n, w["k"])
    v = jnp.einsum("blm,mkd->blkd", n, w["v"])
    x = x + jnp.einsum("blkgd,kgdm->blm", attention(q, k, v), w["o"])
    n = rms_norm(x, w["ln2"])
    h = jax.nn.silu(n @ w["gate"]) * (n @ w["up"])
    return x + h @ w["down"]


def cross_entropy(logits, targets):
    at = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return jax.nn.logsumexp(logits, -1) - at


def loss(w, ids, targets):
    x = w["embed"][ids]
    x, _ = lax.scan(lambda x, l: (layer(x, l), None), x, w["layers"])
    return jnp.mean(cross_entropy(rms_norm(x, w["ln"]) @ w["out"], targets))


def adamw(w, g, m, v, count, lr=1e-3, decay=0.1):
    m = 0.9 * m + 0.1 * g
    v = 0.95 * v + 0.05 * g * g
    mean, root = m / (1 - 0.9 ** count), jnp.sqrt(v / (1 - 0.95 ** count))
    return w - lr * (mean / (root + 1e-8) + decay * w), m, v


def updated(w, g, m, v, count, norm):
    scale = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
    leaves = [jax.tree.leaves(each) for each in (w, g, m, v)]
    new = [adamw(a, b * scale, c, d, count) for a, b, c, d in zip(*leaves)]
    return tuple(jax.tree.unflatten(jax.tree.structure(w), each) for each in zip(*new))


def step(w, m, v, count, ids, targets):
    value, g = jax.value_and_grad(loss)(w, ids, targets)
    norm = jnp.sqrt(sum(jnp.sum(x * x) for x in jax.tree.leaves(g)))
    return value, *updated(w, g, m, v, count, norm)


specs = {"embed": P("t", "d"), "ln": P(None), "out": P("d", "t"),
         "layers": {"ln1": P(None, None), "ln2": P(None, None),
                    "q": P(None, "d", "t", None, None), "k": P(None, "d", "t", None),
                    "v": P(None, "d", "t", None), "o": P(None, "t", None, None, "d"),
                    "gate": P(None, "d", "t"), "up": P(None, "d", "t"), "down": P(None, "t", "d")}}


def gather(x, dim):
    return lax.all_gather(x, "d", axis=dim, tiled=True)


def layer_sharded(x, w):
    n = rms_norm(x, w["ln1"])
    q = jnp.einsum("blm,mkgd->blkgd", n, gather(w["q"], 0))
    k = jnp.einsum("blm,mkd->blkd", n, gather(w["k"], 0))
    v = jnp.einsum("blm,mkd->blkd", n, gather(w["v"], 0))
    o = jnp.einsum("blkgd,kgdm->blm", attention(q, k, v), gather(w["o"], 3))
    x = x + lax.psum(o, "t")
    n = rms_norm(x, w["ln2"])
    h = jax.nn.silu(n @ gather(w["gate"], 0)) * (n @ gather(w["up"], 0))
    return x + lax.psum(h @ gather(w["down"], 1), "t")


def rows(table, ids):
    """Rows of a table that is split over t."""
    n = table.shape[0]
    local = ids - lax.axis_index("t") * n
    here = (local >= 0) & (local < n)
    return lax.psum(jnp.where(here[..., None], table[jnp.where(here, local, 0)], 0.0), "t")


def cross_entropy_sharded(logits, targets):
    n = logits.shape[-1]
    top = lax.pmax(lax.stop_gradient(logits.max(-1)), "t")
    total = lax.psum(jnp.exp(logits - top[..., None]).sum(-1), "t")
    local = targets - lax.axis_index("t") * n
    here = (local >= 0) & (local < n)
    at = jnp.take_along_axis(logits, jnp.where(here, local, 0)[..., None], -1)[..., 0]
    return jnp.log(total) + top - lax.psum(jnp.where(here, at, 0.0), "t")


def loss_sharded(w, ids, targets):
    x = rows(gather(w["embed"], 1), ids)
    x, _ = lax.scan(lambda x, l: (layer_sharded(x, l), None), x, w["layers"])
    losses = cross_entropy_sharded(rms_norm(x, w["ln"]) @ gather(w["out"], 0), targets)
    return lax.pmean(jnp.mean(losses), "d")


def sum_of_squares(x, spec):
    axes = tuple(axis for axis in spec if axis is not None)
    return lax.psum(jnp.sum(x * x), axes) if axes else jnp.sum(x * x)


@jax.shard_map(mesh=mesh, in_specs=(specs, specs, specs, P(), P("d", None), P("d", None)),
               out_specs=(P(), specs, specs, specs))
def step_sharded(w, m, v, count, ids, targets):
    value, g = jax.value_and_grad(loss_sharded)(w, ids, targets)
    norm = jnp.sqrt(sum(sum_of_squares(x, s) for x, s in zip(
        jax.tree.leaves(g), jax.tree.leaves(specs, is_leaf=lambda s: isinstance(s, P)))))
    return value, *updated(w, g, m, v, count, norm)


loss_on_mesh = jax.shard_map(loss_sharded, mesh=mesh, in_specs=(specs, P("d", None), P("d", None)),
                             out_specs=P())

weights = {"embed": (32, 16), "ln": (16,), "out": (16, 32),
           "layers": {"ln1": (3, 16), "ln2": (3, 16), "q": (3, 16, 8, 2, 6), "k": (3, 16, 8, 6),
                      "v": (3, 16, 8, 6), "o": (3, 8, 2, 6, 16), "gate": (3, 16, 20),
                      "up": (3, 16, 20), "down": (3, 20, 16)}}
names = {"embed": "V M", "ln": "M", "out": "M V",
         "layers": {"ln1": "N M", "ln2": "N M", "q": "N M K G D", "k": "N M K D", "v": "N M K D",
                    "o": "N K G D M", "gate": "N M F", "up": "N M F", "down": "N F M"}}


def of(shapes, dtype="float32"):
    return jax.tree.map(lambda s: jax.ShapeDtypeStruct(s, dtype), shapes,
                        is_leaf=lambda s: isinstance(s, tuple))


tokens = jax.ShapeDtypeStruct((4, 5), "int32")
loss_arguments = (of(weights), tokens, tokens)
loss_dims = (names, "B L", "B L")
step_arguments = (of(weights), of(weights), of(weights), jax.ShapeDtypeStruct((), "float32"),
                  tokens, tokens)
step_dims = (names, names, names, "", "B L", "B L")
