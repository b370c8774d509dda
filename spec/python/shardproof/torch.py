"""prove(module, parallelize, ..): a proof about a torch module that runs with DTensor."""
from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import torch
from jax import lax
from jax._src import source_info_util
from jax.sharding import AbstractMesh, PartitionSpec

from . import api, marked, torch_advice, torch_ops, validation
from .dims import ImportProblem
from .program import word
from .report import Place, Report
from .torch_ranks import evaluate
from .torch_trace import Graph, Split, one_program, place_of, rank_of, traced

source_info_util.register_exclusion(__file__)

_CALLS: dict[Place, Any] = {}


def at(place: Place | None, function: Callable) -> Any:
    """function(), called from a line of the user's: JAX takes its place from there."""
    if place is None:
        return function()
    if place not in _CALLS:
        name = "c" + "_" * max(0, place.end_column - place.column - 3)
        text = "(" + "\n" * (place.line - 1) if place.line > 1 else ""
        text += " " * (place.column - 1) * bool(text) + name + "()" + ("\n)" if text else "")
        _CALLS[place] = (compile(text, place.file, "eval"), name)
    code, name = _CALLS[place]
    return eval(code, {name: function})


def run(graph: Graph, mesh: dict[str, int], args) -> list:
    """A graph in JAX, on one device's blocks."""
    args, env = iter(args), {}

    def read(x):
        if isinstance(x, torch.fx.Node):
            return env[x]
        return type(x)(read(v) for v in x) if isinstance(x, (list, tuple)) else x

    for node in graph.module.graph.nodes:
        place = place_of(node)
        try:
            if node.op == "placeholder":
                env[node] = next(args)
            elif node.op == "get_attr":
                env[node] = getattr(graph.module, node.target).numpy()
            elif node.op == "output":
                return [torch_ops.forced(x) for x in read(node.args[0])]
            else:
                if in_place(node):
                    without_views(node, env)
                env[node] = at(place, lambda node=node: applied(graph, mesh, node, read))
                if in_place(node):
                    env[node.args[0]] = env[node]
        except ImportProblem as problem:
            problem.place = problem.place or place
            raise
    raise AssertionError


def in_place(node) -> bool:
    name = str(node.target).split(".")[1] if "." in str(node.target) else ""
    return name.endswith("_") and not name.endswith("__")


