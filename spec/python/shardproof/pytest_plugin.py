"""The fixture `assert_proved`: one line in a test.

    def test_ffn(assert_proved):
        assert_proved(ffn, ffn_sharded, (4, 6, 8), (8, 16), (16, 8))
"""
from __future__ import annotations

import pytest


@pytest.fixture
def assert_proved():
    """Fails with the report where prove(..) does not prove; gives the report."""
    from .api import prove

    def assert_proved(*args, **options):
        report = prove(*args, **options)
        if not report.proved:
            pytest.fail(str(report), pytrace=False)
        return report
    return assert_proved
