"""Rings written by hand: a scan of as many steps as an axis has devices, in which blocks go around the axis with ppermute."""
from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from .dims import Factor
from .loops import broadcast, carried, counts, solid_like, start
from .reader import Reader
from .values import Affine, Block, Line, Val


@dataclass(frozen=True)
class Ring:
    """A device of `axis` holds after s steps the block of the device `shift` * (s + `ahead`) before it. Where no block goes around,
    but what is added for one, the blocks are those of the first value that is read at their numbers."""

    axis: str
    shift: int
    index: str  # of the block, in the text
    block: Factor | None = None  # the dim of a block's entries
    over: Factor | None = None  # the dim that is split
    ahead: int = 0


@dataclass(frozen=True)
class Moves:
    """What goes around `axis` in a scan: carries that are sent as they are, and sums to which each device adds its term before it sends
    them on: (the carry, the term, the equations that add and send)."""

    axis: str
    shift: int
    around: set[int]
    sums: list[tuple[int, Any, tuple]]


def moves_of(eqn, mesh: dict[str, int]) -> Moves | None:
    p = eqn.params
    jaxpr, n = p["jaxpr"].jaxpr, p["num_consts"]
    carries = jaxpr.invars[n:n + p["num_carry"]]
    around, sums, ways = set(), [], set()
    for e in jaxpr.eqns if not p["reverse"] else []:
        if e.primitive.name != "ppermute":
            continue
        ways.add(rotation(e.params, mesh))
        for given, sent in zip(e.invars, e.outvars):
            at = [i for i in range(len(carries)) if jaxpr.outvars[i] is sent]
            if len(at) != 1:
                return None
            if carries[at[0]] is given:
                around.add(at[0])
                continue
            add = added_to(jaxpr, carries[at[0]], given)
            if add is None or used(jaxpr, given) != 1 or used(jaxpr, sent) != 1:
                return None
            sums.append((at[0], *add, e))
    if len(ways) != 1 or (way := ways.pop()) is None or p["length"] != mesh[way[0]]:
        return None
    return Moves(*way, around, [(i, term, gone) for i, term, *gone in sums])


def used(jaxpr, v) -> int:
    """How often a value is read."""
    return sum(a is v for e in jaxpr.eqns for a in e.invars) + sum(a is v for a in jaxpr.outvars)


def added_to(jaxpr, carry, total) -> tuple[Any, Any] | None:
    """(the term, the equation) where `total` is the carry, which nothing else reads, and a term."""
    add = next((e for e in jaxpr.eqns if e.primitive.name in ("add", "add_any") and e.outvars[0] is total), None)
    if add is None or [a is carry for a in add.invars].count(True) != 1 or used(jaxpr, carry) != 1:
        return None
    return next(a for a in add.invars if a is not carry), add


def without(closed, gone, results):
    """A jaxpr that leaves out some equations, and has other results."""
    jaxpr = closed.jaxpr
    return closed.replace(jaxpr=jaxpr.replace(eqns=[e for e in jaxpr.eqns if not any(e is g for g in gone)], outvars=results,
                                              debug_info=jaxpr.debug_info.with_unknown_names()))


def brought_home(r: Reader, ring: Ring, term: Val, name: str) -> Val | None:
    """The sum over all devices of their terms for a ring's block, at the device whose block it is; None where the terms are no such."""
    if ring.block is None or term.text is None or term.marks.get(ring.axis) != "U" or len([f for f in term.dims if f == ring.block]) != 1:
        return None

    def whole(f: Factor) -> Factor:
        return ring.over if f == ring.block else f

    return replace(term, text=name, pos=[tuple(map(whole, row)) for row in term.pos], dims=[*map(whole, term.dims)],
                   marks={a: m for a, m in term.marks.items() if a != ring.axis}, affine=None, literal=None, made=(), part=())


