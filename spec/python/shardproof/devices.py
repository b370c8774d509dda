"""A sharded program written out device by device: one global function, whose collectives are sums and concatenations of the
devices' values. For programs that the patterns of a plan cannot say, at one mesh and its sizes. Where blocks go around some axes alone,
the devices of these are written out, and the other axes stay axes of a plan."""
from __future__ import annotations

import functools
import itertools
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src import source_info_util
from jax.extend import core as jex_core
from jax.sharding import AbstractMesh, PartitionSpec

from . import ranks, validation
from .dims import ImportProblem
from .ranks import CALLS, NOTHING, body_of, bound, names_of, run

source_info_util.register_exclusion(__file__)

MOST = 16  # devices
STEPS = 16  # of a loop that communicates
SEVERAL = "the copies of a result of shard_map are computed in several ways, and the result is used"


def known(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic, int, float, bool))


def uniform(x: Any) -> bool:
    """A number, or an array of one number."""
    return known(x) and np.size(x) > 0 and bool(np.all(np.asarray(x) == np.asarray(x).flat[0]))


def evaluated(eqn, vals: list) -> list:
    """The results of one equation for one device. What is known of numbers alone is computed now."""
    if eqn.primitive.name == "select_n" and uniform(vals[0]):
        return [vals[1 + int(np.asarray(vals[0]).flat[0])]]
    if vals and all(map(known, vals)):
        with jax.ensure_compile_time_eval():
            out = [np.asarray(v) for v in bound(eqn, vals)]
        if all(map(uniform, out)):
            return out
    with source_info_util.user_context(eqn.source_info.traceback):
        return bound(eqn, vals)


