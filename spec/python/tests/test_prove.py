"""prove() on a pair of JAX functions: verdicts, places, text."""
import inspect
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
import shardproof
import tutorial_ffn as ffn
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P
from shardproof import validation


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_a_feed_forward_layer_is_proved(tmp_path):
    kept = tmp_path / "ffn.shard"
    report = shardproof.prove(ffn.ffn, ffn.ffn_sharded, *ffn.shapes, keep=kept)
    assert report.proved, report
    assert 'psum_scatter("A/d B C {U_t} -> A/d B C/t", v7)' in kept.read_text()
    assert shardproof.check(kept).proved


def unreduced(x, w):
    h = x @ w
    return jax.nn.relu(h)


def test_a_missing_sum_is_refuted_at_its_line():
    sharded = jax.shard_map(unreduced, mesh=ffn.mesh, in_specs=(P("d", "t"), P("t", None)),
                            out_specs=P("d", None), check_vma=False)
    report = shardproof.prove(unreduced, sharded, (4, 8), (8, 6))
    assert report.verdict == "refuted"
    assert report.errors[0].place.file == __file__
    assert report.errors[0].place.line == line_of(unreduced, "relu")
    assert "^^^" in str(report) and "jax.nn.relu(h)" in str(report)
    assert "refuted" in report._repr_html_()


def gathered(x, axis):
    """A helper that only renames a collective."""
    return jax.lax.all_gather(x, axis, axis=0, tiled=True)


def scaled(x, by):
    y = x * by
    return y + 1.0


def test_a_finding_is_told_at_the_caller_of_a_helper():
    def body(x, w):
        w = gathered(gathered(w, "t"), "d")
        return x @ w

    sharded = jax.shard_map(body, mesh=ffn.mesh, in_specs=(P("d"), P(("t", "d"))), out_specs=P("d"), check_vma=False)
    report = shardproof.prove(lambda x, w: x @ w, sharded, (8, 16), (16, 4))
    assert report.verdict == "refuted", report
    assert report.errors[0].place.line == line_of(body, "gathered"), report


def test_the_calls_that_led_to_a_finding_are_told():
    def body(x):
        y = scaled(x, 2.0)
        return scaled(y, 3.0)

    def model(x):
        return scaled(scaled(x, 2.0), 2.0)

    report = shardproof.prove(model, jax.shard_map(body, mesh=ffn.mesh, in_specs=P("d"), out_specs=P("d")), (8, 4))
    (error,) = report.errors
    assert error.place.line == line_of(scaled, "x * by"), report
    assert error.place.calls == ((__file__, line_of(body, "3.0")),)
    assert "return scaled(y, 3.0)" in str(report)


def test_a_result_that_is_not_split_as_out_specs_says_is_told_at_its_line():
    def body(x):
        y = jax.numpy.tanh(x)
        return y.reshape(-1, 4, x.shape[1]).sum(1)

    def model(x):
        return jax.numpy.tanh(x).reshape(-1, 4, x.shape[1]).sum(1)

    report = shardproof.prove(model, jax.shard_map(body, mesh=ffn.mesh, in_specs=P(None, "t"), out_specs=P("t", None),
                                                   check_vma=False), (16, 8))
    assert report.errors[0].code == "J0002" and report.errors[0].place.line == line_of(body, "sum(1)"), report


def test_what_takes_an_error_away_is_a_fix_and_the_rest_is_help():
    report = shardproof.check(Path(__file__).parents[2] / "tests/bugs/c01_twice_broken.shard")
    fixes = [fix for each in report.errors for fix in each.fixes]
    assert "remove the all_reduce" in fixes and "    fix: remove the all_reduce" in str(report.errors[0]), report
    helped = shardproof.Diagnostic("E", "error", "m", fixes=["a"], helps=["b"])
    assert str(helped).splitlines()[1:] == ["    fix: a", "    help: b"]


