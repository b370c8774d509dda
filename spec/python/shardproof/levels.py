"""What a proof covers: these sizes, or, from traces with unlike sizes, every mesh and size."""
from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isclose, prod

from typing import Any

import jax
from jax.extend import core as jex_core

from .dims import ImportProblem
from .program import Imported, import_pair, trace

NUMBER = re.compile("\x01(.*?)\x02")
PRIMES = ((11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79),
          (73, 17, 13, 61, 11, 53, 47, 19, 43, 71, 29, 31, 67, 23, 79, 37, 59, 41))
MICROBATCHES = (11, 13)  # a pipeline is gone through tick by tick
AXES = ((3, 7, 5, 2), (5, 2, 7, 3))  # sums, differences, maxima and minima of axes are no products of them
OF_STEPS = ((3, 7, 5, 4), (5, 3, 7, 4))  # where a program has steps for the devices of an axis: two are no loop


@dataclass
class Text:
    text: str
    level: str
    imported: Imported
    names: list[str]
    model: Any
    sharded: Any
    sized: bool = False
    other: "Text | None" = None  # the same program, where numbers are read otherwise
    marks: tuple = ()  # ids that are given as entries and whether they count: (parameter, dim, number)
    given: "Text | None" = None  # at the sizes that were given, which are no case of this text: it is to be proved too
    held: frozenset[str] = frozenset()  # the dims of which a device has one entry there


def value_of(number: str):
    return eval(number, {"inf": float("inf"), "nan": float("nan")})  # a repr of ours


def shape_of(skeleton: str) -> str:
    """The text without its numbers, and without places: JAX keeps those of the first call."""
    return re.sub(r"  #.*", "", NUMBER.sub("\x01\x02", skeleton))


def numbers(skeleton: str) -> list:
    return [value_of(found) for found in NUMBER.findall(skeleton)]


def declared(name: str, imported: Imported, size: str = "") -> list[str]:
    lines = [f"dim {name}{size}"]
    if imported.aliases.get(name):
        lines.append(f"dim {' '.join(imported.aliases[name])} = {name}")
    return lines


def concrete(imported: Imported) -> Text:
    """The text at the sizes that were traced."""
    axes = " ".join(f"{a}={n}" for a, n in imported.mesh.items())
    lines = [f"mesh {axes}"]
    for name, size in imported.sizes.items():
        lines += declared(name, imported, f" = {size}")
    text = NUMBER.sub(lambda m: repr(value_of(m.group(1))), imported.skeleton)
    return Text("\n".join(lines) + "\n" + text, f"for {axes} at these sizes", imported,
                imported.names, imported.model, imported.sharded, sized=True)


PARTS = re.compile(r'\b(?:read|write|concat)\("([^"]*)"')


def freed(text: Text) -> Text:
    """A text with sizes whose dims are free, other than those of which parts are taken and those as long as a number of the
    text: a proof for all of them is one for the sizes that were traced, and is found faster."""
    imported = text.imported
    root = {alias: name for name, more in imported.aliases.items() for alias in more}
    fixed = set()
    for pattern in PARTS.findall(imported.skeleton):
        operands = [set(re.findall(r"[A-Za-z_]\w*", re.sub(r"\{.*?\}|/\w+", "", part)))
                    for part in re.split(r",|->", pattern)]
        fixed |= set().union(*operands) - set.intersection(*operands)
        fixed |= set(re.findall(r"\[(\w+)\]", pattern))
    written = set(numbers(imported.skeleton))
    fixed = {root.get(name, name) for name in fixed} | {name for name, size in imported.sizes.items() if size in written}
    lines = [re.sub(r" = \d+$", "", line) if line.startswith("dim ") and line.split()[1] not in fixed
             else line for line in text.text.splitlines()]
    return replace(text, text="\n".join(lines) + "\n")


