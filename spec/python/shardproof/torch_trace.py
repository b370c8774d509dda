"""The graph that one rank of a torch program runs, with its collectives, traced without devices."""
from __future__ import annotations

import contextlib
import itertools
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from traceback import FrameSummary, StackSummary
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor, Partial, Replicate
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel

from .dims import ImportProblem
from .report import Place

FRAMEWORK = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
FRAME = re.compile(r'File "(.+?)", line (\d+), in (\S+)')


@dataclass
class Split:
    """How one tensor is stored: the mesh axes that split each dim, major first."""

    axes: list[tuple[str, ...]]


@dataclass
class Graph:
    """A traced program: parameters, then buffers, then inputs; results, then gradients."""

    module: Any
    names: list[str]
    shapes: list[tuple[int, ...]]  # whole ones
    dtypes: list[Any]
    splits: list[Split]
    out_splits: list[Split]
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    stored: dict[int, tuple[Split, str, int]] = field(default_factory=dict)  # FSDP: axis and dim
    trained: list[int] = field(default_factory=list)  # the parameters of the gradients
    own: dict[Any, str] = field(default_factory=dict)  # nodes that take the piece of the rank on an axis
    offsets: dict[Any, dict[int, tuple[int, int, str]]] = field(default_factory=dict)  # arguments: first + step * rank on an axis


def place_of(node) -> Place | None:
    """The user's line of a node."""
    found = [(file, int(line)) for file, line, _ in FRAME.findall(node.meta.get("stack_trace") or "")
             if not file.startswith(FRAMEWORK) and not file.startswith("<")]
    if not found:
        return None
    file, line = found[-1]
    try:
        text = Path(file).read_text().splitlines()[line - 1]
    except (OSError, IndexError):
        return Place(file, line, 1, line, 2)
    body = text.strip()
    column = len(text) - len(text.lstrip()) + 1
    return Place(file, line, column, line, column + max(len(body), 3))


@contextlib.contextmanager
def rank_of(rank: int, mesh: dict[str, int]):
    """A device mesh seen from one rank, on a process group that sends nothing."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        raise ImportProblem("a process group is initialized: prove before, or in another process")
    dist.init_process_group("fake", rank=rank, world_size=prod(mesh.values()), store=FakeStore())
    try:
        yield init_device_mesh("cpu", tuple(mesh.values()), mesh_dim_names=tuple(mesh))
    finally:
        forget()
        dist.destroy_process_group()


def forget() -> None:
    """Clears what DTensor keeps for a mesh: another rank's groups have other names."""
    from torch.distributed.tensor import _redistribute
    from torch.distributed.tensor.debug import _clear_sharding_prop_cache

    _clear_sharding_prop_cache()
    for cached in vars(_redistribute).values():
        if hasattr(cached, "cache_clear"):
            cached.cache_clear()


def axes_of_groups(mesh: dict[str, int], rank: int) -> dict[tuple[int, ...], tuple[str, ...]]:
    """By the ranks of a group that holds `rank`: the axes of the mesh that it spans."""
    names, digits, rest = list(mesh), {}, rank
    for name in reversed(names):
        digits[name], rest = rest % mesh[name], rest // mesh[name]
    found = {}
    for count in range(1, len(names) + 1):
        for axes in itertools.combinations(names, count):
            ranks = []
            for at in itertools.product(*(range(mesh[a]) if a in axes else (digits[a],) for a in names)):
                index = 0
                for name, i in zip(names, at):
                    index = index * mesh[name] + i
                ranks.append(index)
            found[tuple(ranks)] = axes
    return found