class Devices:
    """The values of the devices of a mesh, row-major in its order of axes; a list holds one for each. `others` are axes whose devices
    are not written out: each value is that of a device of theirs."""

    def __init__(self, mesh: dict[str, int], blocks, others: dict[str, int] | None = None):
        self.mesh, self.blocks, self.others = mesh, blocks, others or {}
        self.parts: Any = None  # of the equation that is written
        self.places = [dict(zip(mesh, at)) for at in itertools.product(*map(range, mesh.values()))]

    def group(self, at: dict[str, int], axes) -> list[int]:
        """The devices that differ from one in these axes alone, in the order of `axes`."""
        others = [a for a in self.mesh if a not in axes]
        found = [(tuple(p[a] for a in axes), i) for i, p in enumerate(self.places) if all(p[a] == at[a] for a in others)]
        return [i for _, i in sorted(found)]

    def index(self, at: dict[str, int], axes) -> int:
        return functools.reduce(lambda n, a: n * self.mesh[a] + at[a], axes, 0)

    def grouped(self, xs: list, axes, function) -> list:
        """`function` of the values of each group gives the value of each of its devices; each group is written once.
        `axis_index_groups` are groups of a group."""
        done: dict[int, Any] = {}
        for i, at in enumerate(self.places):
            group = self.group(at, axes)
            if i not in done:
                mine = group if not self.parts else [group[k] for k in next(p for p in self.parts if self.index(at, axes) in p)]
                done.update(zip(mine, function([xs[k] for k in mine])))
        return [done[i] for i in range(len(self.places))]

    # Blocks of whole arrays

    def split(self, whole, spec) -> list:
        blocks: dict[tuple, Any] = {(): whole}
        for p, entry in enumerate(spec):
            axes = () if entry is None else names_of(entry)
            count = prod(self.mesh[a] for a in axes)
            blocks = {(*key, i): part for key, x in blocks.items()
                      for i, part in enumerate(self.blocks.parts(x, count, p) if count > 1 else [x])}
        return [blocks[tuple(self.index(at, () if e is None else names_of(e)) for e in spec)] for at in self.places]

    def join(self, xs: list, spec) -> list:
        """The arrays that out_specs makes: one, or one for each copy where the devices' copies are other expressions."""
        xs = [jnp.asarray(x) if known(x) else x for x in xs]
        entries = [() if e is None else names_of(e) for e in spec]
        named = [a for axes in entries for a in axes]
        copies: dict[tuple, Any] = {}
        for free in itertools.product(*(range(n) if a not in named else (None,) for a, n in self.mesh.items())):
            mine = [(at, x) for at, x in zip(self.places, xs) if all(n is None or at[a] == n for a, n in zip(self.mesh, free))]
            copies.setdefault(tuple(id(x) for _, x in mine), mine)
        return [self.side_by_side(mine, entries) for mine in copies.values()]

    def side_by_side(self, mine, entries):
        blocks = {tuple(self.index(at, axes) for axes in entries): x for at, x in mine}
        for p in reversed(range(len(entries))):
            rows: dict[tuple, list] = {}
            for key, x in sorted(blocks.items(), key=lambda each: each[0]):
                rows.setdefault(key[:p], []).append(x)
            blocks = {key: row[0] if len(row) == 1 else self.blocks.joined(row, p) for key, row in rows.items()}
        (whole,) = blocks.values()
        return whole

    # Equations

    def applied(self, eqn, vals: list) -> list:
        vals = [[np.asarray(v)] * len(self.places) if isinstance(a, jex_core.Literal) else v for a, v in zip(eqn.invars, vals)]
        name, p = eqn.primitive.name, eqn.params
        if name in NOTHING:
            return vals
        if name in ranks.SHOWN:
            return []
        if name == "shard_map":
            raise ImportProblem(f"`{name}` in it")
        if name in COLLECTIVES and self.others:
            return self.beside_others(eqn, vals)
        if name in COLLECTIVES:
            self.parts = p.get("axis_index_groups")
            with source_info_util.user_context(eqn.source_info.traceback):
                return COLLECTIVES[name](self, p, vals)
        if name in CALLS:
            return self.inside(*body_of(eqn), vals)
        if name == "scan" and talks(p["jaxpr"].jaxpr, over=self.mesh):
            return self.scanned(p, vals)
        if name == "cond" and all(map(known, vals[0])):
            return self.chosen(p["branches"], vals)
        if name in ("while", "cond") and any(map(talks, jex_core.jaxprs_in_params(p))):
            raise ImportProblem(f"a `{name}` that communicates")
        return self.each_once(eqn, vals)

    def beside_others(self, eqn, vals) -> list:
        """A collective over axes that are written out, over others, or a sum or maximum over both."""
        name, axes, p = eqn.primitive.name, axes_of(eqn), dict(eqn.params)
        mine, theirs = ([a for a in axes if (a in self.mesh) is here] for here in (True, False))
        if p.get("axis_index_groups"):
            raise ImportProblem(f"`{name}` with axis_index_groups, with axes that are not written out")
        with source_info_util.user_context(eqn.source_info.traceback):
            if name == "axis_index":
                sizes = {**self.mesh, **self.others}
                return [[functools.reduce(lambda n, a: n * sizes[a] + (at[a] if a in at else lax.axis_index(a)), axes, np.int32(0))
                         for at in self.places]]
            if not theirs:
                return COLLECTIVES[name](self, p, vals)
            if mine and "axes" not in p:
                raise ImportProblem(f"`{name}` over {' and '.join(axes)}, of which some are written out")
            if mine:
                vals = COLLECTIVES[name](self, {**p, "axes": (*(a for a in p["axes"] if isinstance(a, int)), *mine)}, vals)
                p["axes"] = tuple(theirs)
            function = ranks.varying(name, p)
            return [self.mapped(function, xs) for xs in vals]

    def each_once(self, eqn, vals) -> list:
        """The results of an equation without communication; of devices with the same operands they are written once."""
        done: dict[tuple, tuple] = {}
        results = []
        for row in zip(*vals) if vals else [()] * len(self.places):
            key = tuple((str(np.asarray(v).dtype), np.asarray(v).tobytes(), np.shape(v)) if known(v) else id(v) for v in row)
            if key not in done:
                done[key] = evaluated(eqn, list(row)), row  # the operands live as long as their ids are used
            results.append(done[key][0])
        return [list(each) for each in zip(*results)]

    def inside(self, jaxpr, consts, vals) -> list:
        n = len(self.places)
        out = run(jaxpr, [[c] * n for c in consts], vals, self.applied)
        return [[v] * n if isinstance(a, jex_core.Literal) else v for a, v in zip(jaxpr.outvars, out)]

    def scanned(self, p, vals) -> list:
        n, k, closed = p["num_consts"], p["num_carry"], p["jaxpr"]
        if p["length"] > STEPS:
            raise ImportProblem(f"a loop of {p['length']} steps that communicates")
        consts, carry, xs = vals[:n], vals[n:n + k], vals[n + k:]
        steps = range(p["length"])
        rows = []
        for i in reversed(steps) if p["reverse"] else steps:
            entries = [self.mapped(lambda x: lax.index_in_dim(x, i, keepdims=False), each) for each in xs]
            out = self.inside(closed.jaxpr, closed.consts, [*consts, *carry, *entries])
            carry = out[:k]
            rows.append(out[k:])
        if p["reverse"]:
            rows.reverse()
        return [*carry, *([jnp.stack(each) for each in zip(*column)] for column in zip(*rows))]

    def mapped(self, function, xs: list) -> list:
        done = {id(x): function(x) for x in {id(x): x for x in xs}.values()}
        return [done[id(x)] for x in xs]

    def chosen(self, branches, vals) -> list:
        which = {min(max(int(v), 0), len(branches) - 1) for v in vals[0]}
        results = {i: self.inside(branches[i].jaxpr, branches[i].consts, vals[1:]) for i in which
                   if len(which) == 1 or not talks(branches[i].jaxpr)}
        if set(results) != which:
            raise ImportProblem("devices take branches of which one communicates")
        mine = [min(max(int(v), 0), len(branches) - 1) for v in vals[0]]
        return [[results[i][k][d] for d, i in enumerate(mine)] for k in range(len(next(iter(results.values()))))]


