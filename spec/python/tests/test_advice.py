"""What check-sharding proposes is said in the words of JAX, about the user's own expressions."""
import programs
import pytest
import shardproof
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
