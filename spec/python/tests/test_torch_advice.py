"""What is said of torch programs is said in the words of torch."""
import pytest
from shardproof import torch_advice


@pytest.mark.parametrize("in_jax, in_torch", [
    ('write `lax.psum(h @ w, "t")` in place of `h @ w`', 'write `all_reduce(h @ w, "sum", mesh["t"])` in place of `h @ w`'),
    ('write `lax.psum(f(a, b), ("d", "t"))`', 'write `all_reduce(f(a, b), "sum", mesh[("d", "t")])`'),
    ('write `lax.all_gather(x, "d", axis=i, tiled=True)`, i the axis', 'write `all_gather_tensor(x, i, mesh["d"])`, i the axis'),
    ('write `lax.psum_scatter(y, "t", scatter_dimension=i, tiled=True)`', 'write `reduce_scatter_tensor(y, "sum", i, mesh["t"])`'),
    ('write `jnp.where(lax.axis_index("d") == 0, x, 0)`, x the value', 'write `x if mesh.get_local_rank("d") == 0 else 0 * x`, x the value'),
    ('take `lax.psum` away from `y`', 'take `all_reduce` away from `y`'),
    ('types: `float32[A, B] as P("d", None), not yet summed over t`', 'types: `float32[A, B], Shard(0) over d, not yet summed over t`'),
    ('`float32[A, B] as P(None, ("d", "t"))`', '`float32[A, B], Shard(1) over d, Shard(1) over t`'),
    ("the sharded function is not what the model computes", "the parallelized module is not what the model computes")])
def test_words(in_jax, in_torch):
    assert torch_advice.in_torch(in_jax) == in_torch