def test_the_fixture_and_the_command(assert_proved, capsys):
    from shardproof.__main__ import main

    report = assert_proved(ffn.ffn_sharded)
    assert report.level.startswith("for every mesh and size")
    assert assert_proved(ffn.ffn_sharded, meshes=1).level == "for d=2 t=4 at these sizes"
    assert main(["tutorial_ffn:ffn_sharded", "--mesh", "d=4,t=2"]) == 0
    assert "for every mesh and size" in capsys.readouterr().out


def test_a_value_of_one_trace_is_no_value_of_every_mesh():
    """Right for t = 4 alone: the literal 0.25 is not |t|^-1."""
    def model(x):
        return x.mean()

    def body(x):
        return jax.lax.psum(x.mean() * 0.25 / jax.lax.axis_size("d"), ("d", "t"))

    sharded = jax.shard_map(body, mesh=ffn.mesh, in_specs=P("d", "t"), out_specs=P())
    assert shardproof.prove(model, sharded, (4, 8), meshes=1).proved
    report = shardproof.prove(model, sharded, (4, 8))
    assert report.verdict == "refuted", report


def test_a_primitive_that_is_not_known_is_named_with_its_line():
    def model(x):
        return jax.lax.erf_inv(x)

    sharded = jax.shard_map(model, mesh=ffn.mesh, in_specs=P("d", None), out_specs=P("d", None))
    report = shardproof.prove(model, sharded, (4, 8))
    assert report.verdict == "unknown"
    assert "`erf_inv`" in report.errors[0].message
    assert report.errors[0].place.line == line_of(model, "erf_inv")


def test_an_import_that_is_wrong_is_noticed(monkeypatch):
    """A rule that reads cos as sin in both programs: the proof would hold, the numbers do not."""
    from shardproof import rules

    monkeypatch.setitem(rules.RULES, "cos", rules.rule_of("sin"))
    model = jax.numpy.cos
    sharded = jax.shard_map(model, mesh=ffn.mesh, in_specs=P("d"), out_specs=P("d"))
    report = shardproof.prove(model, sharded, (4, 8))
    assert report.verdict == "unknown"
    assert any("the import is wrong" in check for check in report.checks)


def test_parameters_may_be_called_as_the_notation_calls_its_own():
    def model(q1, index, v2, softmax, model):
        return jax.numpy.tanh(q1 * index) + v2 * softmax - model

    sharded = jax.shard_map(model, mesh=ffn.mesh, in_specs=P("d"), out_specs=P("d"))
    assert shardproof.prove(model, sharded, *[(4, 6)] * 5).proved


def scores(x, y):
    return jax.nn.softmax(x @ y.T, -1)


def kernel(x, y):
    """A callback of the host stands for a kernel that cannot be read."""
    shape = jax.ShapeDtypeStruct((x.shape[0], y.shape[0]), x.dtype)
    return jax.pure_callback(lambda x, y: jax.device_get(scores(x, y)), shape, x, y, vmap_method="sequential")


def test_a_kernel_that_is_trusted_stands_for_its_reference():
    fast = shardproof.trusted(scores)(kernel)
    report, unknown = (shardproof.prove(lambda x, y: scores(x, y) * 2, jax.shard_map(
        lambda x, y: f(x, jax.lax.all_gather(y, "t", axis=0, tiled=True)) * 2, mesh=ffn.mesh,
        in_specs=(P("d"), P("t")), out_specs=P("d"), check_vma=False), (8, 6), (4, 6)) for f in (fast, kernel))
    assert report.proved, report
    assert report.assumptions == ["kernel computes scores (trusted)"]
    assert unknown.verdict == "unknown" and "`pure_callback`" in str(unknown) and "trusted" in str(unknown)


def test_a_kernel_that_is_trusted_is_evaluated_all_the_same():
    wrong = shardproof.trusted(scores)(lambda x, y: jax.nn.softmax(x @ y.T, 0))
    report = shardproof.prove(scores, jax.shard_map(wrong, mesh=ffn.mesh, in_specs=(P("d"), P()),
                                                    out_specs=P("d"), check_vma=False), (8, 6), (4, 6))
    assert report.verdict == "refuted" and "the import is wrong" in str(report), report


