"""Look-ups: gather, scatter-add, slices at an offset, and the idioms of axis_index around them."""
from __future__ import annotations

from dataclasses import dataclass, replace

from jax.lax import GatherScatterMode

from . import candidates, divided, firsts, rewrites
from .arithmetic import affine_of, beyond, blocks, combined, indices
from .dims import Factor
from .elementwise import shape_positions, union, virtual, where, written
from .parts import part, put
from .reader import Reader
from .rules import RULES, rule
from .values import Affine, Val, number


def same(a: Val, b: Val) -> bool:
    if a is b:
        return True
    if a.text is not None and b.text is not None:
        return a.text == b.text
    if a.affine is not None and a.affine == b.affine:
        return True
    return bool(a.made and b.made and a.made[0] == b.made[0] and len(a.made) == len(b.made)
                and all(same(x, y) for x, y in zip(a.made[1:], b.made[1:])))


def offset(val: Val) -> tuple[Val | None, Affine] | None:
    """A value as indices plus an affine function of the device."""
    affine = affine_of(val)
    if affine is not None:
        return None, affine
    if val.made and val.made[0] in ("add", "sub") and val.text is None:
        a, b = offset(val.made[1]), offset(val.made[2])
        if a and b and b[0] is None:
            sign = 1 if val.made[0] == "add" else -1
            return a[0], combined(a[1], b[1], sign)
        return None
    if val.made and val.made[0] == "convert_element_type" and val.text is None:
        return offset(val.made[1])
    return (val, Affine()) if val.text is not None else None


@dataclass
class Window:
    """ids >= low and ids < high, of which one may be missing."""

    ids: Val
    low: Affine | None = None
    high: Affine | None = None


def negated(a: Affine) -> Affine:
    return Affine(-a.const, tuple((x, -n) for x, n in a.ranks))


FLIPPED = {"ge": "le", "le": "ge", "gt": "lt", "lt": "gt"}
NOT = {"ge": "lt", "lt": "ge", "gt": "le", "le": "gt"}


def window(mask: Val, inside: bool = True) -> Window | None:
    """What a mask says of its ids where it is true (or, with inside=False, where it is false)."""
    if not mask.made:
        return None
    name, *of = mask.made
    if name == "not":
        return window(of[0], not inside)
    if name == ("and" if inside else "or"):
        a, b = window(of[0], inside), window(of[1], inside)
        if a and b and same(a.ids, b.ids):
            return Window(a.ids, a.low or b.low, a.high or b.high)
        return None
    if name == ("eq" if inside else "ne"):  # ids // n == axis_index
        for quotient, rank in (of, of[::-1]):
            found, at = divided.device_of(quotient), affine_of(rank)
            if found and at and at.ranks and at.along is None:
                return Window(found[0], *divided.bounds(at, found[1]))
        return None
    if name not in NOT:
        return window(of[0], inside) if name in ("convert_element_type", "same") else None
    name = name if inside else NOT[name]
    a, b = offset(of[0]), offset(of[1])
    if not a or not b or (a[0] is None) == (b[0] is None):
        return None
    if a[0] is None:
        a, b, name = b, a, FLIPPED[name]
    limit = combined(b[1], a[1], -1)
    if limit is None or limit.along is not None:
        return None
    if name in ("gt", "le"):
        limit = replace(limit, const=limit.const + 1)
    return Window(a[0], limit, None) if name in ("ge", "gt") else Window(a[0], None, limit)


def block_of(r: Reader, w: Window | None) -> tuple[str, ...] | None:
    """The axes whose blocks the window is."""
    if not w or not w.low or not w.high or w.low.ranks != w.high.ranks or w.low.const:
        return None
    return blocks(r, replace(w.low, extent=w.high.const - w.low.const, scale=1))


def zero(val: Val) -> bool:
    return val.literal is not None and val.literal == 0


