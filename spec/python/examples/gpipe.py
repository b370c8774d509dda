"""A language model's loss in a pipeline as JAX users write it: a scan over ticks, in which each stage of p
sends what it gives to the next one. The batch is split over d, the layers' weights over t."""
import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

mesh = AbstractMesh((2, 2, 2), ("d", "p", "t"))


def token_loss(x, table, targets):
    z = x @ table.T
    at = jnp.take_along_axis(z, targets[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(z, -1) - at)


def layer(x, w):
    return x + jnp.tanh(x @ w["a"]) @ w["b"]


def loss(w, table, ids, targets):
    """ids and targets: [microbatch, batch, length]."""
    def of_microbatch(each):
        x, _ = lax.scan(lambda x, w: (layer(x, w), None), table[each[0]], w)
        return token_loss(x, table, each[1])

    return lax.map(of_microbatch, (ids, targets)).mean()


def layer_on_mesh(x, w):
    return x + lax.psum(jnp.tanh(x @ w["a"]) @ w["b"], "t")


def loss_on_mesh(w, table, ids, targets):
    stage, stages, count = lax.axis_index("p"), lax.axis_size("p"), ids.shape[0]

    def tick(carry, t):
        received, total = carry
        entering = table[ids[jnp.clip(t, 0, count - 1)]]
        x = jnp.where(stage == 0, entering, received)
        x, _ = lax.scan(lambda x, w: (layer_on_mesh(x, w), None), x, w)
        done = t - (stages - 1)
        here = token_loss(x, table, targets[jnp.clip(done, 0, count - 1)])
        total = total + jnp.where((stage == stages - 1) & (done >= 0), here, 0.0)
        return (lax.ppermute(x, "p", [(i, i + 1) for i in range(stages - 1)]), total), None

    nothing = jnp.zeros((*ids.shape[1:], table.shape[1]))
    (_, total), _ = lax.scan(tick, (nothing, jnp.zeros(())), jnp.arange(count + stages - 1))
    return lax.pmean(lax.psum(total / count, "p"), "d")


weights = {"a": P("p", None, "t"), "b": P("p", "t", None)}
on_mesh = functools.partial(jax.shard_map, mesh=mesh, out_specs=P(), check_vma=False,
                            in_specs=(weights, P(), P(None, "d"), P(None, "d")))
loss_sharded = on_mesh(loss_on_mesh)


def of(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, dtype)


tokens = of(6, 4, 5, dtype="int32")
arguments = ({"a": of(4, 8, 12), "b": of(4, 12, 8)}, of(16, 8), tokens, tokens)
dims = ({"a": "N M F", "b": "N F M"}, "V M", "A B L", "A B L")
