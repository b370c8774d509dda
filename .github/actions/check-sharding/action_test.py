#!/usr/bin/env python3
"""action_test.py CHECK_SHARDING: schemas of the workflows, the scripts of the action run as a runner runs them, and the
pre-commit hook in a repository. Run by ci/test with the packages of ci/venv-actions.txt; shellcheck where it is there."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

here = Path(__file__).resolve().parent
root = here.parent.parent.parent
tools = Path(sys.executable).parent  # pre-commit, check-jsonschema
checker = Path(sys.argv[1]).resolve()
action = yaml.safe_load((here / "action.yml").read_text())
steps = {step.get("id", step.get("uses", "end")): step for step in action["runs"]["steps"]}

PROVED = root / "spec/models/megatron_mlp.shard"
REFUTED = root / "spec/tests/seeds/megatron_mlp_bad.shard"


def run(*command, code=0, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == code, (command, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def schemas():
    workflows = [*(root / ".github/workflows").glob("*.yml"), here / "example.yml"]
    for schema, files in (("github-workflows", workflows), ("github-actions", [here / "action.yml"])):
        run(tools / "check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)


def scripts():
    if not shutil.which("shellcheck"):
        return "shellcheck is not there"
    for name, step in steps.items():
        if "run" in step:
            print(run("shellcheck", "--shell", "bash", "-", input="set -e\n" + step["run"]), end="", file=sys.stderr)
    return "shellcheck"


class Runner:
    """One job: its folders, and the variables that the runner gives to a step."""

    def __init__(self, folder, **inputs):
        self.folder = folder
        self.inputs = {name: given.get("default", "") for name, given in action["inputs"].items()} | inputs
        unknown = inputs.keys() - action["inputs"].keys()
        assert not unknown, unknown
        self.files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        self.outputs = {}

    def value(self, text):
        """An expression of the action's env: the first of `a || b` that is not empty."""
        if not text.startswith("${{"):
            return text
        inner, rest = text[3:].split("}}")
        for part in inner.split("||"):
            kind, _, name = part.strip().partition(".")
            if kind == "inputs":
                found = self.inputs[name]
            elif kind == "steps":
                step, _, output = name.partition(".outputs.")
                assert step in steps, part
                found = self.outputs.get(step, {}).get(output, "")
            else:
                found = {"runner.temp": str(self.folder), "github.token": "a token"}[part.strip()]
            if found:
                break
        return found + rest

    def step(self, name, code=0, path="", **more):
        step = steps[name]
        env = os.environ | {key: self.value(text) for key, text in step.get("env", {}).items()} | more
        env |= {key: str(path) for key, path in self.files.items()} | {"RUNNER_TEMP": str(self.folder)}
        env["PATH"] = f"{path}{os.environ['PATH']}"
        self.files["GITHUB_OUTPUT"].write_text("")
        said = run("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"], env=env, cwd=self.folder, code=code)
        self.outputs[name] = dict(line.split("=", 1) for line in self.files["GITHUB_OUTPUT"].read_text().splitlines())
        return said


def check(folder, **inputs):
    runner = Runner(folder, binary=str(checker), **inputs)
    said = runner.step("check")
    sarif = json.loads((folder / "check-sharding.sarif").read_text())
    code = runner.outputs["check"]["code"]
    runner.step("end", code=int(code))
    return code, sarif["runs"][0]["results"], runner.files["GITHUB_STEP_SUMMARY"].read_text(), said


def proofs(folder):
    (folder / "plans/deep").mkdir(parents=True)
    shutil.copy(PROVED, folder / "plans/good one.shard")
    code, findings, summary, said = check(folder)
    assert (code, findings) == ("0", []), (code, findings)
    assert "✅ proved | mlp_megatron" in summary and "proved" in said, (summary, said)

    shutil.copy(REFUTED, folder / "plans/deep/bad.shard")
    code, findings, summary, said = check(folder, files="plans/**/*.shard", arguments="--mesh t=2")
    assert code == "1" and findings, (code, findings)
    # Code scanning takes no result without a line.
    places = [(f["ruleId"], f["locations"][0]["physicalLocation"]["region"]["startLine"]) for f in findings]
    assert ("E0207", 10) in places, places
    assert {f["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for f in findings} <= \
        {"plans/deep/bad.shard", "plans/good%20one.shard"}, findings
    assert "❌ refuted | mlp_bad" in summary, summary

    code, _, _, said = check(folder, files="plans/*.shard", test="2")
    assert code == "0" and "agrees" in said, (code, said)

    (folder / "plans/none.shard").write_text("plan (")
    code, findings, _, _ = check(folder, files="plans/none.shard")
    assert code == "3" and findings, (code, findings)

    said = Runner(folder, binary=str(checker), files="*.none").step("check", code=3)
    assert "::error::no file is called *.none" in said, said


def released(folder):
    """The release's package is downloaded from the action's repository and installed."""
    stubs = folder / "stubs"
    stubs.mkdir()
    log = folder / "log"
    stub = f'#!/usr/bin/env bash\necho "${{0##*/}} $*" >>{log}\n'
    for name in ("gh", "apt-get", "sudo"):
        file = stubs / name
        file.write_text(stub + {"gh": 'mkdir "${*: -1}" && touch "${*: -1}/shardproof_1_amd64.deb"\n', "sudo": '"$@"\n'}.get(name, ""))
        file.chmod(0o755)
    runner = Runner(folder, release="v0.1.0")
    runner.step("install", path=f"{stubs}:", GITHUB_REPOSITORY="me/plans",
                GITHUB_ACTION_PATH="/runner/_actions/they/shardproof/main/.github/actions/check-sharding")
    said = log.read_text()
    assert "gh release download v0.1.0 --repo they/shardproof " in said and "shardproof_1_amd64.deb" in said, said
    assert runner.outputs["install"]["binary"] == "/usr/bin/check-sharding"
    assert runner.value(steps["check"]["env"]["BINARY"]) == "/usr/bin/check-sharding"


def hook(folder):
    """pre-commit takes the hook from this repository, and stops a commit of a wrong plan."""
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@localhost"]
    run("git", "init", "-q", folder)
    shutil.copy(PROVED, folder / "good.shard")
    shutil.copy(REFUTED, folder / "bad.shard")
    (folder / "notes.txt").write_text("no program")
    run(*git, "add", ".")
    run(*git, "commit", "-q", "-m", "plans")
    programs = folder / "bin"
    programs.mkdir()
    (programs / "check-sharding").symlink_to(checker)
    env = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "PRE_COMMIT_HOME": str(folder / "home")}
    attempt = [tools / "pre-commit", "try-repo", root, "check-sharding", "--files"]
    run(*attempt, "good.shard", "notes.txt", cwd=folder, env=env)
    said = run(*attempt, "good.shard", "bad.shard", cwd=folder, env=env, code=1)
    assert "E0207" in said and "exit code: 1" in said, said


def main():
    schemas()
    linted = scripts()
    for test in (proofs, released, hook):
        with tempfile.TemporaryDirectory() as folder:
            test(Path(folder))
    print(f"the action on 5 sets of files, its release, the pre-commit hook; schemas, {linted}")


main()
