"""No mutant that changes a number in JAX is proved."""
import inspect
import os
import random
from dataclasses import replace

import mutations
import numpy as np
import programs
import scaling_book as book
import shardproof
from jax.sharding import PartitionSpec as P
from shardproof import validation
from shardproof.api import as_shape
from shardproof.program import trace

FULL = bool(os.environ.get("SHARDPROOF_FULL"))


def changes_a_number(pair) -> bool | None:
    """Whether the sharded program gives other numbers than the model; None: it does not run."""
    args = tuple(as_shape(s) for s in pair.shapes)
    try:
        model = trace(pair.model, args, None).jaxpr
        sharded = trace(pair.sharded(), args, dict(pair.mesh.shape)).jaxpr
        of_model, of_sharded = validation.traced_values(
            model, sharded, programs.values_of(pair.shapes))
    except Exception:  # noqa: BLE001  (a mutant may fail in any way)
        return None
    if [np.shape(x) for x in of_model] != [np.shape(x) for x in of_sharded]:
        return None
    return validation.difference(of_sharded, of_model) >= validation.CLOSE


def test_no_mutant_that_changes_a_number_is_proved():
    book_pair = programs.Pair(
        "scaling_book", True, book.layer, inspect.unwrap(book.layer_sharded),
        (P("X", None, "Y"), *[P("X", "Y", None)] * 3, P("Y", None, "X"), P("X", "Y"), P("Y", "X")),
        P("X", None, "Y"), ((4, 6, 16), *[(16, 8, 5)] * 3, (8, 5, 16), (16, 32), (32, 16)),
        mesh=book.mesh)
    everything = [(pair, what, mutant) for pair in [*programs.PAIRS, book_pair] if pair.right
                  for what, mutant in mutations.mutants(pair.body)]
    chosen = everything if FULL else random.Random(7).sample(everything, 20)
    count = {"changed": 0, "same": 0, "not run": 0}
    verdicts: dict[str, int] = {}
    wrong = []
    for pair, what, body in chosen:
        pair = replace(pair, body=body)
        changed = changes_a_number(pair)
        count["not run" if changed is None else "changed" if changed else "same"] += 1
        if not changed:
            continue
        try:
            report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes, validate=False,
                                      meshes=1)
        except Exception as error:  # noqa: BLE001  (no mutant makes the importer fail)
            wrong.append(f"{pair.name}: {what}: {type(error).__name__}: {error}")
            continue
        verdicts[report.verdict] = verdicts.get(report.verdict, 0) + 1
        if report.proved:
            wrong.append(f"{pair.name}: {what}: proved")
    print(count, verdicts)
    assert not wrong, "\n".join(wrong)
    assert count["changed"] >= (150 if FULL else 5)