def covers(conditions: list[str], imported: Imported) -> bool:
    """Whether the sizes that were traced meet the conditions `d*t | M`."""
    table = {**imported.sizes, **imported.mesh}

    def product(text: str) -> int:
        return prod(int(word) if word.isdigit() else table[word] for word in text.split("*"))

    try:
        sides = [condition.split(" | ") for condition in conditions]
        return all(product(of) % product(by) == 0 for by, of in sides)
    except (KeyError, ValueError):
        return False


# A number as a monomial in sizes


EXPONENTS = (-2, -1, -0.5, 0.5, 1, 2)


def monomials(dims: list[str], axes: list[str]):
    """Exponents by symbol, the simplest first; at most three dims, and any axes."""
    shapes = sorted(((n, k) for n in range(4) for k in range(len(axes) + 1) if n + k), key=sum)
    for n, k in shapes:
        choices = EXPONENTS if n + k == 1 else (-1, -0.5, 0.5, 1) if n + k == 2 else (-1, 1)
        for chosen in itertools.product(itertools.combinations(dims, n),
                                        itertools.combinations(axes, k)):
            for exponents in itertools.product(choices, repeat=n + k):
                yield dict(zip((*chosen[0], *chosen[1]), exponents))


def simple(x: float) -> Fraction | None:
    """A fraction with a small denominator, or a power of ten as it is written."""
    near = Fraction(x).limit_denominator(720)
    return near if near and isclose(float(near), x, rel_tol=1e-6) else None


def fit(values: list[float], tables: list[dict[str, int]], dims: list[str],
        axes: list[str]) -> str | None:
    """An expression that has these values at these sizes."""
    whole = all(isinstance(v, int) for v in values)
    for shift in (0, 1, -1) if whole else (0,):
        for exponents in monomials(dims, axes):
            factors = [prod(t[s] ** e for s, e in exponents.items()) for t in tables]
            ratios = [(v - shift) / f for v, f in zip(values, factors)]
            scale = simple(ratios[0])
            if scale is None or not all(isclose(r, ratios[0], rel_tol=1e-6) for r in ratios):
                continue
            if whole and (scale.denominator != 1 or any(e != 1 for e in exponents.values())):
                continue
            return spelled(exponents, scale, shift, whole)
    return None


def spelled(exponents: dict[str, float], scale: Fraction, shift: int, whole: bool) -> str:
    above, below = [], []
    for symbol, e in exponents.items():
        size = f"|{symbol}|"
        words = [size] * int(abs(e)) if e == int(e) else [f"sqrt(1.0 * {size})"]
        (above if e > 0 else below).extend(words)
    if scale.numerator != 1 or not above:
        above.insert(0, str(scale.numerator) if whole else repr(float(scale.numerator)))
    if scale.denominator != 1:
        below.insert(0, repr(float(scale.denominator)))
    text = " * ".join(above)
    if below:
        text += " / " + (f"({' * '.join(below)})" if len(below) > 1 else below[0])
    if shift:
        text += f" {'+' if shift > 0 else '-'} {abs(shift)}"
    return f"({text})" if len(above) + len(below) > 1 or shift else text


def fit_size(name: str, tables: list[dict[str, int]], free: list[str]) -> str | None:
    """A size that follows from free ones: `2*|A|`, `|A| + 1`, `|A| + |B|`."""
    sizes = [t[name] for t in tables]
    for count in (1, 2):
        for chosen in itertools.combinations(free, count):
            factors = [prod(t[s] for s in chosen) for t in tables]
            if all(s % f == 0 and s // f == sizes[0] // factors[0]
                   for s, f in zip(sizes, factors)):
                scale = sizes[0] // factors[0]
                return ("" if scale == 1 else f"{scale}*") + "*".join(f"|{c}|" for c in chosen)
    for n in free:
        more = sizes[0] - tables[0][n]
        if abs(more) <= 8 and all(s - t[n] == more for s, t in zip(sizes, tables)):
            return f"|{n}| {'+' if more > 0 else '-'} {abs(more)}"
    for a, b in itertools.combinations(free, 2):
        if all(s == t[a] + t[b] for s, t in zip(sizes, tables)):
            return f"|{a}| + |{b}|"
    return None


