#!/usr/bin/env python3
"""impl/shard_train/report_test.py [SHARD_TRAIN [FOLDER]]: pages of --report in headless Chromium; screenshots go to FOLDER.

Exit 77 where the program or a browser is missing."""

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

root = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(root / "spec/html"))
from browser import browser, check_as_seen, read  # noqa: E402

program = Path(sys.argv[1] if len(sys.argv) > 1 else root / ".build/release/shard-train").resolve()
model = root / "impl/shard_train/bigram.shard"


def data(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S)[1])


def command(page, *options, file=model):
    return [program, file, "--config", "tiny", "--mesh", "d=2,t=2", "--report", page, *map(str, options)]


def check_whole_run(folder):
    page = Path(folder, "whole.html")
    subprocess.run(command(page, "--steps", 40, "--eval-every", 10), check=True, stdout=subprocess.DEVNULL)
    shown = data(page)
    assert shown["state"] == "done" and shown["step"] == 40 and len(shown["steps"]) == 40, shown["state"]
    assert [row[0] for row in shown["validations"]] == [10, 20, 30, 40]
    assert shown["steps"][-1][3] < shown["steps"][0][3], "the loss falls"
    assert dict(shown["mesh"]) == {"d": 2, "t": 2}
    assert all(calls > 0 and seconds >= 0 for _, calls, seconds in shown["times"]) and len(shown["times"]) > 3
    assert all(size > 0 for _, size in shown["memory"]) and len(shown["memory"]) == 2
    names = {each["name"]: each["verdict"] for each in shown["verdicts"]}
    assert names["step_sharded"] == "proved" and names["loss_sharded"] == "proved", names
    text = read(page)
    for each in ["loss</strong> 5.", "at step 40", "<polyline", "einsum", "measured", "There were none.", "step_sharded"]:
        assert each in text, each
    return page


def check_kill_and_resume(folder):
    """A killed run leaves a page; the run that goes on keeps its losses up to the checkpoint."""
    page, save = Path(folder, "killed.html"), Path(folder, "save")
    options = ["--steps", 1_000_000, "--save", save, "--save-every", 500]
    run = subprocess.Popen(command(page, *options), stdout=subprocess.DEVNULL)
    for _ in range(600):
        time.sleep(0.1)
        if page.exists() and page.stat().st_size and data(page)["step"] > 1000:
            break
    run.send_signal(signal.SIGKILL)
    run.wait()
    killed = data(page)
    assert killed["state"] == "running" and killed["step"] > 1000 and not killed["restarts"], killed["state"]
    assert len(killed["steps"]) <= 4000
    read(page)
    run = subprocess.Popen(command(page, *options, "--resume"), stdout=subprocess.DEVNULL)
    for _ in range(600):
        time.sleep(0.1)
        if len(data(page)["restarts"]) == 1:
            break
    run.send_signal(signal.SIGTERM)
    assert run.wait() == 143
    went_on = data(page)
    start = went_on["restarts"][0][1]
    assert went_on["state"] == "stopped by signal 15" and start >= 500, went_on["state"]
    steps = [row[0] for row in went_on["steps"]]
    assert steps == sorted(set(steps)) and steps[0] == 1 and steps[-1] > start, "each step once, those before the kill too"
    assert str(start) in read(page) and "stopped by signal 15" in read(page)


def check_failure_and_hostile_text(folder):
    hostile = Path(folder, "<img src=x onerror=alert(1)> & .shard")
    shutil.copy(model, hostile)
    page = Path(folder, "failed.html")
    run = subprocess.run(command(page, "--steps", 3, "--lr", "1e38", "--save", Path(folder, "other"), file=hostile), capture_output=True)
    text = read(page)
    assert "<img" not in text and "&lt;img src=x" in text and "onerror" not in page.read_text().split("<header>")[0]
    state = data(page)["state"]
    assert (state == "done") == (run.returncode == 0) and (run.returncode == 0 or state.startswith("failed: ")), state


def main():
    if not program.exists() or not browser:
        print("shard-train or Chromium is missing")
        sys.exit(77)
    shots = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder:
        check_failure_and_hostile_text(folder)
        pages = [Path(folder, "failed.html"), check_whole_run(folder)]
        check_kill_and_resume(folder)
        check_as_seen([*pages, Path(folder, "killed.html")], shots)
    print("reports show what they should, without script errors")


if __name__ == "__main__":
    main()