def select(r: Reader, condition: Val, no: Val, yes: Val) -> Val | None:
    """The selects that are a part of a look-up."""
    name = condition.made[0] if condition.made else ""
    if name == "lt" and zero(condition.made[2]) and same(condition.made[1], no) \
            and yes.made and yes.made[0] == "add" and same(yes.made[1], no):
        return from_the_end(r, condition, no, yes)
    if condition.made[:1] == ("one_hot",) and zero(no) and yes.made[:1] == ("select_n",):
        _, mask, here, there = yes.made
        for inside, value, other in ((True, here, there), (False, there, here)):
            if zero(other) and value.literal is not None and (hit := in_block(r, condition, replace(mask, pos=yes.pos), inside)):
                return where(r, hit, replace(value, pos=[virtual(p) for p in hit.pos]), replace(no, pos=[virtual(p) for p in hit.pos]))
    for inside, value, other in ((True, yes, no), (False, no, yes)):
        if not zero(other):
            continue
        if inside and (axis := one_device(r, condition)) and value.text is not None and axis not in value.marks \
                and not any(axis in f.axes for f in value.dims):
            marks = {**value.marks, axis: "U"}
            source = r.use(value) if value.dims else f"{value.dtype}({r.use(value)})"
            text = r.emit(f'zero_nonroot("{r.spell(value.dims, value.marks)} -> {r.spell(value.dims, marks)}", {source})')
            return replace(value, text=text, marks=marks, literal=None, affine=None, positive=False, made=())
        if value.made and value.made[0] == "lookup":
            lined_up(r, condition, value)
            return looked_up(r, value, window(condition, inside))
        hot = value.made[1] if value.made[:1] == ("convert_element_type",) else value
        if hot.made[:1] == ("one_hot",) and inside and (hit := in_block(r, replace(hot, pos=value.pos), condition)):
            return hit if value.dtype == "bool" else replace(hit, text=r.emit(f"{value.dtype}({r.use(hit)})"),
                                                             dtype=value.dtype, made=())
    if any(v.text is None for v in (condition, no, yes)):
        return Val(None, shape_positions([yes, no, condition]), dtype=yes.dtype,
                   made=("select_n", condition, yes, no), why=condition.why or yes.why or no.why)
    return None


def from_the_end(r: Reader, condition: Val, no: Val, yes: Val) -> Val:
    """where(i < 0, i + n, i). A look-up takes i, which is assumed to be in its table; nothing else does."""
    if no.affine and no.affine.const >= 0 and no.affine.scale >= 0 and all(n >= 0 for _, n in no.affine.ranks):
        return no
    if no.text is None:
        return replace(no, made=("from_the_end", no), affine=None)
    exact = where(r, condition, yes, no)
    return replace(exact, made=("from_the_end", no)) if exact.pos == no.pos and exact.dims == no.dims else exact


def plain(ids: Val) -> Val:
    """Indices as they are before those below 0 count from the end."""
    while ids.made[:1] == ("from_the_end",):
        ids = replace(ids.made[1], pos=ids.pos)
    return ids


def one_device(r: Reader, condition: Val) -> str | None:
    """The axis of whose devices the condition picks one: axis_index == number."""
    if condition.made[:1] in (("broadcast",), ("same",)):
        return one_device(r, condition.made[1])
    if condition.made[:1] != ("eq",):
        return None
    a, b = map(affine_of, condition.made[1:])
    if a is None or b is None:
        return None
    at, number = (a, b) if a.ranks else (b, a)
    if number.ranks or number.along is not None or at.along is not None or len(at.ranks) != 1:
        return None
    (axis, scale), = at.ranks
    return axis if scale == 1 and axis in r.dims.mesh and 0 <= number.const - at.const < r.dims.mesh[axis] else None


def lined_up(r: Reader, mask: Val, value: Val) -> None:
    """A mask has its ids at the positions at which the value has them."""
    for of_mask, of_value in zip(mask.pos[::-1], value.pos[::-1]):
        if {r.key(f) for f in of_mask if not f.virtual} - {r.key(f) for f in of_value if not f.virtual}:
            raise r.problem("a mask of ids is used along another dim than that of its ids")


def in_block(r: Reader, hot: Val, mask: Val, inside: bool = True) -> Val | None:
    """The one-hot of a device's ids, where the mask says that the device has them (or, with inside=False, has not): that of
    ids of all devices."""
    _, hit, moved, extent = hot.made
    w = window(mask, inside)
    if block_of(r, w) is None or w.high.const != extent or not same(w.ids, moved.ids) or not alike(w.low, moved.start):
        return None
    lined_up(r, mask, hot)
    return replace(hit, pos=hot.pos)


