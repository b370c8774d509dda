"""Prints a table: each pair of programs/bugs.py, or of the files that are named, beside check_vma, with the line that is shown
and seconds."""
import inspect
import linecache
import sys

import conftest  # noqa: F401  (says where the package and check-sharding are)
import jax
import programs
import shardproof
from shardproof.api import as_shape


def check_vma(pair) -> str:
    try:
        jax.make_jaxpr(pair.sharded(vma=True))(*(as_shape(s) for s in pair.shapes))
    except Exception:  # noqa: BLE001  (whatever it says, it refuses)
        return "refused"
    return "accepted"


def shown(pair, report) -> str:
    """The line of the first error in the sharded function's own body; empty where none is there."""
    lines, first = inspect.getsourcelines(pair.body)
    for each in report.errors:
        if each.place and first <= each.place.line < first + len(lines) and \
                each.place.file == inspect.getsourcefile(pair.body):
            return linecache.getline(each.place.file, each.place.line).strip().replace("|", "\\|")
    return ""


def main() -> None:
    pairs = programs.of(*sys.argv[1:] or ["bugs"])
    right = [pair for pair in pairs if pair.right]
    print(f"{len(pairs)} programs, {len(right)} of them right\n")
    print("| program | bug | shardproof | check_vma | line | import s | proof s |\n"
          "|---|---|---|---|---|---|---|")
    count = {}
    for pair in pairs:
        report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes)
        vma, line = check_vma(pair), shown(pair, report)
        for who, ok in (("shardproof", report.proved if pair.right else report.verdict == "refuted"),
                        ("shardproof, at a line of the function", pair.right or bool(line)),
                        ("check_vma", (vma == "accepted") == pair.right)):
            count[who, pair.right] = count.get((who, pair.right), 0) + ok
        by = " (by evaluation)" if "by evaluation" in report.level else ""
        bug = pair.bug.replace("|", "\\|") or "right"
        print(f"| {pair.name} | {bug} | {report.verdict}{by} | {vma} | {line and f'`{line}`'} | "
              f"{report.import_seconds:.2f} | {report.seconds:.2f} |")
    for (who, of_right), n in sorted(count.items()):
        if of_right and "line" in who:
            continue
        of = len(right) if of_right else len(pairs) - len(right)
        print(f"\n{who}: {n} of {of} {'right' if of_right else 'wrong'} ones", end="")
    print()


if __name__ == "__main__":
    main()