def general(traces: list[Imported], fixed_axes: bool, among: str = "size", sizes_first: bool = False) -> Text | None:
    """The text for every mesh and size, if the traces are one program; `among` says of which sizes they are. Where a dim is
    always as long as an axis, a number may be the size of either: of the dim, with `sizes_first`."""
    first = traces[0]
    skeletons = {shape_of(t.skeleton) for t in traces}
    if len(skeletons) != 1 or any(list(t.sizes) != list(first.sizes) for t in traces):
        return None
    tables = [{**t.sizes, **t.mesh} for t in traces]
    if any(0 in table.values() for table in tables):
        return None
    constant = {n for n in first.sizes if len({t[n] for t in tables}) == 1}
    free: list[str] = []
    for n in first.sizes:
        if n in first.inputs and n not in constant \
                and not any(all(t[n] == t[f] for t in tables) for f in free):
            free.append(n)
    declarations: dict[str, str] = {n: f" = {first.sizes[n]}" for n in constant}
    derived = [n for n in first.sizes if n not in constant and n not in free]
    for name in derived:
        half = next((n for n in free if all(t[n] % t[name] == 0
                                            and t[n] // t[name] == tables[0][n] // tables[0][name]
                                            for t in tables)), None)
        if half is not None and tables[0][half] != tables[0][name]:
            declarations[half] = f" = {tables[0][half] // tables[0][name]}*|{name}|"
            free[free.index(half)] = name
            continue
        size = fit_size(name, tables, free)
        if size is None:
            return None
        declarations[name] = f" = {size}"
    moving = [n for n in first.sizes if n not in constant]
    doubled = {a for a in first.mesh for n in moving if all(t[a] == t[n] for t in tables)}
    values = [numbers(t.skeleton) for t in traces]
    answers = []
    of_model = len(numbers(first.skeleton[:first.skeleton.index("\nplan sharded ")]))  # it knows no mesh
    for i, column in enumerate(zip(*values)):
        if all(v == column[0] for v in column):
            answers.append(repr(column[0]))
            continue
        axes = list(first.mesh) if i >= of_model else []
        found = fit(list(column), tables, moving, [a for a in axes if a not in doubled] if sizes_first else axes) \
            or fit(list(column), tables, moving, axes)
        if found is None:
            return None
        answers.append(found)
    following = iter(answers)
    text = NUMBER.sub(lambda _: next(following), first.skeleton)
    axes = " ".join(f"{a}={n}" if fixed_axes else a for a, n in first.mesh.items())
    lines = [f"mesh {axes}"]
    # A dim comes after those that its size is made of.
    for name in sorted(first.sizes, key=lambda n: (n in declarations, list(first.sizes).index(n))):
        lines += declared(name, first, declarations.get(name, ""))
    level = f"for every mesh and {among}" if not fixed_axes else f"for {axes} and every {among}"
    if tied := ties(declarations, first.inputs):
        level += f", where {', '.join(tied)}"
    if given := sorted(constant & set(first.inputs)):
        level += ", with " + " ".join(f"{n}={first.sizes[n]}" for n in given) + " as given"
    result = Text("\n".join(lines) + "\n" + text,
                  f"{level}, if tracing elsewhere gives this program ({len(traces)} traces)", first,
                  first.names, first.model, first.sharded)
    if doubled and not sizes_first:
        result.other = general(traces, fixed_axes, among, True)
    return result


def ties(declarations: dict[str, str], inputs: list[str]) -> list[str]:
    """What sizes of parameters have to be, in words: `2 | D`, `V2 = |V|`."""
    found, multiples = [], {}
    for n in inputs:
        size = declarations.get(n, "").removeprefix(" = ")
        times = re.fullmatch(r"(\d+)\*\|(\w+)\|", size)
        if times and times[2] not in inputs:
            found.append(f"{n} = |{multiples[size]}|" if size in multiples else f"{times[1]} | {n}")
            multiples.setdefault(size, n)
        elif size and not size.isdigit():
            found.append(f"{n} = {size}")
    return found


