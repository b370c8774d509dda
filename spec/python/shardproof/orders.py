"""Primitives that depend on the order of entries, and branches and loops that are known when tracing."""
from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from jax.extend import core as jex_core

from . import candidates, devices, rewrites
from .dims import Factor
from .elementwise import where
from .parts import one_factor, part
from .reader import Reader
from .reductions import without
from .rules import RULES, rule
from .values import Line, Val


def twin(r: Reader, x: Val, f: Factor) -> Factor:
    """Another index of the same dim."""
    return r.distinct([(f,)], {r.key(g) for g in x.dims})[0][0]


def whole_factor(r: Reader, x: Val, p: int, name: str) -> Factor:
    """The dim of a position, which is not split."""
    return whole(r, one_factor(r, x, p), name)


def whole(r: Reader, f: Factor, name: str) -> Factor:
    """A dim that is not split."""
    if f.axes:
        raise r.problem(f"`{name}` along {r.dim_said(f)}: each device sees its own block", "finding")
    return f


def taken(r: Reader, x: Val, p: int, f: Factor, ids: Val, new: Factor) -> Val:
    """x with the entry of f that ids names, ids having `new` in place of f."""
    left = " ".join(f"[{r.spell([g])}]" if r.key(g) == r.key(f) else r.spell([g]) for g in x.dims)
    dims = [new if r.key(g) == r.key(f) else g for g in x.dims]
    marks = f" {r.spell([], x.marks)}" if x.marks else ""
    text = r.emit(f'index("{left}{marks}, {r.spell(ids.dims)} -> {r.spell(dims, x.marks)}", '
                  f"{r.use(x)}, {r.use(ids)})")
    return replace(x, text=text, pos=[*x.pos[:p], (new,), *x.pos[p + 1:]], dims=dims, affine=None, made=())


@rule("rev")
def _rev(r: Reader, eqn, vals):
    x = vals[0]
    for f in (f for p in eqn.params["dimensions"] for f in x.pos[p] if not f.virtual):  # of several dims together: each
        whole(r, f, "rev")
        words = " ".join(f"[{r.spell([g])}]" if g == f else r.spell([g]) for g in x.dims)
        words += f" {r.spell([], x.marks)}" if x.marks else ""
        x = replace(x, text=r.emit(f'rev("{words}", {r.use(x)})'), made=())
    return replace(x, affine=None)


@rule("cumsum")
def _cumsum(r: Reader, eqn, vals):
    """From the end it is the sum of all, less what is in front."""
    x = r.solid(vals[0], r.node_key())
    if not x.pos[eqn.params["axis"]]:
        return x
    along = x.pos[eqn.params["axis"]]
    f, apart = along[0], r.spell(x.dims, x.marks)
    if len(along) > 1:  # several dims together
        for g in along:
            whole(r, g, "cumsum")
        x = r.ordered(x)
        at, apart = x.dims.index(f), r.spell(x.dims, x.marks)
        words = " ".join([*map(r.spell, ([g] for g in x.dims[:at])), f"({r.spell(along)})", r.spell(x.dims[at + len(along):], x.marks)]).strip()
        joined = r.emit(f'rearrange("{apart} -> {words}", {r.use(x)})')
        done = r.emit(f'cumsum("{words}; ({r.spell(along)})", {joined})')
        text = r.emit(f'rearrange("{words} -> {apart}", {done})')
    else:
        text = r.emit(f'cumsum("{apart}; {r.spell([replace(f, axes=())])}", {r.use(x)})')
    if eqn.params["reverse"]:
        rest = [g for g in x.dims if g not in along]
        total = r.emit(f'sum("{r.spell(x.dims, x.marks)} -> {r.spell(rest, x.marks)}", {r.use(x)})')
        text = r.emit(f"({total} - {text}) + {r.use(x)}")
    elif f.axes and not x.marks and len(along) == 1:
        r.running[text] = x, eqn.params["axis"]
    return replace(x, text=text, affine=None, literal=None, positive=False)


@rule("top_k")
def _top_k(r: Reader, eqn, vals):
    x, p = vals[0], eqn.params.get("axis", len(vals[0].pos) - 1)
    k = eqn.params["k"]
    if found := candidates.largest(r, x, p, k, largest):
        return found
    x = r.solid(x, r.node_key())
    f = one_factor(r, x, p)
    return candidates.own(r, x, p, f, k) if f.axes else largest(r, x, p, f, k)


def largest(r: Reader, x: Val, p: int, f: Factor, k: int) -> list[Val]:
    """The k largest entries of a dim, and their indices."""
    if k == 1:
        rest = [g for g in x.dims if g != f]
        spelled = f'{r.spell(x.dims, x.marks)} -> {r.spell(rest, x.marks)}'
        pos = [*x.pos[:p], (), *x.pos[p + 1:]]
        return [Val(r.emit(f'{word}("{spelled}", {r.use(x)})'), pos, rest, dtype, dict(x.marks))
                for word, dtype in (("max", x.dtype), ("argmax", "i32"))]
    new = r.distinct([r.dims.position(r.dims.node(r.node_key("k"), k))], {r.key(g) for g in x.dims})[0][0]
    dims = [new if g == f else g for g in x.dims]
    r._count += 2
    names = (f"v{r._count - 1}", f"v{r._count}")
    r.lines.append(Line(names, f'top_k("{r.spell(x.dims, x.marks)} -> {r.spell(dims, x.marks)}", '
                               f"{r.use(x)})", r.place))
    r.like(names[0], x)
    pos = [*x.pos[:p], (new,), *x.pos[p + 1:]]
    return [Val(name, pos, dims, dtype, dict(x.marks)) for name, dtype in zip(names, (x.dtype, "i32"))]


