"""Evaluates a rank's torch graph on all ranks at once, in torch; it shares nothing with the importer."""
from __future__ import annotations

import itertools
from math import prod

import numpy as np
import torch

from .torch_trace import Graph, Split


def evaluate(graph: Graph, mesh: dict[str, int], inputs, data=()) -> list[np.ndarray]:
    """The whole results on whole inputs, averaged over the axes of `data`."""
    ranks = [dict(zip(mesh, at)) for at in itertools.product(*(range(n) for n in mesh.values()))]
    args = [iter([torch.as_tensor(block(x, split, mesh, at)) for x, split in zip(inputs, graph.splits)])
            for at in ranks]
    env: list[dict] = [{} for _ in ranks]

    def read(i, x):
        if isinstance(x, torch.fx.Node):
            return env[i][x]
        return type(x)(read(i, v) for v in x) if isinstance(x, (list, tuple)) else x

    for node in graph.module.graph.nodes:
        if node.op == "output":
            results = [read(i, node.args[0]) for i in range(len(ranks))]
            return [joined(averaged([r[k].detach().numpy() for r in results], ranks, data), split, mesh,
                           ranks) for k, split in enumerate(graph.out_splits)]
        for i in range(len(ranks)):
            if node.op == "placeholder":
                env[i][node] = next(args[i])
            elif node.op == "get_attr":
                env[i][node] = getattr(graph.module, node.target)
        if node.op != "call_function":
            continue
        operands = [read(i, own_offsets(graph, node, at)) for i, at in enumerate(ranks)]
        if "c10d" in str(node.target):
            values = collective(graph, mesh, ranks, node, operands)
        elif node in graph.own:
            values = [a[0][at[graph.own[node]]] for a, at in zip(operands, ranks)]
        else:
            values = [node.target(*a, **{k: read(i, v) for k, v in node.kwargs.items()})
                      for i, a in enumerate(operands)]
        for i, value in enumerate(values):
            env[i][node] = value
    raise AssertionError


def own_offsets(graph: Graph, node, at) -> tuple:
    """The arguments of a node on the rank at a place of the mesh."""
    offsets = graph.offsets.get(node, {})
    return tuple(offsets[i][0] + offsets[i][1] * at[offsets[i][2]] if i in offsets else arg for i, arg in enumerate(node.args))


def collective(graph, mesh, ranks, node, operands) -> list:
    name = str(node.target).split(".")[1]
    if name == "wait_tensor":
        return [a[0] for a in operands]
    axes = graph.groups[operands[0][-1]]
    values = []
    for i, at in enumerate(ranks):
        group = [j for j, other in enumerate(ranks)
                 if all(other[a] == at[a] for a in mesh if a not in axes)]
        xs, me = [operands[j][0] for j in group], group.index(i)
        if name == "all_gather_into_tensor":
            values.append(torch.cat(xs, 0))
            continue
        if name == "all_to_all_single":
            values.append(torch.cat([x.chunk(len(group), 0)[me] for x in xs], 0))
            continue
        kind = operands[0][1]
        total = torch.stack(xs).amax(0) if kind == "max" else torch.stack(xs).sum(0)
        total = total / len(group) if kind == "avg" else total
        values.append(total if name == "all_reduce" else total.chunk(len(group), 0)[me])
    return values


def averaged(blocks, ranks, data):
    """What each rank holds after an average over the axes of `data`."""
    if not data:
        return blocks
    return [np.mean([b for b, other in zip(blocks, ranks)
                     if all(other[a] == at[a] for a in at if a not in data)], 0) for at in ranks]


def offsets(shape, split: Split, mesh, at):
    """The slices of a rank's block of a whole tensor."""
    result = []
    for n, axes in zip(shape, split.axes):
        index = 0
        for a in axes:
            index = index * mesh[a] + at[a]
        size = n // prod(mesh[a] for a in axes)
        result.append(slice(index * size, (index + 1) * size))
    return tuple(result)


def block(x, split: Split, mesh, at):
    return np.array(x[offsets(x.shape, split, mesh, at)])


def joined(blocks, split: Split, mesh, ranks):
    """The whole tensor; of copies that of the first rank."""
    shape = [n * prod(mesh[a] for a in axes) for n, axes in zip(blocks[0].shape, split.axes)]
    result = np.zeros(shape, blocks[0].dtype)
    for x, at in reversed(list(zip(blocks, ranks))):
        result[offsets(shape, split, mesh, at)] = x
    return result
