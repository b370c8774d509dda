"""Prints what spmd_types (pip install spmd_types; needs torch) says of those programs of programs/bugs.py that it can say: forward
passes without maxima, look-ups and positions, each written with its collectives, its inputs typed as in_specs and its result
asserted as out_specs."""
from __future__ import annotations

import conftest  # noqa: F401
import programs
import spmd_types as spmd
import torch
import torch.distributed as dist
import torch.nn.functional as F
from spmd_types.checker import typecheck
from torch.distributed.device_mesh import init_device_mesh

SIZES = {"d": 2, "t": 4}


def psum(x, axis):
    src = spmd.get_axis_local_type(x, GROUPS[axis])
    return spmd.all_reduce(x, GROUPS[axis], src=spmd.V if src is spmd.V else spmd.P, dst=spmd.R)


def pmean(x, axis):
    return psum(x, axis) / SIZES[axis]


def gather(x, axis, dim):
    return spmd.all_gather(x, GROUPS[axis], src=spmd.S(dim), dst=spmd.R)


def scatter(x, axis, dim):
    if spmd.get_axis_local_type(x, GROUPS[axis]) is spmd.V:
        x = spmd.reinterpret(x, GROUPS[axis], src=spmd.V, dst=spmd.P)
    return spmd.reduce_scatter(x, GROUPS[axis], src=spmd.P, dst=spmd.S(dim))


def rms(x):
    return (x * x).sum(-1, keepdim=True) / x.shape[-1]  # no mean goes along a split dim in its global types


def mse(x, w, y):
    square = (x @ w - y) ** 2
    return square.sum() / square.numel()


def flat_gather(a, first, second):
    return gather(gather(a, first, 0), second, 0)


# By the names of the programs.
BODIES = {
    "mlp_tp": lambda x, a, b: psum(F.gelu(x @ a) @ b, "t"),
    "mlp_missing_psum": lambda x, a, b: F.gelu(x @ a) @ b,
    "mlp_psum_twice": lambda x, a, b: psum(psum(F.gelu(x @ a) @ b, "t"), "t"),
    "mlp_pmean": lambda x, a, b: pmean(F.gelu(x @ a) @ b, "t"),
    "mlp_wrong_axis": lambda x, a, b: psum(F.gelu(x @ a) @ b, "d"),
    "mlp_row_split_first": lambda x, a, b: pmean(F.gelu(x @ a) @ b, "t"),
    "mlp_bias": lambda x, a, b, c: psum(F.gelu(x @ a) @ b, "t") + c,
    "mlp_bias_t_times": lambda x, a, b, c: psum(F.gelu(x @ a) @ b + c, "t"),
    "mlp_fsdp": lambda x, a, b: psum(F.gelu(x @ gather(a, "d", 0)) @ gather(b, "d", 1), "t"),
    "mlp_gather_order": lambda x, a, b: F.gelu(x @ flat_gather(a, "d", "t")) @ b,
    "mlp_gather_both": lambda x, a, b: F.gelu(x @ flat_gather(a, "t", "d")) @ b,
    "mlp_scatter": lambda x, a, b: scatter(F.gelu(x @ a) @ b, "t", 1),
    "mlp_scatter_of_sum": lambda x, a, b: scatter(psum(F.gelu(x @ a) @ b, "t"), "t", 1),
    "norm_split": lambda x, g: x * torch.rsqrt(pmean(rms(x), "t") + 1e-6) * g,
    "norm_local": lambda x, g: x * torch.rsqrt(rms(x) + 1e-6) * g,
    "norm_of_means_root": lambda x, g: x * pmean(torch.rsqrt(rms(x) + 1e-6), "t") * g,
    "loss_dp": lambda x, w, y: pmean(mse(x, w, y), "d"),
    "loss_psum_of_means": lambda x, w, y: psum(mse(x, w, y), "d"),
    "loss_count": lambda x, m: psum((x * m).sum(), "d") / psum(m.sum(), "d"),
    "loss_local_count": lambda x, m: pmean((x * m).sum() / m.sum(), "d"),
    "all_to_all": lambda x, w: scatter(torch.einsum("lhk,hkm->lm", torch.cumsum(spmd.all_to_all(
        x, GROUPS["t"], src=spmd.S(0), dst=spmd.S(1)), 0), w), "t", 0),
    "all_to_all_left_out": lambda x, w: torch.einsum("lhk,hkm->lm", torch.cumsum(x, 0), w),
    "reshape_heads": lambda x, w: torch.tanh((x @ w).reshape(x.shape[0], 2, -1)).sum(-1),
    "reshape_wrong_factor": lambda x, w: torch.tanh((x @ w).reshape(x.shape[0], -1, 2)).sum(1),
}


def typed(x, spec):
    """A tensor with the type that a PartitionSpec of JAX says."""
    entries = [tuple(e) if isinstance(e, tuple) else (e,) if e else () for e in spec]
    entries += [()] * (x.ndim - len(entries))
    split = {a for e in entries for a in e}
    axes = {GROUPS[a]: spmd.V if a in split else spmd.R for a in SIZES}
    names = [None if not e else GROUPS[e[0]] if len(e) == 1 else tuple(GROUPS[a] for a in e) for e in entries]
    return spmd.assert_type(x, axes, partition_spec=spmd.PartitionSpec(*names)) if split else spmd.assert_type(x, axes)


def local(shape, spec):
    sizes = list(shape)
    for p, e in enumerate(spec):
        for a in e if isinstance(e, tuple) else (e,) if e else ():
            sizes[p] //= SIZES[a]
    return torch.rand(sizes)


def said(pair, of_ranks: bool) -> str:
    try:
        with spmd.set_current_mesh(MESH), typecheck(local=of_ranks):
            args = [typed(local(shape, spec), spec) for shape, spec in zip(pair.shapes, pair.in_specs)]
            typed(BODIES[pair.name](*args), pair.out_specs)
    except Exception as error:  # noqa: BLE001  (whatever it says, it refuses)
        return f"refused: {type(error).__name__}: {str(error).strip().splitlines()[0][:90]}"
    return "accepted"


def start() -> None:
    global GROUPS, MESH
    dist.init_process_group(backend="fake", rank=0, world_size=8)
    MESH = init_device_mesh("cpu", tuple(SIZES.values()), mesh_dim_names=tuple(SIZES))
    GROUPS = {a: MESH.get_group(a) for a in SIZES}


def main() -> None:
    start()
    pairs = [pair for pair in programs.of("bugs") if pair.name in BODIES]
    print("| program | bug | local types | global types |\n|---|---|---|---|")
    count = {}
    for pair in pairs:
        row = [said(pair, True), said(pair, False)]
        print(f"| {pair.name} | {pair.bug or 'right'} | {row[0]} | {row[1]} |")
        for kind, answer in zip(("local", "global"), row):
            ok = (answer == "accepted") == pair.right
            count[kind, pair.right] = count.get((kind, pair.right), 0) + ok
    right = sum(pair.right for pair in pairs)
    for (kind, of_right), n in sorted(count.items()):
        print(f"{kind}: {n} of {right if of_right else len(pairs) - right} {'right ones accepted' if of_right else 'wrong ones refused'}")


if __name__ == "__main__":
    main()
