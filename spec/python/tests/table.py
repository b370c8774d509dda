"""Prints a table: each pair of programs/bugs.py, or of the files that are named, beside check_vma and, where it is installed,
spmd_types, with the line that is shown and seconds. ../COMPARED.md keeps one."""
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


def spmd_types():
    """What spmd_types says of a pair: its local and its global types. Nothing where it is not installed or cannot say it."""
    try:
        import spmd_table
    except ImportError:
        return lambda pair: ("-", "-")
    spmd_table.start()
    return lambda pair: tuple(spmd_table.said(pair, local).partition(":")[0] if pair.name in spmd_table.BODIES else "-"
                              for local in (True, False))


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
    print("| program | bug | shardproof | check_vma | spmd_types, local | global | line | import s | proof s |\n"
          "|---|---|---|---|---|---|---|---|---|")
    count, of, types = {}, {}, spmd_types()
    for pair in pairs:
        report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes)
        vma, line = check_vma(pair), shown(pair, report)
        local, whole = types(pair)
        for who, ok in (("shardproof", report.proved if pair.right else report.verdict == "refuted"),
                        ("shardproof, at a line of the function", None if pair.right else bool(line)),
                        ("check_vma", (vma == "accepted") == pair.right),
                        ("spmd_types, local", None if local == "-" else (local == "accepted") == pair.right),
                        ("spmd_types, global", None if whole == "-" else (whole == "accepted") == pair.right)):
            if ok is not None:
                count[who, pair.right] = count.get((who, pair.right), 0) + ok
                of[who, pair.right] = of.get((who, pair.right), 0) + 1
        by = " (by evaluation)" if "by evaluation" in report.level else ""
        bug = pair.bug.replace("|", "\\|") or "right"
        print(f"| {pair.name} | {bug} | {report.verdict}{by} | {vma} | {local} | {whole} | {line and f'`{line}`'} | "
              f"{report.import_seconds:.2f} | {report.seconds:.2f} |")
    print()
    for (who, of_right), n in sorted(count.items()):
        print(f"- {who}: {n} of {of[who, of_right]} {'right ones accepted' if of_right else 'wrong ones refused'}")


if __name__ == "__main__":
    main()
