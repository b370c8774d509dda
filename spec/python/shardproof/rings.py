"""Rings written by hand: a scan of as many steps as an axis has devices, in which blocks go around the axis with ppermute."""
from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from .dims import Factor
from .loops import carried, counts, solid_like, start
from .reader import Reader
from .values import Affine, Block, Line, Val


@dataclass(frozen=True)
class Ring:
    """A device of `axis` holds after s steps the block of the device `shift` * s before it."""

    axis: str
    shift: int
    index: str  # of the block, in the text
    block: Factor  # the dim of a block's entries


def rotations(eqn, mesh: dict[str, int]) -> tuple[str, int, set[int]] | None:
    """(axis, shift, the carries that go around) of a scan."""
    p = eqn.params
    jaxpr, n = p["jaxpr"].jaxpr, p["num_consts"]
    carries = jaxpr.invars[n:n + p["num_carry"]]
    found = {}
    for e in jaxpr.eqns if not p["reverse"] else []:
        if e.primitive.name != "ppermute":
            continue
        for given, sent in zip(e.invars, e.outvars):
            at = [i for i, v in enumerate(carries) if v is given and jaxpr.outvars[i] is sent]
            if len(at) != 1:
                return None
            found[at[0]] = e.params["axis_name"], dict(e.params["perm"])
    axes = {axis if isinstance(axis, str) else axis[0] for axis, _ in found.values()}
    shifts = {perm.get(0, 0) for _, perm in found.values()}
    if len(axes) != 1 or len(shifts) != 1:
        return None
    (axis,), (shift,) = axes, shifts
    count = mesh[axis]
    if p["length"] != count or gcd(shift, count) != 1 \
            or any(perm != {j: (j + shift) % count for j in range(count)} for _, perm in found.values()):
        return None
    return axis, shift, set(found)


def read(r: Reader, eqn, consts: list[Val], init: list[Val], xs: list[Val]) -> list[Val] | None:
    """The results of a scan that is a ring; None where it is none."""
    found = rotations(eqn, r.dims.mesh)
    if found is None or len(eqn.outvars) > len(init) or any(not counted(x) for x in xs):
        return None
    axis, shift, around = found
    init = list(init)
    for i in around:
        init[i] = r.ordered(r.solid(init[i], r.node_key("around", i)))
    split = [f for i in around for f in init[i].dims if axis in f.axes]
    if len(split) != len(around) or any(f.axes != (axis,) for f in split) \
            or len({r.dims.root(f.node) for f in split}) != 1:
        return None
    for i, f in zip(around, split):
        init[i] = r.rename(init[i], {f: replace(f, alias=0)})
    over = replace(split[0], alias=0)
    (block,) = r.dims.position(r.dims.node(r.node_key("block"), over.extent))
    r._count += 1
    ring = Ring(axis, shift, f"n{r._count}", block)
    r.rings[ring.index] = ring
    p, place = eqn.params, r.place
    steps = {i for i in range(len(init)) if counts(p["jaxpr"].jaxpr, p["num_consts"] + i, i)
             and init[i].literal is not None and init[i].dtype == "i32"}
    inside: list[Val] = [block_of(v, over, ring) if i in around else step_of(ring, int(v.literal)) if i in steps else v
                         for i, v in enumerate(init)]
    own = [i for i in range(len(init)) if i not in around and i not in steps]

    def body(carries: list[Val]) -> tuple[list[Line], list[Val]]:
        given = list(inside)
        for i, v in zip(own, carries):
            given[i] = v
        outer, r.lines = r.lines, []
        out = r.closed(p["jaxpr"], [*consts, *given, *(step_of(ring, 0) for _ in xs)])
        lines, r.lines = r.lines, outer
        return lines, [out[i] for i in own]

    key = r.node_key("carry")
    begin = [init[i] for i in own]
    if any(f.virtual for v in begin for f in v.factors):
        begin = [replace(v, made=("init", v)) for v in begin]
        begin = [solid_like(r, v, t, (key, i)) for i, (v, t) in enumerate(zip(begin, body(begin)[1]))]
    begin = [r.ordered(r.solid(v, (key, i))) for i, v in enumerate(begin)]
    carries, learnt = carried(r, key, begin)
    lines, out = body(carries)
    following = learnt(lines, out)
    r.place = place
    heads = [f"{c.text}: {r.type_of(c)} = {start(r, v, c)}" for c, v in zip(carries, begin)]
    head = ", ".join([f"ring {ring.index} over {r.spell([over])} as {r.spell([block])}", *heads])
    names = []
    for _ in carries:
        r._count += 1
        names.append(f"v{r._count}")
    r.lines.append(Line(tuple(names), head, place, Block(head, lines, [r.use(v) for v in following], [])))
    results = list(init)
    for i, c, name in zip(own, carries, names):
        results[i] = replace(c, text=name)
        r.like(name, c)
    for i in steps:
        results[i] = r.scalar(int(init[i].literal) + p["length"], "int32", [])
    return results


