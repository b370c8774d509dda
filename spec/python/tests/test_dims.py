"""Names of dims: from jaxtyping's annotations, or as they are given."""
from typing import NamedTuple, TypedDict

import jax
import pytest
import shardproof
import tutorial_ffn as ffn
from jax import Array, lax
from jax.sharding import PartitionSpec as P
from jaxtyping import Float, Int


class Layer(NamedTuple):
    up: Float[Array, "model hidden"]
    down: Float[Array, "hidden model"]


class Params(TypedDict):
    table: Float[Array, "vocab model"]
    layers: list[Layer]


def model(params: Params, ids: Int[Array, "batch length"]) -> Float[Array, "batch length model"]:
    x = params["table"][ids]
    for layer in params["layers"]:
        x = x + jax.nn.relu(x @ layer.up) @ layer.down
    return x


def body(params, ids):
    x = params["table"][ids]
    for layer in params["layers"]:
        x = x + lax.psum(jax.nn.relu(x @ layer.up) @ layer.down, "t")
    return x


SPECS = {"table": P(), "layers": [Layer(P(None, "t"), P("t"))] * 2}
SHAPES = {"table": (10, 6), "layers": [Layer(jax.ShapeDtypeStruct((6, 8), "float32"),
                                             jax.ShapeDtypeStruct((8, 6), "float32"))] * 2}


def proof(function=model, **more):
    sharded = jax.shard_map(body, mesh=ffn.mesh, in_specs=(SPECS, P("d")), out_specs=P("d"), check_vma=False)
    return shardproof.prove(function, sharded, SHAPES, jax.ShapeDtypeStruct((4, 5), "int32"), **more)


def test_names_of_annotations():
    report = proof()
    assert report.proved, report
    assert sorted(report.conditions) == ["d | batch", "t | hidden", "t | hidden2"]
    assert "table: f32[vocab model]" in report.text and "up: f32[model hidden]" in report.text, report.text


def annotated(annotation):
    def f(x):
        return x * 2
    f.__annotations__["x"] = annotation
    return f


@pytest.mark.parametrize("words, dims", [
    ("b l", "b l"), ("b=8 l", "A l"), ("8 l", "A l"), ("*batch l", "A B"), ("... l", "A B"), ("b+1 #l", "A l"), ("in out", "A out"),
    ("L L_1", "L L1"), ("b", "A B"), ("d t", "d2 t2")])
def test_words_of_annotations(words, dims):
    f = annotated(Float[Array, words])
    sharded = jax.shard_map(lambda x: x * 2, mesh=ffn.mesh, in_specs=P("d"), out_specs=P("d"))
    report = shardproof.prove(f, sharded, (8, 6), validate=False)
    assert report.proved and f"x: f32[{dims}]" in report.text, report.text


def test_names_are_given_by_the_name_of_the_parameter():
    report = proof(dims={"ids": "B L"})
    assert report.proved and "ids: i32[B L]" in report.text, report
    report = proof(dims={"tokens": "B L"})
    assert report.verdict == "unknown" and "the model's parameters are params, ids" in str(report)
    report = proof(dims=({"table": "V M"}, "B L"))
    assert report.verdict == "unknown" and "1 texts for 5 arrays" in str(report)