UNROLLED = 8  # steps of a loop that are written one by one, at most


def short_loop(jaxpr) -> bool:
    """Whether a jaxpr has a loop of as many steps."""
    return any(eqn.primitive.name in ("scan", "while") and 1 < eqn.params.get("length", 2) <= UNROLLED
               or any(short_loop(inner) for inner in jex_core.jaxprs_in_params(eqn.params)) for eqn in jaxpr.eqns)


def imported(model, sharded, args, mesh, wishes, meshes: int, unrolled: int = 0,
             held: frozenset[str] = frozenset(), enlarged: bool = False) -> Text:
    """The text of the pair, as general as its traces allow; loops of few steps may be `unrolled`, and dims
    `held` at their sizes. Arguments that are `enlarged` are so once."""
    base = import_pair(trace(model, args, None), trace(sharded, args, mesh), wishes, unrolled)
    if meshes < 2:
        return concrete(base)
    base = replace(base, inputs=[n for n in base.inputs if n not in held])
    microbatches = set(re.findall(r"pipeline \w+ in (\w+) over", base.skeleton))
    splits = split_by(base)

    def again(which: int, moved: dict[str, int], move_axes: bool, even=frozenset()) -> Imported:
        """Another trace: local sizes are primes, or twice a prime for the dims that are `even`; for all they divide by each axis."""
        sizes = dict(zip(mesh, (OF_STEPS if base.rolled else AXES)[which % 2])) if move_axes else dict(mesh)

        def unit(k: int) -> int:
            dims = {n for n in moved if moved[n] == k}
            over = set(mesh) if even is ALL else set().union(*(splits[n] for n in dims))
            return (2 if even is ALL or dims & even else 1) * prod(sizes[a] for a in over)

        units = {k: unit(k) for k in set(moved.values())}
        table = {n: s if n not in moved else MICROBATCHES[which % 2] if n in microbatches
                 else PRIMES[which % 2][moved[n] % 18] * units[moved[n]] for n, s in base.sizes.items()}
        there = resized(*jax.tree.flatten(args), base, table)
        pair = trace(model, there, None), trace(sharded, there, sizes)
        if not base.rolled and any(not alike(equations(each.jaxpr.jaxpr), count) for each, count in zip(pair, counts)):
            raise ImportProblem("another program")
        return import_pair(*pair, wishes, unrolled)

    first = shape_of(base.skeleton)
    counts = [equations(each.jaxpr) for each in (base.model, base.sharded)]

    def traced(moved: dict[str, int], move_axes: bool, count: int, even=frozenset()) -> list[Imported] | None:
        found = []
        for i in range(count):
            try:
                found.append(again(i, moved, move_axes, even))
            except Exception:  # noqa: BLE001  (the user's code may raise anything at other sizes)
                return None
            if shape_of(found[-1].skeleton) != first:
                return None
        return found

    def attempt(moved: dict[str, int], move_axes: bool, count: int = meshes - 1) -> Text | None:
        if (traces := traced(moved, move_axes, count)) and (found := general([base, *traces], not move_axes)):
            return found
        traces = traced(moved, move_axes, count, ALL)
        found = general([base, *traces], not move_axes, "size in even blocks") if traces else None
        if found is None or not (even := halved(found)):
            return found
        odd = traced(moved, move_axes, 1, even)  # but for the dims of which the program takes halves
        return odd and general([base, *traces, *odd], not move_axes) or found

    def beyond_one_entry() -> Text | None:
        """The text of other sizes where devices have one entry of a dim, and that of the sizes given."""
        larger = None if enlarged else with_two_entries(base, args, held)
        try:
            found = imported(model, sharded, larger[0], mesh, wishes, meshes, unrolled, held, True) if larger else None
        except Exception:  # noqa: BLE001  (the user's code may raise anything at other sizes)
            return None
        if found is None or not found.level.startswith("for every mesh"):
            return None
        given = concrete(base)
        return replace(found, level=f"{found.level}, and {given.level}, with one entry of {', '.join(larger[1])} each",
                       given=given, held=frozenset(larger[1]))

    for i, groups in enumerate(groupings(base)):
        found = attempt(groups, True) or (beyond_one_entry() if i == 0 else None)
        if found is not None:
            return found
    # Not all sizes can change, each for itself or at all: those that can, at this mesh.
    choices = []
    for groups in groupings(base):
        can = {g for g in set(groups.values())
               if attempt({n: k for n, k in groups.items() if k == g}, False, 1) is not None}
        choices.append({n: k for n, k in groups.items() if k in can})
    for move_axes in (True, False):
        for moved in sorted(choices, key=len, reverse=True):
            found = attempt(moved, move_axes) if moved or move_axes else None
            if found is not None:
                return found
    return concrete(base)


