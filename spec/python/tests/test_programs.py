"""Right programs are proved, wrong ones are refuted, and JAX's numbers agree with both."""
import os

import programs
import pytest
import shardproof
import strangers
import styles

FULL = bool(os.environ.get("SHARDPROOF_FULL"))
MORE = [*strangers.PAIRS, *styles.PAIRS]
EVALUATED = {pair.name for i, pair in enumerate(MORE) if FULL or i % 2} | {pair.name for pair in programs.PAIRS}


@pytest.mark.parametrize("pair", [*programs.PAIRS, *MORE], ids=lambda pair: pair.name)
def test_verdict(pair):
    validate = pair.name in EVALUATED
    report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes, validate=validate)
    assert report.verdict == ("proved" if pair.right else "refuted"), report
    if not validate:
        return
    differ = any("functions differ" in check for check in report.checks)
    assert differ == (not pair.right), report
    if pair.right:
        assert sum("agree to" in check for check in report.checks) == 2, report.checks
