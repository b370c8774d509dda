"""What is not read is named at its line, and is never proved; programs of several shard_maps, and partly manual ones."""
import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shardproof
import tutorial_ffn as ffn
from jax import lax
from jax.sharding import PartitionSpec as P

mapped = functools.partial(jax.shard_map, mesh=ffn.mesh, check_vma=False)
NAMED = {
    "entries at an offset": lambda x: lax.dynamic_update_slice(x, x[:, :2], (0, x[0, 0].astype(int))),
    "two of them may be the same": lambda x: x.at[:, jnp.argsort(x[0])[:3]].set(0.0),
    "end depends on data": lambda x: lax.while_loop(lambda c: c.sum() < 9.0, lambda c: c * 2, x),
    "`random": lambda x: x + jax.random.normal(jax.random.key(0), x.shape),
    "`lgamma`": lambda x: lax.lgamma(x),
}


@pytest.mark.parametrize("words", NAMED)
def test_what_is_not_read_is_named_with_its_line(words):
    body = NAMED[words]
    report = shardproof.prove(body, mapped(body, in_specs=P("d"), out_specs=P("d")), (8, 6))
    assert not report.proved and words in str(report), report
    assert report.errors[0].place.line == inspect.getsourcelines(body)[1], report


BLOCKS = {
    "merged": (lambda x: jnp.sin(x).reshape(-1), P(None, "t"), P("t"), (6, 8)),
    "tiled": (lambda x: jnp.tile(jnp.sin(x), (3,)), P("t"), P("t"), (8,)),
    "tiled by the axis": (lambda x: jnp.tile(jnp.sin(x), (4,)), P("t"), P("t"), (16,)),
    "stacked": (lambda x: jnp.stack([x, 2 * x]).reshape(-1), P("t"), P("t"), (8,)),
    "broadcast": (lambda x: jnp.broadcast_to(x, (3, *x.shape)).reshape(-1), P("t"), P("t"), (8,)),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_of_what_is_split_behind_another_dim_are_not_one_array(name):
    """Also without the numbers of JAX."""
    body, in_specs, out_specs, shape = BLOCKS[name]
    report = shardproof.prove(body, mapped(body, in_specs=in_specs, out_specs=out_specs), shape, validate=False)
    assert report.verdict == "refuted" and "one after the other" in str(report), report


def test_blocks_of_what_is_split_first_are_one_array():
    def body(x):
        return jnp.repeat(jnp.sin(x), 3).reshape(-1, 3) + x.reshape(-1, 1)

    assert shardproof.prove(body, mapped(body, in_specs=P("t"), out_specs=P("t")), (8,), validate=False).proved


def test_several_shard_maps_and_a_gradient_outside():
    def model(x, w):
        return jax.grad(lambda w: jnp.tanh(x @ w).sum())(w)

    def sharded(x, w):
        def loss(w):
            h = mapped(lambda x, w: jnp.tanh(x @ w), in_specs=(P("d"), P(None, "t")), out_specs=P("d", "t"))(x, w)
            return mapped(lambda h: lax.psum(h.sum(), ("d", "t")), in_specs=P("d", "t"), out_specs=P())(h)
        return jax.grad(loss)(w)

    assert shardproof.prove(model, sharded, (8, 6), (6, 8)).proved


def test_one_axis_is_manual():
    def body(x):
        return x - lax.pmean(x.mean(0), "d")

    sharded = jax.shard_map(body, mesh=ffn.mesh, in_specs=P("d"), out_specs=P("d"), axis_names={"d"})
    assert shardproof.prove(lambda x: x - x.mean(0), sharded, (8, 6)).proved


def test_a_constant_that_matters_is_not_refuted():
    """The array is any array in the proof; that it is the identity is not known."""
    def body(x):
        return np.eye(6, dtype=np.float32) @ x

    report = shardproof.prove(lambda x: x, mapped(body, in_specs=P(None, "t"), out_specs=P(None, "t")), (6, 8))
    assert report.verdict == "unknown", report


def test_an_index_from_the_end_is_not_the_index():
    """Look-ups take indices that are not below 0; other uses of `where(i < 0, i + n, i)` do not."""
    def body(x, i):
        return x * jnp.where(i < 0, i + 8, i)[:, None]

    report = shardproof.prove(lambda x, i: x * i[:, None], mapped(body, in_specs=P("d"), out_specs=P("d")), (8, 6),
                              jax.ShapeDtypeStruct((8,), "int32"))
    assert report.verdict == "refuted", report


def test_a_text_that_is_not_valid_is_decided_by_evaluation(monkeypatch):
    from shardproof import api

    def invalid(text, keep, timeout):
        return text, shardproof.check("mesh d\nfn f( -> {\n")

    monkeypatch.setattr(api, "decided", invalid)
    for body, verdict in ((jnp.sin, "unknown"), (jnp.cos, "refuted")):
        assert shardproof.prove(jnp.sin, mapped(body, in_specs=P("d"), out_specs=P("d")), (8, 6)).verdict == verdict
