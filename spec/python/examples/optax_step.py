"""A training step with optax: clipping by the global norm and AdamW, data parallel over d."""
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

mesh = AbstractMesh((4,), ("d",))
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, weight_decay=0.1))


def loss(w, x, y):
    return jnp.mean((jnp.tanh(x @ w["a"]) @ w["b"] - y) ** 2)


def step(w, state, x, y):
    value, g = jax.value_and_grad(loss)(w, x, y)
    updates, state = optimizer.update(g, state, w)
    return optax.apply_updates(w, updates), state, value


def body(w, state, x, y):
    value, g = jax.value_and_grad(loss)(w, x, y)
    value, g = lax.pmean((value, g), "d")
    updates, state = optimizer.update(g, state, w)
    return optax.apply_updates(w, updates), state, value


step_sharded = jax.shard_map(body, mesh=mesh, in_specs=(P(), P(), P("d", None), P("d", None)),
                             out_specs=(P(), P(), P()), check_vma=False)
weights = {"a": jax.ShapeDtypeStruct((6, 10), "float32"), "b": jax.ShapeDtypeStruct((10, 3), "float32")}
arguments = (weights, jax.eval_shape(optimizer.init, weights), (8, 6), (8, 3))
