"""Functions of JAX are called by their names in the notation's library, once they are proved to be them."""
import jax
import jax.numpy as jnp
import optax
import pytest
import shardproof
import tutorial_ffn as ffn
from jax import lax
from jax.sharding import PartitionSpec as P
from programs import ids
from shardproof import library

KNOWN = [found for rows in library.FUNCTIONS.values() for found in rows]


@pytest.mark.parametrize("known", KNOWN, ids=[f"{i}_{known.name}" for i, known in enumerate(KNOWN)])
def test_each_is_proved_to_be_the_library_s(known):
    assert library.proved(known, 2, -1, 1e-5) and library.proved(known, 3, 1, 1e-6)


def test_what_is_another_function_is_not_called_by_the_name():
    known = library.FUNCTIONS["reduce_max"][0]
    for other in (lambda x, axis, small: known.function(2 * x, axis, small), lambda x, axis, small: known.function(x, 0, small)):
        assert not library.proved(library.Known("other", other, known.call), 2, -1, 1e-6)
    sums = library.Known("other", lambda x, axis, small: x * lax.rsqrt((x * x).sum(axis, keepdims=True) + small), library.RMS)
    assert not library.proved(sums, 2, -1, 1e-6)


def model(x, w, y):
    h = jax.nn.gelu(x @ w)
    h = h * lax.rsqrt(jnp.mean(jnp.square(h), -1, keepdims=True) + 1e-5)
    h = jax.nn.gelu(h, approximate=False)
    mean, var = jnp.mean(h, -1, keepdims=True), jnp.var(h, -1, keepdims=True)
    h = (h - mean) / jnp.sqrt(var + 1e-5)
    z = jax.nn.softmax(h) * jax.nn.silu(h) + jax.nn.relu(h)
    return optax.softmax_cross_entropy_with_integer_labels(z, y)


def proof(body, keep=None):
    sharded = jax.shard_map(body, mesh=ffn.mesh, in_specs=(P("d"), P(None, "t"), P("d")), out_specs=P("d"), check_vma=False)
    return shardproof.prove(model, sharded, (8, 6), (6, 8), ids(8), keep=keep)


def test_the_text_has_the_names(tmp_path):
    kept = tmp_path / "kept.shard"
    report = proof(lambda x, w, y: model(x, lax.all_gather(w, "t", axis=1, tiled=True), y), kept)
    assert report.proved, report
    for call in ('softmax("; ', "gelu_tanh(", "gelu(", "silu(", "relu(", 'rms_norm("; ', 'layer_norm("; ', 'cross_entropy("; '):
        assert kept.read_text().count(f" = {call}") == 2, call


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm", "softmax"])
def test_a_function_over_a_split_dim_is_told_as_that(name):
    f = {"rms_norm": lambda x: x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6),
         "layer_norm": lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6),
         "softmax": lambda x: jax.nn.softmax(x)}[name]
    report = shardproof.prove(f, jax.shard_map(f, mesh=ffn.mesh, in_specs=P("d", "t"), out_specs=P("d", "t"),
                                               check_vma=False), (8, 8))
    assert report.verdict == "refuted" and f"in {name}" in str(report) and "lambda x" in str(report), report


def test_a_function_whose_inside_is_used_is_written_out(tmp_path):
    def own(x):
        top = x.max(-1, keepdims=True)
        e = jax.numpy.exp(x - lax.stop_gradient(top))
        return e / e.sum(-1, keepdims=True) + top

    kept = tmp_path / "kept.shard"
    sharded = jax.shard_map(own, mesh=ffn.mesh, in_specs=P("d"), out_specs=P("d"))
    assert shardproof.prove(own, sharded, (8, 6), keep=kept).proved
    assert "softmax" not in kept.read_text()