@rule("sort")
def _sort(r: Reader, eqn, vals):
    """By the first operand; entries that are equal stay in their order."""
    if eqn.params["num_keys"] != 1:
        raise r.problem("a sort by several keys")
    if len(vals) == 1 and vals[0].made[:1] == ("neg",) and vals[0].made[1].pos == vals[0].pos:  # from the largest to the smallest
        turned = RULES["rev"](r, SimpleNamespace(params={"dimensions": (eqn.params["dimension"],)}), _sort(r, eqn, [vals[0].made[1]]))
        return replace(turned, text=r.emit(f"-{r.use(turned)}"))
    p, (vals, pos, _) = eqn.params["dimension"], r.matched(vals)
    key = r.ordered(r.expanded(vals[0], pos))
    f = whole_factor(r, key, p, "sort")
    order = r.emit(f'argsort("{r.spell(key.dims, key.marks)}; {r.spell([f])}", {r.use(key)})')
    new = twin(r, key, f)
    ids = r.rename(replace(key, text=order, dtype="i32", affine=None, literal=None, positive=False), {f: new})
    results = []
    for v in vals:
        of = v.affine
        if of and of.along == p and (of.const, of.scale, of.ranks) == (0, 1, ()):
            results.append(replace(ids, affine=None))  # where the entries come from
        else:
            results.append(taken(r, r.expanded(v, key.pos), p, f, ids, new))
    return results


@rule("argmin")
def _argmin(r: Reader, eqn, vals):
    (p,), x = eqn.params["axes"], vals[0]
    dims = [g for g in x.dims if g not in x.pos[p]]
    text = r.emit(f'argmax("{r.spell(x.dims, x.marks)} -> {r.spell(dims, x.marks)}", -{r.use(x)})')
    return Val(text, without(x, [p]), dims, "i32", dict(x.marks))


@rule("slice")
def _slice(r: Reader, eqn, vals):
    x, strides = vals[0], eqn.params["strides"]
    for p, (start, stop) in enumerate(zip(eqn.params["start_indices"], eqn.params["limit_indices"])):
        stride = strides[p] if strides else 1
        if stride == 1 or stop == start:
            x = part(r, x, p, start, stop - start, r.node_key("slice"))
            continue
        n, count = x.extents()[p], (stop - start - 1) // stride + 1
        if n % stride or start >= stride or count != n // stride:  # no equal parts of the dim
            x = rewrites.moved(r, x, p, -start, count, stride=stride)
            continue
        sizes = [*x.extents()[:p], count, stride, *x.extents()[p + 1:]]
        apart = RULES["reshape"](r, SimpleNamespace(params={"new_sizes": sizes}), [x])
        apart = part(r, apart, p + 1, start, 1, r.node_key("slice"))
        x = replace(apart, pos=[*apart.pos[:p + 1], *apart.pos[p + 2:]])
    return x


@rule("cond")
def _cond(r: Reader, eqn, vals):
    index, args, branches = vals[0], vals[1:], eqn.params["branches"]
    if index.literal is not None:
        return r.closed(branches[max(0, min(int(index.literal), len(branches) - 1))], args)
    if index.dims or index.marks or index.text is None:
        if any(devices.talks(branch, asks=False) for branch in branches):
            raise r.problem("a `cond` or `switch` by a value that differs between devices, and a branch communicates: devices that take "
                            "another branch have no part in that; `jnp.where` takes both branches", "finding")
        raise r.problem("a `cond` or `switch` by a value that is no scalar, or differs between devices: `jnp.where` takes both branches")
    outer, results = r.path, []
    for i, branch in enumerate(branches):
        r.path = (*outer, "branch", i)
        yes = r.closed(branch, args)
        if i == 0:
            results = yes
            continue
        chosen = replace(index, text=r.emit(f"{r.use(index)} >= {i}"), dtype="bool", made=())
        results = [where(r, chosen, b, a) if not (a.literal is not None and a.literal == b.literal) else a
                   for a, b in zip(results, yes)]
    r.path = outer
    return results


def counted(eqn, init: list[Val]) -> int | None:
    """How often a `while` runs whose index goes up by 1 to a constant."""
    p = eqn.params
    test, body = p["cond_jaxpr"].jaxpr, p["body_jaxpr"].jaxpr
    if len(test.eqns) != 1 or test.eqns[0].primitive.name != "lt" or p["cond_nconsts"]:
        return None
    at, limit = test.eqns[0].invars
    if not isinstance(limit, jex_core.Literal) or at not in test.invars:
        return None
    i = test.invars.index(at)
    made = [e for e in body.eqns if body.outvars[i] in e.outvars]
    index = body.invars[p["body_nconsts"] + i]
    steps = made and made[0].primitive.name == "add" and made[0].invars[0] is index \
        and isinstance(made[0].invars[1], jex_core.Literal) and made[0].invars[1].val == 1
    return int(limit.val) - int(init[i].literal) if steps and init[i].literal is not None else None


@rule("while")
def _while(r: Reader, eqn, vals):
    p = eqn.params
    consts, init = vals[:p["body_nconsts"]], vals[p["cond_nconsts"] + p["body_nconsts"]:]
    if p["cond_nconsts"]:
        raise r.problem("a `while` whose end depends on data: only a fixed number of steps is known")
    length = counted(eqn, init)
    if length is None:
        raise r.problem("a `while` whose end depends on data: only a fixed number of steps is known")
    if length <= 0:
        return init
    scan = SimpleNamespace(primitive=eqn.primitive, invars=eqn.invars, outvars=eqn.outvars, params={
        "num_consts": len(consts), "num_carry": len(init), "length": length, "jaxpr": p["body_jaxpr"],
        "reverse": False})
    return RULES["scan"](r, scan, [*consts, *init])

