"""What check-sharding answered about a `.shard` text."""
from __future__ import annotations

import functools
import html
import json
import linecache
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import advice
from .binary import CheckerError, call

_ORIGIN = re.compile(r"(?:# called from (.*) )?#@ (.+?):(\d+):(\d+)(?:-(\d+):(\d+))?\s*$")


@dataclass(frozen=True)
class Place:
    """A range of a file; lines and columns from 1, the end one past the last column. `calls` are the
    files and lines that led there, the nearest first."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    calls: tuple[tuple[str, int], ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def comment(self) -> str:
        """The place as the comment of a generated line."""
        calls = ", ".join(f"{'' if file == self.file else file}:{line}" for file, line in self.calls)
        return f"{calls and f'# called from {calls} '}#@ {self}-{self.end_line}:{self.end_column}"

    def segment(self) -> str | None:
        """The text of the range, where it is short and on one line."""
        text = linecache.getline(self.file, self.line)[self.column - 1:self.end_column - 1].strip()
        return text if self.line == self.end_line and 0 < len(text) <= 60 else None

    def shown(self) -> str:
        """The place and its line."""
        return f"{self}: {linecache.getline(self.file, self.line).strip()}"

    def callers(self) -> list[str]:
        """The text of each line that led there."""
        return [f"    called from {file}:{line}: {linecache.getline(file, line).strip()}"
                for file, line in self.calls]


@dataclass
class Diagnostic:
    """One finding: `place` is in the user's program where the line was generated from one. `fixes`
    take the error away; `helps` are what else may be done."""

    code: str
    severity: str
    message: str
    label: str = ""
    place: Place | None = None
    shard_place: Place | None = None
    details: list[str] = field(default_factory=list)
    counterexample: dict[str, Any] | None = None
    fixes: list[str] = field(default_factory=list)
    helps: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        at = f"{self.place or self.shard_place}: " if self.place or self.shard_place else ""
        lines = [f"{at}{self.severity}[{self.code}]: {self.message}"]
        lines += [f"    {text}" for text in ([self.label] if self.label else []) + self.details]
        if self.counterexample:
            lines.append(f"    {self.counterexample['mesh']} {self.counterexample['sizes']}")
            lines += [f"      {text}" for text in self.counterexample["lines"]]
        lines += [f"    fix: {fix}" for fix in self.fixes] + [f"    help: {text}" for text in self.helps]
        return "\n".join(lines + (self.place.callers() if self.place else []))


@dataclass
class Report:
    """A verdict ("proved", "refuted", "unknown", "invalid") with what it rests on.

    `level` says what a proof covers, `conditions` what it asks of meshes and sizes, `checks` what
    was also evaluated; `text` is the `.shard` program that was proved.
    """

    verdict: str
    text: str = ""
    path: str = ""
    level: str = ""
    conditions: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    json: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    import_seconds: float = 0.0
    worded: Callable[[str], str] | None = None  # the page in the words of another framework

    @functools.cached_property
    def rendered(self) -> str:
        """The page that check-sharding prints of what it did not prove. It is asked for it where it is read: that takes as long as
        the proof."""
        if self.json.get("verdict", "proved") == "proved":
            return ""
        page = _page(self)
        return self.worded(page) if self.worded else page

    @property
    def proved(self) -> bool:
        return self.verdict == "proved"

    def __bool__(self) -> bool:
        return self.proved

    @property
    def errors(self) -> list[Diagnostic]:
        return [each for each in self.diagnostics if each.severity == "error"]

    def __str__(self) -> str:
        lines = [f"{self.verdict}{': ' if self.level else ''}{self.level}"]
        if self.conditions:
            lines.append("  where " + ", ".join(self.conditions))
        if self.assumptions:
            lines.append("  assuming " + ", ".join(self.assumptions))
        lines += [f"  {check}" for check in self.checks]
        body = self.rendered.strip() or "\n".join(str(each) for each in self.errors)
        if self.rendered:
            body += "".join(f"\n{line}" for each in self.errors
                            if each.place and (each.place.calls or f" {each.place}\n" not in self.rendered)
                            for line in [each.place.shown(), *each.place.callers()])
        if not self.proved and body:
            lines.append(body)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        colour = {"proved": "#1a7f37", "refuted": "#cf222e"}.get(self.verdict, "#9a6700")
        rows = "".join(
            f"<tr><td><code>{html.escape(str(d.place or d.shard_place or ''))}</code></td>"
            f"<td><code>{html.escape(d.code)}</code></td>"
            f"<td>{html.escape(d.message)}<br><small>{html.escape(d.label)}</small></td></tr>"
            for d in self.errors)
        facts = "".join(f"<li>{html.escape(text)}</li>" for text in
                        [*self.conditions, *self.assumptions, *self.checks])
        return (f"<div><b style='color:{colour}'>{self.verdict}</b> {html.escape(self.level)}"
                f"<ul>{facts}</ul><table>{rows}</table><details><summary>.shard</summary>"
                f"<pre>{html.escape(self.text)}</pre></details></div>")


def _place(range_: dict[str, Any] | None) -> Place | None:
    if not range_:
        return None
    begin, end = range_["begin"], range_["end"]
    return Place(range_["file"], begin["line"], begin["column"], end["line"], end["column"])


def origin(line: str) -> Place | None:
    """The user's place in the `#@` comment of a generated line."""
    found = _ORIGIN.search(line)
    if not found:
        return None
    calls, file, *numbers = found.groups()
    first, column, end, end_column = (int(each) if each else None for each in numbers)
    led = [each.rpartition(":") for each in calls.split(", ")] if calls else []
    return Place(file, first or 1, column or 1, end or first or 1, end_column or column or 1,
                 tuple((where or file, int(line)) for where, _, line in led))


