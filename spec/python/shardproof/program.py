"""A model and its sharded program as one `.shard` text."""
from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import jax
from jax._src import shard_map as jax_shard_map
from jax.extend import core as jex_core
from jax.sharding import AbstractMesh, AxisType

from .dims import Again, Dims, ImportProblem
from .places import first_use, place_of
from .reader import RANDOM, Reader, dtype_name
from .rolled import rolled
from .values import MINUS_INFINITY, Val, printed


@dataclass
class Traced:
    """A function's jaxpr, with the tree of its results and the paths of its parameters."""

    jaxpr: Any
    names: list[str]
    shapes: list[tuple[int, ...]]
    function: Any = None
    mesh: dict[str, int] = field(default_factory=dict)
    results: list[tuple] = field(default_factory=list)  # the path of each in its tree


TRACED_FOR = jax.make_user_context(None)  # JAX keeps what it has traced: for each mesh apart


class NoAxis:
    """jax.sharding.AxisType, with no axis of a type that asks how arguments are split: they are shapes."""

    Auto, Manual, Explicit = AxisType.Auto, AxisType.Manual, None


class other_mesh:
    """Within it every shard_map is traced for this mesh, or, without one, for its own. `shard_map` holds what `_shmap_checks` gives it
    for later calls, so that this is left alone."""

    def __init__(self, mesh: dict[str, int] | None):
        self.mesh = mesh
        self.context = TRACED_FOR(tuple((mesh or {}).items()))

    def of(self, mesh):
        """The mesh in the place of that of a shard_map."""
        if self.mesh is not None and set(mesh.axis_names) != set(self.mesh):
            raise ImportProblem(f"a shard_map has the axes {sorted(mesh.axis_names)}, the mesh given has {sorted(self.mesh)}")
        sizes = self.mesh or dict(mesh.shape)
        if sizes == dict(mesh.shape) and AxisType.Explicit not in mesh.axis_types:
            return mesh
        return AbstractMesh(tuple(sizes.values()), tuple(sizes))

    def __enter__(self):
        self.context.__enter__()
        self.kept = jax_shard_map._check_specs_vs_args, jax_shard_map.AxisType
        check, bind = jax_shard_map._check_specs_vs_args, jax_shard_map.shard_map_p.bind
        jax_shard_map._check_specs_vs_args = lambda f, mesh, *rest: check(f, self.of(mesh), *rest)
        jax_shard_map.shard_map_p.bind = lambda *args, mesh, **rest: bind(*args, mesh=self.of(mesh), **rest)
        jax_shard_map.AxisType = NoAxis

    def __exit__(self, *error):
        del jax_shard_map.shard_map_p.bind
        jax_shard_map._check_specs_vs_args, jax_shard_map.AxisType = self.kept
        self.context.__exit__(*error)


def word(text: str) -> str:
    """A path in a tree of parameters as a name of the notation."""
    text = re.sub(r"\W+", "_", text).strip("_") or "x"
    return f"x{text}" if text[0].isdigit() else text


def parameter_names(function, args) -> list[str]:
    import inspect

    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    result: list[str] = []
    for i, arg in enumerate(args):
        base = names[i] if i < len(names) and names[i] not in ("args", "kwargs") else f"x{i}"
        for path, _leaf in jax.tree_util.tree_flatten_with_path(arg)[0]:
            name = word(base + jax.tree_util.keystr(path))
            while name in result or re.fullmatch(r"[vrqn]\d+", name) or name in RESERVED:
                name += "_"
            result.append(name)
    return result


# Words of the notation: no dim is called so. With functions of its library: no parameter.
KEYWORDS = set("""
    fn plan mesh dim const scan in return next emit with grad save where each total record layout implements
    after import from config require assume trusted ring pipeline stages and or not true false wrt reverse U I Max""".split())
RESERVED = KEYWORDS | set("""
    exp log sqrt rsqrt tanh erf sin cos abs floor maximum minimum pow like einsum sum max expand rearrange
    read write concat index index_unreduced index_add iota uniform normal fold roll cumsum argsort argmax
    top_k stop_grad zeros all_gather all_reduce psum_scatter all_to_all ppermute slice fan_out zero_nonroot
    zero_pad sigmoid relu silu gelu gelu_tanh dropout rms_norm layer_norm softmax rope attention
    cross_entropy sumsq scale_by add clip_factor sgd adamw adamw_kept widened rounded value_and_grad model
    sharded minus_infinity key bool f64 f32 bf16 f16 f8 i32 u32 rev with round sign expm1 log1p atan2 logsumexp""".split())


