import sys
from importlib.metadata import entry_points
from pathlib import Path

if not any(each.name == "shardproof" for each in entry_points(group="pytest11")):  # it is not installed
    pytest_plugins = ["shardproof.pytest_plugin"]

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent / "examples")]

import os

os.environ.setdefault("SHARDPROOF_CHECKER",
                      str(Path(__file__).parents[3] / ".build" / "release" / "check-sharding"))
