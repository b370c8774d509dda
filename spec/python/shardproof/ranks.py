"""Evaluates a program with shard_map on one device: all ranks at once, in arrays with a leading axis
for the ranks of the mesh. It shares no rule and no collective with the importer: devices.py only walks equations by `run`."""
from __future__ import annotations

import functools
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex_core
from jax.sharding import NamedSharding

CALLS = ("jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint",
         "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")
NOTHING = ("pvary", "pcast", "pbroadcast", "core_pvary", "sharding_constraint", "reshard")


def names_of(value) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def positions_and_axes(value) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The axes of a collective that are positions of its operand (a vmap's), and those of the mesh."""
    axes = names_of(value)
    return tuple(a for a in axes if isinstance(a, int)), tuple(a for a in axes if not isinstance(a, int))


class Ranks:
    """The ranks of a mesh, row-major in its order of axes."""

    def __init__(self, mesh: dict[str, int]):
        self.mesh = mesh
        self.axes = list(mesh)
        self.shape = tuple(mesh.values())
        self.count = prod(self.shape)
        self.parts: Any = None  # of the equation that is evaluated

    def group_first(self, x, axes):
        """[others, group, local..] from [ranks, local..], the group in the order of `axes`."""
        local = x.shape[1:]
        x = x.reshape(*self.shape, *local)
        others = [a for a in self.axes if a not in axes]
        order = [self.axes.index(a) for a in (*others, *axes)]
        x = jnp.transpose(x, (*order, *range(len(self.shape), x.ndim)))
        n = prod(self.mesh[a] for a in axes)
        return x.reshape(self.count // n, n, *local), order

    def back(self, x, order):
        """[ranks, local..] from [others, group, local..]."""
        local = x.shape[2:]
        x = x.reshape(*(self.shape[i] for i in order), *local)
        inverse = [order.index(i) for i in range(len(order))]
        x = jnp.transpose(x, (*inverse, *range(len(order), x.ndim)))
        return x.reshape(self.count, *local)

    def each(self, x, axes, function):
        """`function` of each group: [group, local..] -> [group, local..]. `axis_index_groups` are groups of a group."""
        grouped, order = self.group_first(x, axes)
        parts = self.parts or [range(grouped.shape[1])]
        done = jnp.concatenate([jax.vmap(function)(grouped[:, np.asarray(part)]) for part in parts], 1)
        return self.back(done[:, np.argsort([i for part in parts for i in part])], order)

    # Collectives, by their definition

    def psum(self, x, axes):
        return self.each(x, axes, lambda g: jnp.broadcast_to(g.sum(0), g.shape).astype(g.dtype))

    def pmax(self, x, axes):
        return self.each(x, axes, lambda g: jnp.broadcast_to(g.max(0), g.shape))

    def all_gather(self, x, axes, dim, tiled):
        def gather(g):
            whole = jnp.concatenate(list(g), dim) if tiled else jnp.stack(list(g), dim)
            return jnp.broadcast_to(whole, (g.shape[0], *whole.shape))
        return self.each(x, axes, gather)

    def reduce_scatter(self, x, axes, dim, tiled):
        def scatter(g):
            total = g.sum(0)
            if tiled:
                return jnp.stack(jnp.split(total, g.shape[0], dim))
            return jnp.moveaxis(total, dim, 0)
        return self.each(x, axes, scatter)

    def all_to_all(self, x, axes, split, concat):
        def exchange(g):
            n = g.shape[0]
            parts = [jnp.split(block, n, split) for block in g]
            return jnp.stack([jnp.concatenate([parts[j][i] for j in range(n)], concat)
                              for i in range(n)])
        return self.each(x, axes, exchange)

    def ppermute(self, x, axes, perm):
        def permute(g):
            out = jnp.zeros_like(g)
            for a, b in perm:
                out = out.at[b].set(g[a])
            return out
        return self.each(x, axes, permute)

    def axis_index(self, axes):
        index = jnp.zeros(self.shape, jnp.int32)
        for a in axes:
            i = self.axes.index(a)
            count = jnp.arange(self.shape[i]).reshape([-1 if k == i else 1
                                                       for k in range(len(self.shape))])
            index = index * self.mesh[a] + count
        return index.reshape(self.count).astype(jnp.int32)

    # Blocks of whole arrays

    def _places(self, spec, sizes):
        """Each dim as its axes and what a rank has of it: (the sizes, the place of each axis among
        them, those of what ranks have)."""
        entries = [() if e is None else names_of(e) for e in spec]
        shape, of_axis, own = [], {}, []
        for size, axes in zip(sizes, [*entries, *[()] * (len(sizes) - len(entries))]):
            for a in axes:
                of_axis[a] = len(shape)
                shape.append(self.mesh[a])
            own.append(len(shape))
            shape.append(size // prod(self.mesh[a] for a in axes))
        return shape, of_axis, own

    def split(self, whole, spec):
        """The blocks of the ranks, [ranks, local..]."""
        shape, of_axis, own = self._places(spec, whole.shape)
        local = [shape[i] for i in own]
        x = jnp.transpose(whole.reshape(shape), (*(of_axis[a] for a in self.axes if a in of_axis), *own))
        x = x.reshape(*(n if a in of_axis else 1 for a, n in self.mesh.items()), *local)
        return jnp.broadcast_to(x, (*self.shape, *local)).reshape(self.count, *local)

    def join(self, blocks, spec):
        """The whole array that out_specs makes; where the ranks' copies of an entry differ, it is no number."""
        local, entries = blocks.shape[1:], [() if e is None else names_of(e) for e in spec]
        sizes = [n * prod(self.mesh[a] for a in axes)
                 for n, axes in zip(local, [*entries, *[()] * (len(local) - len(entries))])]
        shape, of_axis, own = self._places(spec, sizes)
        x = blocks.reshape(*self.shape, *local)
        copies = tuple(i for i, a in enumerate(self.axes) if a not in of_axis)
        x = one_copy(x, copies).squeeze(copies)
        order = [*(of_axis[a] for a in self.axes if a in of_axis), *own]
        return jnp.transpose(x, [order.index(i) for i in range(len(shape))]).reshape(sizes)


def one_copy(x, axes):
    """The first entry along axes that hold copies, spoilt where they are not."""
    first = x[tuple(slice(0, 1) if i in axes else slice(None) for i in range(x.ndim))]
    if x.dtype == bool:
        return first ^ (x != first).any(axes, keepdims=True)
    apart = jnp.abs(x - first) > 1e-3 * (1e-3 + jnp.abs(x).max(axes, keepdims=True)) if x.dtype.kind == "f" else x != first
    spoilt = jnp.nan if x.dtype.kind == "f" else jnp.iinfo(x.dtype).max
    return jnp.where(apart.any(axes, keepdims=True), jnp.asarray(spoilt, x.dtype), first)


def bound(eqn, vals):
    """An equation on these values, which are on no mesh."""
    params = {name: None if isinstance(value, NamedSharding) else value for name, value in eqn.params.items()}
    out = eqn.primitive.bind(*vals, **eqn.primitive.get_bind_params(params))
    return list(out) if eqn.primitive.multiple_results else [out]


def varying(name: str, p):
    """A collective of one value whose result each device has for itself, also where check_vma says that it is one value."""
    if name in ("psum", "psum2", "psum_invariant"):
        return lambda v: lax.psum(v, p["axes"])
    if name in ("all_gather", "all_gather_invariant", "all_gather_reduced"):
        return lambda v: lax.all_gather(v, names_of(p["axis_name"]), axis=p["all_gather_dimension"], tiled=p["tiled"])
    if name in ("pmax", "pmin"):
        return lambda v: getattr(lax, name)(v, p["axes"])
    if name == "reduce_scatter":
        return lambda v: lax.psum_scatter(v, names_of(p["axis_name"]), scatter_dimension=p["scatter_dimension"], tiled=p["tiled"])
    if name == "all_to_all":
        return lambda v: lax.all_to_all(v, names_of(p["axis_name"]), p["split_axis"], p["concat_axis"], tiled=True)
    return lambda v: lax.ppermute(v, names_of(p["axis_name"]), p["perm"])


def body_of(eqn):
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if name in eqn.params:
            inner = eqn.params[name]
            return getattr(inner, "jaxpr", inner), list(getattr(inner, "consts", []))
    raise NotImplementedError(eqn.primitive.name)


def run(jaxpr, consts, args, apply) -> list:
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))
    for eqn in jaxpr.eqns:
        vals = [a.val if isinstance(a, jex_core.Literal) else env[a] for a in eqn.invars]
        env.update(zip(eqn.outvars, apply(eqn, vals)))
    return [a.val if isinstance(a, jex_core.Literal) else env[a] for a in jaxpr.outvars]


SHOWN = ("debug_print", "debug_callback")  # they compute nothing


def globally(eqn, vals) -> list:
    """An equation outside of shard_map."""
    name = eqn.primitive.name
    if name in SHOWN:
        return []
    if name == "shard_map":
        ranks = Ranks(dict(eqn.params["mesh"].shape))
        args = [ranks.split(jnp.asarray(v), s) for v, s in zip(vals, eqn.params["in_specs"])]
        inner = eqn.params["jaxpr"]
        out = run(getattr(inner, "jaxpr", inner), stacked(ranks, getattr(inner, "consts", [])), args,
                  lambda e, v: on_ranks(ranks, e, v))
        out = stacked(ranks, out, inner)
        return [ranks.join(v, s) for v, s in zip(out, eqn.params["out_specs"])]
    if name in NOTHING:
        return vals
    if name in CALLS:
        inner, consts = body_of(eqn)
        return run(inner, consts, vals, globally)
    if name in AROUND and any(map(on_a_mesh, jex_core.jaxprs_in_params(eqn.params))):
        return AROUND[name](eqn, vals)
    return bound(eqn, vals)


def on_a_mesh(jaxpr) -> bool:
    """Whether a jaxpr has a shard_map."""
    return any(e.primitive.name == "shard_map" or any(map(on_a_mesh, jex_core.jaxprs_in_params(e.params)))
               for e in getattr(jaxpr, "jaxpr", jaxpr).eqns)


def scan_of(apply, p, vals) -> list:
    """A scan whose steps are run with `apply`."""
    n, k, closed = p["num_consts"], p["num_carry"], p["jaxpr"]

    def step(carry, xs):
        out = run(closed.jaxpr, closed.consts, [*vals[:n], *carry, *xs], apply)
        return out[:k], out[k:]

    last, ys = lax.scan(step, vals[n:n + k], vals[n + k:], length=p["length"], reverse=p["reverse"])
    return [*last, *ys]


def _scan_around(eqn, vals) -> list:
    return scan_of(globally, eqn.params, vals)


def _while_around(eqn, vals) -> list:
    p = eqn.params
    n, k = p["cond_nconsts"], p["body_nconsts"]
    test, body = ((lambda c, of=of, given=given: run(of.jaxpr, of.consts, [*given, *c], globally))
                  for of, given in ((p["cond_jaxpr"], vals[:n]), (p["body_jaxpr"], vals[n:n + k])))
    return lax.while_loop(lambda c: test(c)[0], body, vals[n + k:])


def _cond_around(eqn, vals) -> list:
    return lax.switch(vals[0], [lambda *v, of=of: run(of.jaxpr, of.consts, v, globally) for of in eqn.params["branches"]], *vals[1:])


AROUND = {"scan": _scan_around, "while": _while_around, "cond": _cond_around}


def stacked(ranks: Ranks, vals, jaxpr=None) -> list:
    """Literals as one for each rank."""
    result = []
    for i, v in enumerate(vals):
        v = jnp.asarray(v)
        rank = None
        if jaxpr is not None:
            rank = len(getattr(jaxpr, "jaxpr", jaxpr).outvars[i].aval.shape)
        if jaxpr is None or v.ndim == rank:
            v = jnp.broadcast_to(v, (ranks.count, *v.shape))
        result.append(v)
    return result


def on_ranks(ranks: Ranks, eqn, vals) -> list:
    """An equation inside of shard_map, on [ranks, local..]."""
    vals = [jnp.broadcast_to(jnp.asarray(v), (ranks.count, *jnp.shape(v)))
            if isinstance(a, jex_core.Literal) else v for a, v in zip(eqn.invars, vals)]
    name, p = eqn.primitive.name, eqn.params
    ranks.parts = p.get("axis_index_groups")
    if name in SHOWN:
        return []
    if name in NOTHING:
        return vals
    if name in ("psum", "psum2", "psum_invariant", "pmax", "pmin"):
        here, axes = positions_and_axes(p["axes"])
        vals = [getattr(v, name[1:4])(tuple(i + 1 for i in here)) if here else v for v in vals]
        if name == "pmin":
            return [-ranks.pmax(-v, axes) for v in vals]
        return [(ranks.pmax if name == "pmax" else ranks.psum)(v, axes) for v in vals]
    if name in ("all_gather", "all_gather_invariant", "all_gather_reduced"):
        return [ranks.all_gather(vals[0], names_of(p["axis_name"]), p["all_gather_dimension"],
                                 p["tiled"])]
    if name == "reduce_scatter":
        return [ranks.reduce_scatter(vals[0], names_of(p["axis_name"]), p["scatter_dimension"],
                                     p["tiled"])]
    if name == "all_to_all":
        return [ranks.all_to_all(vals[0], names_of(p["axis_name"]), p["split_axis"],
                                 p["concat_axis"])]
    if name == "ppermute":
        return [ranks.ppermute(vals[0], names_of(p["axis_name"]), p["perm"])]
    if name == "axis_index":
        return [ranks.axis_index(names_of(p["axis_name"]))]
    if name in CALLS:
        inner, consts = body_of(eqn)
        consts = [jnp.broadcast_to(c, (ranks.count, *jnp.shape(c))) for c in consts]
        out = run(inner, consts, vals, lambda e, v: on_ranks(ranks, e, v))
        return stacked(ranks, out, inner)
    if name == "scan":
        return scanned(ranks, eqn, vals)
    if name == "while":
        return looped(ranks, eqn, vals)
    if name == "cond":
        return chosen(ranks, eqn, vals)
    if not vals:
        return [jnp.broadcast_to(v, (ranks.count, *v.shape)) for v in bound(eqn, [])]
    return list(jax.vmap(lambda *v: tuple(bound(eqn, v)))(*vals))


def scanned(ranks: Ranks, eqn, vals) -> list:
    p = eqn.params
    closed, n, k = p["jaxpr"], p["num_consts"], p["num_carry"]
    consts, carry, xs = vals[:n], vals[n:n + k], [jnp.moveaxis(x, 1, 0) for x in vals[n + k:]]

    def step(c, x):
        inner = [jnp.broadcast_to(v, (ranks.count, *jnp.shape(v))) for v in closed.consts]
        out = run(closed.jaxpr, inner, [*consts, *c, *x], lambda e, v: on_ranks(ranks, e, v))
        out = stacked(ranks, out, closed.jaxpr)
        return out[:k], out[k:]

    last, ys = lax.scan(step, carry, xs, length=p["length"], reverse=p["reverse"])
    return [*last, *(jnp.moveaxis(y, 0, 1) for y in ys)]


def inner_run(ranks: Ranks, closed, vals) -> list:
    consts = [jnp.broadcast_to(c, (ranks.count, *jnp.shape(c))) for c in closed.consts]
    return stacked(ranks, run(closed.jaxpr, consts, vals, lambda e, v: on_ranks(ranks, e, v)), closed.jaxpr)


def looped(ranks: Ranks, eqn, vals) -> list:
    """A while: all ranks go on as long as the first does."""
    p = eqn.params
    n, k = p["cond_nconsts"], p["body_nconsts"]
    test, body, init = vals[:n], vals[n:n + k], vals[n + k:]
    return list(lax.while_loop(lambda c: inner_run(ranks, p["cond_jaxpr"], [*test, *c])[0].all(),
                               lambda c: inner_run(ranks, p["body_jaxpr"], [*body, *c]), init))


def chosen(ranks: Ranks, eqn, vals) -> list:
    """A cond: each rank takes the results of its own branch."""
    results = [inner_run(ranks, branch, vals[1:]) for branch in eqn.params["branches"]]
    which = jnp.clip(vals[0].astype(jnp.int32), 0, len(results) - 1)
    return [jax.vmap(lambda i, *xs: jnp.stack(xs)[i])(which, *xs) for xs in zip(*results)]


def evaluate(closed, args) -> list:
    """The results of a closed jaxpr, shard_maps on one device. It is compiled once."""
    shapes = tuple(jax.ShapeDtypeStruct(np.shape(a), a.dtype) for a in args)
    return [jnp.asarray(v) for v in of_jaxpr(closed, shapes)(*args)]


@functools.lru_cache(maxsize=32)
def of_jaxpr(closed, shapes):
    return compiled(lambda *a: run(closed.jaxpr, closed.consts, list(a), globally), shapes)


def compiled(function, shapes):
    """A function that is compiled quickly: it runs a few times."""
    return jax.jit(function).lower(*shapes).compile(compiler_options={"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False})


def computed(function, args) -> list:
    """function(*args)."""
    return [jnp.asarray(v) for v in compiled(function, args)(*args)]
