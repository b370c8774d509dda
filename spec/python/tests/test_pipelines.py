"""Ticks with ppermute are read as a pipeline, or named."""
import gpipe
import jax
import jax.numpy as jnp
import mutations
import programs
import pytest
import shardproof
from jax import lax
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P

mesh = AbstractMesh((4,), ("p",))


def stage_of(w, x):
    return jnp.tanh(x @ w)


def layers(w, x):
    return lax.scan(lambda x, w: (stage_of(w, x), None), x, w)[0]


def outputs(w, x):
    """The whole outputs, around a ring, by a shifted buffer."""
    stage, stages, count = lax.axis_index("p"), lax.axis_size("p"), x.shape[0]
    w = w[0]

    def tick(carry, t):
        received, out = carry
        y = stage_of(w, jnp.where(stage == 0, x[jnp.clip(t, 0, count - 1)], received))
        done = jnp.clip(t - (stages - 1), 0, count - 1)
        out = jnp.where((stage == stages - 1) & (t >= stages - 1), out.at[done].set(y), out)
        return (lax.ppermute(y, "p", [(i, (i + 1) % stages) for i in range(stages)]), out), None

    (_, out), _ = lax.scan(tick, (jnp.zeros_like(x[0]), jnp.zeros_like(x)), jnp.arange(count + stages - 1))
    return lax.psum(jnp.where(stage == stages - 1, out, 0.0), "p")


def padded(w, x):
    """The inputs with zeros behind, stepped through; what each tick gives is emitted."""
    stage, stages = lax.axis_index("p"), lax.axis_size("p")

    def tick(received, entering):
        y = layers(w, lax.cond(stage == 0, lambda: entering, lambda: received))
        return lax.ppermute(y, "p", [(i, i + 1) for i in range(stages - 1)]), y

    _, given = lax.scan(tick, jnp.zeros_like(x[0]), jnp.pad(x, ((0, stages - 1), (0, 0), (0, 0))))
    return lax.psum(given[stages - 1:] * (stage == stages - 1), "p")


def written_out(w, x):
    """The ticks one after the other, as the loop of Python that JAX's tutorial has."""
    stage, stages, count = lax.axis_index("p"), lax.axis_size("p"), x.shape[0]
    received, out = jnp.zeros_like(x[0]), jnp.zeros_like(x)
    for t in range(count + stages - 1):
        y = stage_of(w[0], jnp.where(stage == 0, x[min(t, count - 1)], received))
        if t >= stages - 1:
            out = out.at[t - (stages - 1)].set(jnp.where(stage == stages - 1, y, 0))
        received = lax.ppermute(y, "p", [(i, (i + 1) % stages) for i in range(stages)])
    return lax.psum(out, "p")


def before(w, x):
    """The inputs are made of all of x in front of the ticks, and used again behind."""
    h = jnp.cos(x)
    return outputs(w, h) + h


def proof(body, *shapes, meshes=1):
    return shardproof.prove(layers, jax.shard_map(body, mesh=mesh, in_specs=(P("p"), P()), out_specs=P(),
                                                  check_vma=False), *shapes, meshes=meshes)


ONE, TWO = ((4, 6, 6), (5, 3, 6)), ((8, 6, 6), (5, 3, 6))


@pytest.mark.parametrize("body, shapes", [(outputs, ONE), (padded, ONE), (padded, TWO), (written_out, ONE)])
def test_outputs_of_a_pipeline(body, shapes):
    report = proof(body, *shapes)
    assert report.proved and " over p by gpipe {" in report.text, report
    assert sum("agree to" in check for check in report.checks) == 2, report.checks


def test_what_is_in_front_and_behind():
    model = lambda w, x: layers(w, jnp.cos(x)) + jnp.cos(x)  # noqa: E731
    sharded = jax.shard_map(before, mesh=mesh, in_specs=(P("p"), P()), out_specs=P(), check_vma=False)
    report = shardproof.prove(model, sharded, *ONE, meshes=1)
    assert report.proved and " over p by gpipe {" in report.text, report


def test_a_stage_that_leaves_layers_out_is_not_proved():
    """outputs() takes the first of each stage's layers."""
    assert proof(outputs, *TWO).verdict == "refuted"


