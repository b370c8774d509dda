"""Reads a jaxpr into lines of the notation."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jax.extend import core as jex_core

from . import library
from .dims import Dims, ImportProblem, Position, spread
from .masks import JUMPS, Kind
from .places import place_of
from .values import MINUS_INFINITY, Val, Writer, number
from .widened import HALF_ROOT, shortest


def dtype_name(dtype: Any) -> str:
    """The notation's word: floats are real numbers, so they are all f32."""
    kind = np.dtype(dtype).kind if str(dtype) != "bfloat16" else "f"
    if "float" in str(dtype) or kind == "f":
        return "f32"
    if kind == "b":
        return "bool"
    if kind in "iu":
        return "i32"
    raise ImportProblem(f"arrays of {dtype} are not read: real and imaginary parts apart are" if kind == "c" else
                        f"arrays of {dtype} are not read: floats, integers and booleans are")


RANDOM = "random numbers: draw them outside of both functions, and pass what is drawn as an argument, which in_specs " \
         "splits as it does others"
CHANGES = {"psum", "psum2", "psum_invariant", "all_gather", "all_gather_invariant",
           "all_gather_reduced", "reduce_scatter", "all_to_all", "ppermute", "pad", "cumsum", "slice",
           "split", "transpose", "concatenate", "dynamic_slice", "dynamic_update_slice", "gather",
           "scatter-add", "scan", "reduce_sum", "dot_general", "rev", "sort",
           "top_k", "while", "cond"}


MOVES = {"transpose", "reshape", "broadcast_in_dim", "squeeze", "expand_dims"}