def read(r: Reader, eqn, consts: list[Val], init: list[Val], xs: list[Val]) -> list[Val] | None:
    """The results of a scan that is a ring; None where it is none."""
    if len(eqn.outvars) > len(init) or any(not counted(x) for x in xs):
        return None
    moves = moves_of(eqn, r.dims.mesh)
    if moves is None or not moves.around:
        return added_on_the_way(r, eqn, consts, init, xs)
    axis, around, sums = moves.axis, moves.around, [i for i, *_ in moves.sums]
    if any(init[i].literal != 0 for i in sums):
        return None
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
    ring = Ring(axis, moves.shift, f"n{r._count}", block, over)
    r.rings[ring.index] = ring
    p, place = eqn.params, r.place
    steps = {i for i in range(len(init)) if counts(p["jaxpr"].jaxpr, p["num_consts"] + i, i)
             and init[i].literal is not None and init[i].dtype == "i32"}
    inside: list[Val] = [block_of(v, over, ring) if i in around else step_of(ring, int(v.literal)) if i in steps else v
                         for i, v in enumerate(init)]
    own = [i for i in range(len(init)) if i not in around and i not in steps and i not in sums]
    computed = without(p["jaxpr"], [e for *_, gone in moves.sums for e in gone],
                       [p["jaxpr"].jaxpr.outvars[i] for i in own] + [term for _, term, _ in moves.sums])

    def body(carries: list[Val]) -> tuple[list[Line], list[Val], list[Val]]:
        given = list(inside)
        for i, v in zip(own, carries):
            given[i] = v
        outer, r.lines = r.lines, []
        out = r.closed(computed, [*consts, *given, *(step_of(ring, 0) for _ in xs)])
        lines, r.lines = r.lines, outer
        return lines, out[:len(own)], out[len(own):]

    key = r.node_key("carry")
    begin = [init[i] for i in own]
    if broadcast(begin):
        begin = [replace(v, made=("init", v)) for v in begin]
        begin = [solid_like(r, v, t, (key, i)) for i, (v, t) in enumerate(zip(begin, body(begin)[1]))]
    begin = [r.ordered(r.solid(v, (key, i))) for i, v in enumerate(begin)]
    carries, learnt = carried(r, key, begin)
    lines, out, terms = body(carries)
    following = learnt(lines, out)
    r.place = place
    heads = [f"{c.text}: {r.type_of(c)} = {start(r, v, c)}" for c, v in zip(carries, begin)]
    head = ", ".join([f"ring {ring.index} over {r.spell([over])} as {r.spell([block])}", *heads])
    names = []
    for _ in (*carries, *terms):
        r._count += 1
        names.append(f"v{r._count}")
    totals = [brought_home(r, ring, term, name) for term, name in zip(terms, names[len(carries):])]
    if None in totals:
        return None
    r.lines.append(Line(tuple(names), head, place, Block(head, lines, [r.use(v) for v in following], [r.use(term) for term in terms])))
    results = list(init)
    for i, c, name in zip(own, carries, names):
        results[i] = replace(c, text=name)
        r.like(name, c)
    for i, total in zip(sums, totals):
        results[i] = total
    for i in steps:
        results[i] = r.scalar(int(init[i].literal) + p["length"], "int32", [])
    return results


def sum_that_moves(p, mesh: dict[str, int]) -> tuple[int, Any, Any, tuple, int] | None:
    """(the carry that each device adds to and sends on, what it adds, the equations that do it, (axis, shift), how many steps before
    the end it is sent last) of a scan."""
    jaxpr = p["jaxpr"].jaxpr
    sent = [e for e in jaxpr.eqns if e.primitive.name == "ppermute"]
    if len(sent) != 1 or len(sent[0].invars) != 1 or p["reverse"]:
        return None
    (send,) = sent
    carries = jaxpr.invars[p["num_consts"]:p["num_consts"] + p["num_carry"]]

    for i, carry in enumerate(carries):
        last = jaxpr.outvars[i]
        before = send.invars[0] is carry
        taken, given = (send.outvars[0], last) if before else (carry, send.invars[0])
        found = added_to(jaxpr, taken, given)
        if found is None or not before and send.outvars[0] is not last or any(used(jaxpr, v) != 1 for v in (carry, given, send.outvars[0])):
            continue
        term, add = found
        shift = rotation(send.params, mesh)
        if shift is None or p["length"] != mesh[shift[0]]:
            return None
        return i, term, (send, add), shift, int(before)
    return None


