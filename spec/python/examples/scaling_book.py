"""A Transformer layer as in "How to scale your model": activations B/X D/Y between the blocks, FSDP over X,
Megatron's tensor parallelism over Y."""
import jax
import jax.numpy as jnp
import shardproof
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

mesh = AbstractMesh((2, 4), ("X", "Y"))


def attend(q, k, v):
    s = jnp.einsum("btnh,bsnh->bnts", q, k) * q.shape[-1] ** -0.5
    causal = jnp.tril(jnp.ones((q.shape[1], q.shape[1]), bool))
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(jnp.where(causal, s, -1e9), -1), v)


def layer(x, wq, wk, wv, wo, win, wout):
    q, k, v = (jnp.einsum("btd,dnh->btnh", x, w) for w in (wq, wk, wv))
    x = x + jnp.einsum("btnh,nhd->btd", attend(q, k, v), wo)
    return x + jnp.einsum("btf,fd->btd", jax.nn.gelu(jnp.einsum("btd,df->btf", x, win)), wout)


def gather(x, axis, dim):
    return lax.all_gather(x, axis, axis=dim, tiled=True)


@shardproof.implements(layer, (4, 6, 16), *[(16, 8, 5)] * 3, (8, 5, 16), (16, 32), (32, 16),
                       dims=("B T D", "D N H", "D N H", "D N H", "N H D", "D F", "F D"))
@jax.shard_map(mesh=mesh, out_specs=P("X", None, "Y"),
               in_specs=(P("X", None, "Y"), *[P("X", "Y", None)] * 3, P("Y", None, "X"), P("X", "Y"),
                         P("Y", "X")))
def layer_sharded(x, wq, wk, wv, wo, win, wout):
    full = gather(x, "Y", 2)
    q, k, v = (jnp.einsum("btd,dnh->btnh", full, gather(w, "X", 0)) for w in (wq, wk, wv))
    o = jnp.einsum("btnh,nhd->btd", attend(q, k, v), gather(wo, "X", 2))
    x = x + lax.psum_scatter(o, "Y", scatter_dimension=2, tiled=True)
    h = jax.nn.gelu(jnp.einsum("btd,df->btf", gather(x, "Y", 2), gather(win, "X", 0)))
    o = jnp.einsum("btf,fd->btd", h, gather(wout, "X", 1))
    return x + lax.psum_scatter(o, "Y", scatter_dimension=2, tiled=True)
