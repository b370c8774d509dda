"""shard_map, and what communicates in it."""
from __future__ import annotations

from dataclasses import replace
from math import prod
from types import SimpleNamespace

from . import advice, candidates, firsts, flags, pipelines
from .dims import Factor, ImportProblem, Position, spread
from .ranks import positions_and_axes
from .reader import Reader
from .rolled import rolled
from .rules import RULES, rule
from .values import Affine, Val, number


def names_of(value) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def axes_of(spec, rank: int) -> list[tuple[str, ...]]:
    entries = list(spec) + [None] * (rank - len(spec))
    return [() if e is None else names_of(e) for e in entries]


def placed(r: Reader, val: Val, spec) -> Val:
    """A global value as shard_map takes it: gathered and sliced to the spec."""
    if val.made and val.made[0] == "blocks" and tuple(val.made[2]) == tuple(spec):
        return val.made[1]
    axes = axes_of(spec, len(val.pos))
    wanted = [axes[p] for p in range(len(val.pos))]
    have = [tuple(a for f in position for a in f.axes) for position in val.pos]
    if wanted == have:
        return val
    if val.dims:
        val = r.gathered(val, keep=lambda f: any(
            f in position and have[p] == wanted[p] for p, position in enumerate(val.pos)))
    pos: list[Position] = []
    to: dict[Factor, Factor] = {}
    for p, position in enumerate(val.pos):
        if not wanted[p] or have[p] == wanted[p] or not position:
            pos.append(position)
            continue
        first, size = position[0], r.ranks(wanted[p])
        if first.extent % size:
            raise r.problem(f"the spec splits a dim of {first.extent} entries over {size} devices",
                            "finding")
        new = replace(first, axes=wanted[p] if not first.virtual else (), extent=first.extent // size)
        to[first] = new
        pos.append((new, *position[1:]))
    dims = [to.get(f, f) for f in val.dims]
    text = val.text
    if dims != val.dims:
        text = r.emit(f'slice("{r.spell(val.dims)} -> {r.spell(dims)}", {r.use(val)})')
    made = val.made
    if text != val.text and made[:1] == ("div",) and made[2].literal is not None and made[1].pos == val.pos:
        made = ("div", placed(r, made[1], spec), made[2])  # what grad gives to each of the devices that have copies
    return replace(val, text=text, pos=pos, dims=dims, affine=None, made=made)


@rule("shard_map")
def _shard_map(r: Reader, eqn, vals: list[Val]) -> list[Val]:
    if not r.plan:
        raise r.problem("shard_map in the model: the model is to be unsharded")
    if not r.outer:
        raise r.problem("shard_map inside of shard_map")
    args = [placed(r, v, s) for v, s in zip(vals, eqn.params["in_specs"])]
    r.outer = False
    try:
        results = pipelines.read(r, eqn, args) or r.closed(loops_of(r, eqn.params["jaxpr"]), args)
    except ImportProblem as problem:
        if problem.kind == "unsupported" and r.no_pipeline:
            if r.no_pipeline.kind == "unsupported":
                raise r.no_pipeline from problem
            raise ImportProblem(f"{problem}; and {r.no_pipeline}", problem.place) from problem
        raise
    r.outer = True
    return [out_placed(r, v, s) for v, s in zip(results, eqn.params["out_specs"])]


def loops_of(r: Reader, inner):
    """The body of a shard_map with scans for the rings that it writes out, where they are to be read."""
    jaxpr = getattr(inner, "jaxpr", inner)
    found = rolled(jaxpr, r.dims.mesh) if r.dims.rolls else jaxpr
    return inner if found is jaxpr else found if inner is jaxpr else inner.replace(jaxpr=found)


def out_placed(r: Reader, val: Val, spec) -> Val:
    """What out_specs makes of the devices' values: blocks are put side by side. What is no array of
    blocks (a residual that grad passes from one shard_map to another) can only be taken apart again
    by the same spec."""
    why = ""
    pos = []
    for p, (position, axes) in enumerate(zip(val.pos, axes_of(spec, len(val.pos)))):
        have = tuple(a for f in position for a in f.axes)
        only_virtual = bool(position) and all(f.virtual for f in position)
        if only_virtual and axes:
            have = axes  # a broadcast value: its blocks are all alike
        if have != axes:
            said, is_ = "/".join(axes) or "a copy", "/".join(have) or "a copy"
            why = f"out_specs says {said} of position {p} of a result that is {is_} there"
        elif not only_virtual and any(f.axes and prod(g.extent for g in position[:i]) > 1
                                      for i, f in enumerate(position)):
            why = f"out_specs puts the devices' blocks of position {p} of a result one after the other, and what is " \
                  "split there is not the first of its dims"
        if only_virtual and axes:
            f = position[0]
            position = (replace(f, extent=f.extent * r.ranks(axes)), *position[1:])
        pos.append(position)
    if val.marks:
        why = why or (f"out_specs takes the value of one device of a result that is "
                      f"{advice.state(r.spell([], val.marks)).removeprefix(', ')}: nothing has reduced it")
    if why:
        extents = [prod(f.extent for f in p) * r.ranks(axes)
                   for p, axes in zip(val.pos, axes_of(spec, len(val.pos)))]
        return Val(None, spread(extents),
                   dtype=val.dtype, made=("blocks", val, spec, pos), why=why)
    return replace(val, pos=pos)


def times(r: Reader, val: Val, factor: int) -> Val:
    if factor == 1:
        return val
    by = number(float(factor) if val.dtype == "f32" else factor)
    return replace(val, text=r.emit(f"{r.use(val)} * {by}"), literal=None, affine=None)


def split_over(val: Val, axis: str) -> bool:
    return any(axis in f.axes for f in val.dims)


@rule("psum", "psum2", "psum_invariant")
def _psum(r: Reader, eqn, vals):
    vals, axes = of_positions(r, eqn, vals, "reduce_sum")
    return [added(r, v, axes) for v in vals]


def of_positions(r: Reader, eqn, vals: list[Val], name: str) -> tuple[list[Val], tuple[str, ...]]:
    """The operands reduced over those axes that are positions (vmap's), and the axes of the mesh."""
    positions, axes = positions_and_axes(eqn.params["axes"])
    if positions:
        of = SimpleNamespace(params={"axes": positions}, source_info=eqn.source_info)
        vals = [RULES[name](r, of, [v]) for v in vals]
    return vals, axes


def added(r: Reader, val: Val, axes) -> Val:
    """The sum over the axes of what the devices hold."""
    if found := flags.number(r, val, axes):
        return found
    counts = val.text in r.counts
    over = [a for a in axes if val.marks.get(a) == "U"]
    copies = 1
    for a in axes:
        if a in over:
            continue
        if split_over(val, a):
            raise r.problem(f"psum over {a} adds different entries: the value is {r.said(val)}", "finding")
        if val.marks.get(a) == "Max":
            raise r.problem(f"psum over {a} of what depends on each device's own maximum: take that of all first, "
                            f'`lax.pmax(x.max(..), "{a}")`', "finding")
        copies *= r.dims.mesh[a]
    if over:
        marks = {a: m for a, m in val.marks.items() if a not in over}
        text = r.emit(f'all_reduce("{r.spell(val.dims, val.marks)} -> '
                      f'{r.spell(val.dims, marks)}", {r.use(val)})')
        val = replace(val, text=text, marks=marks, literal=None)
        if counts:
            r.counts.add(text)
    return times(r, val, copies)


@rule("pmax")
def _pmax(r: Reader, eqn, vals):
    vals, axes = of_positions(r, eqn, vals, "reduce_max")
    return [firsts.largest(r, val, axes) or flags.extreme(r, val, axes, True) or largest(r, val, axes)
            for val in vals]


def largest(r: Reader, val: Val, axes) -> Val:
    """The maximum over the axes of what the devices hold."""
    over = [a for a in axes if val.marks.get(a) == "Max"]
    for a in axes:
        if a not in over and (split_over(val, a) or a in val.marks):
            raise r.problem(f"pmax over {a} of {r.said(val)}", "finding")
    if over:
        marks = {a: m for a, m in val.marks.items() if a not in over}
        text = r.emit(f'all_reduce("{r.spell(val.dims, val.marks)} -> '
                      f'{r.spell(val.dims, marks)}", {r.use(val)})')
        val = replace(val, text=text, marks=marks, made=())
    return val


@rule("pmin")
def _pmin(r: Reader, eqn, vals):
    """-pmax(-x), of what reduce_min has made."""
    vals, axes = of_positions(r, eqn, vals, "reduce_min")
    results = []
    for val in vals:
        if first := firsts.smallest(r, val, axes) or flags.extreme(r, val, axes, False):
            val = first
        elif val.made[:1] == ("negated",):
            turned = largest(r, val.made[1], axes)
            val = replace(turned, text=r.emit(f"-{r.use(turned)}"), made=())
        else:
            val = largest(r, val, axes)
        results.append(val)
    return results


def regroup(val: Val, to: dict[Factor, Factor]) -> dict:
    return {"pos": [tuple(to.get(f, f) for f in p) for p in val.pos],
            "dims": [to.get(f, f) for f in val.dims]}


@rule("all_gather", "all_gather_invariant", "all_gather_reduced")
def _all_gather(r: Reader, eqn, vals):
    (val,) = vals
    p, axes = eqn.params["all_gather_dimension"], names_of(eqn.params["axis_name"])
    if not eqn.params["tiled"]:
        return gathered_apart(r, val, p, axes)
    if val.text is None and (found := candidates.gathered(r, val, p, axes)):
        return found
    position = val.pos[p]
    if position and all(f.virtual for f in position):  # alike on all devices
        wide = Factor(None, extent=val.extents()[p] * r.ranks(axes))
        return replace(val, pos=[*val.pos[:p], (wide,), *val.pos[p + 1:]], affine=None)
    if not position or not any(f.axes for f in position):
        raise r.problem(f"all_gather over {'/'.join(axes)} of a dim that is not split: it gives "
                        "copies side by side", "finding")
    f = next(f for f in position if f.axes)
    if f is not position[0]:
        raise r.problem("all_gather of a dim whose axes are not on its first factor")
    if set(axes) - set(f.axes):
        raise r.problem(f"all_gather over {'/'.join(axes)} of {r.dim_said(f)}", "finding")
    new = replace(f, axes=tuple(a for a in f.axes if a not in axes), extent=f.extent * r.ranks(axes))
    # What the call takes the value for: its axes last, in its order. The checker compares.
    taken = replace(f, axes=(*new.axes, *axes))
    left = [taken if g == f else g for g in val.dims]
    to = {f: new}
    right = [to.get(g, g) for g in val.dims]
    text = r.emit(f'all_gather("{r.spell(left, val.marks)} -> {r.spell(right, val.marks)}", '
                  f"{r.use(val)})")
    return replace(val, text=text, affine=None, **regroup(val, to))


def gathered_apart(r: Reader, val: Val, p: int, axes) -> Val:
    """all_gather without tiled=True: the devices are a new position."""
    if found := firsts.gathered(r, val, p, axes):
        return found
    n = r.ranks(axes)
    inserted = [*val.pos[:p], (Factor(None, extent=n),), *val.pos[p:]]
    marks = {val.marks.get(a, "") for a in axes}
    if len(marks) == 1 and marks != {""}:
        return Val(None, inserted, dtype=val.dtype, made=("terms", val, axes, p),
                   why=f"the devices' terms of a value that is {advice.state(r.spell([], val.marks)).removeprefix(', ')} are used one by one")
    if marks != {""}:
        raise r.problem(f"all_gather over {'/'.join(axes)} of {r.said(val)}", "finding")
    if not any(split_over(val, a) for a in axes):
        return replace(val, pos=inserted, affine=None)
    q = own_position(r, val, axes, "all_gather")
    f = val.pos[q][0]
    new = replace(f, axes=(), extent=n)
    after = regroup(val, {f: new})
    text = r.emit(f'all_gather("{r.spell(val.dims, val.marks)} -> {r.spell(after["dims"], val.marks)}", '
                  f"{r.use(val)})")
    pos = [row[1:] if i == q else row for i, row in enumerate(after["pos"])]
    return replace(val, text=text, dims=after["dims"], pos=[*pos[:p], (new,), *pos[p:]], affine=None)


def own_position(r: Reader, val: Val, axes, name: str) -> int:
    """The position that is split over these axes alone; its first factor says on which device."""
    q = next((i for i, row in enumerate(val.pos) if row and row[0].axes == tuple(axes)), None)
    if q is None:
        raise r.problem(f"{name} without tiled=True over {'/'.join(axes)} of {r.said(val)}: say tiled=True")
    if val.pos[q][0].extent > 1:
        r.cut(val.pos[q][0], 1)
    return q


def moved_on(r: Reader, val: Val, p: int) -> Val:
    """Position p, of which each device has one entry, becomes the first factor of the next one."""
    row, pos = val.pos[p], list(val.pos)
    to = p + 1 if p + 1 < len(pos) else p - 1
    if to < 0:
        raise r.problem("each device gets one entry of a vector: say tiled=True")
    pos[to], pos[p] = (*row, *pos[to]), ()
    return replace(val, pos=pos, affine=None)


def scattered(r: Reader, val: Val, p: int, axes) -> dict[Factor, Factor]:
    """Position p with more axes on its first factor."""
    if not val.pos[p]:
        raise r.problem("a position of one entry is split")
    f = val.pos[p][0]
    if f.extent % r.ranks(axes):
        raise r.problem(f"a dim of {f.extent} entries on each device is to be split over {r.ranks(axes)} devices", "finding")
    return {f: replace(f, axes=(*f.axes, *axes), extent=f.extent // r.ranks(axes))}


@rule("reduce_scatter")
def _reduce_scatter(r: Reader, eqn, vals):
    val = r.solid(vals[0], r.node_key())
    p, axes = eqn.params["scatter_dimension"], names_of(eqn.params["axis_name"])
    val = summed_blocks(r, val, p, axes)
    if not eqn.params["tiled"]:
        val = moved_on(r, val, p)
        val = replace(val, pos=[row for i, row in enumerate(val.pos) if i != p])
    return val


def summed_blocks(r: Reader, val: Val, p: int, axes) -> Val:
    """Each device's block of position p of the sum."""
    if not all(val.marks.get(a) == "U" for a in axes):
        if any(val.marks.get(a) == "U" for a in axes):
            val = added(r, val, axes)
        else:
            for a in axes:
                if split_over(val, a):
                    raise r.problem(f"psum_scatter over {a} adds different entries: the value is {r.said(val)}",
                                    "finding")
            val = times(r, val, r.ranks(axes))
        to = scattered(r, val, p, axes)
        after = regroup(val, to)
        text = r.emit(f'slice("{r.spell(val.dims, val.marks)} -> '
                      f'{r.spell(after["dims"], val.marks)}", {r.use(val)})')
        return replace(val, text=text, affine=None, **after)
    to = scattered(r, val, p, axes)
    after = regroup(val, to)
    marks = {a: m for a, m in val.marks.items() if a not in axes}
    text = r.emit(f'psum_scatter("{r.spell(val.dims, val.marks)} -> '
                  f'{r.spell(after["dims"], marks)}", {r.use(val)})')
    return replace(val, text=text, marks=marks, affine=None, **after)


@rule("all_to_all")
def _all_to_all(r: Reader, eqn, vals):
    val = r.solid(vals[0], r.node_key())
    axes = names_of(eqn.params["axis_name"])
    split, concat = eqn.params["split_axis"], eqn.params["concat_axis"]
    if not val.pos[concat] and val.extents()[split] == r.ranks(axes):
        return exchanged(r, val, split, concat, axes)
    if not val.pos[concat] or val.pos[concat][0].axes[-len(axes):] != axes:
        raise r.problem(f"all_to_all puts together a dim that is not split over {'/'.join(axes)}"
                        " last", "finding")
    f = val.pos[concat][0]
    to = scattered(r, val, split, axes)
    to[f] = replace(f, axes=f.axes[:-len(axes)], extent=f.extent * r.ranks(axes))
    after = regroup(val, to)
    text = r.emit(f'all_to_all("{r.spell(val.dims, val.marks)} -> '
                  f'{r.spell(after["dims"], val.marks)}", {r.use(val)})')
    return replace(val, text=text, affine=None, **after)


def exchanged(r: Reader, val: Val, split: int, concat: int, axes) -> Val:
    """all_to_all without tiled=True: the devices are a new position in place of `split`."""
    q = own_position(r, val, axes, "all_to_all")
    f = val.pos[q][0]
    to = scattered(r, val, split, axes)
    to[f] = replace(f, axes=(), extent=r.ranks(axes))
    after = regroup(val, to)
    text = r.emit(f'all_to_all("{r.spell(val.dims, val.marks)} -> '
                  f'{r.spell(after["dims"], val.marks)}", {r.use(val)})')
    pos = [row[1:] if i == q else row for i, row in enumerate(after["pos"])]
    pos[concat] = (to[f],)
    return moved_on(r, replace(val, text=text, dims=after["dims"], pos=pos, affine=None), split)


@rule("ppermute")
def _ppermute(r: Reader, eqn, vals):
    (val,) = vals
    (axis, *more) = names_of(eqn.params["axis_name"])
    if more:
        raise r.problem("a ppermute over several axes at once")
    n, perm = r.dims.mesh[axis], dict(eqn.params["perm"])
    shift = perm.get(0, 0)
    if perm != {j: (j + shift) % n for j in range(n)}:
        raise r.problem("a ppermute that is not a rotation of the whole axis")
    if not split_over(val, axis):  # copies, or terms of a sum: the value is the same
        if val.marks.get(axis) != "U":
            return val
        base, _, shifts = val.shifted[:3] if val.shifted[1:2] == (axis,) and val.shifted[3:] == (val.text, val.pos) \
            else (val, axis, frozenset({0}))
        return replace(val, shifted=(base, axis, frozenset((s + shift) % n for s in shifts), val.text, val.pos))
    words = " ".join(f"[{r.spell([f])}]" if axis in f.axes else r.spell([f]) for f in val.dims)
    words += " " + r.spell([], val.marks) if val.marks else ""
    by = shift if shift <= n // 2 else shift - n
    text = r.emit(f'ppermute("{words} -> {words}", {r.use(val)}, by={by})')
    return replace(val, text=text, affine=None)


@rule("axis_index")
def _axis_index(r: Reader, eqn, vals):
    ranks, size = [], 1
    for axis in reversed(names_of(eqn.params["axis_name"])):
        ranks.append((axis, size))
        size *= r.dims.mesh[axis]
    return Val(None, [], dtype="i32", affine=Affine(0, tuple(sorted(ranks))),
               why="the device's index is used otherwise than as the offset of a block")