def equal(r: Reader, eqn, vals: list[Val]) -> Val:
    """An equality with the device's index: iota == ids - offset is that of the global index and ids."""
    for v, other in (vals, vals[::-1]):
        if v.text is not None or other.affine is None or other.affine.along is None:
            continue
        moved = ids_of(r, v) if offset(v) is None else None
        if moved is None or eqn.primitive.name != "eq" or not moved.keeps(moved.start, other.affine.extent):
            continue
        counting = indices(r, eqn, [other], combined(other.affine, moved.start, 1), "add")
        if counting.text is not None:
            hit = written(r, "eq", [counting, replace(moved.ids, pos=v.pos)], "{0} == {1}", "bool")
            return Val(None, hit.pos, dtype="bool", made=("one_hot", hit, moved, other.affine.extent),
                       why="the one-hot of ids of a block is not masked to those that the device has")
    for v, other in (vals, vals[::-1]):
        found = offset(v) if v.text is None else None
        if not found or found[0] is None or other.affine is None or other.affine.along is None:
            continue
        counting = indices(r, eqn, [other], combined(other.affine, found[1], -1), "sub")
        if counting.text is not None:
            name = eqn.primitive.name
            return written(r, name, [counting, replace(found[0], pos=v.pos)],
                           "{0} == {1}" if name == "eq" else "{0} != {1}", "bool")
    return Val(None, shape_positions(vals), dtype="bool", made=(eqn.primitive.name, *vals),
               why="a comparison with the device's index is used otherwise than to pick one device, or in a look-up")


def alike(a: Affine | None, b: Affine | None) -> bool:
    """Whether two numbers of a device are the same."""
    return a is not None and b is not None and a.const == b.const and {x: n for x, n in a.ranks if n} == {x: n for x, n in b.ranks if n}


@dataclass
class Moved:
    """Ids less `start`, a device's offset, where they are in its block; elsewhere they may be other ones."""

    ids: Val
    start: Affine
    masks: list[Window]  # in each of them the ids stay, and from `least` to `most` of those that are moved
    least: int
    most: int

    def keeps(self, low: Affine, extent: int) -> bool:
        """Whether they are so in all of the block from `low`."""
        high = replace(low, const=low.const + extent)
        return self.least <= 0 and (self.most == extent - 1 or beyond(self.most, extent)) and all(
            same(w.ids, self.ids) and (w.low is None or alike(w.low, low)) and (w.high is None or alike(w.high, high)) for w in self.masks)


def ids_of(r: Reader, val: Val) -> Moved | None:
    """Indices that were moved to a device's block."""
    masks: list[Window] = []
    least, most = -1 << 40, 1 << 40
    stands = order_of(r, val)
    while val.text is None and val.made:
        name, *of = val.made
        if name in ("convert_element_type", "broadcast", "from_the_end"):
            val = of[0]
        elif name in ("clamp", "max", "min"):
            low, x, high = of if name == "clamp" else (of[0], of[1], None) if of[0].literal is not None else (of[1], of[0], None)
            if name == "min":
                low, high = None, low
            if any(v is not None and v.literal is None for v in (low, high)):
                return None
            least, most = max(least, low.literal if low else least), min(most, high.literal if high else most)
            val = x
        elif name == "select_n":
            condition, yes, no = of
            if (yes.literal is None) == (no.literal is None):
                return None
            w, val = window(condition, no.literal is not None), yes if no.literal is not None else no
            if w is None:
                return None
            lined_up(r, condition, val)
            masks.append(w)
        else:
            break
    found = offset(val)
    if not found or found[0] is None or stands and stands != order_of(r, found[0]):
        return None
    return Moved(found[0], negated(found[1]), masks, least, most)


def order_of(r: Reader, val: Val) -> list:
    """The indices of a value, as they stand."""
    return [r.key(f) for f in val.factors if not f.virtual]


def of_block(r: Reader, indices: Val, extent: int, axes: tuple[str, ...]) -> Moved:
    """Ids of a whole table of which a device has a block of `extent` rows, as it looks them up: `start` is the block's."""
    found = ids_of(r, indices)
    if found is None:
        raise r.problem(indices.why)
    row = divided.row_of(found.ids, extent)
    low = block_start(r, axes, extent)
    if row is not None and alike(found.start, Affine()):
        found = replace(found, ids=row, start=low)
    if not alike(found.start, low) or not found.keeps(low, extent):
        raise r.problem("rows of a block are looked up, or added to, at other ids than those that the device has, less the offset of its block",
                        "finding")
    return found


