"""Functions of JAX are called by their names in the notation's library, once they are proved to be them."""
import jax
import pytest
import shardproof
import tutorial_ffn as ffn
from jax import lax
from jax.sharding import PartitionSpec as P
from shardproof import library

KNOWN = [found for rows in library.FUNCTIONS.values() for found in rows]


@pytest.mark.parametrize("name, function, call", KNOWN, ids=[name for name, *_ in KNOWN])
def test_each_is_proved_to_be_the_library_s(name, function, call):
    assert library.proved(function, call, 2, -1) and library.proved(function, call, 3, 1)


def test_what_is_another_function_is_not_called_by_the_name():
    (name, function, call), = library.FUNCTIONS["reduce_max"]
    assert not library.proved(lambda x, axis: function(2 * x, axis), call, 2, -1)
    assert not library.proved(lambda x, axis: function(x, 0), call, 2, -1)


def model(x, w):
    h = jax.nn.gelu(x @ w)
    return jax.nn.softmax(h) * jax.nn.silu(h) + jax.nn.relu(h)


def proof(body, spec, keep=None):
    sharded = jax.shard_map(body, mesh=ffn.mesh, in_specs=(P("d"), P(None, "t")), out_specs=spec, check_vma=False)
    return shardproof.prove(model, sharded, (8, 6), (6, 8), keep=keep)


def test_the_text_has_the_names(tmp_path):
    kept = tmp_path / "kept.shard"
    report = proof(lambda x, w: model(x, lax.all_gather(w, "t", axis=1, tiled=True)), P("d"), kept)
    assert report.proved, report
    assert all(kept.read_text().count(call) == 2 for call in ('softmax("; ', "gelu_tanh(", "silu(", "relu("))


def test_a_softmax_over_a_split_dim_is_told_as_that():
    report = proof(model, P("d", "t"))
    assert report.verdict == "refuted"
    assert "jax.nn.softmax(h)" in str(report) and "in softmax" in str(report), report


def test_a_function_whose_inside_is_used_is_written_out(tmp_path):
    def own(x):
        top = x.max(-1, keepdims=True)
        e = jax.numpy.exp(x - lax.stop_gradient(top))
        return e / e.sum(-1, keepdims=True) + top

    kept = tmp_path / "kept.shard"
    sharded = jax.shard_map(own, mesh=ffn.mesh, in_specs=P("d"), out_specs=P("d"))
    assert shardproof.prove(own, sharded, (8, 6), keep=kept).proved
    assert "softmax" not in kept.read_text()
