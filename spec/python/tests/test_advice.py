"""What check-sharding proposes is said in the words of JAX, about the user's own expressions."""
import re

import jax
import jax.numpy as jnp
import programs
import pytest
import shardproof
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P
from shardproof import advice

FIXES = {
    "mlp_missing_psum": 'write `lax.psum(jax.nn.gelu(x @ a) @ b, "t")` in place of `jax.nn.gelu(x @ a) @ b`',
    "mlp_bias_t_times": 'write `jnp.where(lax.axis_index("t") == 0, c, 0)` in place of `c`',
    "mlp_gather_order": '`lax.all_gather` over ("d", "t"), in this order',
    "vmap_of_a_local_softmax": 'write `lax.pmax(x, "t")`, x a value inside of `jax.nn.softmax(row @ w)`',
}


@pytest.mark.parametrize("name", FIXES)
def test_a_fix_names_the_collective_and_the_expression(name):
    pair = next(pair for pair in programs.PAIRS if pair.name == name)
    report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes, validate=False, meshes=1)
    assert any(FIXES[name] in fix for fix in report.errors[0].fixes), report.errors[0].fixes
    assert f"= fix: {FIXES[name]}" in str(report) and 'all_reduce("' not in str(report).partition("= fix")[2], report


@pytest.mark.parametrize("word,pattern,expected", [
    ("all_reduce", "A {U_d U_t} -> A {U_t}", 'lax.psum(x, "d")'), ("all_reduce", "A/d {Max_t} -> A/d", 'lax.pmax(x, "t")'),
    ("all_reduce", "A {U_d U_t} -> A", 'lax.psum(x, ("d", "t"))'), ("all_reduce", "A {U_d Max_t} -> A", None),
    ("all_gather", "A/t/d B -> A B", 'lax.all_gather(x, ("t", "d"), axis=i, tiled=True)'),
    ("psum_scatter", "A B {U_t} -> A B/t", 'lax.psum_scatter(x, "t", scatter_dimension=i, tiled=True)'),
    ("zero_nonroot", "-> {U_d U_t}", 'jnp.where((lax.axis_index("d") == 0) & (lax.axis_index("t") == 0), x, 0)'),
    ("slice", "A -> A/t", 'lax.dynamic_slice_in_dim(x, lax.axis_index("t") * n, n, i)'), ("slice", "A -> A", None),
])
def test_a_collective_of_the_notation_in_jax(word, pattern, expected):
    found = advice.written(word, pattern, "x")
    assert (found and found[0]) == expected


def test_operands_are_found_to_their_closing_bracket():
    line = 'v1 = all_reduce("A {U_t} -> A", sum("A B/t -> A {U_t}", f(x))) + slice("A -> A/t", y)'
    assert [(word, of) for word, _, of in advice.calls(line)] == [("all_reduce", 'sum("A B/t -> A {U_t}", f(x))'), ("slice", "y")]


@pytest.mark.parametrize("text,expected", [
    ("result `r1` of sharded is `f32[C]`, and this is `f32[C]{U_t}`",
     "result 1 of the sharded function is `float32[C]`, and this is `float32[C], not yet summed over t`"),
    ("all_gather: the operand is f32[B/d/t C], the pattern says `B/t/d C`",
     'all_gather: the operand is `float32[B, C] as P(("d", "t"), None)`, the call takes it for [B, C] as P(("t", "d"), None)'),
    ("v82 is {U_d}: B is contracted here and split over d", "`x @ w` is not yet summed over d: B is contracted here and split over d"),
    ("i32[] and `bool[A/t]{Max_d}`", '`int32[]` and `bool[A] as P("t"), whose maximum over d is not yet taken`'),
    ("all_reduce first", "lax.psum first"), ("sharded is not what model computes", "the sharded function is not what the model computes"),
])
def test_a_message_speaks_of_shapes_and_specs(text, expected):
    assert advice.in_words(text, lambda name: "`x @ w`") == expected


@pytest.mark.parametrize("name", ["microbatches_mean_of_means", "ring_minus", "mlp_gather_order", "clip_averaged"])
def test_no_message_of_a_refuted_program_is_in_the_notation(name):
    pair = next(pair for pair in programs.PAIRS if pair.name == name)
    report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes, validate=False, meshes=1)
    said = [text for each in report.errors[:1] for text in (each.message, each.label, *each.details)]
    assert said and not [text for text in said if re.search(r"f32\[|\{U_|all_reduce|\bv\d+\b|unreduced", text)], said


def decode(q, k, v):
    return jax.nn.softmax(k @ q) @ v


def on_parts(q, k, v, rescaled):
    s = k @ q
    m = s.max()
    p = jnp.exp(s - m)
    c = jnp.exp(m - lax.pmax(m, "t")) if rescaled else 1.0
    return lax.psum((p @ v) * c, "t") / lax.psum(p.sum() * c, "t")


def test_a_maximum_of_own_is_proved_where_parts_are_rescaled_and_named_where_not():
    def report(rescaled):
        sharded = jax.shard_map(lambda *args: on_parts(*args, rescaled), mesh=AbstractMesh((16,), ("t",)),
                                in_specs=(P(), P("t"), P("t")), out_specs=P())
        return shardproof.prove(decode, sharded, (5,), (32, 5), (32, 3), meshes=1)

    right, wrong = report(True), report(False)
    assert right.proved and right.level == "for t=16 at these sizes, devices as dims"
    assert wrong.verdict == "refuted" and 'write `lax.pmax(s.max(), "t")` in place of `s.max()`' in str(wrong), wrong