def block_start(r: Reader, axes: tuple[str, ...], extent: int) -> Affine:
    ranks, size = [], extent
    for axis in reversed(axes):
        ranks.append((axis, size))
        size *= r.dims.mesh[axis]
    return Affine(0, tuple(sorted(ranks)))


def lookup_dims(eqn) -> tuple[int, bool]:
    """The one dim of the operand that is indexed, and whether each entry has its own row."""
    d = eqn.params["dimension_numbers"]
    at = getattr(d, "start_index_map", None) or getattr(d, "scatter_dims_to_operand_dims", ())
    gone = getattr(d, "collapsed_slice_dims", None)
    gone = gone if gone is not None else d.inserted_window_dims
    if len(at) != 1 or tuple(gone) != tuple(at):
        raise ValueError
    return at[0], bool(d.operand_batching_dims)


@rule("gather")
def _gather(r: Reader, eqn, vals):
    table, given = vals
    indices = plain(given)
    try:
        at, batched = lookup_dims(eqn)
    except ValueError:
        return rewrites.gathered(r, eqn, [table, indices])
    if batched and (found := firsts.looked_up(r, table, indices, at, indices.pos[:-1])):
        return found
    if found := candidates.looked_up(table, indices, at, eqn.params["dimension_numbers"]):
        return found
    if batched and several_in_a_row(eqn, indices):
        return rewrites.gathered(r, eqn, [table, indices])
    ids = replace(indices, pos=indices.pos[:-1])
    d = eqn.params["dimension_numbers"]
    split = any(f.axes for f in table.pos[at])
    if indices.text is None or split and divided.row_of(indices, table.extents()[at]):
        f = table.pos[at][0]
        found = of_block(r, indices, f.extent, f.axes)
        ids = replace(found.ids, pos=ids_positions(found.ids, ids))
        rank = len(eqn.outvars[0].aval.shape)
        if fills(eqn) and eqn.params["fill_value"] == 0 and (w := kept(r, indices, f.extent)):
            return looked_up(r, Val(None, result_positions(d, table, ids, at, batched, rank), dtype=table.dtype,
                                    made=("lookup", table, ids, at, batched, d, f)), w)
        return Val(None, result_positions(d, table, ids, at, batched, rank),
                   dtype=table.dtype, made=("lookup", table, ids, at, batched, d, f),
                   why="rows of a block are looked up for ids that other devices have, and are not "
                       "masked with where(mask, rows, 0)")
    if split:
        raise r.problem(f"look-up in {r.dim_said(next(f for f in table.pos[at] if f.axes))}, with ids that count in the whole table", "finding")
    if batched and not (indices is given and fills(eqn) and eqn.params["fill_value"] == 0):
        r.name_entries(ids, table.pos[at])
    return taken(r, table, ids, at, batched, d, len(eqn.outvars[0].aval.shape))


def several_in_a_row(eqn, indices: Val) -> bool:
    """Whether each row is looked up at several ids."""
    d = eqn.params["dimension_numbers"]
    tied = getattr(d, "start_indices_batching_dims", None) or getattr(d, "scatter_indices_batching_dims", ())
    return any(n > 1 for i, n in enumerate(indices.extents()[:-1]) if i not in tied)


def fills(eqn) -> bool:
    """Whether a look-up gives nothing for ids beyond the table."""
    return eqn.params.get("mode") == GatherScatterMode.FILL_OR_DROP


def kept(r: Reader, indices: Val, extent: int) -> Window | None:
    """The ids that a device looks up where ids beyond its block give nothing: where(here, ids - offset, |block|)."""
    while indices.made[:1] in (("broadcast",), ("convert_element_type",)):
        indices = indices.made[1]
    if indices.made[:1] != ("select_n",):
        return None
    _, condition, yes, no = indices.made
    for moved, other, inside in ((yes, no, True), (no, yes, False)):
        w, at = window(condition, inside), offset(moved)
        if not beyond(other.literal, extent) or not w or not w.low or not at or at[0] is None:
            continue
        low, high = negated(at[1]), replace(negated(at[1]), const=extent - at[1].const)
        if same(w.ids, at[0]) and w.low == low and w.high in (None, high):
            return Window(w.ids, low, high)
    return None