def axes_of(eqn) -> tuple[str, ...]:
    """The axes of a collective."""
    p = eqn.params
    return ranks.positions_and_axes(p["axes"])[1] if "axes" in p else names_of(p["axis_name"])


def talks(jaxpr, asks: bool = True, over=None) -> bool:
    """Whether a jaxpr communicates, or (with `asks`) asks which device it is: along any axis, or one of `over`."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    return any(e.primitive.name in COLLECTIVES and (asks or e.primitive.name != "axis_index")
               and (over is None or any(a in over for a in axes_of(e)))
               or any(talks(inner, asks, over) for inner in jex_core.jaxprs_in_params(e.params)) for e in jaxpr.eqns)


def going_around(jaxpr) -> set[str]:
    """The axes around which a jaxpr sends blocks."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    return {a for e in jaxpr.eqns for a in (axes_of(e) if e.primitive.name == "ppermute" else ())}.union(
        *(going_around(inner) for e in jaxpr.eqns for inner in jex_core.jaxprs_in_params(e.params)))


def _reduced(word, combine):
    def collective(devices: Devices, p, vals):
        here, axes = ranks.positions_and_axes(p["axes"])
        if here:
            vals = [devices.mapped(lambda x: getattr(jnp.asarray(x), word)(here), xs) for xs in vals]
        return [devices.grouped(xs, axes, lambda g: [functools.reduce(combine, g)] * len(g)) for xs in vals]
    return collective


def _gathered(devices: Devices, p, vals):
    dim = p["all_gather_dimension"]

    def gather(g):
        return [devices.blocks.joined(g, dim) if p["tiled"] else jnp.stack(g, dim)] * len(g)
    return [devices.grouped(vals[0], names_of(p["axis_name"]), gather)]


class Sliced:
    """Blocks as slices of one dim."""

    @staticmethod
    def parts(x, count: int, dim: int) -> list:
        size = x.shape[dim] // count
        return [lax.slice_in_dim(x, i * size, (i + 1) * size, axis=dim) for i in range(count)]

    @staticmethod
    def joined(xs: list, dim: int):
        return lax.concatenate(xs, dim)


