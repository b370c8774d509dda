"""Prints, for each example, its equations, the share of them that is read, and how the proof goes."""
import conftest  # noqa: F401  (says where the package and check-sharding are)
import gpipe
import jax
import llama_step
import optax_step
import scaling_book
import shardproof
import tutorial_ffn
import tutorial_networks as networks
from jax.extend import core as jex_core
from shardproof.api import as_shape
from shardproof.rules import RULES, rule_of

EXAMPLES = {
    "tutorial_ffn": (tutorial_ffn.ffn, tutorial_ffn.ffn_sharded, tutorial_ffn.shapes, None),
    **{f"tutorial_networks, {kind}": (*networks.losses(kind), networks.shapes, None) for kind in networks.SPECS},
    **{f"tutorial_networks, {kind}, gradients": (*networks.gradients(kind), networks.shapes, None) for kind in networks.SPECS},
    "scaling_book": (*(lambda f: (f.__shardproof__[0], f, f.__shardproof__[1], f.__shardproof__[2]))(scaling_book.layer_sharded),),
    "optax_step": (optax_step.step, optax_step.step_sharded, optax_step.arguments, None),
    "gpipe": (gpipe.loss, gpipe.loss_sharded, gpipe.arguments, gpipe.dims),
    "llama_step": (llama_step.step, llama_step.step_sharded, llama_step.step_arguments, llama_step.step_dims),
}


def equations(jaxpr) -> list[str]:
    """The primitives of a jaxpr and of all bodies in it."""
    found = []
    for eqn in jaxpr.eqns:
        found.append(eqn.primitive.name)
        for inner in jex_core.jaxprs_in_params(eqn.params):
            found += equations(inner)
    return found


def main() -> None:
    print("| example | equations of model, sharded | read | stops | verdict | lines | import s | proof s |\n"
          "|---|---|---|---|---|---|---|---|")
    rule_of("add")  # all modules of rules are there
    proved = 0
    for name, (model, sharded, arguments, dims) in EXAMPLES.items():
        args = [as_shape(a) for a in arguments]
        each = [equations(jax.make_jaxpr(f)(*args).jaxpr) for f in (model, sharded)]
        all_ = [p for found in each for p in found]
        stops = sorted({p for p in all_ if p not in RULES})
        report = shardproof.prove(model, sharded, *arguments, dims=dims)
        proved += report.proved
        print(f"| {name} | {len(each[0])}, {len(each[1])} | {sum(p in RULES for p in all_) / len(all_):.1%} | "
              f"{', '.join(stops) or '-'} | {report.verdict} | {len(report.text.splitlines())} | "
              f"{report.import_seconds:.2f} | {report.seconds:.2f} |", flush=True)
    print(f"\n{proved} of {len(EXAMPLES)} proved")


if __name__ == "__main__":
    main()