def ids_positions(ids: Val, shaped: Val):
    if len(ids.pos) == len(shaped.pos):
        return ids.pos
    if len(ids.pos) == len(shaped.pos) + 1 and not ids.pos[-1]:
        return ids.pos[:-1]
    return ids.pos


def result_positions(d, table: Val, ids: Val, at: int, batched: bool, rank: int):
    rest = [p for i, p in enumerate(table.pos)
            if i != at and i not in tuple(d.operand_batching_dims)]
    of_ids, of_table = iter(ids.pos), iter(rest)
    return [next(of_table, ()) if i in d.offset_dims else next(of_ids, ()) for i in range(rank)]


def taken(r: Reader, table: Val, ids: Val, at: int, batched: bool, d, rank: int) -> Val:
    """Rows of a table, or with `batched` one entry of each row."""
    if batched:
        return entry(r, table, ids, at, ())
    table = r.solid(table, r.node_key("table"))
    if ids.literal is not None:
        got = part(r, table, at, int(ids.literal), 1, r.node_key())
        return replace(got, pos=result_positions(d, got, ids, at, batched, rank))
    if len(table.pos[at]) != 1:
        raise r.problem("a look-up along several dims together")
    f = table.pos[at][0]
    ids, rows = apart(r, ids, table, f)
    dims = [*ids.dims, *(g for g in rows.dims if g != f)]
    left = " ".join(f"[{r.spell([g])}]" if g == f else r.spell([g]) for g in rows.dims)
    marks = union([rows, ids])
    text = r.emit(f'index("{left}{state(r, rows)}, {r.spell(ids.dims)} -> {r.spell(dims, marks)}", '
                  f"{r.use(rows)}, {r.use(ids)})")
    return Val(text, result_positions(d, rows, ids, at, batched, rank), dims, rows.dtype, marks)


def state(r: Reader, val: Val) -> str:
    return (" " + r.spell([], val.marks)) if val.marks else ""


def apart(r: Reader, ids: Val, table: Val, but: Factor) -> tuple[Val, Val]:
    """ids and a table without an index in common."""
    have = {r.key(g) for g in table.dims if g != but}
    to, used = {}, {*have, *(r.key(g) for g in ids.dims)}
    for g in ids.dims:
        if r.key(g) in have:
            to[g] = r.distinct([(g,)], used)[0][0]
            used.add(r.key(to[g]))
    return r.rename(ids, to), table


def entry(r: Reader, x: Val, ids: Val, at: int, axes) -> Val:
    """x[.., ids] along `at`: the sum of x where iota is the id."""
    f = x.pos[at]
    node_pos = tuple(replace(g, alias=0) for g in f)
    text = r.emit(f'iota("{r.spell(node_pos)}")')
    shape = [virtual(p) for p in x.pos]
    shape[at] = node_pos
    counting = Val(text, shape, list(node_pos), "i32")
    wanted = [p for p in ids.pos]
    while len(wanted) < len(x.pos):
        wanted.insert(at, ())
    wanted[at] = tuple(Factor(None, extent=g.extent) for g in f)
    which = replace(ids, pos=wanted)
    hit = written(r, "eq", [counting, which], "{0} == {1}", "bool")
    none = r.scalar(0, x.dtype.replace("f32", "float32").replace("i32", "int32"),
                    [virtual(p) for p in x.pos])
    kept = where(r, hit, x, none)
    gone = set(kept.pos[at])
    marks = dict(kept.marks)
    for g in gone:
        marks.update(dict.fromkeys(g.axes, "U"))
    dims = [g for g in kept.dims if g not in gone]
    text = r.emit(f'sum("{r.spell(kept.dims, kept.marks)} -> {r.spell(dims, marks)}", '
                  f"{r.use(kept)})")
    result = [() if i == at else p for i, p in enumerate(kept.pos)]
    if len(ids.pos) < len(result):
        result.pop(at)
    return Val(text, result, dims, x.dtype, marks)