def with_two_entries(base: Imported, args, held: frozenset[str]) -> tuple[Any, list[str]] | None:
    """Arguments of which each device has two entries along the dims of which it has one, and these dims: where it has one,
    JAX traces another program, which no other size has."""
    splits = split_by(base)
    of_one = [n for n in base.inputs if n not in held and base.sizes[n] > 1
              and re.search(rf"\b{n}/", base.skeleton) and base.sizes[n] == prod(base.mesh[a] for a in splits[n])]
    table = {n: size * (2 if n in of_one else 1) for n, size in base.sizes.items()}
    leaves, tree = jax.tree.flatten(args)
    return (resized(leaves, tree, base, table), of_one) if of_one else None


def resized(leaves, tree, base: Imported, table: dict[str, int]):
    """The arguments at other sizes of dims."""
    return jax.tree.unflatten(tree, [jax.ShapeDtypeStruct(tuple(prod(table.get(n, 1) for n in names) for names in shape), leaf.dtype)
                                     for leaf, shape in zip(leaves, base.parameters)])


ALL = frozenset({"*"})  # dims


def halved(text: Text) -> frozenset[str]:
    """The dims that are a multiple of another one."""
    return frozenset(re.findall(r"^dim (\w+) = \d+\*\|", text.text, re.M))


def equations(jaxpr) -> int:
    """How many a jaxpr has, with those of its bodies."""
    return len(jaxpr.eqns) + sum(equations(getattr(each, "jaxpr", each)) for eqn in jaxpr.eqns
                                 for each in jex_core.jaxprs_in_params(eqn.params))


def alike(count: int, other: int) -> bool:
    """Whether programs of as many equations may be one: a dim of one entry has some more or fewer."""
    return abs(count - other) <= 8 + max(count, other) // 5


def split_by(base: Imported) -> dict[str, set[str]]:
    """The axes that split each dim, anywhere in the text; all axes where it splits none."""
    found: dict[str, set[str]] = {n: set() for n in base.sizes}
    root = {alias: name for name, more in base.aliases.items() for alias in more}
    for name, axes in re.findall(r"\b(\w+)((?:/\w+)+)", re.sub(r"  #.*", "", base.skeleton)):
        found.setdefault(root.get(name, name), set()).update(axes[1:].split("/"))
    return found if any(found.values()) else dict.fromkeys(found, set(base.mesh))


def groupings(base: Imported) -> list[dict[str, int]]:
    """Which input dims change together: none, those of one name (D, D2), those of one size."""
    own = {n: i for i, n in enumerate(base.inputs)}
    def grouped(key):
        keys = list(dict.fromkeys(key(n) for n in base.inputs))
        return {n: keys.index(key(n)) for n in base.inputs}
    result = [own]
    for groups in (grouped(lambda n: re.sub(r"\d+$", "", n)), grouped(lambda n: base.sizes[n])):
        if groups != result[-1]:
            result.append(groups)
    return result


__all__ = ["ImportProblem", "Text", "covers", "freed", "imported"]
