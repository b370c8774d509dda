"""Which array positions are one dim: union-find over positions, with dims refined into factors."""
from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import prod


class ImportProblem(Exception):
    """A line that cannot be written in the notation; `place` is the user's."""

    def __init__(self, message: str, place=None, kind: str = "unsupported"):
        super().__init__(message)
        self.place, self.kind = place, kind


class Again(Exception):
    """A dim was refined: the programs are read once more."""


@dataclass(frozen=True)
class Factor:
    """An index of a value: a dim (`node`) with the mesh axes that split it. `alias` tells indices of
    one dim in one value apart. A factor without a node is a broadcast position: it has no text."""

    node: int | None
    alias: int = 0
    axes: tuple[str, ...] = ()
    extent: int = 1  # of a device

    @property
    def virtual(self) -> bool:
        return self.node is None


Position = tuple[Factor, ...]  # of an array: (), of size 1, has no text


def spread(shape) -> list[Position]:
    """Positions that no dim of a text has: of a value that is the same along them, or that is not written."""
    return [(Factor(None, extent=n),) if n > 1 else () for n in shape]


class Dims:
    """The dims of a model and a plan. Nodes have global sizes."""

    def __init__(self, mesh: dict[str, int]):
        self.mesh = mesh
        self._parent: list[int] = []
        self._size: list[int] = []
        self._parts: dict[int, list[int]] = {}
        self._by_key: dict[object, int] = {}
        self.names: dict[int, str] = {}
        self.wished: dict[int, str] = {}
        self.constants: dict[object, tuple[str, object]] = {}  # arrays in the programs: name, value
        self.carried: dict[object, list[dict[str, str]]] = {}  # states of the carries of loops
        self.masked: dict[object, list] = {}  # and whether they depend on the -inf of masks
        self.changed = False
        self.rolls = False  # rings that Python writes out are read as scans

    def node(self, key: object, size: int) -> int:
        """The node of this key, the same in every pass."""
        if key not in self._by_key:
            self._by_key[key] = self._new(size)
        found = self._by_key[key]
        if self._size[found] != size:  # a key met again with another size is another dim
            return self.node((key, size), size)
        return found

    def _new(self, size: int) -> int:
        self._parent.append(len(self._parent))
        self._size.append(int(size))  # numpy's integers have other rules
        self.changed = True
        return len(self._parent) - 1

    def root(self, node: int) -> int:
        while self._parent[node] != node:
            node = self._parent[node]
        return node

    def size(self, node: int) -> int:
        return self._size[node]

    def leaves(self, node: int) -> list[int]:
        """The factors of a dim, first one major."""
        node = self.root(node)
        if node not in self._parts:
            return [node]
        return [leaf for part in self._parts[node] for leaf in self.leaves(part)]

    def position(self, node: int, axes: tuple[str, ...] = ()) -> Position:
        """The position of a whole dim; its axes are on the first factor."""
        leaves = self.leaves(node)
        split = prod(self.mesh[axis] for axis in axes)
        if split > 1 and self._size[leaves[0]] % split:
            raise ImportProblem(f"the axes {axes} split a dim whose first factor has only "
                                f"{self._size[leaves[0]]} entries", kind="finding")
        return tuple(
            Factor(leaf, 0, axes if i == 0 else (),
                   self._size[leaf] // (split if i == 0 else 1))
            for i, leaf in enumerate(leaves) if self._size[leaf] > 1 or len(leaves) == 1)

    def refine(self, node: int, major: int) -> None:
        """Splits a dim into `major` times the rest, and reads again."""
        node = self.root(node)
        self._parts[node] = [self._new(major), self._new(self._size[node] // major)]
        raise Again

    def unify(self, a: int, b: int, place=None) -> None:
        """Both are one dim."""
        a, b = self.root(a), self.root(b)
        if a == b:
            return
        if self._size[a] != self._size[b]:
            raise ImportProblem(f"a dim of {self._size[a]} entries meets one of {self._size[b]}",
                                place, "finding")
        first, second = min(a, b), max(a, b)
        parts = self._parts.get(first), self._parts.get(second)
        self._parent[second] = first
        self.changed = True
        if parts[1] is not None and parts[0] is None:
            self._parts[first] = parts[1]
        elif parts[1] is not None and parts[0] is not None:
            self._join(parts[0], parts[1], place)
        if second in self.wished and first not in self.wished:
            self.wished[first] = self.wished[second]

    def _join(self, left: list[int], right: list[int], place) -> None:
        a, b = self._size[self.root(left[0])], self._size[self.root(right[0])]
        if a == b:
            for x, y in zip(left, right):
                self.unify(x, y, place)
            return
        # One first factor is a multiple of the other: it has a factor more.
        if a < b:
            left, right, a, b = right, left, b, a
        if a % b:
            raise ImportProblem(f"a dim is split as {a} times .. and as {b} times ..", place,
                                "finding")
        first, rest = self.root(left[0]), left[1]
        if first not in self._parts:
            self._parts[first] = [self._new(b), self._new(a // b)]
        tail = self._new(self._size[self.root(rest)] * (a // b))
        self._parts[tail] = [self._parts[first][1], rest]
        self.unify(self._parts[first][0], right[0], place)
        self.unify(tail, right[1], place)

    def dims_of(self, factor: Factor) -> int:
        return self.root(factor.node)

    def name(self, factor: Factor) -> str:
        """The name of an index: the dim's, or `L_1` for another index of it."""
        root = self.root(factor.node)
        if root not in self.names:
            self.names[root] = self._fresh_name(root)
        base = self.names[root]
        return f"{base}_{factor.alias}" if factor.alias else base

    def _fresh_name(self, root: int) -> str:
        taken = set(self.names.values()) | set(self.mesh)
        wish = self.wished.get(root)
        if wish and wish not in taken:
            return wish
        taken |= set(self.wished.values())
        for letter in ([wish] if wish else []) + list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
            for suffix in [""] if letter != wish else [f"{i}" for i in range(2, 99)]:
                if letter + suffix not in taken and letter + suffix not in ("U", "I"):
                    return letter + suffix
        return next(name for name in map("D{}".format, itertools.count()) if name not in taken)
