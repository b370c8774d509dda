"""prove(model, sharded, ..): a proof about JAX functions."""
from __future__ import annotations

import functools
import inspect
import itertools
import re
import sysconfig
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

from . import assumed, devices, levels, library, validation
from .annotations import names_in
from .binary import CheckerError
from .dims import ImportProblem
from .places import defined_at
from .program import TRACES, mesh_of, named_apart, shown, trace
from .report import Diagnostic, Place, Report, check
from .stacked import Stacked


def as_shape(arg: Any) -> Any:
    """Arrays, numbers and tuples of sizes, and trees of them, as jax.ShapeDtypeStruct."""
    def sizes(x) -> bool:  # not a NamedTuple of numbers
        return type(x) is tuple and bool(x) and all(type(n) is int for n in x)

    def leaf(x):
        if type(x) is tuple:
            return jax.ShapeDtypeStruct(x, "float32")
        return jax.ShapeDtypeStruct(jax.numpy.shape(x), jax.numpy.result_type(x))
    return leaf(arg) if arg == () and type(arg) is tuple else jax.tree.map(leaf, arg, is_leaf=sizes)


def dim_names(dims, args, model: Callable | None = None) -> list[list[str] | None]:
    """For each leaf the names of its dims: from {"x": "B L M"}, or ("B L M", ..) in order; without them from the
    model's annotations."""
    if not dims:
        return names_in(model, args) if model else [None] * len(jax.tree.leaves(args))
    if isinstance(dims, dict):
        names = list(inspect.signature(model).parameters) if model else list(dims)
        if unknown := [name for name in dims if name not in names]:
            raise ImportProblem(f"dims names {unknown[0]}, and the model's parameters are {', '.join(names)}")
        dims = [dims.get(name) for name in names[:len(args)]]
    result: list[list[str] | None] = []
    for arg, given in zip(args, [*dims, *[None] * len(args)]):
        leaves = jax.tree.leaves(arg)
        texts = [text.split() for text in jax.tree.leaves(given)]
        if texts and len(texts) != len(leaves):
            raise ImportProblem(f"dims {given!r} has {len(texts)} texts for {len(leaves)} arrays")
        result += texts or [None] * len(leaves)
    return result


def prove(model: Callable, sharded: Any = None, *args: Any, mesh: Any = None, dims: Any = None,
          meshes: int = 3, keep: str | Path | None = None, timeout: float = 120,
          validate: bool = True) -> Report:
    """Proves that `sharded`, which uses shard_map, computes what `model` computes.

    `args`: arrays, trees of them, jax.ShapeDtypeStruct, or tuples of sizes; whole ones, the same
    for both functions. A function that is marked with @implements(model) is given alone. `mesh`:
    sizes of the axes, {"d": 2, "t": 4}, or a mesh; by default that of shard_map. `dims`: names, {"x": "B L M"}, by default
    those of jaxtyping's annotations of the model, Float[Array, "b l m"]. `meshes=3` traces the programs three times with unlike
    sizes and proves them for every mesh and size; `meshes=1` for these sizes alone.
    `keep`: where the `.shard` text is written. Never raises for a program that it cannot read: the
    report is "unknown", with the line.
    """
    if hasattr(model, "__shardproof__"):  # prove(f, *shapes)
        args = (() if sharded is None else (sharded,)) + args
        sharded, (model, shapes, named) = model, model.__shardproof__
        args, dims = args or shapes, dims or named
    start = time.perf_counter()
    TRACES.clear()
    args = tuple(as_shape(arg) for arg in args)
    sizes = dict(mesh) if isinstance(mesh, dict) else dict(mesh.shape) if mesh is not None else None
    try:
        apart = named_apart(trace(model, args, None), trace(sharded, args, sizes))
    except Exception as error:  # noqa: BLE001  (the user's code may raise anything)
        return not_traced(error, time.perf_counter() - start)
    if apart:
        return refused(apart, model, sharded, args, sizes, time.perf_counter() - start)
    report, sizes = by_plan(model, sharded, args, sizes, dims, meshes, keep, timeout, validate)
    stopped = report.verdict == "unknown" and (untyped(report) or " = ring " in report.text or any(each.code.startswith("J") for each in report.errors))
    if stopped and sizes and not differ(report):
        found = by_device(model, sharded, args, sizes, dims, meshes, timeout, validate)
        if found is not None and found.proved:
            report = found
            report.import_seconds = time.perf_counter() - start - report.seconds
            if keep:
                Path(keep).write_text(report.text)
    if report.verdict == "unknown" and differ(report):
        refuted_by_evaluation(report, model, sharded, args, sizes)
    if report.verdict == "refuted" and sizes and untyped(report) and differ(report):
        report = at_the_line_that_differs(report, model, sharded, args, sizes, dims, timeout)
    return report