def _source_of(lines: list[str], at: int, message: str) -> Place | None:
    """The place of the value that a line takes, or that the return gives as the result `rN` of the
    message: generated lines such as FSDP's collectives have none of their own."""
    line = lines[at]
    result = re.search(r"`r(\d+)`", message)
    if line.strip().startswith("return "):
        names = [name.strip() for name in line.strip()[len("return "):].split(",")]
        name = names[int(result[1])] if result and int(result[1]) < len(names) else names[0]
        if len(names) > 1 and not result:
            return None
    else:
        taken = re.findall(r"\bv\d+\b", re.sub(r'"[^"]*"', "", line.partition("=")[2]))
        if len(taken) != 1:
            return None
        (name,) = taken
    for i in range(at - 1, -1, -1):
        made = re.match(r"\s*([\w, ]+) = ", lines[i])
        names = made[1].split(", ") if made else []
        if name in names:
            inside = _emitted(lines, i, names, name) if lines[i].partition("  #")[0].endswith("{") else None
            return inside or origin(lines[i]) or _source_of(lines, i, "")
    return None


def _emitted(lines: list[str], at: int, names: list[str], name: str) -> Place | None:
    """The place in the loop that begins at a line of the value that it gives as `name`."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith(" " * indent + "}"))
    given = [each for line in lines[at + 1:end] if (found := re.match(rf" {{{indent + 4}}}(next|emit) (.*)", line))
             for each in found[2].split(", ")]
    if len(given) != len(names):
        return None
    value = given[names.index(name)]
    return next((origin(line) for line in reversed(lines[at:end])
                 if re.match(rf"\s*{re.escape(value)} = ", line)), None)


def words_of_the_user(lines: list[str], name: str, at: int) -> tuple[str, str]:
    """What the user wrote for a name of a generated text, as it stands on a line: a parameter, or the expression it comes
    from. Where that is too long, or the line itself comes from it, nothing, and where it stands."""
    here = origin(lines[at - 1])
    for line in reversed(lines[:at - 1]):
        if line.startswith(("plan ", "fn ")):
            return (name.removeprefix("v_"), "") if re.search(rf"\b{re.escape(name)}: ", line) else ("", "this value")
        if re.match(rf"\s*(?:\w+, )*{re.escape(name)}(?:, \w+)* = ", line):
            place = origin(line)
            inside = here and place and (here.file, here.line, here.column) == (place.file, place.line, place.column) \
                and place.end_column >= here.end_column
            words = place.segment() if place else None
            if words and not inside:
                return words, ""
            return "", f"a value inside of `{words}`" if words else f"the value of line {place.line}" if place else "this value"
    return "", "this value"


def _assumed(text: str, lines: list[str]) -> str:
    """An assumption about ids that the program computes, in the user's words."""
    def words(found: re.Match) -> str:
        used = re.compile(rf"= index\w*\(.*\b{found[0]}\)")
        at = next((i for i, line in enumerate(lines, 1) if used.search(line)), 0)
        mine, about = words_of_the_user(lines, found[0], at) if at else (found[0], "")
        return f"`{mine}`" if mine and at else mine or about
    return re.sub(r"\bv\d+\b", words, text)


def _of_model(found: dict[str, Any], lines: list[str]) -> str:
    """What the model has where the sharded function has another value."""
    for note in found["notes"]:
        if note["message"] == "the model's value" and (at := note["range"]["begin"]["line"]) <= len(lines) and (place := origin(lines[at - 1])):
            words = place.segment()
            return f"the model has `{words}` there, on line {place.line}" if words else f"line {place.line} of the model has what is meant there"
    return advice.in_words("write each value as `model` does, with axes and collectives", str)


