"""Numbers that a program compares its integers with, as the -100 of a label that does not count. Random inputs have some of them."""
from __future__ import annotations

import numpy as np
from jax.extend import core as jex_core

MOVED = {"reshape", "broadcast_in_dim", "squeeze", "transpose", "convert_element_type", "slice", "expand_dims", "pvary", "pcast"}
CALLS = {"jit", "pjit", "closed_call", "remat", "checkpoint", "custom_jvp_call", "custom_vjp_call"}


def compared_with(jaxpr) -> dict[int, set[int]]:
    """By the number of a parameter: the constants that its entries are compared with, where they are no ids themselves."""
    found: dict[int, set[int]] = {}
    looked_up: set[int] = set()
    _go_through(jaxpr, {v: i for i, v in enumerate(jaxpr.invars) if "int" in str(v.aval.dtype)}, found, looked_up)
    return {which: numbers for which, numbers in found.items() if which not in looked_up}


def _go_through(jaxpr, of: dict, found: dict[int, set[int]], looked_up: set[int]) -> None:
    numbers: dict = {}

    def literal(atom):
        value = atom.val if isinstance(atom, jex_core.Literal) else numbers.get(atom)
        return int(value) if value is not None and np.ndim(value) == 0 else None

    def known(atom):
        return None if isinstance(atom, jex_core.Literal) else of.get(atom)

    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name in ("eq", "ne"):
            for a, b in (eqn.invars, eqn.invars[::-1]):
                if (which := known(a)) is not None and (number := literal(b)) is not None:
                    found.setdefault(which, set()).add(number)
        elif name == "gather" and (which := known(eqn.invars[1])) is not None:
            looked_up.add(which)
        elif name in MOVED and (which := known(eqn.invars[0])) is not None:
            of[eqn.outvars[0]] = which
        elif name in MOVED and "int" in str(eqn.invars[0].aval.dtype) and (number := literal(eqn.invars[0])) is not None:
            numbers[eqn.outvars[0]] = number
        elif name in CALLS:
            inner = next(iter(jex_core.jaxprs_in_params(eqn.params)))
            inner = getattr(inner, "jaxpr", inner)
            if len(inner.invars) == len(eqn.invars):
                within = {v: which for v, a in zip(inner.invars, eqn.invars) if (which := known(a)) is not None}
                _go_through(inner, within, found, looked_up)
                of.update({out: within[v] for out, v in zip(eqn.outvars, inner.outvars)
                           if not isinstance(v, jex_core.Literal) and v in within})


def with_some(generator, array, numbers: set[int]):
    """Integers of which a third are some of these numbers."""
    if not numbers or not np.size(array):
        return array
    return np.where(generator.random(np.shape(array)) < 1 / 3, generator.choice(sorted(numbers), np.shape(array)), array).astype(array.dtype)
