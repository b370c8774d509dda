"""README.md: its program and its commands are what they say."""
import os
import re
import subprocess
import sys
from pathlib import Path

from jax.extend.core import Primitive, primitives
from shardproof.rules import RULES, rule_of

FOLDER = Path(__file__).parent.parent


def test_the_page(tmp_path):
    text = (FOLDER / "README.md").read_text()
    (tmp_path / "mlp.py").write_text(re.search(r"```python mlp\.py\n(.*?)```", text, re.S)[1])
    commands = re.findall(r"^\$ (.*)\n((?:(?!```|\$ ).*\n)*)", text, re.M)
    assert len(commands) == 2
    for command, expected in commands:
        done = subprocess.run(command.replace("python", sys.executable, 1).split(), text=True,
                              cwd=tmp_path, capture_output=True,
                              env={**os.environ, "PYTHONPATH": str(FOLDER)})
        said = done.stdout + (f"[exit {done.returncode}]\n" if done.returncode else "")
        pattern = "(.*\n)*".join(re.escape(part) for part in re.split(r"^\.\.\.\n", expected, flags=re.M))
        assert re.fullmatch(pattern, said), said + done.stderr


def test_the_primitives_that_stop_a_program_are_listed():
    listed = re.search(r"These have no form yet:\n(.*?)\n\n", (FOLDER / "README.md").read_text(), re.S)[1]
    rule_of("add")  # all modules of rules are there
    known = {each.name for each in vars(primitives).values() if isinstance(each, Primitive)}
    assert sorted(re.findall(r"`([\w-]+)`", listed)) == sorted(known - set(RULES))
