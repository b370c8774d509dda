"""Where an equation stands in the user's program."""
from __future__ import annotations

import ast
import functools
import inspect
import linecache
from itertools import takewhile
from pathlib import Path

from jax._src import source_info_util
from jax.extend import core as jex_core

from .report import Place

_OWN = str(Path(__file__).parent)


def place_of(eqn) -> Place | None:
    """The user's line of an equation, with the lines that called it. A helper that only gives a
    collective another name stands for nothing: its caller does. So does the caller of a library."""
    traceback = eqn.source_info.traceback
    return _place(traceback) if traceback is not None else None


@functools.lru_cache(maxsize=4096)
def _place(traceback) -> Place | None:
    frames = list(takewhile(lambda f: not f.file_name.startswith(_OWN),
                            source_info_util.user_frames(traceback)))
    if not frames:
        return None
    own = [f for f in frames if "site-packages" not in f.file_name] or frames
    at = next((i for i, f in enumerate(own) if not renames(f.file_name, f.function_name, f.start_line)),
              len(own) - 1)
    frame = own[at]
    calls = dict.fromkeys((f.file_name, f.start_line) for f in own[at + 1:])
    calls.pop((frame.file_name, frame.start_line), None)
    return Place(frame.file_name, frame.start_line, frame.start_column + 1,
                 frame.end_line or frame.start_line, (frame.end_column or frame.start_column) + 1, tuple(calls))


def first_use(jaxpr, var) -> Place | None:
    """The place of the first equation that takes a variable, in the body of a call where it is one."""
    for eqn in jaxpr.eqns:
        if (at := next((i for i, v in enumerate(eqn.invars) if v is var), None)) is None:
            continue
        bodies = [getattr(each, "jaxpr", each) for each in jex_core.jaxprs_in_params(eqn.params)]
        inside = (first_use(body, body.invars[at]) for body in bodies if len(body.invars) == len(eqn.invars))
        return next((place for place in inside if place), None) or place_of(eqn)
    return None


def defined_at(function) -> Place | None:
    """The line of a function that has no other place."""
    try:
        function = inspect.unwrap(function)
        code = getattr(function, "func", function).__code__
    except (AttributeError, ValueError):
        return None
    return Place(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 1)


@functools.lru_cache(maxsize=4096)
def renames(file: str, name: str, line: int) -> bool:
    """Whether the function of this name around the line only calls another one with its parameters
    and constants: `def gather(x): return lax.all_gather(x, "d", tiled=True)`."""
    body = next((f.body for f in _functions(file) if f.name == name.rpartition(".")[2]
                 and f.lineno <= line <= (f.end_lineno or f.lineno)), [])
    if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # a docstring
    if len(body) != 1 or not isinstance(body[0], ast.Return) or not isinstance(body[0].value, ast.Call):
        return False
    call = body[0].value
    given = [*call.args, *(k.value for k in call.keywords)]
    return all(isinstance(x, (ast.Name, ast.Constant, ast.Attribute)) for x in given)


@functools.lru_cache(maxsize=64)
def _functions(file: str) -> list[ast.FunctionDef]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
