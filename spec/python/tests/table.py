"""Prints a table: each pair of programs.py beside JAX's own check_vma, with seconds."""
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


def main() -> None:
    right = [pair for pair in programs.PAIRS if pair.right]
    print(f"{len(programs.PAIRS)} programs, {len(right)} of them right\n")
    print("| program | bug | shardproof | check_vma | import s | proof s |\n|---|---|---|---|---|---|")
    count = {}
    for pair in programs.PAIRS:
        report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes)
        vma = check_vma(pair)
        for who, ok in (("shardproof", report.proved if pair.right else report.verdict == "refuted"),
                        ("check_vma", (vma == "accepted") == pair.right)):
            count[who, pair.right] = count.get((who, pair.right), 0) + ok
        by = " (by evaluation)" if "by evaluation" in report.level else ""
        print(f"| {pair.name} | {pair.bug or 'right'} | {report.verdict}{by} | {vma} | "
              f"{report.import_seconds:.2f} | {report.seconds:.2f} |")
    for (who, of_right), n in sorted(count.items()):
        of = len(right) if of_right else len(programs.PAIRS) - len(right)
        print(f"\n{who}: {n} of {of} {'right' if of_right else 'wrong'} ones", end="")
    print()


if __name__ == "__main__":
    main()
