"""How each primitive of a jaxpr is written: one function of (reader, equation, operands) each."""
from __future__ import annotations

from collections.abc import Callable

from .reader import RANDOM, Reader

RULES: dict[str, Callable] = {}


def rule(*names: str):
    def add(function):
        RULES.update(dict.fromkeys(names, function))
        return function
    return add


def rule_of(name: str) -> Callable:
    from . import (  # noqa: F401  (they add rules)
        arithmetic, collectives, elementwise, flags, joined, loops, lookups, orders, parts, reductions, rewrites, shapes, trust)

    if name in RULES:
        return RULES[name]

    def unknown(reader: Reader, eqn, operands):
        if name.startswith(("random_", "threefry", "rng_")):
            raise reader.problem(f"`{name}` draws {RANDOM}")
        raise reader.problem(f"the primitive `{name}` is not read: write it with others, or mark "
                             "its function with @shardproof.trusted(reference)")
    return unknown


@rule("debug_print", "debug_callback")
def _shown(r, eqn, vals):
    return []


@rule("jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint",
      "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin", "run_state")
def _call(r, eqn, vals):
    from . import divided, trust
    if eqn.params.get("name") in trust.KNOWN:
        return trust.read(r, eqn, vals)
    if found := divided.read(r, eqn, vals):
        return found
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if name in eqn.params:
            return r.closed(eqn.params[name], vals)
    raise r.problem(f"a call without a body: {eqn.primitive.name}")


__all__ = ["RULES", "rule", "rule_of"]
