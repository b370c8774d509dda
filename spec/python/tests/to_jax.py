"""Runs printed programs on 8 CPU devices beside the oracle: `to_jax.py FILE[:PLAN,PLAN] [OLD=>NEW] ..`, in a process
of its own, since the number of devices is fixed when JAX starts. Prints for each plan how far they are apart; OLD=>NEW
plants a fault in the program."""
import os
import re
import sys
import tempfile
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).parent.parent))

import jax
import numpy as np
from shardproof import validation
from shardproof.binary import call


def parameters(doc, sizes):
    """Names, dtypes and shapes of `Takes whole arrays: x: f32[B, L], ..`."""
    return [(name, dtype, [eval(size, dict(sizes)) for size in shape.split(", ") if size])
            for name, dtype, shape in re.findall(r"([\w.]+): (\w+)\[(.*?)\]", doc)]


def drawn(generator, dtype, shape, below):
    if dtype in ("i32", "u32"):
        return np.asarray(generator.integers(0, below, shape)).astype("int32")
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    return (generator.uniform(0.2, 1, shape) / np.sqrt(max(shape[:1] or [1]))).astype("float32")


PLAN = re.compile(r"^(?:trusted )?plan (\w+)\b.*?(?:^| )\}\n(?![ }])", re.M | re.S)
IMPORT = re.compile(r'^import (.*?)\s+from "(.*?)"', re.M | re.S)


def functions_alone(file, folder):
    """A copy of a file, and of those that it imports, without their plans, which would be checked in each run; their names."""
    plans = set(PLAN.findall(text := Path(file).read_text()))

    def without(found):
        gone = functions_alone(Path(file).parent / found[2], folder)
        kept = [name for name in re.split(r",\s*", found[1]) if name not in gone]
        plans.update(gone)
        return f'import {", ".join(kept)} from "{found[2]}"' if kept else ""

    (folder / Path(file).name).write_text(IMPORT.sub(without, PLAN.sub("", text)))
    return plans


def of_oracle(file, model, inputs, sizes):
    with tempfile.TemporaryDirectory() as folder:
        a, b = Path(folder) / "in.safetensors", Path(folder) / "out.safetensors"
        validation.write_tensors(a, inputs)
        functions_alone(file, Path(folder))
        done = call(Path(folder) / Path(file).name, "--run", model, "--inputs", str(a), "--outputs", str(b),
                    *(f"--set={n}={size}" for n, size in sizes.items()))
        return done.stderr.strip() or list(validation.read_tensors(b).values())


def plans(file, wanted, old, new):
    """(plan, how far it is from its model) of a file."""
    text = call(file, "--to", "jax").stdout
    assert not old or old in text, f"{file}: no {old}"
    text = text.replace(old, new) if old else text
    module: dict = {}
    exec(compile(text, "printed.py", "exec"), module)
    module["bf16"] = module["f32"]  # the oracle knows no rounding
    axes = list(dict.fromkeys(re.findall(r'^    (\w+) = mesh.shape\["', text, re.M)))
    count = 2 ** len(axes)
    mesh = axes and jax.make_mesh((2,) * len(axes), axes, devices=jax.devices()[:count])
    for plan, claim in re.findall(r'^    """(\w+) implements (\w+): proved', text, re.M):
        if wanted and plan not in wanted:
            continue
        factory = module[plan]
        names = factory.__code__.co_varnames[1:1 + factory.__code__.co_kwonlyargcount]
        sizes = dict.fromkeys(names, max(4, count))
        generator = np.random.default_rng(3)
        inputs = {name: drawn(generator, dtype, shape, sizes.get("V", 2))
                  for name, dtype, shape in parameters(factory.__doc__, sizes)}
        want = of_oracle(file, claim, inputs, sizes)
        if isinstance(want, str) and "does not hold" in want:  # a position that fits any sizes
            inputs = {name: x * 0 if x.dtype == np.int32 and not x.ndim else x for name, x in inputs.items()}
            want = of_oracle(file, claim, inputs, sizes)
        yield plan, distance(factory(mesh, **sizes), inputs, want)


def distance(run, inputs, want):
    """How far the results of a plan are from those of the oracle, or that there are none."""
    try:
        got = want if isinstance(want, str) else run(*inputs.values())
    except Exception as error:  # noqa: BLE001  (the other plans run all the same)
        want = f"{type(error).__name__}: {error}"
    if isinstance(want, str):
        print(want, file=sys.stderr)
        return float("inf")
    got = got if isinstance(got, tuple) else (got,)
    return validation.difference([np.asarray(x) for x in got], want)


def main(*words):
    for i, word in enumerate(words):
        if "=>" in word:
            continue
        file, _, wanted = word.partition(":")
        old, _, new = (words[i + 1] if i + 1 < len(words) and "=>" in words[i + 1] else "").partition("=>")
        for plan, apart in plans(file, wanted.split(",") if wanted else [], old, new):
            print(Path(file).name, plan, apart, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