def looked_up(r: Reader, found: Val, w: Window | None) -> Val:
    """where(mask, rows, 0) of a block, for ids of the whole table."""
    _, table, ids, at, batched, d, f = found.made
    axes = block_of(r, w)
    if axes is None or not same(w.ids, ids) or w.high.const != f.extent or axes != f.axes:
        raise r.problem("the mask of a look-up in a block does not say 0 <= ids - offset < |block|: "
                        f"a device's block is {f.extent} entries of {r.dim_said(f)}", "finding")
    if batched:
        got = entry(r, table, ids, at, axes)
        squeezed = len(got.pos) > len(found.pos) and not got.pos[at]
        return replace(got, pos=[p for i, p in enumerate(got.pos) if i != at]) if squeezed else got
    ids, rows = apart(r, ids, table, f)
    marks = {**union([rows, ids]), **dict.fromkeys(axes, "U")}
    dims = [*ids.dims, *(g for g in rows.dims if g != f)]
    left = " ".join(f"[{r.spell([g])}]" if g == f else r.spell([g]) for g in rows.dims)
    text = r.emit(f'index_unreduced("{left}{state(r, rows)}, {r.spell(ids.dims)} -> '
                  f'{r.spell(dims, marks)}", {r.use(rows)}, {r.use(ids)})')
    return Val(text, result_positions(d, rows, ids, at, batched, len(found.pos)), dims, rows.dtype,
               marks)


@rule("dynamic_slice")
def _dynamic_slice(r: Reader, eqn, vals):
    from . import rings
    x, starts = vals[0], vals[1:]
    for p, (start, size) in enumerate(zip(starts, eqn.params["slice_sizes"])):
        if size == x.extents()[p]:
            continue
        if start.step is not None and size == 1:
            x = start.step(r, x, p)
            continue
        if size == 1 and (found := firsts.looked_up(r, x, start, p, [*x.pos[:p], (), *x.pos[p + 1:]])):
            x = found
            continue
        affine = affine_of(start)
        if (of_ring := rings.block_read(r, x, p, affine, size)) is not None:
            x = of_ring
            continue
        if affine is None and size == 1:
            x = entry_at(r, x, p, plain(start))
            continue
        if affine is None:
            raise r.problem("several entries at an offset that depends on data")
        if not affine.ranks:
            x = part(r, x, p, min(max(affine.const, 0), x.extents()[p] - size), size, r.node_key("slice"))  # as JAX
            continue
        axes = blocks(r, replace(affine, extent=size, scale=1))
        if affine.const or axes is None or x.extents()[p] != size * r.ranks(axes):
            raise r.problem("a slice at an offset that is not the device's index times the block",
                            "finding")
        from .collectives import regroup, scattered
        if all(f.virtual for f in x.pos[p]):
            x = replace(x, pos=[*x.pos[:p], virtual((Factor(None, extent=size),)), *x.pos[p + 1:]])
            continue
        after = regroup(x, scattered(r, x, p, axes))
        text = r.emit(f'slice("{r.spell(x.dims, x.marks)} -> {r.spell(after["dims"], x.marks)}", '
                      f"{r.use(x)})")
        x = replace(x, text=text, affine=None, **after)
    return x


def entry_at(r: Reader, x: Val, p: int, at: Val) -> Val:
    """The entry of position p that a number names, which is assumed to be one of its."""
    x = r.solid(x, r.node_key("x"))
    if len(x.pos[p]) != 1 or at.dims or at.marks:
        raise r.problem("an entry by a number that is data, of several dims together or with an index of its own")
    f = x.pos[p][0]
    if f.axes:
        raise r.problem(f"an entry of {r.dim_said(f)} by a number: each device takes one of its block",
                        "finding")
    dims = [g for g in x.dims if g != f]
    left = " ".join(f"[{r.spell([g])}]" if g == f else r.spell([g]) for g in x.dims)
    text = r.emit(f'index("{left}{state(r, x)}, -> {r.spell(dims, x.marks)}", {r.use(x)}, {r.use(at)})')
    return Val(text, [*x.pos[:p], (), *x.pos[p + 1:]], dims, x.dtype, dict(x.marks))


def updated_at(r: Reader, x: Val, update: Val, p: int, at: Val) -> Val:
    """x with one entry of position p replaced, at a number that is moved into the dim, as JAX does."""
    x = r.solid(x, r.node_key("x"))
    if any(f.axes for f in x.pos[p]):
        raise r.problem(f"an update of one entry of {r.dim_said(next(f for f in x.pos[p] if f.axes))}: each device updates its block",
                        "finding")
    if len(x.pos[p]) != 1 or at.dims or at.marks:
        raise r.problem("an update at a number that is data, of several dims together or with an index of its own")
    f = replace(x.pos[p][0], alias=0)
    shape = [virtual(q) for q in x.pos]
    shape[p] = (f,)
    counting = Val(r.emit(f'iota("{r.spell([f])}")'), shape, [f], "i32")
    inside = r.emit(f"minimum(maximum({r.use(at)}, 0), {number(f.extent - 1)})")
    hit = written(r, "eq", [counting, Val(inside, [], [], "i32")], "{0} == {1}", "bool")
    return where(r, hit, update, x)


