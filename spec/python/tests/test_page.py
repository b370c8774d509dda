"""README.md: its program and its commands are what they say."""
import os
import re
import subprocess
import sys
from pathlib import Path

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