def _advice(fix: dict[str, Any], found: dict[str, Any], lines: list[str]) -> str:
    if not any("#@" in line for line in lines):  # a text that was not generated
        return fix["message"]
    if fix["message"].startswith("`model` has `"):
        return _of_model(found, lines)
    return advice.in_jax(fix, lines, lambda name, at: words_of_the_user(lines, name, at)) or _worded(fix["message"], lines)


def _worded(text: str, lines: list[str]) -> str:
    """A message in the words of JAX, where the text was generated."""
    def said(name: str) -> str:
        mine, about = words_of_the_user(lines, name, len(lines))
        return f"`{mine}`" if mine else about

    if not any("#@" in line for line in lines):
        return text
    lead = re.match(r"(?:\s*(?:\w+\[\w+\]:|[|=]) )?", text)[0]
    return lead + advice.in_words(text[len(lead):], said)


def _in_jax(rendered: str, found: list[dict[str, Any]], lines: list[str]) -> str:
    """What check-sharding printed, with its fixes as what to write in JAX."""
    given: dict[str, list[str]] = {}
    for each in found:
        for fix in each["fixes"]:
            given.setdefault(fix["message"], []).append(_advice(fix, each, lines))
    result, skipping = [], False
    for line in rendered.splitlines():
        start = re.match(r"(\s+= (?:fix|help): )(.*)", line)
        message = start and next((m for m in given if given[m] and re.match(re.escape(m) + r"(; | \(checked\)|$)", start[2])), None)
        if start and message and (text := given[message].pop(0)) != message:
            result.append(start[1] + text + start[2][len(message):])
            skipping = True
        elif not (skipping and re.match(r"\s*\d+ [+-] ", line)):
            result.append(line if re.match(r"\s*\d+ \|", line) else _worded(line, lines))
            skipping = False
    return "\n".join(result)


def _diagnostic(found: dict[str, Any], path: str, lines: list[str]) -> Diagnostic:
    at = _place(found["range"])
    users = None
    if at and at.file == path and at.line <= len(lines):
        users = origin(lines[at.line - 1]) or _source_of(lines, at.line - 1, found["message"])
    return Diagnostic(
        found["code"], found["severity"], _worded(found["message"], lines), _worded(found["label"], lines), users, at,
        [_worded(text, lines) for text in (*(note["message"] for note in found["notes"]), *found["details"])],
        found["counterexample"], *([_advice(fix, found, lines) for fix in found["fixes"] if fix["checked"] == checked]
                                   for checked in (True, False)))


def _report(answer: dict[str, Any], text: str, path: str) -> Report:
    lines = text.splitlines()
    plans = [plan for plan in answer["plans"] if not plan["imported"]]
    found = [*answer["diagnostics"], *(d for plan in plans for d in plan["diagnostics"])]
    return Report(
        verdict=answer["verdict"], text=text, path=path, json=answer, seconds=answer["seconds"],
        conditions=list(dict.fromkeys(c for plan in plans for c in plan["conditions"])),
        assumptions=list(dict.fromkeys(_assumed(a, lines) for plan in plans for a in plan["assumptions"])),
        diagnostics=[_diagnostic(each, path, lines) for each in found])


def check(source: str | Path, *, timeout: float = 120) -> Report:
    """Proves the plans of a `.shard` file, or of a text (a string with a line break).

    Raises CheckerError where check-sharding gives no answer.
    """
    text = str(source)
    if isinstance(source, Path) or "\n" not in text:
        return _checked(Path(source), timeout)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.shard"
        path.write_text(text)
        return _checked(path, timeout)


def _checked(path: Path, timeout: float) -> Report:
    import subprocess

    try:
        done = call("--format", "json", str(path), timeout=timeout)
    except subprocess.TimeoutExpired:
        return Report("unknown", path.read_text(), str(path), checks=[f"no answer in {timeout} s"])
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError as error:
        raise CheckerError(done.stderr.strip() or done.stdout.strip()) from error
    return _report(answer, path.read_text() if path.exists() else "", str(path))


def _page(report: Report) -> str:
    """What check-sharding prints of a report's text, with places in JAX."""
    plans = [plan for plan in report.json["plans"] if not plan["imported"]]
    found = [*report.json["diagnostics"], *(d for plan in plans for d in plan["diagnostics"])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(report.path)
        if not path.exists() or path.read_text() != report.text:  # it was of the proof, or is another text by now
            path = Path(folder) / path.name
            path.write_text(report.text)
        return _in_jax(call("--no-color", str(path)).stdout, found, report.text.splitlines())