def counted(x: Val) -> bool:
    """0, 1, 2 .. along a vector."""
    return len(x.pos) == 1 and x.affine == Affine(0, (), 0, x.extents()[0], 1)


def block_of(v: Val, over: Factor, ring: Ring) -> Val:
    def of(f: Factor) -> Factor:
        return ring.block if f == over else f

    return replace(v, text=f"{v.text}[{ring.index}]", pos=[tuple(map(of, p)) for p in v.pos], dims=[*map(of, v.dims)],
                   affine=None, literal=None, made=())


def step_of(ring: Ring, first: int) -> Val:
    return Val(None, [], dtype="i32", affine=Affine(first, ((f"step {ring.index}", 1),)),
               why="the number of a step of a ring is used otherwise than for the block that the device has: "
                   "(axis_index - step) % devices")


def source(r: Reader, x: Val, by: Val, floored: bool) -> Val | None:
    """(axis_index - step) % devices, the device whose block this one has."""
    ranks = dict(x.affine.ranks) if x.affine and x.affine.along is None else {}
    ring = next((ring for ring in r.rings.values() if f"step {ring.index}" in ranks), None)
    if ring is None or set(ranks) != {ring.axis, f"step {ring.index}"} or by.literal != r.dims.mesh[ring.axis]:
        return None
    n, own, step = by.literal, ranks[ring.axis], ranks[f"step {ring.index}"]
    least = x.affine.const + sum(min(0, k) * (n - 1) for k in ranks.values())
    if not floored and least < 0:
        return None
    if own % n != 1 or (step + ring.shift) % n or x.affine.const % n:
        by = ring.shift if 2 * ring.shift <= n else ring.shift - n
        raise r.problem(f"the ppermute of this ring sends {'forward' if by > 0 else 'back'} by {abs(by)}: after s steps a device "
                        f"has the block of (axis_index {'-' if by > 0 else '+'} {'' if abs(by) == 1 else f'{abs(by)} * '}s) % {n}, "
                        "and this is another one", "finding")
    return Val(None, [], dtype="i32", affine=Affine(0, ((f"block {ring.index}", 1),)),
               why="the number of a ring's block is used otherwise than for the positions of its entries: number * block + iota")


def positions(r: Reader, affine: Affine, pos, vals, name: str) -> Val | None:
    """number * block + iota: the positions of a block's entries."""
    ring = next((ring for ring in r.rings.values() if affine.ranks == ((f"block {ring.index}", ring.block.extent),)), None)
    if ring is None or affine.along is None or affine.scale != 1 or affine.extent != ring.block.extent:
        return None
    pos[affine.along] = (ring.block,)
    word = r.spell([ring.block])
    text = r.emit(f'iota("{word}") + {ring.index} * |{word}|')
    if affine.const:
        text = r.emit(f"{text} + {affine.const}")
    return Val(text, pos, [ring.block], "i32", made=(name, *vals))


__all__ = ["positions", "read", "source"]
