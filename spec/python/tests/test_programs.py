"""Right programs are proved, wrong ones are refuted, and JAX's numbers agree with both."""
import os

import programs
import pytest
import shardproof

FULL = bool(os.environ.get("SHARDPROOF_FULL"))
CHOSEN = [pair for i, pair in enumerate(programs.PAIRS) if FULL or pair.group not in ("structures", "visitors", "devices") or i % 5 == 0]
EVALUATED = {id(pair) for i, pair in enumerate(programs.PAIRS) if FULL or i % 2 or pair.group in ("bugs", "merged", "users")}


@pytest.mark.parametrize("pair", CHOSEN, ids=lambda pair: pair.name)
def test_verdict(pair):
    validate = id(pair) in EVALUATED
    report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes, validate=validate,
                              meshes=3 if FULL or pair.right else 1)
    assert report.verdict == ("proved" if pair.right else "refuted"), report
    if not validate:
        return
    differ = any("functions differ" in check for check in report.checks)
    assert differ == (not pair.right), report
    if pair.right:
        assert sum("agree to" in check for check in report.checks) == 2 + ("device" in report.level), report.checks