@rule("dynamic_update_slice")
def _update_slice(r: Reader, eqn, vals):
    from . import rings
    x, update, *starts = vals
    at = [p for p in range(len(x.pos)) if update.extents()[p] != x.extents()[p]]
    if not at:
        return update
    if len(at) == 1 and affine_of(starts[at[0]]) is None and update.extents()[at[0]] == 1:
        return updated_at(r, x, update, at[0], starts[at[0]])
    if len(at) == 1 and (of_ring := rings.block_written(r, x, update, at[0], affine_of(starts[at[0]]))) is not None:
        return of_ring
    if len(at) != 1 or affine_of(starts[at[0]]) is None or affine_of(starts[at[0]]).ranks:
        raise r.problem("an update of several entries at an offset that depends on data, or one at the device's")
    (p,) = at
    start = min(max(affine_of(starts[p]).const, 0), x.extents()[p] - update.extents()[p])  # as JAX
    from .joined import alike

    x, update = alike(r, [x, update], p)
    x, update = r.solid(x, r.node_key("x")), r.solid(update, r.node_key("u"))
    to = {}
    for q in range(len(x.pos)):
        if q != p:
            for column in r.align([x.pos[q], update.pos[q]]):
                r.same(column)
                to[column[1]] = column[0]
    x, update = r.ordered(x), r.ordered(r.rename(update, to))
    left = " ".join(f"[{r.spell([f])}]" if f in x.pos[p] else r.spell([f]) for f in x.dims)
    text = r.emit(f'write("{left}, {r.spell(update.dims)} -> {r.spell(x.dims)}", {r.use(x)}, '
                  f"{r.use(update)}, at={number(start)})")
    return replace(x, text=text, affine=None, literal=None, positive=False,
                   marks=union([x, update]))


@rule("scatter-add", "scatter_add")
def _scatter_add(r: Reader, eqn, vals):
    base, indices, updates = vals
    if (start := rewrites.one_window(r, eqn, vals)) is not None and not zero(base):
        return rewrites.scattered(r, eqn, vals, start)
    try:
        at, batched = lookup_dims(eqn)
    except ValueError:
        return rewrites.added(r, eqn, [base, plain(indices), updates])
    if batched and several_in_a_row(eqn, indices):
        return rewrites.added(r, eqn, [base, plain(indices), updates])
    d = eqn.params["dimension_numbers"]
    if not zero(base):  # added to the scatter-add into 0
        none = r.scalar(0, "float32" if base.dtype == "f32" else "int32", [virtual(p) for p in base.pos])
        return RULES["add"](r, eqn, [base, _scatter_add(r, eqn, [none, indices, updates])])
    given, indices = indices, plain(indices)
    ids, axes = replace(indices, pos=indices.pos[:-1]), ()
    if ids.literal is not None and not ids.dims and not batched and all(n == 1 for n in ids.extents()):
        row = list(updates.pos)
        for i in sorted((i for i in range(len(row)) if i not in d.update_window_dims), reverse=True):
            del row[i]
        row.insert(at, ())
        return put(r, replace(updates, pos=row, affine=None), at, int(ids.literal), base.extents()[at], r.node_key())
    row = divided.row_of(indices, base.extents()[at])
    if indices.text is None or row and updates.text is None:
        extent = base.extents()[at]
        found = ids_of(r, indices)
        axes = axes_of_mask(r, updates) if row or found and divided.row_of(found.ids, extent) else \
            blocks(r, replace(found.start, extent=extent, scale=1)) if found else None
        if axes is None:
            raise r.problem("a scatter-add into a block, of rows that are not masked to it")
        found = of_block(r, indices, extent, axes)
        ids = replace(found.ids, pos=ids_positions(found.ids, ids))
        dropped = fills(eqn) and kept(r, indices, base.extents()[at])
        if not (dropped or masked(r, updates, ids, base.extents()[at], axes)):
            raise r.problem("a scatter-add into a block, of rows that are not masked to it")
        updates = updates if dropped else unmasked(updates)
    size = base.extents()[at] * r.ranks(axes)
    row = r.dims.position(r.dims.node(r.node_key("rows"), size), axes)
    if indices.text is not None and not (indices is given and fills(eqn)):
        r.name_entries(ids, row)
    if batched:
        return spread(r, base, ids, updates, at, row)
    if len(row) != 1:
        raise r.problem("a scatter-add along several dims together")
    batch = [i for i in range(len(updates.pos)) if i not in d.update_window_dims]
    updates = r.solid(counted_as(r, updates, batch, ids), r.node_key("updates"))
    window_pos = [updates.pos[i] for i in d.update_window_dims]
    ids = r.solid(ids, r.node_key("ids"))
    to = {}
    for i, p in zip(batch, ids.pos):
        for a, b in r.align([updates.pos[i], p]):
            r.same([a, b])
            to[b] = a
    ids = r.rename(ids, to)
    row = r.distinct([row], {r.key(f) for p in window_pos for f in p})[0]
    rest = iter(window_pos)
    pos = [row if p == at else next(rest) for p in range(len(base.pos))]
    dims = [f for p in pos for f in p]
    marks = dict(union([updates, ids]))
    for i in batch:
        for f in updates.pos[i]:
            marks.update(dict.fromkeys(f.axes, "U"))
    right = " ".join(f"[{r.spell([f])}]" if f in row else r.spell([f]) for f in dims)
    text = r.emit(f'index_add("{r.spell(ids.dims)}, {r.spell(updates.dims, updates.marks)} -> '
                  f'{right}{" " + r.spell([], marks) if marks else ""}", {r.use(ids)}, '
                  f"{r.use(updates)})")
    return r.reduced(Val(text, pos, dims, updates.dtype, marks))


