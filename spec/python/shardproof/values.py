"""Values of a program that is read, and the lines that make them."""
from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from . import advice
from .dims import Again, Dims, Factor, ImportProblem, Position
from .masks import MINUS_INFINITY, Kind, Masks
from .report import Place


@dataclass(frozen=True)
class Affine:
    """const + sum of coefficient * axis_index + scale * (the index along one position)."""

    const: int = 0
    ranks: tuple[tuple[str, int], ...] = ()
    along: int | None = None
    extent: int = 0
    scale: int = 0


@dataclass
class Val:
    """A value: its text (None: it cannot be written, for the reason in `why`), the position of each
    array axis, the indices of the text in order, and on which axes it is a sum or a maximum."""

    text: str | None
    pos: list[Position]
    dims: list[Factor] = field(default_factory=list)
    dtype: str = "f32"
    marks: dict[str, str] = field(default_factory=dict)
    literal: Any = None
    positive: bool = False
    made: tuple = ()  # the primitive and its operands
    affine: Affine | None = None
    why: str = ""
    place: Any = None  # of what cannot be written
    step: Any = None  # of an index that counts a loop's steps: (reader, x, position) -> its entry
    columns: tuple = ()  # (text, positions, values): the ids that were put together along the last position
    part: tuple = ()  # (text, positions, the value as entries of the devices): single.py
    shifted: tuple = ()  # (value, axis, shifts): the sum of rotations of the value's terms over an axis

    @property
    def factors(self) -> list[Factor]:
        return [factor for position in self.pos for factor in position]

    def extents(self) -> list[int]:
        return [prod(f.extent for f in position) for position in self.pos]


def number(value: Any) -> str:
    """A number that may depend on sizes; what it is for all sizes is found later."""
    if isinstance(value, bool):
        return "true" if value else "false"
    value = int(value) if isinstance(value, Integral) else float(value)
    return f"\x01{value!r}\x02"


@dataclass
class Line:
    names: tuple[str, ...]
    expression: str
    place: Place | None
    block: "Block | None" = None


@dataclass
class Block:
    """The body of a scan, of a pipeline (nothing is next) or of its stages."""

    head: str
    lines: list[Line]
    next: list[str]
    emit: list[str]

    def words(self) -> set[str]:
        """The names that it needs from outside, and some of its own."""
        return words_of(" ".join([self.head, *self.next, *self.emit,
                                  *(line.expression for line in self.lines)]))

    def without(self, emitted: list[bool]) -> "Block":
        kept = [e for e, wanted in zip(self.emit, emitted) if wanted]
        return Block(self.head, self.lines, self.next, kept)

    def printed(self, indent: str) -> list[str]:
        text = printed(self.lines, [*self.next, *self.emit], indent)
        text += [f"{indent}next {', '.join(self.next)}"] if self.next else []
        return text + ([f"{indent}emit {', '.join(self.emit)}"] if self.emit else [])


