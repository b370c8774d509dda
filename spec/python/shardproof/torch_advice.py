"""A report about torch programs in the words of torch: collectives on a DeviceMesh, and placements."""
from __future__ import annotations

import re

from .report import Report

AXES = r'(\("[^)]*"\)|"\w+")'
OPERAND = r"((?:[^(),`]|\([^()`]*\)|\[[^\[\]`]*\])+|[^`]+?)"
SAID = [
    (rf'lax\.psum\({OPERAND}, {AXES}\)', r'all_reduce(\1, "sum", mesh[\2])'),
    (rf'lax\.pmax\({OPERAND}, {AXES}\)', r'all_reduce(\1, "max", mesh[\2])'),
    (rf'lax\.all_gather\({OPERAND}, {AXES}, axis=i, tiled=True\)', r"all_gather_tensor(\1, i, mesh[\2])"),
    (rf'lax\.psum_scatter\({OPERAND}, {AXES}, scatter_dimension=i, tiled=True\)', r'reduce_scatter_tensor(\1, "sum", i, mesh[\2])'),
    (rf'lax\.dynamic_slice_in_dim\({OPERAND}, lax\.axis_index\({AXES}\) \* n, n, i\)', r"(\1).narrow(i, mesh.get_local_rank(\2) * n, n)"),
    (rf'jnp\.where\(lax\.axis_index\({AXES}\) == 0, {OPERAND}, 0\)', r"\2 if mesh.get_local_rank(\1) == 0 else 0 * \2"),
    (r"lax\.psum_scatter", "reduce_scatter_tensor"), (r"lax\.psum", "all_reduce"), (r"lax\.all_gather", "all_gather_tensor"),
    (r"the sharded function", "the parallelized module"), (r"\binside of shard_map\b", "inside of the module"),
    (r"\bshard_map\b", "the parallelized module"),
]
SPEC = re.compile(r' as P\(((?:"\w+"|\((?:"\w+"(?:, )?)+\)|None|, )*)\)')


def placements(found: re.Match) -> str:
    """P("d", None) as the placements by axis."""
    words = []
    for dim, entry in enumerate(re.findall(r'None|"\w+"|\([^)]*\)', found[1])):
        words += [f"Shard({dim}) over {axis}" for axis in re.findall(r'"(\w+)"', entry)]
    return ", " + ", ".join(words) if words else ""


def in_torch(text: str) -> str:
    text = SPEC.sub(placements, text)
    for pattern, said in SAID:
        text = re.sub(pattern, said, text)
    return text


def page(text: str) -> str:
    """All lines but those of the program."""
    return "\n".join(line if re.match(r"\s*\d+ \| ", line) else in_torch(line) for line in text.split("\n"))


OWN_COUNT = "labels of -100 (`ignore_index`) do not count, so each rank divides by its own count: take " \
            '`F.cross_entropy(.., reduction="sum")`, and divide it by a number that is the same on all ranks, as `labels.numel()`'


def translate(report: Report) -> None:
    """Its messages, fixes and the page of them."""
    for each in report.diagnostics:
        if each.code == "E0213" and each.place and re.search("cross_entropy|nll_loss|CrossEntropyLoss", each.place.shown()):
            each.helps.append(OWN_COUNT)
        each.message, each.label = in_torch(each.message), in_torch(each.label)
        each.details, each.fixes, each.helps = ([in_torch(text) for text in texts] for texts in (each.details, each.fixes, each.helps))
    report.worded = page


__all__ = ["in_torch", "page", "translate"]