def trace(function, args, mesh: dict[str, int] | None) -> Traced:
    """The jaxpr of function(*args); args are arrays or jax.ShapeDtypeStruct, in any trees. A program is traced once in a proof."""
    leaves, tree = jax.tree.flatten(args)
    key = id(function), tree, tuple((x.shape, str(x.dtype)) for x in leaves), tuple(mesh.items()) if mesh else None
    if key not in TRACES:
        TRACES[key] = traced(function, args, leaves, mesh)
    return TRACES[key]


TRACES: dict[tuple, Traced] = {}  # of one proof; each holds its function


def traced(function, args, leaves, mesh: dict[str, int] | None) -> Traced:
    with other_mesh(mesh):
        jaxpr, out = jax.make_jaxpr(function, return_shape=True)(*args)
    if mesh and (other := next((found for found in meshes_in(jaxpr.jaxpr) if found[0] != mesh), None)):
        raise ImportProblem(f"a shard_map keeps the mesh {shown(other[0])} where {shown(mesh)} is asked for", other[1])
    results = [path for path, _ in jax.tree_util.tree_flatten_with_path(out)[0]]
    return Traced(jaxpr, parameter_names(function, args), [tuple(x.shape) for x in leaves], function,
                  dict(mesh or {}), results)


def named_apart(model: Traced, sharded: Traced) -> ImportProblem | None:
    """Results that have other names: they are compared in the order in which JAX flattens them."""
    for a, b in zip(model.results, sharded.results):
        if any(type(x) is type(y) and not isinstance(x, jax.tree_util.SequenceKey) and x != y for x, y in zip(a, b)):
            mine, theirs = map(jax.tree_util.keystr, (a, b))
            return ImportProblem(f"the model's result `{mine}` stands where the sharded function has `{theirs}`: give both the same names",
                                 kind="finding")
    return None


def mesh_of(jaxpr) -> dict[str, int]:
    """The mesh of all shard_maps: a plan has one."""
    found: dict[str, int] = {}
    for mesh, place in meshes_in(jaxpr):
        found = found or mesh
        if mesh != found:
            raise ImportProblem(f"a shard_map has the mesh {shown(mesh)}, and the one before it {shown(found)}: give both one mesh, or "
                                "prove each with a model of its own", place)
    return found


def shown(mesh: dict[str, int]) -> str:
    return " ".join(f"{a}={n}" for a, n in mesh.items())