def is_view(node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return bool(schema) and not in_place(node) and any(each.alias_info for each in schema.returns)


def without_views(node, done) -> None:
    """Refuses what changes a value that others see under another name: here each name has a value of its own."""
    changed = node.args[0]
    if is_view(changed) or any(is_view(user) for user in changed.users if user in done):
        raise ImportProblem(f"`{node.target}` changes a value in place that has views: write it without in-place operations")


def applied(graph: Graph, mesh: dict[str, int], node, read) -> Any:
    namespace, _, name = str(node.target).partition(".")
    args, kwargs = read(node.args), {k: read(v) for k, v in node.kwargs.items()}
    offsets = graph.offsets.get(node, {})
    if name in torch_ops.WINDOWS and offsets:
        return own_window(name, args, offsets)
    for i, offset in offsets.items():
        args = (*args[:i], own_number(*offset), *args[i + 1:])
    if in_place(node):
        name = name.replace("_.", ".", 1)
    if node in graph.own:
        return torch_ops.own_piece(args[0][0], graph.own[node], mesh)
    if namespace not in ("_c10d_functional", "_c10d_functional_autograd", "c10d_functional"):
        return torch_ops.call("getitem" if node.target.__name__ == "getitem" else name, args, kwargs)
    name = name.partition(".")[0]
    if name == "wait_tensor":
        return args[0]
    axes = graph.groups.get(args[-1])
    if not axes:
        raise ImportProblem(f"`{name}` in a group of ranks that is not an axis of the mesh: make the group "
                            "with init_device_mesh")
    count = int(np.prod([mesh[a] for a in axes]))
    if name == "all_reduce":
        return torch_ops.all_reduce(torch_ops.forced(args[0]), args[1], axes, count)
    if name == "all_gather_into_tensor":
        return torch_ops.all_gather(args[0], axes, count)
    if name == "reduce_scatter_tensor":
        return torch_ops.reduce_scatter(args[0], args[1], axes, count)
    if name == "all_to_all_single":
        return torch_ops.all_to_all(torch_ops.forced(args[0]), args[1], args[2], axes, count)
    raise ImportProblem(f"the collective `{name}` is not known")


def own_number(first: int, step: int, axis: str) -> Any:
    """first + step * rank on an axis."""
    offset = lax.mul(lax.axis_index(axis), np.int32(step))
    return lax.add(offset, np.int32(first)) if first else offset


def own_window(name: str, args, offsets: dict[int, tuple[int, int, str]]) -> Any:
    """A part that begins at another entry on each rank, and has as many everywhere."""
    begin, end = torch_ops.WINDOWS[name]
    first, last = offsets.get(begin), (1, *offsets[begin][1:]) if end is None else offsets.get(end)
    if len(offsets) != 1 + (end is not None) or first is None or last is None or first[1:] != last[1:]:
        raise ImportProblem(f"`{name}` takes parts of other sizes on other ranks")
    return torch_ops.window(name, args, own_number(*first), 1 if end is None else last[0] - first[0])


def run_plan(graph: Graph, mesh: dict[str, int], data: tuple[str, ...], args) -> list:
    """A rank's step: FSDP gathers what it stores, and averages gradients over the ranks of `data`."""
    args = list(args)
    for i, (_, axis, dim) in graph.stored.items():
        args[i] = lax.all_gather(args[i], axis, axis=dim, tiled=True)
    results = run(graph, mesh, args)
    if not graph.trained:
        return results
    for k, x in enumerate(results):
        _, axis, dim = graph.stored.get(graph.trained[k - 1], (None, None, 0)) if k else (None, None, 0)
        others = tuple(a for a in data if a != axis)
        if axis:
            x = lax.psum_scatter(x, axis, scatter_dimension=dim, tiled=True)
        if others:
            x = lax.psum(x, others)
        if axis or others:
            x = lax.div(x, lax.full(x.shape, float(np.prod([mesh[a] for a in (*others, *[axis] * bool(axis))])), x.dtype))
        results[k] = x
    return results


def outside(graph: Graph) -> tuple[list[Split], list[Split]]:
    """How parameters and results are stored."""
    ins = [graph.stored[i][0] if i in graph.stored else s for i, s in enumerate(graph.splits)]
    outs = list(graph.out_splits)
    for k, i in enumerate(graph.trained):
        outs[k + 1] = ins[i]
    return ins, outs


def spec(split: Split) -> PartitionSpec:
    return PartitionSpec(*(axes or None for axes in split.axes))


@dataclass
class Whole:
    """A whole tensor's shape and dtype."""

    shape: tuple[int, ...]
    dtype: Any = torch.float32


def whole(x: Any) -> Whole:
    if isinstance(x, torch.Tensor):
        return Whole(tuple(x.shape), x.dtype)
    if isinstance(x, tuple) and x and isinstance(x[-1], torch.dtype):
        return Whole(tuple(x[0]), x[1])
    return Whole(tuple(x))


def dtype_of(dtype: torch.dtype) -> str:
    return "int32" if dtype in (torch.int64, torch.int32) else "bool" if dtype == torch.bool else "float32"


def named(function: Callable, names: list[str]) -> Callable:
    """A function whose parameters have these names."""
    def wrapped(*args):
        return function(*args)
    words: list[str] = []
    for name in names:
        text = word(name.replace(".", "_"))
        words.append(text if text not in words else f"{text}_{len(words)}")
    wrapped.__signature__ = inspect.Signature(
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in words])
    return wrapped


