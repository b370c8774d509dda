pytest_plugins = ["shardproof.pytest_plugin"]

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent / "examples")]

import os

os.environ.setdefault("SHARDPROOF_CHECKER",
                      str(Path(__file__).parents[3] / ".build" / "release" / "check-sharding"))