def words_of(text: str) -> set[str]:
    """The names in an expression; those in patterns are dims."""
    return set(re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"', "", text)))


def printed(lines: list[Line], results: list[str], indent: str) -> list[str]:
    """The lines that the results need."""
    needed = set().union(*(words_of(x) for x in results)) if results else set()
    kept: list[Line] = []
    for line in reversed(lines):
        if not needed & set(line.names):
            continue
        if line.block:
            carries = len(line.block.next)
            wanted = [name in needed for name in line.names[carries:]]
            names = [n if n in needed else f"_{n}" for n in line.names[:carries]]
            names += [n for n, w in zip(line.names[carries:], wanted) if w]
            line = Line(tuple(names), line.expression, line.place, line.block.without(wanted))
            needed |= line.block.words()
        needed |= words_of(line.expression)
        kept.append(line)
    return [text for line in reversed(kept) for text in show(line, indent)]


def show(line: Line, indent: str) -> list[str]:
    comment = f"  {line.place.comment()}" if line.place else ""
    names = ", ".join(line.names)
    if line.block is None:
        return [f"{indent}{names} = {line.expression}{comment}"]
    return [f"{indent}{names} = {line.expression} {{{comment}",
            *line.block.printed(indent + "    "), f"{indent}}}"]


def stretched(arrays: list[Val]) -> list[Val]:
    """Positions of one entry beside longer ones are broadcast."""
    shape = [max(extents) for extents in zip(*(v.extents() for v in arrays))]
    return [replace(v, pos=[p if n == 1 or prod(f.extent for f in p) == n
                            else (*(f for f in p if not f.virtual), Factor(None, extent=n))
                            for p, n in zip(v.pos, shape)]) for v in arrays]


class Writer:
    """Lines of one function, with the states and axes that the checker will check again."""

    def __init__(self, dims: Dims, prefix: str):
        self.dims, self.prefix = dims, prefix
        self.lines: list[Line] = []
        self.place: Place | None = None
        self.outer = False  # outside of shard_map, in a plan: values are global
        self._count = 0
        self.named: list[tuple[Val, Position, Place | None]] = []  # ids that are taken to name entries of a position
        self.masks = Masks()

    # Text

    def spell(self, factors, marks: dict[str, str] | None = None) -> str:
        words = [self.dims.name(f) + "".join(f"/{a}" for a in f.axes) for f in factors]
        state = " ".join(f"{mark}_{axis}" for axis, mark in sorted((marks or {}).items()))
        return " ".join(words + ([f"{{{state}}}"] if state else []))

    def dim_said(self, factor: Factor) -> str:
        """A dim in the words of a user, who has not named it."""
        size = f"a dim of {factor.extent * self.ranks(factor.axes)} entries"
        return f"{size} that is split over {' and '.join(factor.axes)}" if factor.axes else size

    def said(self, val: "Val") -> str:
        """A value in the words of a user: its shape, how it is split, and what is not reduced."""
        shape = [prod(f.extent * self.ranks(f.axes) for f in position) for position in val.pos]
        axes = [[a for f in position for a in f.axes] for position in val.pos]
        spec = ", ".join(advice.names(each) if each else "None" for each in axes)
        return f"an array of shape {shape}" + (f" as P({spec})" if any(axes) else "") + advice.state(self.spell([], val.marks))

    def type_of(self, val: Val, factors=None) -> str:
        dims = self.spell(val.dims if factors is None else factors)
        state = " ".join(f"{mark}_{axis}" for axis, mark in sorted(val.marks.items()))
        return f"{val.dtype}[{dims}]" + (f"{{{state}}}" if state else "")

    def emit(self, expression: str) -> str:
        self._count += 1
        name = f"v{self._count}"
        self.lines.append(Line((name,), expression, self.place))
        self.masks.made(name, expression, words_of(expression))
        return name

    def masked(self, val: Val) -> Kind:
        """Whether a value may be the -inf of a mask, or is computed of it."""
        return Kind.FINITE if val.dtype != "f32" or val.text is None else self.masks.of(words_of(val.text))

    def like(self, name: str, val: Val) -> None:
        """Says of a name that no expression makes what it depends on."""
        self.masks.kinds[name] = self.masked(val)

    def problem(self, message: str, kind: str = "unsupported") -> ImportProblem:
        return ImportProblem(message, self.place, kind)

    def name_entries(self, ids: Val, position: Position) -> None:
        """These ids are taken to name entries: of others JAX has several readings, and the text has one."""
        if ids.text is not None and ids.literal is None and not ids.affine:
            self.named.append((ids, position, self.place))

    def expressions(self) -> dict[str, str]:
        """What each name is made by, of lines that make one."""
        return {line.names[0]: line.expression for line in self.lines if len(line.names) == 1}

    def named_in_words(self) -> list[str]:
        """What is assumed of ids: `0 <= ids < |V|` of a parameter, else in the user's words."""
        made = self.expressions()
        words = []
        for ids, position, place in self.named:
            name, size = ids.text or "", " * ".join(f"|{self.dims.name(f)}|" if not f.virtual else str(f.extent) for f in position)
            while found := re.match(r'(?:expand|rearrange|slice)\(".*", (\w+)\)$', made.get(name, "")):
                name = found[1]
            segment = place.segment() if place else None
            if not re.fullmatch(r"[vrqn]\d+", name):
                words.append(f"0 <= {name} < {size}")
            else:
                words.append(f"the ids {f'in `{segment}`' if segment else f'at {place}'} name entries")
        return words

    def use(self, val: Val) -> str:
        """The text of a value, or the problem that it has none."""
        if val.text is None:
            problem = self.problem(val.why or "a value that depends on the device's index is used")
            problem.place = problem.place or val.place
            raise problem
        self.masks.used = self.masks.used or val.text == MINUS_INFINITY
        return val.text

    # Indices

    def key(self, factor: Factor):
        return (self.dims.root(factor.node), factor.alias)

    def distinct(self, pos: list[Position], avoid=()) -> list[Position]:
        """The positions with an alias of its own for each index of one dim."""
        used, result = set(avoid), []
        for position in pos:
            row = []
            for f in position:
                if not f.virtual:
                    alias = f.alias
                    while (self.dims.root(f.node), alias) in used:
                        alias += 1
                    f = replace(f, alias=alias)
                    used.add(self.key(f))
                row.append(f)
            result.append(tuple(row))
        return result

    def made(self, text: str | None, pos: list[Position], dims=None, **more) -> Val:
        """A value whose text has its dims in the order of `pos`, or as given."""
        if dims is None:
            dims = [f for position in pos for f in position if not f.virtual]
        return Val(text, list(pos), list(dims), **more)

    def rename(self, val: Val, to: dict[Factor, Factor]) -> Val:
        """The same value with other indices of the same dims."""
        to = {a: b for a, b in to.items() if self.key(a) != self.key(b)}
        if not to:
            return val
        have = {self.key(f) for f in val.dims}
        if len({self.key(to.get(f, f)) for f in val.dims}) < len(val.dims):  # two of its dims have just become one
            if self.dims.changed:
                raise Again
            raise self.problem("two positions of a value are one index")
        if any(self.key(b) in have for b in to.values()):
            fresh = 1 + max(f.alias for f in [*val.dims, *to.values()])
            step = {a: replace(a, alias=fresh + i) for i, a in enumerate(to)}
            return self.rename(self.rename(val, step), {step[a]: b for a, b in to.items()})
        pos = [tuple(to.get(f, f) for f in position) for position in val.pos]
        dims = [to.get(f, f) for f in val.dims]
        words = self.spell(dims, val.marks)
        text = self.emit(f'rearrange("{words} -> {words}", {self.use(val)})')
        return replace(val, text=text, pos=pos, dims=dims, made=("same", val))

    def ordered(self, val: Val) -> Val:
        """With the text's dims in the order of the positions."""
        dims = [f for f in val.factors if not f.virtual]
        if [self.key(f) for f in dims] == [self.key(f) for f in val.dims]:
            return val
        text = self.emit(f'rearrange("{self.spell(val.dims, val.marks)} -> '
                         f'{self.spell(dims, val.marks)}", {self.use(val)})')
        return replace(val, text=text, dims=dims)

    def expanded(self, val: Val, pos: list[Position]) -> Val:
        """With the virtual factors that `pos`, aligned with the value's, has as dims."""
        have = {self.key(f) for f in val.dims}
        new = [f for position in pos for f in position if not f.virtual and self.key(f) not in have]

        def own(position) -> list:
            return [self.key(f) for f in position if not f.virtual and self.key(f) in have]

        if any(own(before) != own(after) for before, after in zip(val.pos, pos)):
            raise self.problem("an index of a value has become another one")
        if not new:
            return replace(val, pos=list(pos))
        dims = [*val.dims, *new]
        source = self.use(val) if val.dims else f"{val.dtype}({self.use(val)})"  # of a number too
        text = self.emit(f'expand("{self.spell(val.dims, val.marks)} -> '
                         f'{self.spell(dims, val.marks)}", {source})')
        return replace(val, text=text, pos=list(pos), dims=dims)

    def solid(self, val: Val, key) -> Val:
        """Without virtual factors: each broadcast position is a dim of its own."""
        return self.with_new(val, [
            [self.dims.position(self.dims.node((key, "solid", p, i), f.extent)) if f.virtual else None
             for i, f in enumerate(position)] for p, position in enumerate(val.pos)])

    def with_new(self, val: Val, rows: list[list[Position | None]]) -> Val:
        """With other factors in the place of some; those that stay (None) keep their indices, and the new ones get others."""
        used, pos = {self.key(f) for f in val.dims}, []
        for position, row in zip(val.pos, rows):
            new = []
            for f, others in zip(position, row):
                new += self.distinct([others], used)[0] if others is not None else (f,)
                used |= {self.key(g) for g in new if not g.virtual}
            pos.append(tuple(new))
        return self.expanded(val, pos)

    def cut(self, factor: Factor, extent: int) -> tuple[Factor, Factor]:
        """A factor as two, the first of `extent`."""
        if factor.extent % extent:
            raise self.problem(f"{factor.extent} entries are divided into pieces of {extent}")
        rest = factor.extent // extent
        if factor.virtual:
            return Factor(None, extent=extent), Factor(None, extent=rest)
        self.dims.refine(factor.node, extent * self.ranks(factor.axes))
        raise AssertionError

    def ranks(self, axes) -> int:
        return prod(self.dims.mesh[axis] for axis in axes)

    def align(self, rows: list[Position]) -> list[list[Factor]]:
        """Positions of one extent, cut into factors that stand beside each other."""
        work = [[f for f in row if f.extent > 1 or not f.virtual] for row in rows]
        work = [[f for f in row if f.extent > 1 or f.axes] for row in work]
        result = []
        while any(work):
            least = min(row[0].extent for row in work if row)
            if not all(work) and least > 1:
                raise self.problem("extents differ", "finding")
            column = []
            for row in work:
                if least == 1 and not (row and row[0].extent == 1):
                    if row and row[0].axes and any(other and other[0].extent == 1 and other[0].axes == row[0].axes for other in work):
                        self.cut(row[0], 1)  # a device has one entry of a first part of it
                    column.append(Factor(None))  # a dim of which a device has one entry
                    continue
                if row[0].extent > least:
                    row[:1] = self.cut(row[0], least)
                column.append(row.pop(0))
            result.append(column)
        return result

    def same(self, column: list[Factor]) -> None:
        """Unifies what stands beside each other, and says what does not fit."""
        real = [f for f in column if not f.virtual]
        for f in real[1:]:
            if f.axes != real[0].axes:
                a, b = (f"split over {' and '.join(x.axes)}" if x.axes else "not split" for x in (real[0], f))
                raise self.problem(f"entries of a dim that is {a} meet those of one that is {b}: a device does not have the same "
                                   "entries of both", "finding")
            self.dims.unify(real[0].node, f.node, self.place)

    def matched(self, vals: list[Val]) -> tuple[list[Val], list[Position], list[Factor]]:
        """Arrays of one shape with the same index at each position; the positions of the result and
        the order of its text. One of them has all dims."""
        from . import single

        if self.outer:
            vals = self.resharded(vals)
        arrays = single.beside_others(stretched([v for v in vals if v.pos]))
        lead = max(range(len(arrays)), key=lambda i: len(arrays[i].dims))
        order = [lead] + [i for i in range(len(arrays)) if i != lead]
        used: set = set()
        pos: list[Position] = []
        to: list[dict[Factor, Factor]] = [{} for _ in arrays]
        positions: list[list[list[Factor]]] = [[] for _ in arrays]
        for p in range(len(arrays[0].pos)):
            row, parts = [], [[] for _ in arrays]
            for column in self.align([v.pos[p] for v in arrays]):
                self.same(column)
                real = [column[i] for i in order if not column[i].virtual]
                target = real[0] if real else column[0]
                if real:
                    target = self.distinct([(target,)], used)[0][0]
                    used.add(self.key(target))
                for i, f in enumerate(column):
                    parts[i].append(target if not f.virtual else f)
                    if not f.virtual:
                        to[i][f] = target
                row.append(target)
            pos.append(tuple(row))
            for i, part in enumerate(parts):
                positions[i].append(part)
        renamed = []
        for i, v in enumerate(arrays):
            new = self.rename(v, to[i])
            renamed.append(replace(new, pos=[tuple(part) for part in positions[i]]))
        real = {self.key(f) for row in pos for f in row if not f.virtual}
        whole = next((v for v in renamed if {self.key(f) for f in v.dims} >= real), None)
        if whole is None:
            whole = renamed[lead] = self.expanded(renamed[lead], pos)
        arrays_iter = iter(renamed)
        return [next(arrays_iter) if v.pos else v for v in vals], pos, whole.dims

    # Outside of shard_map

    def gathered(self, val: Val, keep=lambda f: False) -> Val:
        """A global value without axes, or with those of `keep`."""
        if not any(f.axes and not keep(f) for f in val.dims):
            return val
        to = {f: (f if keep(f) else replace(f, axes=(), extent=f.extent * self.ranks(f.axes)))
              for f in val.dims}
        dims = [to[f] for f in val.dims]
        text = self.emit(f'all_gather("{self.spell(val.dims, val.marks)} -> '
                         f'{self.spell(dims, val.marks)}", {self.use(val)})')
        return replace(val, text=text, dims=dims,
                       pos=[tuple(to.get(f, f) for f in position) for position in val.pos])

    def resharded(self, vals: list[Val]) -> list[Val]:
        """Global operands with one sharding. A broadcast one has all entries, on each device."""
        shardings = {tuple(tuple((f.axes) for f in position) for position in v.pos) for v in vals if v.dims}
        broadcast = {p for v in vals for p, position in enumerate(v.pos) if any(f.virtual and f.extent > 1 for f in position)}
        if len(shardings) <= 1 and not any(f.axes for v in vals for p in broadcast if p < len(v.pos) for f in v.pos[p]):
            return vals
        return [self.gathered(v) if v.dims else v for v in vals]

    def reduced(self, val: Val) -> Val:
        """A global value: what is unreduced is reduced."""
        if not (self.outer and val.marks):
            return val
        text = self.emit(f'all_reduce("{self.spell(val.dims, val.marks)} -> '
                         f'{self.spell(val.dims)}", {self.use(val)})')
        return replace(val, text=text, marks={})


__all__ = ["MINUS_INFINITY", "Affine", "Again", "Block", "Line", "Val", "Writer", "number", "printed"]
