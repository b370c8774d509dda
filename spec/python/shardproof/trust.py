"""Functions that are believed: a kernel stands for a reference that the notation can say."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

KNOWN: dict[str, tuple[Callable, Callable, Any]] = {}  # by the name of the jit: function, reference, tree


def trusted(reference: Callable) -> Callable:
    """Marks a function, such as a kernel, whose body is not read: proofs take `reference` in its place, and the
    report names it. Its gradient is not known: give it a custom_vjp of trusted functions."""
    def mark(function: Callable) -> Callable:
        name = f"trusted_{len(KNOWN)}_{function.__name__}"
        KNOWN[name] = (function, reference, None)

        @functools.wraps(function)
        def marked(*args):
            leaves, tree = jax.tree.flatten(args)
            KNOWN[name] = (function, reference, tree)

            def flat(*leaves):
                return function(*jax.tree.unflatten(tree, leaves))
            flat.__name__ = name
            return jax.jit(flat)(*leaves)
        return marked
    return mark


def read(reader, eqn, vals):
    """The reference on these operands."""
    function, reference, tree = KNOWN[eqn.params["name"]]
    try:
        closed = jax.make_jaxpr(lambda *leaves: jax.tree.leaves(reference(*jax.tree.unflatten(tree, leaves))))(
            *(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars))
    except Exception as error:  # noqa: BLE001  (the user's code may raise anything)
        raise reader.problem(f"`{function.__name__}` is trusted, and its reference cannot be traced with its "
                             f"operands: {type(error).__name__}: {error}") from error
    if [v.aval.shape for v in closed.jaxpr.outvars] != [v.aval.shape for v in eqn.outvars]:
        raise reader.problem(f"`{function.__name__}` is trusted, and its reference gives other shapes: the gradient "
                             "of a trusted function needs a custom_vjp")
    reader.trusting[function.__name__] = reference.__name__
    return reader.closed(closed, vals)


__all__ = ["trusted"]
