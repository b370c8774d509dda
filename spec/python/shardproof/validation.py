"""What was imported is not trusted: both functions are evaluated and compared with JAX."""
from __future__ import annotations

import json
import re
import struct
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import numpy as np
from jax.extend import core as jex_core

from . import marked, ranks
from .binary import call
from .levels import Text
from .report import Report
from .values import MINUS_INFINITY
from .widened import F64, is_narrow, widened

LARGEST = 1 << 21  # entries of all parameters


def write_tensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """A safetensors file of F64, I32 and BOOL."""
    header, data = {}, b""
    for name, x in tensors.items():
        kind, dtype = {"f": ("F64", "<f8"), "i": ("I32", "<i4"), "b": ("BOOL", "u1")}[
            "i" if x.dtype.kind in "iu" else "b" if x.dtype.kind == "b" else "f"]
        raw = np.ascontiguousarray(x, dtype=dtype).tobytes()
        header[name] = {"dtype": kind, "shape": list(x.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file."""
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + size])
    body = raw[8 + size:]
    dtypes = {"F64": "<f8", "F32": "<f4", "I32": "<i4", "U32": "<u4", "BOOL": "u1", "U8": "u1"}
    return {name: np.frombuffer(body[e["data_offsets"][0]:e["data_offsets"][1]],
                                dtypes[e["dtype"]]).reshape(e["shape"])
            for name, e in header.items() if name != "__metadata__"}


def inputs_for(text: Text, report: Report, shapes, names, seed: int = 0) -> list[np.ndarray]:
    """Random inputs that keep what the proof assumes."""
    generator = np.random.default_rng(seed)
    sizes = text.imported.sizes
    upper: dict[str, int] = {}
    compared = marked.compared_with(text.model.jaxpr) if seed else {}
    for each in report.assumptions:
        for name, dim in re.findall(r"(\w+)(?:\[[^\]]*\])? < \|(\w+)\|", each):
            upper[name] = min(upper.get(name, 1 << 30), sizes.get(dim, 2))
    result = []
    for name, shape in zip(names, shapes):
        kind = np.dtype(shape.dtype).kind if str(shape.dtype) != "bfloat16" else "f"
        if kind in "iu":
            high = upper.get(name, min(sizes.values(), default=2))
            of_ids = name in upper or any(each.endswith("name entries") for each in report.assumptions) \
                or re.search(r"\bindex\w*\(", text.text)  # oracle and core take no others
            if seed and not of_ids:  # of more digits, so that quotients and integers of few bits differ too
                high *= 10 ** (seed % 3)
            below = 0 if of_ids or kind == "u" or not report.proved else -high
            drawn = generator.integers(below, high, shape.shape).astype(shape.dtype)
            result.append(marked.with_some(generator, drawn, compared.get(len(result), set())) if seed else drawn)
        elif kind == "b":
            result.append(generator.integers(0, 2, shape.shape).astype(bool))
        else:
            values = generator.uniform(0.25, 1.0, shape.shape)
            if seed:  # of unlike sizes, so that other terms decide
                values *= 10.0 ** generator.integers(-2, 2)
            if not SECOND_MOMENT.search(name):
                values *= generator.choice([-1.0, 1.0], shape.shape)
            result.append(np.asarray(values, np.float32))
    return result


SECOND_MOMENT = re.compile(r"nu|(^|_)v(_|$)")  # an optimizer's squares are not negative


def run_text(text: str, function: str, inputs: dict[str, np.ndarray],
             options: list[str]) -> list[np.ndarray] | str:
    """The results of a function of a text, with options that give its free dims and axes sizes, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        (at / "program.shard").write_text(text)
        write_tensors(at / "in.safetensors", inputs)
        try:
            done = call(str(at / "program.shard"), "--run", function, "--inputs",
                        str(at / "in.safetensors"), "--outputs", str(at / "out.safetensors"),
                        *options, timeout=60)
        except subprocess.TimeoutExpired:
            return "no answer in 60 s"
        if done.returncode:
            return (done.stderr.strip() or done.stdout.strip()).splitlines()[0]
        found = read_tensors(at / "out.safetensors")
    return [found[name] for name in sorted(found, key=lambda n: int(re.sub(r"\D", "", n) or 0))]


def difference(got, want) -> float:
    """The largest difference, relative to the largest entry."""
    worst = 0.0
    for a, b in zip(got, want):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if a.size != b.size:
            return float("inf")
        a = a.reshape(b.shape)
        if not a.size:
            continue
        same = (a == b) | (np.isnan(a) & np.isnan(b))  # also both infinite
        finite = np.isfinite(a) & np.isfinite(b)
        if not np.all(same | finite):
            return float("inf")
        if np.any(finite):
            gap = np.max(np.abs(a[finite] - b[finite]))
            worst = max(worst, float(gap) / (1e-3 + float(np.max(np.abs(b[finite])))))
    return worst


def in_words(gap: float) -> str:
    """What is said of two functions whose values in JAX are this far apart."""
    return "in JAX the two functions differ" + (f" by {gap:.1e}" if np.isfinite(gap) else
                                                ": a result is not the same on all devices that out_specs gives copies, or is not finite")


CLOSE = 2e-4
SEEDS = 6  # draws of inputs that may refute


def traced_values(model, sharded, inputs):
    """What JAX computes, narrow floats as f32: (of the model, of the sharded program)."""
    model, sharded = (widened(each) if is_narrow(each.jaxpr) else each for each in (model, sharded))
    return tuple([np.asarray(v) for v in ranks.evaluate(each, inputs)] for each in (model, sharded))


def exact_values(closed, inputs) -> list[np.ndarray] | None:
    """What JAX computes in f64; None where it cannot."""
    try:
        with jax.enable_x64(True):
            return [np.asarray(v) for v in ranks.evaluate(widened(closed, F64), [x.astype(F64) if x.dtype.kind == "f" else x for x in inputs])]
    except Exception:  # noqa: BLE001  (a program may ask for f32)
        return None


def gap_of(model, sharded, inputs, values=None) -> float:
    """How far the two are apart on these inputs. Where they are, f64 has the last word: what f32 rounds is no difference."""
    of_model, of_sharded = values or traced_values(model, sharded, inputs)
    gap = difference(of_sharded, of_model)
    if gap < CLOSE:
        return gap
    of_model, of_sharded = (exact_values(each, inputs) for each in (model, sharded))
    return gap if of_model is None or of_sharded is None else difference(of_sharded, of_model)


def rows_of(jaxpr) -> list[int]:
    """The sizes of the tables of a jaxpr's look-ups: ids are below all of them."""
    found = []
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "gather":
            shape = eqn.invars[0].aval.shape
            found += [shape[i] for i in eqn.params["dimension_numbers"].start_index_map]
        for inner in jex_core.jaxprs_in_params(eqn.params):
            found += rows_of(inner)
    return found


def by_evaluation(model, sharded) -> tuple[float, list[np.ndarray]] | None:
    """How far JAX's own values of the two closed jaxprs are apart, in a few draws of inputs; None where they have none."""
    below = min(rows_of(model.jaxpr), default=4)
    if any(int(np.prod(v.aval.shape)) > LARGEST for v in model.jaxpr.invars):
        return None

    compared = marked.compared_with(model.jaxpr)

    def drawn(generator, aval, signs, numbers) -> np.ndarray:
        kind = str(aval.dtype)
        if kind.startswith(("int", "uint")):
            return marked.with_some(generator, generator.integers(0, below, aval.shape).astype(kind), numbers)
        if kind == "bool":
            return generator.integers(0, 2, aval.shape).astype(bool)
        return (generator.uniform(0.25, 1.0, aval.shape) * generator.choice(signs, aval.shape)).astype(np.float32)

    found = None
    for seed, signs in ((1, (1.0,)), (2, (1.0, -1.0)), (3, (1.0, -1.0))):  # one draw may not tell them apart
        generator = np.random.default_rng(seed)
        inputs = [drawn(generator, v.aval, signs, compared.get(i, set()) if found else set()) for i, v in enumerate(model.jaxpr.invars)]
        try:
            a, b = traced_values(model, sharded, inputs)
        except Exception:  # noqa: BLE001  (a program that has no values here says nothing)
            return found
        if found and not all(np.all(np.isfinite(x)) for x in a):
            continue  # a function of what is not negative
        found = gap_of(model, sharded, inputs, (a, b)), inputs
        if found[0] >= CLOSE:
            break
    return found


def validate(text: Text, report: Report, model, sharded) -> None:
    """Adds what was evaluated to the report; a disagreement takes the proof back."""
    shapes = [v.aval for v in model.jaxpr.invars]
    if sum(int(np.prod(s.shape)) for s in shapes) > LARGEST:
        report.checks.append("not validated: the sizes are too large to be evaluated")
        return
    inputs = inputs_for(text, report, shapes, text.names)
    table = text.imported.sizes
    options = [f"--set={name}={n}" for name, n in table.items() if re.search(rf"^dim {name}$", text.text, re.M)]
    if axes := [a for a in text.imported.mesh if re.search(rf"^mesh.* {a}( |$)", text.text, re.M)]:
        options.append("--mesh=" + ",".join(f"{a}={text.imported.mesh[a]}" for a in axes))
    named = {name: x.reshape([table.get(n, 1) for names in shape for n in names])
             for name, x, shape in zip(text.names, inputs, text.imported.parameters)}
    for name, _, number in text.marks:
        x = named.pop(name)
        named |= {f"{name}_counts": x != number, f"{name}_id": np.where(x == number, 0, x)}
    if text.imported.infinite:
        named[MINUS_INFINITY] = np.asarray(-1e30)
    for name, (array, dims) in text.imported.constants.items():
        named[name] = array.reshape([table[re.sub(r"_\d+$", "", dim)] for dim in dims])
    who = {"model": "the oracle", "sharded": "the core on threads"}
    if not report.proved:  # it does not run
        del who["sharded"]
    texts = {"model": text.text.partition("\nplan sharded ")[0] + "\n", "sharded": text.text}
    pool = ThreadPoolExecutor()  # check-sharding runs while JAX compiles
    runs = {function: pool.submit(run_text, texts[function], function, named, options) for function in who}
    pool.shutdown(wait=False)
    try:
        of_model, of_sharded = traced_values(model, sharded, inputs)
    except Exception as error:  # noqa: BLE001  (a kernel may have no form on this machine)
        report.checks.append(f"not validated: JAX cannot evaluate it here: {type(error).__name__}: "
                             f"{str(error).splitlines()[0] if str(error) else ''}")
        if report.verdict == "proved" and not text.imported.trusting:
            report.verdict = "unknown"
        return
    for function, closed, want in (("model", model, of_model), ("sharded", sharded, of_sharded)):
        if function not in who:
            continue
        got = runs[function].result()
        if isinstance(got, str):
            report.checks.append(f"{function}: not evaluated: {got}")
            continue
        if text.imported.infinite:  # a row that is masked as a whole is NaN in JAX
            got = [np.where(np.isnan(w), w, np.reshape(g, w.shape)) if g.size == w.size else g
                   for g, w in zip(got, want)]
        gap = difference(got, want)
        if gap >= CLOSE and not text.imported.infinite and (exact := exact_values(closed, inputs)) is not None:
            gap = min(gap, difference(got, exact))
        if gap < CLOSE:
            report.checks.append(f"{function}: {who[function]} and JAX agree to {gap:.0e}")
        else:
            report.checks.append(f"{function}: {who[function]} and JAX differ by {gap:.1e}: the import is wrong")
            report.verdict = "unknown"
    if is_narrow(model.jaxpr) or is_narrow(sharded.jaxpr):
        report.checks.append("floats of fewer bits were evaluated as f32: no proof covers rounding")
    gap = gap_of(model, sharded, inputs, (of_model, of_sharded))
    for seed in range(1, SEEDS) if gap < CLOSE and report.verdict == "refuted" else ():
        gap = max(gap, gap_of(model, sharded, inputs_for(text, report, shapes, text.names, seed)))
    if gap >= CLOSE:
        report.checks.append(in_words(gap))
        if report.verdict == "proved":
            report.verdict = "unknown"
    elif report.verdict == "refuted":
        report.checks.append("in JAX the two functions agree at these sizes")
        if text.imported.infinite or text.imported.constants or all(re.match("E0[23]|U", each.code) for each in report.errors):
            report.verdict = "unknown"
            report.checks.append("no number differs: a sum, or a mask, may be written in a way that is not known")