def split_of(mesh_names, placements, rank: int, what: str) -> Split:
    """Placements as axes by dim. A strided shard splits what the later axes have split."""
    axes: list[list[str]] = [[] for _ in range(rank)]
    late: list[list[str]] = [[] for _ in range(rank)]
    for name, placement in zip(mesh_names, placements):
        if isinstance(placement, Replicate):
            continue
        if isinstance(placement, Partial):
            raise ImportProblem(f"{what} is {placement} over {name}: redistribute it first")
        dim = placement.dim % rank
        (late if "Strided" in type(placement).__name__ else axes)[dim].append(name)
    return Split([tuple(a + b) for a, b in zip(axes, late)])


def given_split(placed: dict[str, Any] | None, rank: int, what: str) -> Split:
    placed = placed or {}
    return split_of(list(placed), list(placed.values()), rank, what)


def local_shape(shape, split: Split, mesh) -> tuple[int, ...]:
    result = []
    for n, axes in zip(shape, split.axes):
        parts = prod(mesh[a] for a in axes)
        if n % parts:
            raise ImportProblem(f"a dim of {n} entries is split over {'/'.join(axes)}, {parts} devices:"
                                " only equal blocks are known")
        result.append(n // parts)
    return tuple(result)


_of_gradient: list[str] = []  # the stack of the operation whose gradient autograd computes now


def own_frames(_tracer, summary):
    """The frames of a stack that the traced program has made; of a gradient those of its operation."""
    if _of_gradient:
        found = FRAME.findall("".join(_of_gradient))
        summary = [FrameSummary(file, int(line), name) for file, line, name in found]
    last = max((i for i, frame in enumerate(summary) if frame.filename == __file__), default=-1)
    return StackSummary.from_list(summary[last + 1:])


@contextlib.contextmanager
def places_of_gradients():
    """Within it autograd remembers the stack of each operation, for the places of its gradient."""
    from torch.fx import proxy

    with warnings.catch_warnings(), \
            mock.patch.object(proxy.TracerBase, "_filter_traceback_frames", own_frames):
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(check_nan=False):
            yield


def without_fsdp(module: torch.nn.Module) -> dict[str, Any]:
    """By parameter what fully_shard does with it; its hooks, which no graph has, are removed."""
    found: dict[str, Any] = {}
    for prefix, part in module.named_modules():
        state = part._get_fsdp_state() if isinstance(part, FSDPModule) else None
        if state is None:
            continue
        for handle in (state._pre_forward_hook_handle, state._post_forward_hook_handle):
            handle.remove()
        names = {id(p): f"{prefix}.{n}" if prefix else n for n, p in part.named_parameters()}
        for group in state._fsdp_param_groups:
            if getattr(group, "gradient_divide_factor", None) is not None:
                raise ImportProblem("set_gradient_divide_factor: only the average is known")
            for each in group.fsdp_params:
                found[names[id(each.sharded_param)]] = each
    return found


def gradient(loss, wrt):
    """The gradients of a loss, with the places of the operations that they belong to."""
    todo, seen = [loss.grad_fn], {loss.grad_fn}
    while todo:
        node = todo.pop()
        node.register_prehook(lambda _, node=node: _of_gradient.__setitem__(
            slice(None), node.metadata.get("traceback_", [])))
        new = {n for n, _ in node.next_functions if n is not None} - seen
        seen |= new
        todo += new
    try:
        return torch.autograd.grad(loss, wrt, allow_unused=True)
    finally:
        _of_gradient.clear()


def traced(module: torch.nn.Module, inputs, in_placements, out_placements, loss: Callable | None,
           mesh: dict[str, int], device_mesh, rank: int) -> Graph:
    """The graph of module(*inputs), or of its loss and gradients."""
    fsdp = without_fsdp(module)
    kept = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    stored = {}
    for i, name in enumerate(kept):
        if name in fsdp:
            each, t = fsdp[name], kept[name]
            axis = each.mesh_info.mesh.mesh_dim_names[each.mesh_info.shard_mesh_dim]  # another one has copies
            split = split_of(t.device_mesh.mesh_dim_names, t.placements, t.ndim, name)
            stored[i] = (split, axis, each.fsdp_placement.dim)
            new = torch.zeros(each._orig_size)
            others = {a: p for a, p in zip(t.device_mesh.mesh_dim_names, t.placements) if a != axis}
            if each.is_dtensor:
                new = DTensor.from_local(new, device_mesh[tuple(others)], list(others.values()),
                                         run_check=False, shape=t.shape, stride=t.stride())
            kept[name] = new.requires_grad_(t.requires_grad)
    trained = [name for name, p in kept.items() if p.requires_grad]
    names, specs = list(kept), [t if isinstance(t, DTensor) else None for t in kept.values()]
    locals_ = [t.to_local().detach() if isinstance(t, DTensor) else t.detach() for t in kept.values()]
    splits = [split_of(s.device_mesh.mesh_dim_names, s.placements, s.ndim, n) if s is not None
              else Split([()] * t.ndim) for n, s, t in zip(names, specs, kept.values())]
    shapes = [tuple(t.shape) for t in kept.values()]
    args = []
    for i, (x, placed) in enumerate(zip(inputs, in_placements)):
        split = given_split(placed, len(x.shape), f"input {i}")
        args.append(torch.zeros(local_shape(x.shape, split, mesh), dtype=x.dtype))
        splits.append(split)
        shapes.append(tuple(x.shape))
    out_splits: list[Split] = []

    def placed(x, i) -> torch.Tensor:
        rank_ = x.ndim
        given = out_placements[i] if isinstance(out_placements, (tuple, list)) else out_placements
        split = given_split(given, rank_, "the result") if rank_ else Split([])
        if isinstance(x, DTensor):
            whole = [Replicate() if isinstance(p, Partial) else p for p in x.placements]
            own = split_of(x.device_mesh.mesh_dim_names, whole, rank_, f"result {i}")
            split = Split([(*a, *(b for b in c if b not in a)) for a, c in zip(split.axes, own.axes)])
            x = x.redistribute(placements=whole).to_local()
        out_splits.append(split)
        return x

    def program(weights, *args):
        out_splits.clear()
        weights = [w if s is None else DTensor.from_local(
            w, s.device_mesh, s.placements, run_check=False, shape=s.shape, stride=s.stride())
            for w, s in zip(weights, specs)]
        table = {n: w.requires_grad_() if n in trained and loss else w for n, w in zip(names, weights)}
        if loss is None:
            out = torch.func.functional_call(module, table, args)
            outs = out if isinstance(out, (tuple, list)) else (out,)
            return [placed(x, i) for i, x in enumerate(outs)]
        count = len(args) - getattr(loss, "__targets__", 0)
        value = loss(torch.func.functional_call(module, table, args[:count]), *args[count:])
        grads = gradient(value, [table[n] for n in trained])
        results = [placed(value, 0).detach()]
        for name, g in zip(trained, grads):
            w = table[name]
            g = torch.zeros_like(w) if g is None else g
            if isinstance(g, DTensor):
                g = g.redistribute(placements=w.placements).to_local()
            out_splits.append(splits[names.index(name)])
            results.append(g)
        return results

    with places_of_gradients(), sdpa_kernel(SDPBackend.MATH):
        graph = make_fx(program, decomposition_table=table_of_decompositions(), tracing_mode="fake",
                        record_stack_traces=True, _allow_non_fake_inputs=True)(locals_, *args)
    graph.graph.eliminate_dead_code()
    result = Graph(graph, [*names, *(f"x{i}" for i in range(len(args)))], shapes,
                   [t.dtype for t in (*locals_, *args)], splits, list(out_splits), {}, stored,
                   [names.index(name) for name in trained] if loss else [])
    known = axes_of_groups(mesh, rank) if mesh else {}
    for group, name in (dist.distributed_c10d._world.pg_names if mesh else {}).items():
        result.groups[name] = known.get(tuple(sorted(dist.get_process_group_ranks(group))), ())
    return result


def table_of_decompositions():
    """Those of core ATen, of norms too; a softmax stays whole."""
    from torch._decomp import core_aten_decompositions, get_decompositions

    aten = torch.ops.aten
    table = {**core_aten_decompositions(),
             **get_decompositions([aten.native_layer_norm, aten.native_layer_norm_backward])}
    table.pop(aten._safe_softmax.default, None)
    return table


def signature(graph: Graph) -> list[tuple[str, int | None]]:
    """The nodes as text, groups by their axes: the same on every rank of a program that is one; and
    which of several values a node takes."""
    number = {node: i for i, node in enumerate(graph.module.graph.nodes)}
    lines: list[tuple[str, int | None]] = []
    for node in number:
        args = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: f"%{number[n]}")
        item = None
        if getattr(node.target, "__name__", "") == "getitem":
            args, item = node.args[0] and f"%{number[node.args[0]]}", node.args[1]
        text = f"{node.op} {node.target if node.op == 'call_function' else ''} {args}"
        if "c10d" in str(node.target) and len(node.args) > 1:
            text = f"{node.target} %{number[node.args[0]]} {node.args[1:-1]} " \
                   f"{graph.groups.get(str(node.args[-1]))}"
        if node.op == "get_attr":
            text += str(getattr(graph.module, node.target))
        lines.append((text, item))
    return lines


