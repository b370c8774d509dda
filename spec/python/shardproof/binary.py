"""Where check-sharding is, and how it is called."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


class CheckerError(RuntimeError):
    """check-sharding is missing, or ended without a verdict."""


def check_sharding() -> str:
    """The path of check-sharding: $SHARDPROOF_CHECKER, the one in the wheel, or the one on PATH."""
    inside = Path(__file__).parent / "bin" / "check-sharding"
    for path in (os.environ.get("SHARDPROOF_CHECKER"), str(inside), shutil.which("check-sharding")):
        if path and os.access(path, os.X_OK):
            return path
    raise CheckerError("check-sharding is not found: set SHARDPROOF_CHECKER to its path")


def call(*args: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Runs check-sharding with these arguments."""
    return subprocess.run([check_sharding(), *args], capture_output=True, text=True, timeout=timeout)
