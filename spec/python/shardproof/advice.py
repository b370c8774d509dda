"""Fixes of check-sharding in the words of a JAX program: the collective, and what it is put around."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

CALL = re.compile(r'\b(all_reduce|all_gather|psum_scatter|zero_nonroot|slice)\("([^"]*)", ')


def marks(side: str) -> dict[str, str]:
    """The axes of `{U_d Max_t}`, each with its mark."""
    found = re.search(r"\{(.*?)\}", side)
    return {axis: mark for mark, _, axis in (word.partition("_") for word in found[1].split())} if found else {}


def split(side: str) -> dict[str, list[str]]:
    """The axes that split each dim of one side of a pattern."""
    dims = (word.split("/") for word in re.sub(r"\{.*?\}", "", side).split())
    return {name: axes for name, *axes in dims}


def names(axes: list[str]) -> str:
    quoted = [f'"{axis}"' for axis in axes]
    return quoted[0] if len(quoted) == 1 else f"({', '.join(quoted)})"


def moved(left: dict[str, list[str]], right: dict[str, list[str]]) -> list[str]:
    """The axes that one side splits a dim by, and the other does not."""
    return [axis for name, axes in left.items() for axis in axes if axis not in right.get(name, [])]


def written(word: str, pattern: str, operand: str) -> tuple[str, str] | None:
    """A collective of the notation as JAX has it, and what its letters mean."""
    left, _, right = pattern.partition("->")
    summed = [a for a, mark in marks(left).items() if mark == "U" and a not in marks(right)]
    most = [a for a, mark in marks(left).items() if mark == "Max" and a not in marks(right)]
    if word == "all_reduce":
        if bool(summed) == bool(most):
            return None
        return (f"lax.psum({operand}, {names(summed)})" if summed else f"lax.pmax({operand}, {names(most)})"), ""
    if word == "zero_nonroot" and (axes := [a for a in marks(right) if a not in marks(left)]):
        first = [f'lax.axis_index("{a}") == 0' for a in axes]
        return f"jnp.where({first[0] if len(first) == 1 else ' & '.join(f'({x})' for x in first)}, {operand}, 0)", ""
    axes = moved(split(left), split(right)) if word == "all_gather" else moved(split(right), split(left))
    where = f", i the axis of the array that {' and '.join(axes)} {'splits' if len(axes) == 1 else 'split'}"
    if axes and word == "all_gather":
        return f"lax.all_gather({operand}, {names(axes)}, axis=i, tiled=True)", where
    if axes and word == "psum_scatter":
        return f"lax.psum_scatter({operand}, {names(axes)}, scatter_dimension=i, tiled=True)", where
    if word == "slice" and len(axes) == 1:
        return (f'lax.dynamic_slice_in_dim({operand}, lax.axis_index("{axes[0]}") * n, n, i)',
                f"{where} then, n the entries that a device has")
    return None


TYPE = re.compile(r"`?(?:(f32|i32|bool)\[([^\]]*)\](\{[^}]*\})?|the pattern says `([^`]*)`)`?")
DTYPES = {"f32": "float32[{}]", "i32": "int32[{}]", "bool": "bool[{}]", None: "the call takes it for [{}]"}


def state(text: str) -> str:
    """What `{U_d Max_t}` says of a value."""
    summed, most = ([a for a, mark in marks(text).items() if mark == kind] for kind in ("U", "Max"))
    return (f", not yet summed over {' and '.join(summed)}" if summed else "") \
        + (f", whose maximum over {' and '.join(most)} is not yet taken" if most else "")


def typed(found: re.Match) -> str:
    """A type of the notation as the shape, the PartitionSpec and what is missing."""
    dtype, dims, marked, pattern = found.groups()
    axes = split(dims if pattern is None else pattern)
    spec = ", ".join(names(each) if each else "None" for each in axes.values())
    text = DTYPES[dtype].format(", ".join(axes)) + (f" as P({spec})" if any(axes.values()) else "") + state(marked or pattern or "")
    return text if dtype is None else f"`{text}`"


IN_WORDS = [
    (r"\bunreduced over\b", "not yet summed over"), (r"^all_reduce first", "lax.psum first"),
    (r"^reduce before (`[^`]+`|\w+)", r"`lax.psum` of it before \1"), (r"^gather over (.*) before (\w+)", r"`lax.all_gather` over \1 before it"),
    (r"^count it once: keep it on device 0 of (\w+) only", r'count it once: `jnp.where(lax.axis_index("\1") == 0, .., 0)`'),
    (r"^compute it as `model` does", "compute it as the model does"), (r"^carry `\w+` is", "a carry of the loop is"),
    (r"^write each value as `model` does, with axes and collectives.*",
     "write each value as the model does, and add with `lax.psum` what is summed over a dim that is split"),
    (r"^meanwhile, `--test` compares the plan with its model on random meshes", "`meshes=1` asks for this mesh and these sizes alone")]


def in_words(text: str, said: Callable[[str], str]) -> str:
    """A message about a generated text in the words of JAX. `said` gives the user's words for a name of the text."""
    text = TYPE.sub(typed, text)
    text = re.sub(r"\b(v\d+) is (\{[^}]*\})", lambda m: f"{said(m[1])} is{state(m[2]).removeprefix(',') or ' ' + m[2]}", text)
    text = re.sub(r"\bresult `r(\d+)` of sharded\b", r"result \1 of the sharded function", text)
    text = re.sub(r"\bthe result of sharded\b", "the result of the sharded function", text)
    text = re.sub(r"^sharded is not what", "the sharded function is not what", text)
    text = re.sub(r"\bis not what model computes$", "is not what the model computes", text)
    text = re.sub(r"^at these sizes the plan is", "at these sizes the sharded function is", text)
    for pattern, words in IN_WORDS:
        text = re.sub(pattern, words, text)
    return text