class Reader(Writer):
    """Evaluates a jaxpr on `Val`s. Each primitive has a rule: rules.py."""

    def __init__(self, dims: Dims, prefix: str, plan: bool, unrolled: int = 0):
        super().__init__(dims, prefix)
        self.unrolled = unrolled  # scans of as many steps are written step by step
        self.plan = plan
        self.outer = plan
        self.path: tuple = (prefix,)
        self.no_pipeline: ImportProblem | None = None  # why ticks with ppermute are no pipeline
        self.running: dict[str, tuple[Val, int]] = {}  # running sums of blocks: of what, and along which position
        self.counts: set[str | None] = set()  # numbers of entries: integers that are not below 0
        self.rings: dict[str, Any] = {}  # by the number of their block
        self.trusting: dict[str, str] = {}  # functions, by what they are trusted to compute

    def node_key(self, *more) -> tuple:
        return (*self.path, *more)

    def literal(self, value: Any, aval) -> Val:
        """A scalar constant."""
        array = np.asarray(value)
        if array.size != 1:
            if array.size and np.all(array == array.flat[0]):
                return self.scalar(shortest(array.flat[0]), array.dtype, spread(array.shape))
            return self.constant(array)
        return self.scalar(shortest(array.reshape(())[()]), array.dtype, [() for _ in array.shape])

    def constant(self, array) -> Val:
        """An array that is written in the program: a parameter of both functions, what is equal for all is for it."""
        if dtype_name(array.dtype) == "f32" and not np.all(np.isfinite(array)):
            return self.with_infinity(array)
        long = [p for p, n in enumerate(array.shape) if n > 1]  # dims of one entry are in no type
        key = (tuple(array.shape[p] for p in long), str(array.dtype), array.tobytes())
        name, _ = self.dims.constants.setdefault(key, (f"constant_{len(self.dims.constants)}", array))
        pos = [self.dims.position(self.dims.node((name, long.index(p)), n)) if n > 1 else () for p, n in enumerate(array.shape)]
        return self.made(name, self.distinct(pos), dtype=dtype_name(array.dtype))

    def with_infinity(self, array) -> Val:
        """-inf where an array has no number."""
        from .elementwise import where

        here = np.isfinite(array)
        minus = self.scalar(-np.inf, array.dtype, [])
        if not np.all(here | (array == -np.inf)):
            return replace(minus, text=None, pos=spread(array.shape), why="infinity and NaN are no numbers that a proof is about")
        numbers = self.literal(np.where(here, array, 0).astype(array.dtype), None)
        return where(self, self.literal(here, None), numbers, replace(minus, pos=spread(array.shape)))

    def scalar(self, value: Any, dtype: Any, pos: list[Position]) -> Val:
        kind = dtype_name(dtype)
        value = float(value) if kind == "f32" else bool(value) if kind == "bool" else int(value)
        if value == -np.inf:
            return Val(MINUS_INFINITY, pos, dtype=kind, literal=value)
        if kind == "f32" and not np.isfinite(value):
            return Val(None, pos, dtype=kind, literal=value,
                       why="infinity and NaN are no numbers that a proof is about")
        text = "sqrt(0.5)" if value == HALF_ROOT else number(value)
        if not isinstance(value, bool) and value < 0:
            text = f"({text})"
        return Val(text, pos, dtype=kind, literal=value, positive=value > 0)

    def run(self, jaxpr, consts: list[Val], args: list[Val]) -> list[Val]:
        """The results of a jaxpr (not closed) on these arguments."""
        env: dict[Any, Val] = {}

        def read(atom) -> Val:
            if isinstance(atom, jex_core.Literal):
                return self.literal(atom.val, atom.aval)
            return env[atom]

        env.update(zip(jaxpr.constvars, consts))
        env.update(zip(jaxpr.invars, args))
        outer_path, outer_place = self.path, self.place
        done = 0  # equations that a function of the library stands for
        for i, eqn in enumerate(jaxpr.eqns):
            if i < done:
                continue
            self.path = (*outer_path, i)
            self.place = place_of(eqn) or outer_place
            if found := library.found(self, jaxpr, i, env):
                done, env[found[1]] = i + found[0], found[2]
                continue
            results = self.applied(eqn, [read(a) for a in eqn.invars])
            env.update(zip(eqn.outvars, results))
        self.path, self.place = outer_path, outer_place
        return [read(atom) for atom in jaxpr.outvars]

    def applied(self, eqn, vals: list[Val]) -> list[Val]:
        """The results of one equation."""
        from . import bits, candidates, single
        from .rules import rule_of

        if (parts := eqn.params.get("axis_index_groups")) and (len(parts) > 1 or list(parts[0]) != sorted(parts[0])):
            raise self.problem(f"`{eqn.primitive.name}` with axis_index_groups: make the groups axes of the mesh")
        try:
            results = self.unwritten(eqn) if self.jumps(eqn, vals) else rule_of(eqn.primitive.name)(self, eqn, vals)
        except ImportProblem as problem:
            problem.place = problem.place or self.place
            raise
        except (TypeError, ValueError, LookupError, AttributeError, StopIteration) as error:
            raise self.problem(f"`{eqn.primitive.name}` is not read with these operands ({type(error).__name__}: {error}): write it "
                               "with others, or mark its function with @shardproof.trusted(reference)") from error
        if isinstance(results, Val):
            results = [results]
        results = [bits.wrapped(self, v, out.aval.dtype) if eqn.primitive.name in bits.ARITHMETIC else v
                   for v, out in zip(results, eqn.outvars)]
        if eqn.primitive.name in CHANGES:  # these make another value of what they are given
            results = [v if v.text is None else replace(v, made=()) for v in results]
        if eqn.primitive.name in MOVES:
            results = [single.moved(self, eqn, rule_of(eqn.primitive.name), vals[0], v) for v in results]
            results = candidates.in_place(eqn, results)
        elif eqn.primitive.name not in candidates.KNOWN:
            results = [replace(v, made=()) if v.made[:1] in candidates.KINDS else v for v in results]
        for v in results:
            self.whole(v, eqn)
            if v.dtype != "f32" and v.text is not None:
                self.masks.kinds[v.text] = Kind.FINITE  # as in the limit, or `jumps` has refused it
        return [v if v.text is not None or v.place else replace(v, place=self.place) for v in results]

    def jumps(self, eqn, vals: list[Val]) -> bool:
        """Whether it is a function that jumps, of what is computed of a mask's -inf."""
        name = eqn.primitive.name
        if name not in JUMPS or name == "convert_element_type" and dtype_name(eqn.params["new_dtype"]) == "f32" \
                or any(v.literal in (float("inf"), float("-inf")) for v in vals):
            return False
        return any(self.masked(v) == Kind.COMPUTED for v in vals)

    def unwritten(self, eqn) -> list[Val]:
        """Results that nothing may use: logsumexp takes the sign of its sum, and drops it."""
        from .elementwise import OF_LIMIT

        return [Val(None, spread(v.aval.shape), dtype=dtype_name(v.aval.dtype), why=OF_LIMIT) for v in eqn.outvars]

    def whole(self, val: Val, eqn) -> None:
        """Every dim of the text is one of the positions: else a rule has lost one."""
        if {self.key(f) for f in val.dims} - {self.key(f) for f in val.factors if not f.virtual}:
            raise self.problem(f"`{eqn.primitive.name}` drops a dim of which a device has one entry: "
                               "trace with larger sizes")

    def closed(self, closed, args: list[Val]) -> list[Val]:
        """The results of a closed jaxpr."""
        consts = getattr(closed, "consts", [])
        inner = getattr(closed, "jaxpr", closed)
        return self.run(inner, [self.literal(c, None) for c in consts], args)
