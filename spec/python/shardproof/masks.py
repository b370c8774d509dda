"""The -inf of masks. In the text it is any number: what is equal for all of them is equal in the limit, where JAX is. That is so of
functions that are continuous there. A comparison, a sign or a cast is not: exp(-inf) > 0 is false, and exp(x) > 0 is true of all
numbers. Of entries that are numbers or the -inf itself it is."""
from __future__ import annotations

import re
from enum import IntEnum

# What gives entries of what it is given, or the larger or smaller ones.
MOVES = re.compile(r'(where|expand|rearrange|slice|read|write|index|index_unreduced|all_gather|all_to_all|ppermute|rev|concat|max|maximum|'
                   r'minimum|stop_grad|f32)\(|all_reduce\("[^"]*\bMax_(?!.*\bU_)')
NAME = re.compile(r"[vrq]\d+")
MINUS_INFINITY = "minus_infinity"
JUMPS = {"gt", "ge", "lt", "le", "eq", "ne", "sign", "floor", "ceil", "round", "rem", "is_finite", "argmax", "argmin", "sort", "top_k",
         "convert_element_type"}


class Kind(IntEnum):
    """Numbers; numbers and -inf; what is computed of these."""

    FINITE, ENTRIES, COMPUTED = range(3)


class Masks:
    """Which names of a function depend on the -inf of masks."""

    def __init__(self):
        self.used = False
        self.kinds: dict[str, Kind] = {}

    def of(self, words: set[str]) -> Kind:
        """Of an expression with these names."""
        self.used = self.used or MINUS_INFINITY in words
        if not self.used:
            return Kind.FINITE
        return max((Kind.ENTRIES if word == MINUS_INFINITY else self.kinds.get(word, Kind.COMPUTED)
                    for word in words if word == MINUS_INFINITY or NAME.fullmatch(word)), default=Kind.FINITE)

    def made(self, name: str, expression: str, words: set[str]) -> None:
        kind = self.of(words)
        self.kinds[name] = Kind.COMPUTED if kind == Kind.ENTRIES and not MOVES.match(expression) else kind


__all__ = ["JUMPS", "MINUS_INFINITY", "Kind", "Masks"]