def graphs(module, parallelize, inputs, mesh, in_placements, out_placements, loss):
    """The model's graph, and the plan's, which is that of every rank."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = traced(module(), inputs, [None] * len(inputs), None, loss, {}, None, 0)
    found = []
    for rank in range(int(np.prod(list(mesh.values())))):
        with rank_of(rank, mesh) as device_mesh, torch.random.fork_rng():
            torch.manual_seed(0)
            made = module()
            made = parallelize(made, device_mesh) or made
            found.append(traced(made, inputs, in_placements, out_placements, loss, mesh, device_mesh, rank))
    return model, one_program(found, mesh)


def prove(module: Callable[[], torch.nn.Module], parallelize: Callable, *inputs: Any,
          mesh: dict[str, int], split: Any = (), out: Any = None, loss: Callable | None = None,
          data: tuple[str, ...] = (),
          dims: Any = None, keep: str | Path | None = None, timeout: float = 120) -> Report:
    """Proves that module(), parallelized, computes what module() computes on one device.

    `parallelize(module, device_mesh)` changes the module, or gives another: it is what runs on each
    rank. `inputs`: shapes of whole tensors, (shape, dtype) pairs or tensors. `split`: for each input
    the placement by mesh axis, {"d": Shard(0)}; what a rank's batch is. `out`: the same for results
    that are no DTensors, one for all or a tuple. `loss(output, *targets)`, with the last inputs as targets: its value and the
    gradients of all parameters are proved too; `data`: the axes over which the ranks' losses and
    gradients are averaged, as FSDP and DDP do. Never raises for a program that it cannot read.
    """
    start = time.perf_counter()
    wholes = [whole(x) for x in inputs]
    splits = [*split, *[None] * (len(wholes) - len(split))]
    if loss is not None:
        loss.__targets__ = len(inspect.signature(loss).parameters) - 1
    try:
        model, plan = graphs(module, parallelize, wholes, mesh, splits, out, loss)
        if [*model.names, *model.shapes] != [*plan.names, *plan.shapes]:
            raise ImportProblem("the parallelized module has other parameters than the model")
    except Exception as error:  # noqa: BLE001  (the user's code may raise anything)
        return api.not_traced(error, time.perf_counter() - start, "torch")
    shapes = [jax.ShapeDtypeStruct(s, dtype_of(t)) for s, t in zip(model.shapes, model.dtypes)]
    ins, outs = outside(plan)
    sharded = jax.shard_map(lambda *args: tuple(run_plan(plan, mesh, data, args)),
                            mesh=AbstractMesh(tuple(mesh.values()), tuple(mesh)),
                            in_specs=tuple(spec(s) for s in ins),
                            out_specs=tuple(spec(s) for s in outs), check_vma=False)
    report = api.prove(named(lambda *args: tuple(run(model, {}, args)), model.names),
                       named(sharded, plan.names), *shapes, mesh=mesh, dims=dims, meshes=1, keep=keep,
                       timeout=timeout)
    report.import_seconds = time.perf_counter() - start - report.seconds
    compare(report, model, plan, mesh, data)
    torch_advice.translate(report)
    return report


def drawn(generator, shape, dtype) -> np.ndarray:
    """Random entries. Products with a matrix of them do not grow, so that layers above it saturate nowhere."""
    if "int" in str(dtype):
        return generator.integers(0, 2, shape)
    entries = generator.uniform(0.25, 1.0, shape)
    if len(shape) > 1:
        entries *= generator.choice([-1.0, 1.0], shape) / np.sqrt(shape[-1] if len(shape) == 2 else 1)
    return entries.astype(np.float32)


def compare(report: Report, model: Graph, plan: Graph, mesh: dict[str, int],
            data: tuple[str, ...]) -> None:
    """What torch itself computes, beside the graphs in JAX; a disagreement takes the proof back."""
    generator = np.random.default_rng(2)
    inputs = [drawn(generator, s, t) for s, t in zip(model.shapes, model.dtypes)]

    def of_model(*args):
        return tuple(run(model, {}, args))

    try:
        numbers = {} if report.proved else marked.compared_with(jax.make_jaxpr(of_model)(*inputs).jaxpr)
        inputs = [marked.with_some(generator, x, numbers.get(i, set())) for i, x in enumerate(inputs)]
        in_jax = [np.asarray(x) for x in jax.jit(of_model)(*inputs)]
    except ImportProblem:  # said in the report
        return
    in_torch = evaluate(model, {}, inputs)
    of_plan = evaluate(plan, mesh, inputs, data if plan.trained else ())
    gap = validation.difference(in_torch, in_jax)
    apart = validation.difference(of_plan, in_torch)
    for who, far in (("model: torch and its graph in JAX", gap), ("in torch the two programs", apart)):
        report.checks.append(f"{who} {'agree to' if far < validation.CLOSE else 'differ by'} {far:.0e}")
    if report.verdict == "refuted" and apart < validation.CLOSE or report.verdict == "proved" and max(gap, apart) >= validation.CLOSE:
        report.verdict = "unknown"  # torch's own values decide


__all__ = ["prove", "lax"]