def test_the_example():
    """The loss of a language model on d x p x t, for every mesh and size."""
    report = shardproof.prove(gpipe.loss, gpipe.loss_sharded, *gpipe.arguments, dims=gpipe.dims)
    assert report.proved and report.level.startswith("for every mesh and size, if"), report
    assert "pipeline" in report.text and sum("agree to" in check for check in report.checks) == 2, report


@pytest.mark.parametrize("old, new", [
    ("ids[jnp.clip(t, 0", "ids[jnp.clip(t - 1, 0"), ("stage == 0", "stage == 1"), ("done >= 0", "done >= 1"),
    ("targets[jnp.clip(done, 0", "targets[jnp.clip(t, 0"), ("(i, i + 1)", "(i + 1, i)"),
    ("total / count, \"p\"", "total / stages, \"p\""), ("stage == stages - 1", "stage >= 0")])
def test_wrong_ticks_are_not_proved(old, new):
    wrong = mutations.edited(gpipe.loss_on_mesh, old, new)
    report = shardproof.prove(gpipe.loss, gpipe.on_mesh(wrong), *gpipe.arguments, meshes=1)
    assert report.verdict == "refuted", report


@pytest.mark.parametrize("old, new", [
    ("count + stages - 1", "count + stages - 2"), ("x[min(t, count - 1)]", "x[min(t + 1, count - 1)]"),
    ("stage == 0", "stage == 1"), ("stage == stages - 1", "stage == stages - 2"), ("(i + 1) % stages", "(i + 2) % stages"),
    ("stage_of(w[0], jnp", "stage_of(w[0] if t else w[0] + 1, jnp")])
def test_wrong_ticks_that_are_written_out_are_not_proved(old, new):
    report = proof(mutations.edited(written_out, old, new), *ONE)
    assert report.verdict == "refuted", report


def test_what_is_no_pipeline_is_named():
    """The gradient through the ticks."""
    def gradient(w, x):
        return jax.grad(lambda w: padded(w, x).sum())(w)

    report = shardproof.prove(lambda w, x: jax.grad(lambda w: layers(w, x).sum())(w), jax.shard_map(
        gradient, mesh=mesh, in_specs=(P("p"), P()), out_specs=P("p"), check_vma=False), *ONE, meshes=1)
    assert not report.proved and "not recognised as a pipeline" in str(report), report
    assert "Gradients through ticks are not read: prove the loss" in str(report), report


@pytest.mark.parametrize("name", ["gathered_product_of_a_loop", "contracted_product_of_a_loop", "scattered_product_sent_before",
                                  "scattered_product_sent_after", "causal_steps", "gathered_product_of_the_tutorial",
                                  "scattered_product_of_steps", "contracted_squares_of_steps", "gradient_of_a_ring",
                                  "gradient_of_a_causal_ring", "ring_with_its_last_step_outside", "ring_with_its_first_step_outside",
                                  "gradient_of_a_ring_with_its_last_step_outside", "ring_that_sends_before_its_last_step"])
def test_products_with_blocks_that_go_around_are_proved_for_every_mesh(name):
    pair = next(each for each in programs.PAIRS if each.name == name)
    report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes)
    assert report.proved and " = ring " in report.text and report.level.startswith("for every mesh and size"), report


@pytest.mark.parametrize("name", [
    "gathered_product_of_the_other_way", "contracted_product_with_other_rows", "scattered_product_of_a_step_before",
    "scattered_product_of_a_step_after", "causal_steps_one_short", "causal_steps_of_the_other_way", "causal_steps_with_another_last",
    "scattered_product_of_steps_off_by_one", "scattered_product_begun_with_its_number", "contracted_squares_and_a_cube",
    "contracted_squares_of_the_step_before", "gradient_of_a_ring_that_stays", "gradient_of_a_ring_back", "gradient_of_a_ring_twice",
    "gradient_of_a_causal_ring_one_short", "ring_with_its_last_step_twice", "gradient_of_a_ring_that_is_not_home",
    "ring_that_sends_too_seldom"])
def test_wrong_products_and_rings_are_not_proved_without_evaluation_either(name):
    pair = next(each for each in programs.PAIRS if each.name == name)
    report = shardproof.prove(pair.model, pair.sharded(), *pair.shapes, validate=False)
    assert report.verdict in ("refuted", "unknown"), report
