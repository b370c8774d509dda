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
        return generator.integers(0, below, shape).astype("int32")
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    return (generator.uniform(0.2, 1, shape) / np.sqrt(max(shape[:1] or [1]))).astype("float32")


def of_oracle(file, model, inputs, sizes):
    with tempfile.TemporaryDirectory() as folder:
        a, b = Path(folder) / "in.safetensors", Path(folder) / "out.safetensors"
        validation.write_tensors(a, inputs)
        done = call(file, "--run", model, "--inputs", str(a), "--outputs", str(b),
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
    mesh = axes and jax.make_mesh({1: (8,), 2: (2, 4), 3: (2, 2, 2)}[len(axes)], axes)
    for plan, claim in re.findall(r'^    """(\w+) implements (\w+): proved', text, re.M):
        if wanted and plan not in wanted:
            continue
        factory = module[plan]
        names = factory.__code__.co_varnames[1:1 + factory.__code__.co_kwonlyargcount]
        sizes = dict.fromkeys(names, 8)
        generator = np.random.default_rng(3)
        inputs = {name: drawn(generator, dtype, shape, min(sizes.get("V", 2), 8))
                  for name, dtype, shape in parameters(factory.__doc__, sizes)}
        want = of_oracle(file, claim, inputs, sizes)
        if isinstance(want, str):
            yield plan, want
            continue
        got = factory(mesh, **sizes)(*inputs.values())
        got = got if isinstance(got, tuple) else (got,)
        yield plan, validation.difference([np.asarray(x) for x in got], want)


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
