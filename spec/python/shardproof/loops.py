"""Loops."""
from __future__ import annotations

from dataclasses import replace

import jax
from jax._src import core as jax_core
from jax.extend import core as jex_core

from .dims import Factor, Position
from .elementwise import union, virtual
from .joined import side_by_side
from .parts import part
from .reader import Reader
from .rules import rule
from .shapes import dropped
from .values import Block, Line, Val, number


@rule("scan")
def _scan(r: Reader, eqn, vals):
    from . import rings
    p = eqn.params
    n_consts, n_carry, length = p["num_consts"], p["num_carry"], p["length"]
    consts, init, xs = vals[:n_consts], vals[n_consts:n_consts + n_carry], vals[n_consts + n_carry:]
    if length == 0:
        empty = [Val(None, [(Factor(None, extent=0),), *(virtual((Factor(None, extent=n),)) for n in v.aval.shape[1:])],
                     why="a part without entries is used") for v in eqn.outvars[n_carry:]]
        return [*init, *empty]
    if not n_carry and any(f.axes for x in xs for f in x.pos[0]):
        return mapped(r, eqn, vals)
    if (ring := rings.read(r, eqn, consts, init, xs)) is not None:
        return ring
    if 1 < length <= r.unrolled:
        return unrolled(r, eqn, consts, init, xs)
    if length == 1:
        one = [dropped(r, x, (0,)) for x in xs]  # of a split dim each device has its own entry
        one = [replace(x, pos=x.pos[1:], affine=None) for x in one]
        out = r.closed(p["jaxpr"], [*consts, *init, *one])
        return [*out[:n_carry], *(replace(y, pos=[(), *y.pos]) for y in out[n_carry:])]
    loop = loop_dim(r, xs, length)
    key = r.node_key("carry")
    place = r.place
    if broadcast(init):
        init = [replace(v, made=("init", v)) for v in init]
        trial = body(r, p["jaxpr"], consts, init, xs, loop, None)[1]
        init = [solid_like(r, v, t, (key, i)) for i, (v, t) in enumerate(zip(init, trial))]
    init = [r.ordered(r.solid(v, (key, i))) for i, v in enumerate(init)]
    carries, following_of = carried(r, key, init)
    r._count += 1
    index = f"n{r._count}"
    if not p["reverse"]:
        carries = [counter(v, c, counts(p["jaxpr"].jaxpr, n_consts + i, i), loop, index)
                   for i, (v, c) in enumerate(zip(init, carries))]
    lines, out = body(r, p["jaxpr"], consts, carries, xs, loop, index)
    following = following_of(lines, out[:n_carry])
    outer_lines, r.lines = r.lines, lines
    kept = [y.made if y.text is None and y.made[:1] == ("blocks",) else None for y in out[n_carry:]]  # what grad keeps of a shard_map
    emitted = [r.ordered(named(r, made[1] if made else y)) for y, made in zip(out[n_carry:], kept)]
    r.lines, r.place = outer_lines, place
    heads = [f"{c.text}: {r.type_of(c)} = {start(r, v, c)}" for c, v in zip(carries, init)]
    reverse = " reverse" if p["reverse"] else ""
    head = ", ".join([f"scan {index} in {r.dims.name(loop)}{reverse}", *heads])
    results = []
    for _ in [*carries, *emitted]:
        r._count += 1
        results.append(f"v{r._count}")
    block = Block(head, lines, [r.use(v) for v in following], [r.use(y) for y in emitted])
    r.lines.append(Line(tuple(results), head, place, block))
    last = [replace(c, text=name) for c, name in zip(carries, results)]
    for v, name in zip([*carries, *emitted], results):
        r.like(name, v)
    stacks = []
    for y, given, made, name in zip(emitted, out[n_carry:], kept, results[n_carry:]):
        whole = r.distinct([(loop,), *y.pos])
        if whole != [(loop,), *y.pos]:
            raise r.problem("an index of a loop that is also a dim of what it emits")
        stack = replace(y, text=name, pos=whole, dims=[loop, *y.dims], literal=None, affine=None, made=())
        stacks.append(replace(given, pos=[(loop,), *given.pos], made=("stack of blocks", stack, *made[2:])) if made else stack)
    return [*last, *stacks]


