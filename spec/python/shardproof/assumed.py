"""Ids that name entries: a model that only looks entries up at a parameter, and does nothing else with it, is meant for ids of
entries that there are. What JAX does with others (NaN, or the first or last entry) is left out, and the report says so."""
from __future__ import annotations

import re

LINE = re.compile(r"\s+(\w+) = (.*?)(?:  #.*)?$")
PARAMETER = re.compile(r"(\w+): i32\[")


def model_lines(text: str) -> list[tuple[str, str]]:
    """(name, expression) of each line of the model."""
    body = text[text.index("\nfn model("):text.index("\nplan sharded ")].splitlines()[2:]
    return [(found[1], found[2]) for line in body if (found := LINE.match(line))]


def looked_up_in(text: str, name: str, marks: set[int] | None = None) -> str | None:
    """The dim of whose entries a parameter is ids, where the model of a text uses it for that alone. With `marks` it may also
    ask whether an id is one of some numbers below 0, which are added to `marks`, and take an entry in place of these."""
    ids, below, from_end, dims = {name}, set(), set(), set()
    named: set[str] = set()  # whether an id is no such number
    counting: dict[str, str] = {}  # the index of a dim
    for made, expression in model_lines(text):
        body = re.sub(r'"[^"]*"', '""', expression)
        words = re.findall(r"\b[A-Za-z_]\w*\b", body)
        if found := re.match(r'iota\("(\w+)"\)$', expression):
            counting[made] = found[1]
        elif re.match(r'(expand|rearrange)\("", \w+\)$', body) and words[-1] in counting:
            counting[made] = counting[words[-1]]
        if not {*words} & (ids | below | from_end):
            continue
        if re.match(r'(expand|rearrange)\("", \w+\)$', body) and words[-1] in ids:
            ids.add(made)
        elif (found := re.match(r"(\w+) == (\w+)$", body)) and {*found.groups()} & ids and {*found.groups()} & {*counting}:
            dims |= {counting[word] for word in found.groups() if word in counting}
        elif marks is not None and (found := re.match(r"(\w+) != \((-\d+)\)$", body)) and found[1] in ids:
            marks.add(int(found[2]))
            named.add(made)
        elif marks is not None and (found := re.match(r"where\((\w+), (?:i32\()?(\w+)\)?, 0\)$", body)) \
                and found[1] in named and found[2] in ids:
            ids.add(made)
        elif (found := re.match(r"(\w+) < 0$", body)) and found[1] in ids:
            below.add(made)
        elif (found := re.match(r"(\w+) \+ (\|\w+\||\d+)$", body)) and found[1] in ids:
            from_end.add(made)
        elif (found := re.match(r"where\((\w+), (?:i32\()?(\w+)\)?, (\w+)\)$", body)) \
                and found[1] in below and found[2] in from_end and found[3] in ids:
            ids.add(made)
        elif (found := re.match(r"minimum\(maximum\((\w+), 0\), ", body)) and found[1] in ids:
            ids.add(made)
        elif (found := re.match(r'index\("", \w+, (\w+)\)$', body)) and found[1] in ids:
            dims |= {*re.findall(r"\[(\w+)\]", expression)}
        else:
            return None
    return dims.pop() if len(dims) == 1 else None


def ids_alone(text: str) -> list[str]:
    """What the model's ids are, where it does nothing but look entries up at them."""
    head = re.search(r"^fn model\(.*$", text, re.M)[0].partition(") -> ")[0]
    return [f"0 <= {name} < |{dim}|" for name in PARAMETER.findall(head) if (dim := looked_up_in(text, name))]


def marked_alone(text: str) -> list[tuple[str, str, int]]:
    """(parameter, dim, number) where the model's ids name entries of the dim, or are the one number that marks no entry."""
    head = re.search(r"^fn model\(.*$", text, re.M)[0].partition(") -> ")[0]
    found = []
    for name in PARAMETER.findall(head):
        marks: set[int] = set()
        if (dim := looked_up_in(text, name, marks)) and len(marks) == 1:
            found.append((name, dim, *marks))
    return found


def with_marks(text: str, found: list[tuple[str, str, int]]) -> str:
    """The text about ids that name entries, each beside whether it counts: the others are the number."""
    lines = []
    for line in text.split("\n"):
        head = re.match(r"fn model\(|plan sharded ", line)
        for name, _, _ in found if head else ():
            line = re.sub(rf"\b{name}: i32\[([^\]]*)\]", rf"{name}_counts: bool[\1], {name}_id: i32[\1]", line, count=1)
        lines.append(line)
        if head and head[0] == "fn model(":
            lines += [f"    assume 0 <= {name}_id < |{dim}|" for name, dim, _ in found]
        if head:
            lines += [f"    {name} = where({name}_counts, {name}_id, {number})" for name, _, number in found]
    return "\n".join(lines)


def assuming(text: str, found: list[str]) -> str:
    """The text whose model assumes these ranges."""
    end = re.search(r"^fn model\(.*$", text, re.M).end()
    return text[:end] + "".join(f"\n    assume {each}" for each in found) + text[end:]