def untyped(report: Report) -> bool:
    """Whether types are all that speaks against it: what a device has alone has none."""
    return bool(report.errors) and all(re.match("E0[23]", each.code) for each in report.errors)


def differ(report: Report) -> bool:
    """Whether numbers have shown that the two functions are not the same."""
    return any("functions differ" in check for check in report.checks)


def by_plan(model, sharded, args, sizes, dims, meshes, keep, timeout, validate) -> tuple[Report, dict[str, int] | None]:
    """The report of the sharded program as a plan, and the sizes of its mesh."""
    start = time.perf_counter()

    def attempt(unrolled: int = 0, held: frozenset[str] = frozenset(), meshes: int = meshes) -> tuple[levels.Text, Report]:
        text = levels.imported(model, sharded, args, sizes, dim_names(dims, args, model), meshes, unrolled, held)
        seconds = time.perf_counter() - start
        text, report = decided(text, keep, timeout)
        report.level, report.import_seconds = text.level, seconds
        beyond = held_by(report) & set(text.imported.sizes) - held
        if beyond and not text.sized:  # an entry that is read by its number: the dim keeps its size
            return attempt(unrolled, held | beyond, meshes)
        finished(text, report)
        if text.given and report.verdict != "refuted":
            of_given = decided(text.given, None, timeout)
            if report.proved and of_given[1].proved:
                finished(*of_given)
            if not (report.proved and of_given[1].proved):
                return attempt(unrolled, held | text.held, meshes)
            report.checks = of_given[1].checks
            report.assumptions = list(dict.fromkeys([*report.assumptions, *of_given[1].assumptions]))
        return text, report

    def finished(text: levels.Text, report: Report) -> None:
        """Adds to a report what it assumes, and what was evaluated."""
        report.assumptions = list(dict.fromkeys([*report.assumptions, *text.imported.assumed, *(
            f"{name} computes {of} (trusted)" for name, of in text.imported.trusting.items())]))
        if (validate or report.verdict == "refuted" and untyped(report)) and report.verdict != "invalid":
            validation.validate(text, report, text.model, text.sharded)

    try:
        if sizes is None:
            sizes = mesh_of(trace(sharded, args, None).jaxpr.jaxpr)
        problem = found = None
        try:
            found = attempt()
            if found[0].imported.infinite and not found[1].proved and not differ(found[1]):
                with library.written_out():  # there exp of -inf is 0
                    other = attempt()
                found = other if other[1].proved else found
        except ImportProblem as error:
            problem = error
        if (found is None or not found[1].proved and not differ(found[1])) and any(
                levels.short_loop(trace(f, args, m).jaxpr.jaxpr) for f, m in ((model, None), (sharded, sizes))):
            try:  # one of the two may have a loop where the other has its steps
                steps = attempt(levels.UNROLLED)
                found = steps if found is None or steps[1].proved else found
            except ImportProblem:
                pass
        if found and validate and not found[0].sized and not found[1].proved and not differ(found[1]):
            here = attempt(meshes=1)[1]
            if here.proved:
                found[1].checks.append(f"right at one size: it is proved {here.level}, which is what `meshes=1` asks for")
        if found is None:
            return refused(problem, model, sharded, args, sizes, time.perf_counter() - start), sizes
    except ImportProblem as error:
        return refused(error, model, sharded, args, sizes, time.perf_counter() - start), sizes
    text, report = found
    if keep:
        Path(keep).write_text(text.text)
    if report.verdict == "invalid":  # the text is the importer's, not the user's
        report.verdict = "unknown"
        refuted_by_evaluation(report, model, sharded, args, sizes)
    return report, sizes


