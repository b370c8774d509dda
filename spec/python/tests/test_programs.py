"""Right programs are proved, wrong ones are refuted, and JAX's numbers agree with both."""
import programs
import pytest
import shardproof
import strangers
import styles


@pytest.mark.parametrize("pair", [*programs.PAIRS, *strangers.PAIRS, *styles.PAIRS], ids=lambda pair: pair.name)
def test_verdict(pair):
    report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes)
    assert report.verdict == ("proved" if pair.right else "refuted"), report
    differ = any("functions differ" in check for check in report.checks)
    assert differ == (not pair.right), report
    if pair.right:
        assert sum("agree to" in check for check in report.checks) == 2, report.checks