def calls(text: str) -> list[tuple[str, str, str]]:
    """(collective, pattern, operand) of each in a text."""
    found = []
    for match in CALL.finditer(text):
        depth, end = 1, match.end()
        while end < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        found.append((match[1], match[2], text[match.end():end - (depth == 0)]))
    return found


def changed(edits: list[dict[str, Any]], lines: list[str]) -> list[tuple[int, str, str]]:
    """(number, old, new) of each line that edits change; edits of several lines are left out."""
    new: dict[int, str] = {}
    for edit in sorted(edits, key=lambda e: -e["range"]["begin"]["column"]):
        begin, end = edit["range"]["begin"], edit["range"]["end"]
        if begin["line"] == end["line"] <= len(lines):
            line = new.get(begin["line"], lines[begin["line"] - 1])
            new[begin["line"]] = line[:begin["column"] - 1] + edit["text"] + line[end["column"] - 1:]
    return [(at, lines[at - 1], new[at]) for at in sorted(new)]


def in_jax(fix: dict[str, Any], lines: list[str], said: Callable[[str, int], tuple[str, str]]) -> str | None:
    """The fix as what to write, nothing where it is about the generated text alone. `said` gives the user's words for a name
    of the text on a line: an expression, or nothing and what is known of it."""
    steps: list[str] = []
    for at, old_line, new_line in changed(fix["edits"], lines):
        before, after = calls(old_line), calls(new_line)
        for word, pattern, operand in after:
            same = next((old for other, old, of in before if word == other and operand == of), None)
            if same is not None:
                steps += reordered(word, same, pattern)
                continue
            mine, about = said(operand, at)
            if (text := written(word, pattern, mine or "x")) is None:
                return None
            steps.append(f"write `{text[0]}` in place of `{mine}`{text[1]}" if mine else f"write `{text[0]}`{text[1]}, x {about}")
        for word, _, operand in before:
            if word in COLLECTIVES and not any(word == other for other, *_ in after):
                mine, about = said(operand, at)
                steps.append(f"take `{COLLECTIVES[word]}` away from " + (f"`{mine}`" if mine else about))
    return ", and ".join(dict.fromkeys(steps)) or None


COLLECTIVES = {"all_reduce": "lax.psum", "all_gather": "lax.all_gather", "psum_scatter": "lax.psum_scatter"}


def reordered(word: str, old: str, new: str) -> list[str]:
    """The axes of a collective in another order."""
    def axes(pattern: str) -> list[str]:
        left, _, right = pattern.partition("->")
        return moved(split(left), split(right)) if word == "all_gather" else moved(split(right), split(left))

    if word not in ("all_gather", "psum_scatter") or axes(old) == axes(new) or not axes(new):
        return []
    return [f"`{COLLECTIVES[word]}` over {names(axes(new))}, in this order"]


__all__ = ["in_jax", "in_words"]