def rotation(params, mesh: dict[str, int]) -> tuple[str, int] | None:
    """(axis, shift) of a ppermute that brings a value to all devices in turn."""
    names, perm = params["axis_name"], dict(params["perm"])
    axis = names if isinstance(names, str) else names[0] if len(names) == 1 else None
    if axis is None:
        return None
    count, shift = mesh[axis], perm.get(0, 0)
    whole = gcd(shift, count) == 1 and perm == {j: (j + shift) % count for j in range(count)}
    return (axis, shift) if whole else None


def added_on_the_way(r: Reader, eqn, consts: list[Val], init: list[Val], xs: list[Val]) -> list[Val] | None:
    """The results of a scan in which each device adds its term to a sum that goes around: products and their psum_scatter."""
    p, place = eqn.params, r.place
    found = sum_that_moves(p, r.dims.mesh)
    if found is None:
        return None
    at, term, gone, (axis, shift), ahead = found
    jaxpr = p["jaxpr"].jaxpr
    counters = {i for i in range(len(init)) if i != at and counts(jaxpr, p["num_consts"] + i, i)
                and init[i].literal is not None and init[i].dtype == "i32"}
    if init[at].literal != 0 or len(counters) != len(init) - 1:
        return None
    r._count += 1
    index = f"n{r._count}"
    r.rings[index] = Ring(axis, shift, index, ahead=ahead)
    of_term = without(p["jaxpr"], gone, [term])
    outer, r.lines = r.lines, []
    given = [step_of(r.rings[index], int(v.literal)) if i in counters else v for i, v in enumerate(init)]
    (value,) = r.closed(of_term, [*consts, *given, *(step_of(r.rings[index], 0) for _ in xs)])
    lines, r.lines = r.lines, outer
    ring, r.place = r.rings[index], place
    r._count += 1
    total = brought_home(r, ring, value, f"v{r._count}")
    if total is None:
        return None
    head = f"ring {index} over {r.spell([ring.over])} as {r.spell([ring.block])}"
    r.lines.append(Line((total.text,), head, place, Block(head, lines, [], [r.use(value)])))
    results = list(init)
    results[at] = total
    for i in counters:
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
    if own % n != 1 or (step + ring.shift) % n or (x.affine.const + ring.ahead * ring.shift) % n:
        if ring.block is None:
            raise r.problem("a sum that goes around gets the term of another block than that of the device at which it ends", "finding")
        by = ring.shift if 2 * ring.shift <= n else ring.shift - n
        raise r.problem(f"the ppermute of this ring sends {'forward' if by > 0 else 'back'} by {abs(by)}: after s steps a device "
                        f"has the block of (axis_index {'-' if by > 0 else '+'} {'' if abs(by) == 1 else f'{abs(by)} * '}s) % {n}, "
                        "and this is another one", "finding")
    return Val(None, [], dtype="i32", affine=Affine(0, ((f"block {ring.index}", 1),)),
               why="the number of a ring's block is used otherwise than for the positions of its entries: number * block + iota")


def positions(r: Reader, affine: Affine, pos, vals, name: str) -> Val | None:
    """number * block + iota: the positions of a block's entries."""
    ring = next((ring for ring in r.rings.values() if ring.block and affine.ranks == ((f"block {ring.index}", ring.block.extent),)), None)
    if ring is None or affine.along is None or affine.scale != 1 or affine.extent != ring.block.extent:
        return None
    pos[affine.along] = (ring.block,)
    word = r.spell([ring.block])
    text = r.emit(f'iota("{word}") + {ring.index} * |{word}|')
    if affine.const:
        text = r.emit(f"{text} + {affine.const}")
    return Val(text, pos, [ring.block], "i32", made=(name, *vals))