def counted_as(r: Reader, updates: Val, batch: list[int], ids: Val) -> Val:
    """The same number for each id (a count) along the dims of the ids."""
    pos = list(updates.pos)
    for i, p in zip(batch, ids.pos):
        if pos[i] and all(f.virtual for f in pos[i]) and not any(f.virtual for f in p):
            pos[i] = r.distinct([p], {r.key(f) for q, row in enumerate(pos) if q != i for f in row if not f.virtual})[0]
    return r.expanded(updates, pos) if pos != list(updates.pos) else updates


def axes_of_mask(r: Reader, updates: Val) -> tuple[str, ...] | None:
    """The axes whose blocks the mask of where(mask, rows, 0) tells apart."""
    if updates.made[:1] != ("select_n",):
        return None
    return block_of(r, window(updates.made[1])) or block_of(r, window(updates.made[1], False))


def masked(r: Reader, updates: Val, ids: Val, extent: int, axes) -> bool:
    """updates is where(mask, rows, 0) with the mask of the block."""
    if not updates.made or updates.made[0] != "select_n":
        return False
    _, condition, yes, no = updates.made
    for inside, other in ((True, no), (False, yes)):
        w = window(condition, inside)
        if zero(other) and block_of(r, w) == axes and w.high.const - w.low.const == extent \
                and same(w.ids, ids):
            return True
    return False


def unmasked(updates: Val) -> Val:
    _, _condition, yes, no = updates.made
    val = no if zero(yes) else yes
    return val if val.extents() == updates.extents() else replace(val, pos=updates.pos)


def spread(r: Reader, base: Val, ids: Val, updates: Val, at: int, row) -> Val:
    """The gradient of one entry of each row: where(iota == id, g, 0)."""
    shape = [virtual(p) for p in base.pos]
    shape[at] = row
    counting = Val(r.emit(f'iota("{r.spell(row)}")'), shape, list(row), "i32")

    def stretched(val: Val) -> Val:
        pos = list(val.pos)
        while len(pos) < len(base.pos):
            pos.insert(at, ())
        pos[at] = tuple(Factor(None, extent=f.extent) for f in row)
        return replace(val, pos=pos)

    hit = written(r, "eq", [counting, stretched(ids)], "{0} == {1}", "bool")
    none = r.scalar(0, "float32", [virtual(p) for p in base.pos])
    return where(r, hit, stretched(updates), none)
