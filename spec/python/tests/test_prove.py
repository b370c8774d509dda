"""prove() on a pair of JAX functions: verdicts, places, text."""
import inspect

import jax
import shardproof
import tutorial_ffn as ffn
from jax.sharding import PartitionSpec as P


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