def carried(r: Reader, key, init: list[Val]):
    """(the carries in the body of a loop that begins with these values, what makes their next values of the body's)."""
    learnt = r.dims.carried.setdefault(key, [unsplit_marks(v) for v in init])
    carries = []
    kinds = r.dims.masked.setdefault(key, [r.masked(v) for v in init])
    for i, (v, marks) in enumerate(zip(init, learnt)):
        r._count += 1
        kinds[i] = r.masks.kinds[f"q{r._count}"] = max(kinds[i], r.masked(v))
        carries.append(replace(v, text=f"q{r._count}", marks=dict(marks), literal=None, affine=None,
                               positive=False, made=()))

    def following(lines: list[Line], out: list[Val]) -> list[Val]:
        outer, r.lines = r.lines, lines
        found = [fitted(r, c, v) for c, v in zip(carries, out)]
        r.lines = outer
        for i, (v, marks) in enumerate(zip(found, learnt)):
            if r.masked(v) > kinds[i]:
                kinds[i] = r.masked(v)
                r.dims.changed = True
            if {**unsplit_marks(v), **marks} != marks:
                marks.update(unsplit_marks(v))
                r.dims.changed = True
        return found

    return carries, following


def unsplit_marks(v: Val) -> dict[str, str]:
    """The marks that a type can have; the checker finds the others where they are made."""
    return {a: m for a, m in v.marks.items() if not any(a in f.axes for f in v.dims)}


def counts(jaxpr, at: int, out: int) -> bool:
    """Whether a carry is one more after each step."""
    made = [e for e in jaxpr.eqns if jaxpr.outvars[out] in e.outvars]
    return bool(made) and made[0].primitive.name == "add" and made[0].invars[0] is jaxpr.invars[at] \
        and isinstance(made[0].invars[1], jex_core.Literal) and int(made[0].invars[1].val) == 1


def counter(start: Val, carry: Val, does: bool, loop: Factor, index: str) -> Val:
    """A carry that counts the steps of its loop: x[carry] is the step's entry of x."""
    if not does or start.literal is None or start.dtype != "i32":
        return carry

    def entry(r: Reader, x: Val, p: int) -> Val:
        x = part(r, x, p, int(start.literal), loop.extent, r.node_key("counted", p))
        if len(x.pos[p]) != 1 or x.pos[p][0].axes:
            raise r.problem("the entries of a dim that is split, or of several together, one in each step")
        pos = [*x.pos[:p], (), *x.pos[p + 1:]]
        if x.pos[p][0].virtual:
            return replace(x, pos=pos, affine=None)
        r.dims.unify(loop.node, x.pos[p][0].node, r.place)
        x = r.rename(x, {x.pos[p][0]: replace(x.pos[p][0], alias=loop.alias)})
        first = x.pos[p][0]
        turned = r.ordered(replace(x, pos=[(first,), *x.pos[:p], *x.pos[p + 1:]]))
        return replace(turned, text=f"{r.use(turned)}[{index}]", pos=pos, dims=turned.dims[1:], affine=None,
                       made=(), literal=None, positive=False)
    return replace(carry, step=entry)


def mapped(r: Reader, eqn, vals: list[Val]) -> list[Val]:
    """A scan that carries nothing, over a dim that is split: its body for all entries at once."""
    p = eqn.params
    at = [None] * p["num_consts"] + [0] * (len(vals) - p["num_consts"])
    try:
        with jax_core.extend_axis_env_nd(list(r.dims.mesh.items())):
            closed = jax.make_jaxpr(jax.vmap(jex_core.jaxpr_as_fun(p["jaxpr"]), at, axis_size=p["length"]))(
                *(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars))
    except Exception as error:  # noqa: BLE001  (a primitive may have no rule for it)
        raise r.problem(f"a map over a dim that is split: {error}") from None
    return r.closed(closed, vals)


def unrolled(r: Reader, eqn, consts: list[Val], carries: list[Val], xs: list[Val]) -> list[Val]:
    """The steps of a scan one after the other."""
    p, outer = eqn.params, r.path
    emitted: dict[int, list[Val]] = {}
    steps = range(p["length"])
    for i in reversed(steps) if p["reverse"] else steps:
        r.path = (*outer, "step", i)
        ones = [part(r, x, 0, i, 1, r.node_key("x", k)) for k, x in enumerate(xs)]
        out = r.closed(p["jaxpr"], [*consts, *carries, *(replace(x, pos=x.pos[1:], affine=None) for x in ones)])
        carries, emitted[i] = out[:p["num_carry"]], out[p["num_carry"]:]
    r.path = outer
    return [*carries, *(side_by_side(r, [replace(emitted[i][k], pos=[(), *emitted[i][k].pos]) for i in steps], 0, k)
                        for k in range(len(eqn.outvars) - len(carries)))]