def test_a_branch_and_a_loop_with_collectives():
    def model(x):
        y = jax.lax.cond(x.shape[0] > 4, lambda: x.sum(0), lambda: x[0])
        return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2.0), (0, y))[1]

    def body(x):
        y = jax.lax.cond(jax.lax.axis_size("d") > 1, lambda: jax.lax.psum(x.sum(0), "d"), lambda: x.sum(0))
        return jax.lax.fori_loop(0, 3, lambda i, y: jax.lax.pmean(y * 2.0, "t"), y)

    sharded = jax.shard_map(body, mesh=ffn.mesh, in_specs=P("d"), out_specs=P(), check_vma=False)
    report = shardproof.prove(model, sharded, (8, 6), meshes=1)
    assert report.proved, report


def test_a_loop_whose_end_is_data_is_named():
    def model(x):
        return jax.lax.while_loop(lambda c: c.sum() < 9.0, lambda c: c * 2, x)

    sharded = jax.shard_map(model, mesh=ffn.mesh, in_specs=P(), out_specs=P(), check_vma=False)
    report = shardproof.prove(model, sharded, (4, 8))
    assert report.verdict == "unknown" and "end depends on data" in str(report)
    assert report.errors[0].place.line == line_of(model, "while_loop")


def test_nan_and_infinity_are_no_agreement():
    inf, nan = float("inf"), float("nan")
    assert validation.difference([[nan, 1.0]], [[1.0, 1.0]]) == inf
    assert validation.difference([[inf, 1.0]], [[2.0, 1.0]]) == inf
    assert validation.difference([[inf, nan, 1.0]], [[inf, nan, 1.0]]) == 0


def test_a_text_that_is_kept_is_the_one_of_the_report(tmp_path):
    """A loop beside its steps is read in two ways, until one is proved."""
    def model(x):
        return jax.lax.scan(lambda c, w: (c * w, None), x[0], x)[0]

    def body(x):
        for i in range(x.shape[0]):
            c = x[i] * (x[0] if i == 0 else c)
        return c

    kept = tmp_path / "kept.shard"
    sharded = jax.shard_map(body, mesh=ffn.mesh, in_specs=P(None, "d"), out_specs=P("d"))
    report = shardproof.prove(model, sharded, (3, 8), keep=kept)
    assert report.proved and report.text == kept.read_text(), report
    assert shardproof.check(kept).proved


@pytest.mark.parametrize("words, said", [
    ("nowhere:f", "no module nowhere"), ("tutorial_ffn:nothing", "tutorial_ffn has no nothing"),
    ("tutorial_ffn:ffn", "is not marked"), ("tutorial_ffn:ffn_sharded 8,x", "8,x is not a shape"),
    ("tutorial_ffn:ffn_sharded 8:float99", "not a shape"), ("tutorial_ffn:ffn_sharded --mesh d", "d is not a mesh")])
def test_the_command_names_what_it_does_not_understand(words, said, capsys):
    from shardproof.__main__ import main

    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2 and said in capsys.readouterr().err


def test_random_numbers_are_named_with_what_to_do():
    def dropped(x, key):
        return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)

    sharded = jax.shard_map(dropped, mesh=AbstractMesh((2,), ("d",)), in_specs=(P("d"), P()), out_specs=P("d"))
    for key in (jax.eval_shape(lambda: jax.random.key(0)), jax.ShapeDtypeStruct((2,), "uint32")):
        report = shardproof.prove(dropped, sharded, (8, 4), key)
        assert not report.proved and "draw them outside of both functions, and pass what is drawn" in str(report), report
        assert "test_prove.py" in str(report.errors[0].place), report


def test_an_empty_tuple_of_sizes_is_a_number():
    sharded = jax.shard_map(lambda x, s: x * s, mesh=AbstractMesh((2,), ("d",)), in_specs=(P("d"), P()), out_specs=P("d"))
    assert shardproof.prove(lambda x, s: x * s, sharded, (8, 4), (), meshes=1).proved
