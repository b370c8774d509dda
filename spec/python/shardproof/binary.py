"""Where check-sharding is, and how it is called."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

INSIDE = Path(__file__).parent / "bin"


class CheckerError(RuntimeError):
    """check-sharding is missing, or ended without a verdict."""


def check_sharding() -> str:
    """The path of check-sharding: $SHARDPROOF_CHECKER, the one in the wheel, or the one on PATH."""
    for path in (os.environ.get("SHARDPROOF_CHECKER"), str(INSIDE / "check-sharding"),
                 shutil.which("check-sharding")):
        if path and os.access(path, os.X_OK):
            return path
    raise CheckerError("check-sharding is not found: set SHARDPROOF_CHECKER to its path")


def call(*args: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Runs check-sharding with these arguments."""
    path, environment = check_sharding(), dict(os.environ)
    if Path(path).parent == INSIDE:  # its Z3 is beside it
        old = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = f"{INSIDE}:{old}" if old else str(INSIDE)
    return subprocess.run([path, *args], capture_output=True, text=True, timeout=timeout,
                          env=environment)
