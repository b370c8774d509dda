"""No mutant that changes a number in JAX is proved."""
import inspect
import os
import random
from dataclasses import replace

import llama_step as llama
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


def whole_programs() -> list[programs.Pair]:
    """The examples as pairs: a Transformer layer, and the loss of a Llama in plain JAX."""
    layer = programs.Pair(
        "scaling_book", book.layer, inspect.unwrap(book.layer_sharded),
        (P("X", None, "Y"), *[P("X", "Y", None)] * 3, P("Y", None, "X"), P("X", "Y"), P("Y", "X")),
        P("X", None, "Y"), ((4, 6, 16), *[(16, 8, 5)] * 3, (8, 5, 16), (16, 32), (32, 16)),
        mesh=book.mesh)
    loss = programs.Pair("llama_loss", llama.loss, llama.loss_sharded, (llama.specs, P("d", None), P("d", None)),
                         P(), llama.loss_arguments, mesh=llama.mesh)
    return [layer, loss]


FEW = 5
OTHERS = ["spellings", "loops", "derivatives", "trees", "attention", "near_misses"]
LLAMA = ["layer_sharded", "rows", "cross_entropy_sharded", "loss_sharded", "gather"]


def mutants_of(pair):
    """(what was changed, the pair with it)."""
    changed = mutations.of_module(llama, LLAMA, "loss_sharded") if pair.name == "llama_loss" \
        else mutations.mutants(pair.body)
    for what, body in changed:
        yield what, replace(pair, body=body)
    for which in ("in_specs", "out_specs"):
        for what, specs in mutations.specs_changed(getattr(pair, which), pair.mesh.axis_names):
            yield f"{which}: {what}", replace(pair, **{which: specs})


def test_no_mutant_that_changes_a_number_is_proved():
    pairs = [(pair, 40) for pair in [*programs.of("bugs"), *whole_programs()] if pair.right]
    pairs += [(pair, 8) for pair in programs.of(*OTHERS) if pair.right]
    if FULL:  # numbers tell nothing of a pair whose own differ: ids beyond a table, differences of what is nearly equal
        pairs = [(pair, most) for pair, most in pairs if not changes_a_number(pair)]
    by_pair = [([(mutant, what) for what, mutant in mutants_of(pair)], most) for pair, most in pairs]
    pick = random.Random(int(os.environ.get("SHARDPROOF_SEED", "7")))
    each = [mutant for of_pair, most in by_pair for mutant in pick.sample(of_pair, min(len(of_pair), most))]
    chosen = each if FULL else pick.sample(each, len(each))
    count = {"changed": 0, "same": 0, "not run": 0}
    verdicts: dict[str, int] = {}
    wrong = []
    for pair, what in chosen:
        if not FULL and count["changed"] == FEW:
            break
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
        print(pair.name, what, report.verdict, count, verdicts, flush=True)
    print(f"{sum(count.values())} mutants of {len(pairs)} programs: {count}, {verdicts}")
    assert not wrong, "\n".join(wrong)
    assert count["changed"] >= (200 if FULL else FEW)