def written_out(model, whole: devices.Whole, args, sizes: dict[str, int], dims, unrolled: int = 0) -> levels.Text:
    """The text of a program of which devices are written out."""
    others = {a: n for a, n in sizes.items() if whole.axes and a not in whole.axes} or {"devices": 1}
    text = levels.imported(devices.copied(model, whole, args), whole, args, others, dim_names(dims, args, model), 1, unrolled)
    text.level = f"for {shown(sizes)} at these sizes"
    return text


def at_the_line_that_differs(report: Report, model, sharded, args, sizes: dict[str, int], dims, timeout) -> Report:
    """The report of a wrong program in which blocks go around an axis: not with the errors of its types, which speak of blocks that
    stay, but with those of the program with the devices of that axis written out, if one is at a line of the user."""
    try:
        program = trace(sharded, args, sizes).jaxpr
        if not (around := devices.going_around(program.jaxpr)):
            return report
        whole = devices.Whole(program, devices.Factored, axes=around if around < set(sizes) else None)
        found = decided(written_out(model, whole, args, sizes, dims), None, timeout)[1]
    except CheckerError:
        raise
    except Exception:  # noqa: BLE001  (JAX refuses what it cannot trace so)
        return report
    if found.verdict != "refuted" or untyped(found) or not found.errors[0].place:
        return report
    return replace(found, level=f"for {shown(sizes)} at these sizes, {whole.how}", checks=report.checks,
                   import_seconds=report.import_seconds)


def by_device(model, sharded, args, sizes: dict[str, int], dims, meshes, timeout, validate) -> Report | None:
    """The report of the sharded program as a function of whole arrays: with the devices as dims, or written out device by device
    at its own mesh and sizes."""
    try:
        program, of_model = trace(sharded, args, sizes).jaxpr, trace(model, args, None).jaxpr
        apart = validation.by_evaluation(of_model, program)
        loops = (0, levels.UNROLLED) if levels.short_loop(of_model.jaxpr) else (0,)
    except Exception:  # noqa: BLE001  (the user's code may raise anything)
        return None
    if apart is None or apart[0] >= validation.CLOSE:
        return None

    def attempt(way, unrolled: int):
        try:
            whole = way()
            text = levels.imported(model, whole, args, sizes, dim_names(dims, args, model), meshes, unrolled) \
                if isinstance(whole, Stacked) else written_out(model, whole, args, sizes, dims, unrolled)
            return (*decided(text, None, timeout), whole)
        except CheckerError:
            raise
        except Exception:  # noqa: BLE001  (JAX refuses what it cannot trace so)
            return None

    around = devices.going_around(program.jaxpr)
    some = [functools.partial(devices.Whole, program, blocks, axes=around) for blocks in devices.BLOCKS if 0 < len(around) < len(sizes)]
    ways = [lambda: Stacked(sharded), *some, *(functools.partial(devices.Whole, program, *way) for way in devices.WAYS)]
    tried = (attempt(way, unrolled) for way, unrolled in itertools.product(ways, loops))
    found = next((each for each in tried if each and each[1].proved and not each[0].imported.trusting), None)
    if found is None:
        return None
    text, report, whole = found
    report.level = f"{text.level}, {whole.how}"
    report.assumptions = list(dict.fromkeys([*report.assumptions, *text.imported.assumed]))
    if validate:
        validation.validate(text, report, text.model, text.sharded)
    devices.compare(whole, program, args, report, apart[1])
    return report


def held_by(report: Report) -> set[str]:
    """The dims that must keep their sizes: those that are read at a number, and those of tables that are looked up at
    ids that the program computes."""
    beyond = {m.group(1) for m in (re.search(r"an entry beyond the end of (\w+)$", e.message) for e in report.errors) if m}
    of_ids = [re.match(r"0 <= v\d+ < \|(\w+)\|$", each) for plan in report.json.get("plans", []) for each in plan["assumptions"]]
    small = report.verdict == "unknown" and any("the id at " in text for d in report.diagnostics for text in (d.message, *d.details))
    return beyond | {m.group(1) for m in of_ids if m and small}


