"""A feed-forward layer as in JAX's shard_map tutorial: FSDP over d, tensor parallel over t."""
import jax
import jax.numpy as jnp
import shardproof
from jax.sharding import AbstractMesh, PartitionSpec as P

mesh = AbstractMesh((2, 4), ("d", "t"))


def ffn(x, w_in, w_out):
    h = jax.nn.silu(jnp.einsum("blm,mf->blf", x, w_in))
    return x + jnp.einsum("blf,fm->blm", h, w_out)


shapes = ((4, 6, 8), (8, 16), (16, 8))


@shardproof.implements(ffn, *shapes, dims=("B L M", "M F", "F M"))
@jax.shard_map(mesh=mesh, in_specs=(P("d", None, "t"), P("d", "t"), P("t", "d")),
               out_specs=P("d", None, "t"))
def ffn_sharded(x, w_in, w_out):
    w_in = jax.lax.all_gather(w_in, "d", axis=0, tiled=True)
    w_out = jax.lax.all_gather(w_out, "d", axis=1, tiled=True)
    whole = jax.lax.all_gather(x, "t", axis=2, tiled=True)
    h = jax.nn.silu(jnp.einsum("blm,mf->blf", whole, w_in))
    out = jnp.einsum("blf,fm->blm", h, w_out)
    return x + jax.lax.psum_scatter(out, "t", scatter_dimension=2, tiled=True)