class Factored:
    """Blocks as entries of a dim of their own, whose size is then free."""

    @staticmethod
    def parts(x, count: int, dim: int) -> list:
        x = lax.reshape(x, (*x.shape[:dim], count, x.shape[dim] // count, *x.shape[dim + 1:]))
        return [lax.index_in_dim(x, i, dim, keepdims=False) for i in range(count)]

    @staticmethod
    def joined(xs: list, dim: int):
        shape = xs[0].shape
        return lax.reshape(jnp.stack(xs, dim), (*shape[:dim], shape[dim] * len(xs), *shape[dim + 1:]))


def _scattered(devices: Devices, p, vals):
    dim = p["scatter_dimension"]

    def scatter(g):
        blocks = devices.blocks.parts(functools.reduce(lax.add, g), len(g), dim)
        return blocks if p["tiled"] else [lax.squeeze(b, [dim]) for b in blocks]
    return [devices.grouped(vals[0], names_of(p["axis_name"]), scatter)]


def _exchanged(devices: Devices, p, vals):
    split, concat = p["split_axis"], p["concat_axis"]

    def exchange(g):
        pieces = [devices.blocks.parts(x, len(g), split) for x in g]
        return [devices.blocks.joined([row[i] for row in pieces], concat) for i in range(len(g))]
    return [devices.grouped(vals[0], names_of(p["axis_name"]), exchange)]


def _sent(devices: Devices, p, vals):
    def send(g):
        to = {b: g[a] for a, b in p["perm"]}
        zero = np.zeros(np.shape(g[0]), g[0].dtype)
        return [to.get(i, zero) for i in range(len(g))]
    return [devices.grouped(vals[0], names_of(p["axis_name"]), send)]


def _index(devices: Devices, p, _):
    return [[np.int32(devices.index(at, names_of(p["axis_name"]))) for at in devices.places]]


COLLECTIVES = {**dict.fromkeys(("psum", "psum2", "psum_invariant"), _reduced("sum", lax.add)), "pmax": _reduced("max", lax.max),
               "pmin": _reduced("min", lax.min),
               **dict.fromkeys(("all_gather", "all_gather_invariant", "all_gather_reduced"), _gathered),
               "reduce_scatter": _scattered, "all_to_all": _exchanged, "ppermute": _sent, "axis_index": _index}


class Whole:
    """A sharded program as one function of whole arrays, whose results are all copies of each result; with `entries`, each
    entry along the dims that out_specs splits. Of `axes`, if they are given, the devices are written out, and of no others."""

    def __init__(self, closed, blocks, entries: bool = False, axes=None):
        self.closed, self.blocks, self.entries, self.axes = closed, blocks, entries, axes
        self.how = f"device by device along {', '.join(sorted(axes))}" if axes else "device by device"
        self.kept: list[tuple[int, tuple[int, ...]]] = []  # of each result the copies, and the dims that are split

    def __call__(self, *args):
        self.kept, self.joined = [], {}
        out = run(self.closed.jaxpr, self.closed.consts, jax.tree.leaves(args), self.globally)
        found = []
        for x in out:
            _, spec, copies = self.joined.get(id(x), (None, (), [x]))
            split = tuple(p for p, axes in enumerate(spec) if axes) if self.entries else ()
            self.kept.append((len(copies), split))
            found += [part for copy in copies for part in apart(copy, split)]
        return found

    def alike(self, results) -> list:
        """Results of the model as often as this program has other expressions for them."""
        results = jax.tree.leaves(results)
        if len(results) != len(self.kept):
            raise ImportProblem(f"the model has {len(results)} results, the sharded program {len(self.kept)}")
        return [part for x, (copies, split) in zip(results, self.kept) for _ in range(copies) for part in apart(x, split)]

    def globally(self, eqn, vals) -> list:
        name = eqn.primitive.name
        if name == "shard_map":
            return self.on_devices(eqn, vals)
        if name in ranks.SHOWN:
            return []
        if name in NOTHING:
            return vals
        if name in CALLS:
            return run(*body_of(eqn), vals, self.globally)
        self.require_one_copy(vals)
        with source_info_util.user_context(eqn.source_info.traceback):
            return bound(eqn, vals)

    def require_one_copy(self, vals) -> None:
        if any(len(self.joined[id(v)][2]) > 1 for v in vals if id(v) in self.joined):
            raise ImportProblem(SEVERAL)

    def on_devices(self, eqn, vals) -> list:
        self.require_one_copy(vals)
        mesh = dict(eqn.params["mesh"].shape)
        if self.axes:
            return self.beside_others(eqn, vals, {a: n for a, n in mesh.items() if a in self.axes},
                                      {a: n for a, n in mesh.items() if a not in self.axes})
        devices = few(Devices(mesh, self.blocks))
        args = []
        for v, spec in zip(vals, eqn.params["in_specs"]):
            blocks, of, _ = self.joined.get(id(v), (None, None, [v]))
            args.append(blocks if blocks and tuple(of) == tuple(spec) else devices.split(jnp.asarray(v), spec))
        out = devices.inside(*body_of(eqn), args)
        results = []
        for xs, spec in zip(out, eqn.params["out_specs"]):
            copies = devices.join(xs, spec)
            self.joined[id(copies[0])] = (xs, spec, copies)
            results.append(copies[0])
        return results

    def beside_others(self, eqn, vals, mesh: dict[str, int], others: dict[str, int]) -> list:
        """A shard_map over the `others`, of whose devices each has all blocks of `mesh`."""
        devices = few(Devices(mesh, self.blocks, others))
        takes, gives = ([halves(spec, mesh) for spec in eqn.params[name]] for name in ("in_specs", "out_specs"))

        def function(*locals_):
            args = [devices.split(x, spec) for x, (_, spec) in zip(locals_, takes)]
            return [devices.join(xs, spec) for xs, (_, spec) in zip(devices.inside(*body_of(eqn), args), gives)]
        found = jax.shard_map(function, mesh=AbstractMesh(tuple(others.values()), tuple(others)), check_vma=False,
                              in_specs=tuple(spec for spec, _ in takes), out_specs=[spec for spec, _ in gives])(*vals)
        for copies, spec in zip(found, eqn.params["out_specs"]):
            self.joined[id(copies[0])] = (None, spec, copies)
        return [copies[0] for copies in found]


def few(devices: Devices) -> Devices:
    if len(devices.places) > MOST:
        raise ImportProblem(f"{len(devices.places)} devices are not written one by one")
    return devices


def halves(spec, mesh: dict[str, int]) -> tuple[PartitionSpec, PartitionSpec]:
    """How the other axes split an array, and how those of `mesh` split what each device of the others has."""
    entries = [() if e is None else names_of(e) for e in spec]
    mine, theirs = ([tuple(a for a in axes if (a in mesh) is here) for axes in entries] for here in (True, False))
    if any(axes != (*first, *then) for axes, first, then in zip(entries, theirs, mine)):
        raise ImportProblem("an axis that is written out splits before one that is not")
    return PartitionSpec(*(axes or None for axes in theirs)), PartitionSpec(*(axes or None for axes in mine))


# Ways to write a program out: how blocks are taken, and whether results are compared entry by entry.
BLOCKS = (Factored, Sliced)
WAYS = (*((blocks, False) for blocks in BLOCKS), (Sliced, True))
ENTRIES = 32  # of a result


def apart(x, dims: tuple[int, ...]) -> list:
    """The entries of an array along some of its dims."""
    sizes = [x.shape[p] for p in dims]
    if prod(sizes) > ENTRIES:
        raise ImportProblem(f"{prod(sizes)} entries are not compared one by one")
    return [functools.reduce(lambda y, at: lax.index_in_dim(y, at[1], at[0], keepdims=False), reversed(list(zip(dims, index))), x)
            for index in itertools.product(*map(range, sizes))]


def copied(model, whole: Whole, args):
    """The model, with each result as often as the sharded program has other expressions for its copies."""
    jax.make_jaxpr(whole)(*args)

    @functools.wraps(model)
    def results(*args):
        return whole.alike(model(*args))
    return results


def compare(whole, program, args, report, inputs) -> None:
    """What JAX computes for the program, and for the function of whole arrays that was proved; a disagreement takes the proof back."""
    tree = jax.tree.structure(args)
    out = ranks.evaluate(jax.make_jaxpr(lambda *a: whole(*jax.tree.unflatten(tree, a)))(*inputs), inputs)
    want = whole.alike(ranks.evaluate(program, inputs))
    far = validation.difference(out, want)
    same = far < validation.CLOSE
    report.checks.append(f"{whole.how}: JAX's values of the program {'agree to' if same else 'differ by'} {far:.0e}")
    if not same:
        report.verdict = "unknown"