def decided(text: levels.Text, keep: str | Path | None, timeout: float) -> tuple[levels.Text, Report]:
    """The text that decides, and its report. Sizes that are numbers are left free first."""
    def checked(each: levels.Text) -> Report:
        if keep:
            Path(keep).write_text(each.text)
        return check(Path(keep) if keep else each.text, timeout=timeout)

    def of_ids(each: levels.Text, report: Report) -> tuple[levels.Text, Report]:
        """Where the two differ for ids alone that name no entry: of the others."""
        if report.verdict != "refuted" or not all(error.code in ("E0401", "E0402") for error in report.errors):
            return each, report
        marks, ranges = assumed.marked_alone(each.text), assumed.ids_alone(each.text)
        said = {f"0 <= {name}_id < |{dim}|": f"{name} is {number}, or 0 <= {name} < |{dim}|" for name, dim, number in marks}
        ways = [(words, limits) for words, limits in ((marks, []), (marks, ranges), ([], ranges)) if words or limits]
        for i, (words, limits) in enumerate(ways):
            if (words, limits) in ways[:i]:
                continue
            skeleton, body = (assumed.assuming(assumed.with_marks(x, words), limits) for x in (each.imported.skeleton, each.text))
            within = replace(each, text=body, marks=tuple(words), imported=replace(each.imported, skeleton=skeleton))
            found = checked(within)
            if found.proved:
                found.assumptions = [said.get(word, word) for word in found.assumptions]
                return within, found
        return each, report

    if text.sized:
        free = levels.freed(text)
        report = checked(free)
        if report.proved and levels.covers(report.conditions, text.imported):
            report.conditions = []
            return free, report
    text, report = of_ids(text, checked(text))
    if text.other and not report.proved:
        other = checked(text.other)
        if other.proved:
            return text.other, other
    return text, report


def refused(problem: ImportProblem, model, sharded, args, sizes, seconds: float) -> Report:
    """The report of a program that cannot be written; JAX's numbers may refute it all the same."""
    found = Diagnostic("J0001" if problem.kind == "unsupported" else "J0002", "error", str(problem),
                       place=problem.place or defined_at(sharded))
    report = Report("unknown", diagnostics=[found], import_seconds=seconds)
    refuted_by_evaluation(report, model, sharded, args, sizes)
    return report


def not_traced(error: Exception, seconds: float, who: str = "JAX") -> Report:
    """The report of a program that JAX, or torch, cannot trace, with its reason and the user's last line."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "site-packages" not in f.filename
              and Path(f.filename).parent != Path(__file__).parent and not f.filename.startswith(sysconfig.get_path("stdlib"))]
    place = getattr(error, "place", None) or (frames and Place(
        frames[-1].filename, frames[-1].lineno, (frames[-1].colno or 0) + 1, frames[-1].end_lineno or frames[-1].lineno,
        (frames[-1].end_colno or 0) + 1)) or None
    said = str(error) if isinstance(error, ImportProblem) else f"{who} cannot trace the program: {type(error).__name__}: {error}"
    return Report("unknown", diagnostics=[Diagnostic("J0001", "error", said, place=place)], import_seconds=seconds)


def refuted_by_evaluation(report: Report, model, sharded, args, sizes) -> None:
    """Makes the report of a program that is not decided "refuted" where JAX gives other numbers for it."""
    try:
        apart = validation.by_evaluation(trace(model, args, None).jaxpr,
                                         trace(sharded, args, sizes).jaxpr)
    except Exception:  # noqa: BLE001  (the user's code may raise anything)
        return
    at = f"for {shown(sizes)} " if sizes else ""
    if apart and apart[0] >= validation.CLOSE:
        report.verdict, report.level = "refuted", f"{at}at these sizes, by evaluation"
        if not differ(report):
            report.checks.append(validation.in_words(apart[0]))
    elif apart and not differ(report):
        report.checks.append("in JAX the two functions agree at these sizes; nothing is proved")


def implements(model: Callable, *shapes: Any, dims: Any = None) -> Callable:
    """Says of a sharded function which model it computes, at which shapes by default, and how its
    dims are called; prove(f) and `python -m shardproof` read it."""
    def mark(function):
        @functools.wraps(function)
        def marked(*args, **kwargs):
            return function(*args, **kwargs)
        marked.__shardproof__ = (model, shapes, dims)
        return marked
    return mark


__all__ = ["implements", "prove"]