def loop_dim(r: Reader, xs: list[Val], length: int) -> Factor:
    """The dim that is stepped through, the same in all stacked values."""
    for x in xs:
        if len(x.pos[0]) > 1 or any(f.axes for f in x.pos[0]):
            raise r.problem("a scan over a dim that is split, or over several together")
        if not x.pos[0][0].virtual:
            r.dims.unify(r.dims.node(r.node_key("loop"), length), x.pos[0][0].node, r.place)
    found = r.dims.position(r.dims.node(r.node_key("loop"), length))
    if len(found) != 1:
        raise r.problem("a scan over a dim that is split into factors elsewhere")
    return found[0]


def body(r: Reader, jaxpr, consts, carries, xs, loop: Factor, index: str | None):
    """The body's lines and results; without an index only to learn of its dims."""
    def step(x: Val) -> Val:
        if x.made[:1] == ("stack of blocks",):
            return replace(x, pos=x.pos[1:], made=("blocks", step(x.made[1]), *x.made[2:]))
        if x.pos[0][0].virtual:
            return replace(x, pos=x.pos[1:], affine=None)
        first = x.pos[0][0]
        x = r.ordered(r.rename(x, {first: replace(first, alias=loop.alias)}))
        if x.dims[0] != x.pos[0][0]:
            raise r.problem("a scan over a dim that is not the first of the text")
        return replace(x, text=f"{r.use(x)}[{index}]", pos=x.pos[1:], dims=x.dims[1:], affine=None, made=(), literal=None)

    steps = [step(x) for x in xs]
    outer, r.lines = r.lines, []
    out = r.closed(jaxpr, [*consts, *carries, *steps])
    lines, r.lines = r.lines, outer
    return lines, out


def broadcast(begin: list[Val]) -> bool:
    """Whether a loop begins with a value that is the same along a dim, or along one of which each device has one entry."""
    return any(f.virtual for v in begin for f in v.factors) or any(v.pos and v.literal is not None for v in begin)


def solid_like(r: Reader, v: Val, t: Val, key) -> Val:
    """A broadcast start with the dims of what the body gives."""
    if len(v.pos) != len(t.pos):
        return v
    single = [theirs if not mine and theirs and all(f.axes and f.extent == 1 for f in theirs) else mine for mine, theirs in zip(v.pos, t.pos)]
    if single != v.pos:
        v = replace(v, pos=single, dims=[f for p in single for f in p if not f.virtual]) if v.literal is not None else \
            r.expanded(v, r.distinct(single))
    rows: list[list[Position | None]] = []
    for mine, theirs in zip(v.pos, t.pos):
        new = bool(mine) and all(f.virtual for f in mine) and bool(theirs) and not any(f.virtual for f in theirs)
        rows.append([theirs if new and i == 0 else () if new else None for i in range(len(mine))])
    if v.literal is None:
        return r.with_new(v, rows)
    pos = [row[0] if row and row[0] is not None else p for p, row in zip(v.pos, rows)]
    return replace(v, pos=pos, dims=[f for p in pos for f in p if not f.virtual])


def start(r: Reader, v: Val, carry: Val) -> str:
    if v.literal is not None and v.dims:
        if v.literal == 0:
            return f"zeros({r.type_of(carry)})"
        words = r.spell(v.dims)
        return f'expand("-> {words}", {v.dtype}({r.use(v)}))'
    if v.literal is not None and not v.dims and v.dtype == "f32" and carry.marks:
        return f"zeros({r.type_of(carry)})" if v.literal == 0 else r.use(v)
    return r.use(v)


def fitted(r: Reader, carry: Val, v: Val) -> Val:
    """The next value of a carry, with its indices."""
    from .collectives import placed
    v = r.solid(v, r.node_key("next", carry.text))
    if r.outer:  # it is split as the first one is
        v = placed(r, v, [tuple(a for f in row for a in f.axes) or None for row in carry.pos])
    to = {}
    for a, b in zip(carry.pos, v.pos):
        for column in r.align([a, b]):
            r.same(column)
            to[column[1]] = column[0]
    return r.ordered(r.rename(named(r, v), to))


def named(r: Reader, v: Val) -> Val:
    """A value that is an expression of the body: a bare number gets its dims."""
    return replace(v, literal=None) if v.literal is not None and not v.dims else v


__all__ = ["number", "union", "virtual"]