def at_block(r: Reader, x: Val, p: int, start: Affine | None, size: int) -> tuple[Ring, Val] | None:
    """The ring whose block stands in position p of a whole value at this start, and the value with the ring's dim there."""
    if start is None or start.along is not None or start.const:
        return None
    ring = next((ring for ring in r.rings.values() if start.ranks == ((f"block {ring.index}", size),)), None)
    if ring is None or ring.block and size != ring.block.extent or x.extents()[p] != size * r.dims.mesh[ring.axis]:
        return None
    x = r.solid(x, r.node_key("whole", p))
    if len(x.pos[p]) != 1 or x.pos[p][0].axes:
        return None
    if ring.block is None:
        (block,) = r.dims.position(r.dims.node(r.node_key("block"), size))
        ring = r.rings[ring.index] = replace(ring, block=block, over=replace(x.pos[p][0], axes=(ring.axis,), extent=size, alias=0))
    r.dims.unify(x.pos[p][0].node, ring.over.node, r.place)
    return ring, x


def block_read(r: Reader, x: Val, p: int, start: Affine | None, size: int) -> Val | None:
    """x[number * size : (number + 1) * size] along p, for the number of a ring's block."""
    found = at_block(r, x, p, start, size)
    if found is None:
        return None
    ring, x = found
    (f,) = x.pos[p]
    (part,) = r.distinct([(ring.block,)], {r.key(g) for g in x.dims})[0]
    dims = [part if g == f else g for g in x.dims]
    left = " ".join(f"[{r.spell([g])}]" if g == f else r.spell([g]) for g in x.dims)
    state = r.spell([], x.marks)
    text = r.emit(f'read("{left} {state} -> {r.spell(dims, x.marks)}", {r.use(x)}, at={ring.index} * |{r.spell([ring.block])}|)'
                  .replace("  ->", " ->"))
    return replace(x, text=text, pos=[*x.pos[:p], (part,), *x.pos[p + 1:]], dims=dims, affine=None, literal=None, made=())


def block_written(r: Reader, x: Val, update: Val, p: int, start: Affine | None) -> Val | None:
    """x with `update` at the place of a ring's block along p."""
    update = r.solid(update, r.node_key("block", p))
    split_alike = [update.pos[q] if q != p and len(row) == 1 and row[0].virtual else None for q, row in enumerate(x.pos)]
    found = at_block(r, r.with_new(x, [[row] * len(x.pos[q]) for q, row in enumerate(split_alike)]), p, start, update.extents()[p])
    if found is None:
        return None
    ring, x = found
    r.same([ring.block, *update.pos[p]])
    to = {update.pos[p][0]: ring.block}
    for q in range(len(x.pos)):
        if q != p:
            for mine, theirs in r.align([x.pos[q], update.pos[q]]):
                r.same([mine, theirs])
                to[theirs] = mine
    x, update = r.ordered(x), r.ordered(r.rename(update, to))
    marks = {**x.marks, **update.marks}
    left = " ".join(f"[{r.spell([f])}]" if f in x.pos[p] else r.spell([f]) for f in x.dims)
    text = r.emit(f'write("{left} {r.spell([], x.marks)}, {r.spell(update.dims, update.marks)} -> {r.spell(x.dims, marks)}", '
                  f"{r.use(x)}, {r.use(update)}, at={ring.index} * |{r.spell([ring.block])}|)".replace(" ,", ","))
    return replace(x, text=text, affine=None, literal=None, positive=False, marks=marks, made=())


__all__ = ["block_read", "block_written", "positions", "read", "source"]
