"""The examples are proved, for every mesh and size, and evaluated beside JAX."""
import llama_step as llama
import optax_step as step
import pytest
import scaling_book as book
import shardproof
import tutorial_networks as networks


def proved(report, where=""):
    assert report.proved, report
    assert report.level.startswith(f"for every mesh and size, {where}if"), report.level
    assert sum("agree to" in check for check in report.checks) == 2, report.checks


@pytest.mark.parametrize("kind", networks.SPECS)
def test_tutorial_networks(kind):
    proved(shardproof.prove(*networks.losses(kind), *networks.shapes))
    gradients = shardproof.prove(*networks.gradients(kind), *networks.shapes, validate=kind == "both")
    assert gradients.proved, gradients


def test_scaling_book():
    proved(shardproof.prove(book.layer_sharded))


def test_optax_step():
    proved(shardproof.prove(step.step, step.step_sharded, *step.arguments))


def test_llama_step():
    """Loss, gradients, clipping and AdamW: the plan on ranks, and the model, beside JAX."""
    proved(shardproof.prove(llama.step, llama.step_sharded, *llama.step_arguments, dims=llama.step_dims),
           "where 2 | D, D2 = |D|, D3 = |D|, V2 = |V|, ")
