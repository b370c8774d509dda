"""Mutants of the sharded functions: one place of the Python source is changed."""
from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType, ModuleType

import jax
from jax.sharding import PartitionSpec as P

SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult}
COMPARED = {ast.GtE: ast.Gt, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE}
CALLS = {"psum": "pmean", "pmean": "psum", "minimum": "maximum", "sqrt": "exp", "gelu": "relu",
         "silu": "gelu", "sum": "mean", "mean": "sum", "max": "min", "cos": "sin"}
IDENTITY = {"psum", "pmean", "psum_scatter", "all_gather", "gather", "scatter", "gelu", "sqrt",
            "stop_gradient", "tanh", "pmax", "silu"}
CHANGED = {"d": "t", "t": "d", "X": "Y", "Y": "X", "a": "b", "c": "a"}


def edits(node: ast.AST) -> Iterator[ast.AST]:
    """Other nodes in the place of this one."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and node.value in CHANGED:
            yield ast.Constant(CHANGED[node.value])
        if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            yield ast.Constant(node.value + 1)
            if node.value:
                yield ast.Constant(node.value * 2)
    if isinstance(node, ast.BinOp):
        if type(node.op) in SWAPPED:
            yield ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
        yield node.left
        yield node.right
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        yield ast.Compare(node.left, [COMPARED[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in IDENTITY and node.args:
            yield node.args[0]
        if name in CALLS and isinstance(node.func, ast.Attribute):
            yield ast.Call(ast.Attribute(node.func.value, CALLS[name], ast.Load()), node.args,
                           node.keywords)
        if name in ("psum", "pmean"):
            yield ast.Call(node.func, [node, *node.args[1:]], node.keywords)
    if isinstance(node, ast.Tuple) and len(node.elts) == 2:
        yield ast.Tuple(node.elts[::-1], node.ctx)


def mutants(function) -> Iterator[tuple[str, object]]:
    """(what was changed, the changed function)."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].decorator_list = []
    tree.body[0].name = "mutant"
    count = sum(1 for _ in ast.walk(tree))
    for at in range(count):
        node = list(ast.walk(tree))[at]
        for new in edits(node):
            changed = Replace(node, new).visit(copy_of(tree, node))
            yield from built(function, changed, f"{ast.unparse(node)} -> {ast.unparse(new)}")


def copy_of(tree, node):
    return tree if node is tree else copy.copy(tree)


class Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new = old, new

    def visit(self, node):
        if node is self.old:
            return self.new
        fields = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                value = [self.visit(v) if isinstance(v, ast.AST) else v for v in value]
            elif isinstance(value, ast.AST):
                value = self.visit(value)
            fields[name] = value
        return ast.copy_location(type(node)(**fields), node) if hasattr(node, "lineno") \
            else type(node)(**fields)


def built(function, tree, what):
    space = dict(function.__globals__)
    try:
        exec(compile(ast.fix_missing_locations(tree), inspect.getfile(function), "exec"), space)
    except (SyntaxError, TypeError, ValueError):
        return
    yield what, space["mutant"]


def rebound(module: ModuleType, name: str, function):
    """By name the functions of a module that call this one where they called its own `name`."""
    space = dict(module.__dict__)
    for own, value in module.__dict__.items():
        if isinstance(value, FunctionType) and value.__module__ == module.__name__ and not value.__closure__:
            space[own] = FunctionType(value.__code__, space, own, value.__defaults__)
    space[name] = FunctionType(function.__code__, space, name, function.__defaults__)
    return space


def of_module(module: ModuleType, names: list[str], entry: str) -> Iterator[tuple[str, object]]:
    """Mutants of the functions `names` of a module, each as the function `entry` that it changes."""
    for name in names:
        for what, mutant in mutants(getattr(module, name)):
            yield f"{name}: {what}", rebound(module, name, mutant)[entry]


def other_specs(spec: P, axes) -> Iterator[P]:
    """A spec with one entry changed: split otherwise, or not at all, or in another order."""
    for i, entry in enumerate(spec):
        others = [None, *axes] if not isinstance(entry, tuple) else [entry[::-1], *entry]
        for other in others:
            if other != entry:
                yield P(*spec[:i], other, *spec[i + 1:])


def specs_changed(specs, axes) -> Iterator[tuple[str, object]]:
    """A tree of specs with one of them changed."""
    leaves, tree = jax.tree.flatten(specs, is_leaf=lambda s: isinstance(s, P))
    for i, spec in enumerate(leaves):
        for other in other_specs(spec, axes):
            yield f"{spec} -> {other}", jax.tree.unflatten(tree, [*leaves[:i], other, *leaves[i + 1:]])


def edited(function, old: str, new: str):
    """The function with one piece of its text changed."""
    text = textwrap.dedent(inspect.getsource(function))
    assert text.count(old) == 1, old
    space = dict(function.__globals__)
    exec(compile(text.replace(old, new), inspect.getfile(function), "exec"), space)
    return space[function.__name__]