def offsets_of(nodes, ranks) -> dict[int, tuple[int, int, str]] | None:
    """The whole numbers among the arguments of one node that grow with the rank on an axis; None: ranks differ otherwise."""
    first, found = nodes[0], {}
    for i, value in enumerate(first.args):
        column = [node.args[i] if i < len(node.args) else None for node in nodes]
        if type(value) is not int or len(set(column)) == 1 or not all(type(n) is int for n in column):
            continue
        for axis in ranks[0]:
            step = next((n - value for n, at in zip(column, ranks) if at[axis] == 1 and sum(at.values()) == 1), 0)
            if step and column == [value + step * at[axis] for at in ranks]:
                found[i] = value, step, axis
        if i not in found:
            return None
    return found or None


def operands(node, number) -> tuple[int, ...]:
    return tuple(number[n] for n in node.all_input_nodes)


def same_but(node, offsets) -> str:
    """What a node does, without its offsets."""
    args = [0 if i in offsets else "%" if isinstance(a, torch.fx.Node) else a for i, a in enumerate(node.args)]
    return f"{node.target} {args} {node.kwargs}"


def one_program(found: list[Graph], mesh: dict[str, int]) -> Graph:
    """The graph of all ranks; a rank's own piece of a whole value is one of its axis."""
    first, lines = found[0], [signature(graph) for graph in found]
    ranks = [dict(zip(mesh, at)) for at in itertools.product(*(range(n) for n in mesh.values()))]
    each = [list(graph.module.graph.nodes) for graph in found]
    numbers = [{node: i for i, node in enumerate(nodes)} for nodes in each]
    for at, node in enumerate(first.module.graph.nodes):
        rows = [line[at] if at < len(line) else ("nothing", None) for line in lines]
        own = [a for a in mesh if [item for _, item in rows] == [rank[a] for rank in ranks]]
        nodes = [graphs[at] for graphs in each if at < len(graphs)]
        if len(nodes) == len(found) and len({row[0] for row in rows}) > 1 and (offsets := offsets_of(nodes, ranks)) \
                and len({same_but(n, offsets) for n in nodes}) == 1 and len({operands(n, g) for n, g in zip(nodes, numbers)}) == 1:
            first.offsets[node] = offsets
            continue
        other = next((i for i, row in enumerate(rows) if row[0] != rows[0][0]
                      or row[1] != rows[0][1] and not own), None)
        if other is not None:
            raise ImportProblem(f"rank {other} runs another program than rank 0: there {rows[other]}, here "
                                f"{rows[0]}", place_of(node))
        if own and any(item != rows[0][1] for _, item in rows):
            first.own[node] = own[0]
    return first
