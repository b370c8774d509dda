"""The networks of JAX's shard_map tutorial: data parallel, FSDP, tensor parallel, and both; losses and
gradients. https://docs.jax.dev/en/latest/notebooks/shard_map.html"""
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

mesh = AbstractMesh((2, 4), ("batch", "feats"))


def predict(params, x):
    for w, b in params:
        out = x @ w + b
        x = jax.nn.relu(out)
    return out


def loss(params, x, y):
    return jnp.mean(jnp.sum((predict(params, x) - y) ** 2, axis=-1))


# Data parallel: the batch is split, parameters are copies.


def loss_dp(params, x, y):
    return lax.pmean(jnp.mean(jnp.sum((predict(params, x) - y) ** 2, axis=-1)), "batch")


# FSDP: parameters are split as well, and gathered layer by layer.


def predict_fsdp(params, x):
    for w, b in params:
        w = lax.all_gather(w, "batch", axis=0, tiled=True)
        b = lax.all_gather(b, "batch", axis=0, tiled=True)
        out = x @ w + b
        x = jax.nn.relu(out)
    return out


def loss_fsdp(params, x, y):
    return lax.pmean(jnp.mean(jnp.sum((predict_fsdp(params, x) - y) ** 2, axis=-1)), "batch")


# Tensor parallel: features are split, products are scattered.


def layer_tp(x, w, b):
    return lax.psum_scatter(x @ w, "feats", scatter_dimension=1, tiled=True) + b


def predict_tp(params, x):
    for w, b in params:
        out = layer_tp(x, w, b)
        x = jax.nn.relu(out)
    return out


def loss_tp(params, x, y):
    return lax.psum(jnp.mean(jnp.sum((predict_tp(params, x) - y) ** 2, axis=-1)), "feats")


# FSDP over the batch and tensor parallel over the features.


def predict_both(params, x):
    for w, b in params:
        w = lax.all_gather(w, "batch", axis=1, tiled=True)
        b = lax.all_gather(b, "batch", axis=0, tiled=True)
        out = lax.psum_scatter(x @ w, "feats", scatter_dimension=1, tiled=True) + b
        x = jax.nn.relu(out)
    return out


def loss_both(params, x, y):
    part = jnp.mean(jnp.sum((predict_both(params, x) - y) ** 2, axis=-1))
    return lax.pmean(lax.psum(part, "feats"), "batch")


def on_mesh(function, layer, data, out=P()):
    return jax.shard_map(function, mesh=mesh, in_specs=([layer] * 3, data, data), out_specs=out)


SPECS = {"dp": (loss_dp, (P(None, None), P(None)), P("batch", None)),
         "fsdp": (loss_fsdp, (P("batch", None), P("batch")), P("batch", None)),
         "tp": (loss_tp, (P("feats", None), P("feats")), P(None, "feats")),
         "both": (loss_both, (P("feats", "batch"), P(("feats", "batch"))), P("batch", "feats"))}
sizes = [16, 24, 32, 40]
shapes = ([(jax.ShapeDtypeStruct((m, n), "float32"), jax.ShapeDtypeStruct((n,), "float32"))
           for m, n in zip(sizes, sizes[1:])], (8, 16), (8, 40))


def losses(kind):
    """The model and the sharded loss."""
    return loss, on_mesh(*SPECS[kind])


def gradients(kind):
    """Their gradients, outside of shard_map: what runs is what JAX makes of it."""
    return jax.grad(loss), jax.grad(on_mesh(*SPECS[kind]))