def meshes_in(jaxpr):
    """The mesh of each shard_map, and its place."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "shard_map":
            yield dict(eqn.params["mesh"].shape), place_of(eqn)
        for inner in jex_core.jaxprs_in_params(eqn.params):
            yield from meshes_in(getattr(inner, "jaxpr", inner))


def entry_specs(jaxpr, specs: dict | None = None) -> dict:
    """By input variable: the spec with which the first shard_map takes it."""
    found: dict = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "shard_map":
            for atom, spec in zip(eqn.invars, eqn.params["in_specs"]):
                if hasattr(atom, "count") or not hasattr(atom, "val"):
                    found.setdefault(atom, spec)
        elif eqn.primitive.name in ("jit", "pjit", "closed_call", "remat", "checkpoint",
                                    "custom_jvp_call", "custom_vjp_call"):
            inner = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
            inner = getattr(inner, "jaxpr", inner)
            within = entry_specs(inner)
            for atom, var in zip(eqn.invars, inner.invars):
                if var in within and not hasattr(atom, "val"):
                    found.setdefault(atom, within[var])
    return found


@dataclass
class Imported:
    """The text of a pair, its numbers still as they were traced (\\x01..\\x02), and its dims."""

    skeleton: str
    sizes: dict[str, int]
    aliases: dict[str, list[str]]
    mesh: dict[str, int]
    inputs: list[str]
    parameters: list[list[list[str]]] = field(default_factory=list)  # the dims of each position
    names: list[str] = field(default_factory=list)
    trusting: dict[str, str] = field(default_factory=dict)
    assumed: list[str] = field(default_factory=list)  # of ids
    infinite: bool = False  # both functions have the parameter `minus_infinity`
    constants: dict[str, Any] = field(default_factory=dict)  # parameters of both: arrays, with their indices
    model: Any = None  # closed jaxprs
    sharded: Any = None
    rolled: bool = False  # steps that Python writes out are a loop in it


def import_pair(model: Traced, sharded: Traced, wishes: list[list[str] | None], unrolled: int = 0) -> Imported:
    """Reads both programs: rings that Python writes out as scans, if they can be read so."""
    if writes_out_a_ring(sharded.jaxpr.jaxpr, sharded.mesh):
        try:
            return replace(settled(model, sharded, wishes, unrolled, True), rolled=True)
        except ImportProblem as problem:
            try:
                return settled(model, sharded, wishes, unrolled, False)
            except ImportProblem as other:
                raise (problem if problem.kind == "finding" else other) from problem
    return settled(model, sharded, wishes, unrolled, False)


def writes_out_a_ring(jaxpr, mesh: dict[str, int]) -> bool:
    """Whether the body of a shard_map is another one with a scan for its ppermutes."""
    for eqn in jaxpr.eqns:
        for inner in jex_core.jaxprs_in_params(eqn.params):
            inner = getattr(inner, "jaxpr", inner)
            if rolled(inner, mesh) is not inner if eqn.primitive.name == "shard_map" else writes_out_a_ring(inner, mesh):
                return True
    return False


def settled(model: Traced, sharded: Traced, wishes, unrolled: int, rolls: bool) -> Imported:
    """Reads both programs until nothing more is learnt about their dims."""
    dims = Dims(sharded.mesh)
    dims.rolls = rolls
    for _ in range(60):
        dims.changed = False
        dims.names = {}
        try:
            pair = Pair(dims, model, sharded, wishes, unrolled)
            pair.read()
        except Again:
            continue
        if not dims.changed:
            dims.names = {}
            pair = Pair(dims, model, sharded, wishes, unrolled)
            pair.read()
            return pair.written()
    raise ImportProblem("the dims of the two programs do not settle")


def made_at(reader: Reader, val: Val):
    """The place of the line that made a value."""
    return next((line.place for line in reversed(reader.lines) if val.text in line.names), None)


class Pair:
    """One pass over both programs."""

    def __init__(self, dims: Dims, model: Traced, sharded: Traced, wishes, unrolled: int):
        self.unrolled = unrolled
        self.dims, self.model_trace, self.plan_trace = dims, model, sharded
        self.wishes = wishes

    def no_keys(self) -> None:
        """Refuses a random key, which has no dtype of the notation, where it is used first."""
        of_model, of_plan = self.model_trace.jaxpr.jaxpr, self.plan_trace.jaxpr.jaxpr
        for v, w in zip(of_model.invars, of_plan.invars):
            if "key<" in str(v.aval.dtype):
                raise ImportProblem(RANDOM, first_use(of_model, v) or first_use(of_plan, w))

    def parameter(self, reader: Reader, i: int, aval, axes, name: str) -> Val:
        pos = []
        for p, size in enumerate(aval.shape):
            split = axes[p] if axes and p < len(axes) else ()
            if size == 1 and not split:
                pos.append(())
                continue
            node = self.dims.node(("parameter", i, p), size)
            wish = self.wishes[i]
            if wish and p < len(wish) and re.fullmatch(r"[A-Za-z]\w*", wish[p]) and wish[p] not in KEYWORDS:
                called = re.sub(r"_(\d+)$", r"\1", wish[p])  # L_1 is another index of L
                self.dims.wished.setdefault(self.dims.root(node), called)
            pos.append(self.dims.position(node, split))
        return reader.made(name, reader.distinct(pos), dtype=dtype_name(aval.dtype))

    def read(self) -> None:
        from .collectives import axes_of

        names = self.model_trace.names
        fn = Reader(self.dims, "fn", plan=False, unrolled=self.unrolled)
        jaxpr = self.model_trace.jaxpr.jaxpr
        self.no_keys()
        args = [self.parameter(fn, i, v.aval, None, names[i]) for i, v in enumerate(jaxpr.invars)]
        results = fn.closed(self.model_trace.jaxpr, args)
        results = [fn.ordered(fn.solid(v, ("result", i))) for i, v in enumerate(results)]
        self.fn, self.fn_args, self.fn_results = fn, args, results

        plan = Reader(self.dims, "plan", plan=True, unrolled=self.unrolled)
        jaxpr = self.plan_trace.jaxpr.jaxpr
        specs = entry_specs(jaxpr)
        args = []
        for i, v in enumerate(jaxpr.invars):
            axes = axes_of(specs[v], len(v.aval.shape)) if v in specs else None
            args.append(self.parameter(plan, i, v.aval, axes, names[i]))
        out = plan.closed(self.plan_trace.jaxpr, args)
        if len(out) != len(results):
            raise ImportProblem(f"the model has {len(results)} results, the sharded program "
                                f"{len(out)}", kind="finding")
        self.plan, self.plan_args = plan, args
        self.plan_results = [self.result(plan, i, m, v)
                             for i, (m, v) in enumerate(zip(results, out))]

    def result(self, plan: Reader, i: int, model: Val, val: Val) -> Val:
        """A result of the plan with the dims of the model's."""
        if val.extents() and len(val.pos) != len(model.pos):
            raise ImportProblem(f"result {i} has {len(val.pos)} dims, the model's {len(model.pos)}",
                                made_at(plan, val), kind="finding")
        if val.dtype != model.dtype:
            raise ImportProblem(f"result {i} is {val.dtype}, the model's is {model.dtype}: cast one of them",
                                made_at(plan, val), kind="finding")
        if val.made and val.made[0] == "blocks":
            inner = val.made[1]
            if not inner.marks or val.extents() != [
                    plan.ranks(a for f in p for a in f.axes) * prod(f.extent for f in p)
                    for p in val.made[3]]:
                raise ImportProblem(val.why, made_at(plan, inner), kind="finding")
            val = replace(inner, pos=val.made[3])  # not reduced: the checker says where it matters
        val = plan.solid(val, ("result", i, "plan"))
        to = {}
        for p, position in enumerate(val.pos):
            whole = tuple(replace(f, axes=(), extent=f.extent * plan.ranks(f.axes))
                          for f in position)
            back = dict(zip(whole, position))
            for a, b in plan.align([model.pos[p], whole]):
                plan.same([a, b])
                to[back[b]] = replace(back[b], alias=a.alias)
        return plan.ordered(plan.rename(val, to))

    def header(self, reader: Reader, args, results, names) -> tuple[str, str]:
        params = ", ".join(f"{names[i]}: {reader.type_of(v)}" for i, v in enumerate(args))
        # out_specs knows no sums: a result that is one is to be refused.
        results = [replace(v, marks={}) for v in results]
        out = ", ".join(f"r{i}: {reader.type_of(v)}" for i, v in enumerate(results))
        plain = reader.type_of(results[0]) if len(results) == 1 else f"({out})"
        return params, plain

    def lines(self, reader: Reader, results) -> list[str]:
        words = [reader.use(v) if v.literal is None or v.dims or v.dtype == "bool"
                 else f"{v.dtype}({reader.use(v)})" for v in results]
        return [*printed(reader.lines, words, "    "), f"    return {', '.join(words)}"]

    def written(self) -> Imported:
        names = self.model_trace.names
        fn, plan = self.lines(self.fn, self.fn_results), self.lines(self.plan, self.plan_results)
        infinite = any(re.search(rf"\b{MINUS_INFINITY}\b", line) for line in [*fn, *plan])
        extra, constants = f", {MINUS_INFINITY}: f32[]" if infinite else "", {}
        for name, array in self.dims.constants.values():
            if any(re.search(rf"\b{name}\b", line) for line in [*fn, *plan]):
                val = self.fn.constant(array)
                extra += f", {name}: {self.fn.type_of(val)}"
                constants[name] = array, [self.dims.name(f) for p in val.pos for f in p]
        params, result = self.header(self.fn, self.fn_args, self.fn_results, names)
        body = [f"fn model({params}{extra}) -> {result} {{", *fn]
        params, result = self.header(self.plan, self.plan_args, self.plan_results, names)
        body += ["}", f"plan sharded implements model({params}{extra}) -> {result} {{", *plan]
        body += ["}"]
        text = "\n".join(body) + "\n"
        of_rings = {r.dims.name(ring.block) for r in (self.fn, self.plan) for ring in r.rings.values()}  # they declare it
        sizes = {name: self.dims.size(root) for root, name in self.dims.names.items() if name not in of_rings}
        aliases = {name: sorted(set(re.findall(rf"\b{name}_\d+\b", text))) for name in sizes}
        used = {name: size for name, size in sizes.items()
                if re.search(rf"\b{name}\b", text) or aliases[name]}
        parameters = [[[self.dims.names.get(self.dims.root(f.node), "") for f in position]
                       for position in v.pos] for v in self.fn_args]
        inputs = [n for n in used if any(n == self.dims.names.get(self.dims.root(f.node))
                                         for v in self.fn_args for f in v.dims)]
        return Imported(text, used, aliases, self.plan_trace.mesh, inputs, parameters,
                        names, {**self.fn.trusting, **self.plan.trusting},
                        list(dict.fromkeys([*self.fn.named_in_words(), *self.plan.named_in_words()])), infinite, constants,
                        self.model_trace.jaxpr, self.plan_trace.jaxpr)
