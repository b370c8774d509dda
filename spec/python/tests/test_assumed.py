"""What is assumed of ids: that they name entries, and only where a model looks entries up at them and does nothing else."""
import programs
import pytest
import shardproof
from shardproof import assumed


def test_the_report_says_what_it_assumes_of_ids():
    pair = next(pair for pair in programs.PAIRS if pair.name == "label_smoothing_over_split_words")
    report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes)
    assert report.proved and report.assumptions == ["0 <= y < |B|"] and "assume 0 <= y < |B|" in report.text, report


@pytest.mark.parametrize("lines,dim", [
    (['v1 = iota("B")', 'v2 = expand("B -> B A", v1)', "v3 = v2 == y"], "B"),
    (["v1 = y < 0", "v2 = y + |B|", "v3 = where(v1, i32(v2), y)", 'v4 = index("[B] M, A -> A M", t, v3)'], "B"),
    (['v1 = iota("B")', "v2 = v1 == y", "v3 = y == (-100)"], None), (["v1 = y % 6"], None), (["v1 = y < 0", "v2 = where(v1, x, 0.0)"], None),
])
def test_a_parameter_is_ids_where_nothing_else_is_done_with_it(lines, dim):
    text = "dim A B M\nfn model(y: i32[A]) -> i32[A] {\n" + "".join(f"    {line}  #@ a.py:1:1-1:2\n" for line in lines) + \
        "    return y\n}\nplan sharded implements model\n"
    text = "\n" + text
    assert assumed.looked_up_in(text, "y") == dim
