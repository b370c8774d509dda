"""Proves that a sharded program computes the same as its unsharded model."""
from .binary import CheckerError
from .report import Diagnostic, Place, Report, check


def __getattr__(name: str):  # JAX is imported where it is used
    if name in ("prove", "implements"):
        from . import api
        return getattr(api, name)
    if name == "trusted":
        from .trust import trusted
        return trusted
    raise AttributeError(f"module 'shardproof' has no attribute {name!r}")


__all__ = ["CheckerError", "Diagnostic", "Place", "Report", "check", "implements", "prove", "trusted"]
