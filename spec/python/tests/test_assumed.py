"""What is assumed of ids: that they name entries, and only where a model looks entries up at them and does nothing else."""
import programs
import pytest
import shardproof
from shardproof import assumed


def test_the_report_says_what_it_assumes_of_ids():
    pair = next(pair for pair in programs.PAIRS if pair.name == "label_smoothing_over_split_words")
    report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes)
    assert report.proved and report.assumptions == ["0 <= y < |B|"] and "assume 0 <= y < |B|" in report.text, report


def test_labels_of_which_some_do_not_count_are_words_or_the_number_that_says_so():
    text = "\ndim A B\nfn model(y: i32[A]) -> f32[A] {\n    v1 = y != (-100)\n    v2 = where(v1, y, 0)\n" \
        '    v3 = iota("B")\n    v4 = v3 == v2\n    return v4\n}\nplan sharded implements model(y: i32[A/d]) -> f32[A/d] {\n}\n'
    assert assumed.marked_alone(text) == [("y", "B", -100)]
    within = assumed.with_marks(text, assumed.marked_alone(text))
    assert "fn model(y_counts: bool[A], y_id: i32[A])" in within and "(y_counts: bool[A/d], y_id: i32[A/d])" in within
    assert within.count("y = where(y_counts, y_id, -100)") == 2 and within.count("assume 0 <= y_id < |B|") == 1
    for other in ("y % 6", "y < 5", "where(v1, y, 7)"):
        assert not assumed.marked_alone(text.replace("where(v1, y, 0)", other))


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
