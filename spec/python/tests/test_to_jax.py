"""Plans printed as JAX run on 8 CPU devices, and have the values that the oracle gives their models."""
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from shardproof.binary import call

MODELS = Path(__file__).parents[2] / "models"
FULL = bool(os.environ.get("SHARDPROOF_FULL"))
FEW = ("ffn.shard", "gpt2.shard:gpt2_loss_s,gpt2_t", "llama3.shard:llama_sharded,llama_loss_sharded",
       "moe_capacity.shard:moe_sharded", "deepseek3.shard:moe_sharded", "data_parallel.shard:step_ddp,step_zero2", "clip.shard:train_step_d")


def apart(*words):
    """By file and plan how far it is from the oracle."""
    done = subprocess.run([sys.executable, str(Path(__file__).parent / "to_jax.py"),
                           *(w if "=>" in w else str(MODELS / w) for w in words)],
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
    found = {(file, plan): float(far) for file, plan, far in lines}
    assert len(found) == len(lines)
    return found


def test_printed_plans_run_as_the_oracle_says():
    found = apart(*sorted(path.name for path in MODELS.glob("*.shard")) if FULL else FEW)
    assert len(found) >= (190 if FULL else 9), found
    assert not {plan: far for plan, far in found.items() if not far < 1e-4}


FAULTS = {
    "ffn.shard:ffn_sharded": '("t", "d"), axis=0=>("d", "t"), axis=0',
    "gpt2.shard:embed_s": 'lax.axis_index("t") * =>0 * ',
    "gpt2.shard:layer_s": "scatter_dimension=1=>scatter_dimension=0",  # shapes that do not fit are noticed too
    "data_parallel.shard:step_zero3": '("d",), ((), ())=>(), ((), ())',  # a mean of the ranks' losses
    "dit.shard:train_step_sharded": "zip(parts, sums)=>zip(parts, [()] * len(sums))",  # parts are not added
}


@functools.cache
def with_faults():
    return apart(*(word for fault in FAULTS.items() for word in fault))


@pytest.mark.parametrize("plan", FAULTS)
def test_a_fault_in_a_printed_program_is_noticed(plan):
    assert with_faults()[tuple(plan.split(":"))] > 1e-3


def test_what_cannot_be_printed_is_named_with_its_line():
    done = call("--no-color", str(MODELS / "llama3_ring.shard"), "--to", "jax")
    assert "# attn_ring is not printed: a ring" in done.stdout
    line = next(i for i, text in enumerate((MODELS / "llama3_ring.shard").read_text().splitlines(), 1)
                if " = ring " in text)
    assert f"llama3_ring.shard:{line}:" in done.stderr


@pytest.mark.parametrize("name", sorted(path.name for path in MODELS.glob("*.shard")) if FULL else [
    "llama3_data_parallel.shard", "llama_backward.shard", "llama_bf16.shard", "mlp_pipeline.shard"])
def test_each_plan_is_printed_or_named_with_its_line(name):
    done = call("--no-color", str(MODELS / name), "--to", "jax")
    assert done.returncode == 0, done.stderr
    plans = set(re.findall(r"^plan (\w+)", (MODELS / name).read_text(), re.M))
    printed = set(re.findall(r"^def (\w+)\(mesh", done.stdout, re.M))
    named = set(re.findall(r"^# (\w+) is not printed: .", done.stdout, re.M))
    assert plans and plans == (printed | named) & plans and not printed & named, plans ^ (printed | named)
    noted = re.findall(r"note\[\w+\]: (\w+) is not printed: .*\n *--> (\S+):(\d+):", done.stderr)
    assert {plan for plan, *_ in noted} == named, done.stderr
    assert all(Path(file).parent == MODELS and 0 < int(line) <= len(Path(file).read_text().splitlines()) for _, file, line in noted)


def test_a_plan_that_is_refuted_is_not_printed(tmp_path):
    file = tmp_path / "ffn.shard"
    text = (MODELS / "ffn.shard").read_text()
    file.write_text(text.replace("return x + psum_scatter", "return psum_scatter"))
    done = call(str(file), "--to", "jax")
    assert done.returncode == 1 and "def ffn_sharded" not in done.stdout and "error[E0403]" in done.stderr
