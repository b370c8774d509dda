// Slices of a dim: views if the offset is a constant or a loop index, copies if it is data.
#include "impl/compile/ops.h"

namespace shardproof::compile {
namespace {

int64_t checked_first(const Site& site, int64_t first, int64_t count, int64_t extent) {
  if (first < 0 || first + count > extent)
    throw PlanError(site.compiler.place() + ": entries " + std::to_string(first) + " to " +
                    std::to_string(first + count - 1) + " of " + std::to_string(extent));
  return first;
}

/// `count` entries of x along `dim`, starting at `at`.
Ref part(const Site& site, const Ref& x, size_t dim, const Whole& at, int64_t count) {
  Ref view = x;
  view.extents.at(dim) = count;
  const int64_t extent = x.extents[dim], stride = x.strides[dim];
  if (at.known) {
    view.offset += checked_first(site, *at.known, count, extent) * stride;
    return view;
  }
  if (at.index && site.compiler.most(*at.index) + count <= extent) {
    view.offset += at.index->offset * stride;
    for (const Ref::Term& term : at.index->terms)
      view.terms.push_back({term.loop, term.stride * stride});
    return view;
  }
  const Ref to = site.compiler.create(x.element, view.extents);
  site.compiler.kernel("read",
                       Copy{nest_of({&to, &view}), size_of(to.element),
                            Moving{1, at.ref.element, count, extent, stride}},
                       to, {view, at.ref});
  return to;
}

Ref without_position(Ref view, size_t position) {
  view.extents.erase(view.extents.begin() + static_cast<std::ptrdiff_t>(position));
  view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(position));
  return view;
}

/// y with `rank` positions; if it has one less, adds one of extent 1 at `position`.
Ref with_position(Ref y, size_t position, size_t rank) {
  if (y.extents.size() == rank) return y;
  y.extents.insert(y.extents.begin() + static_cast<std::ptrdiff_t>(position), 1);
  y.strides.insert(y.strides.begin() + static_cast<std::ptrdiff_t>(position), 0);
  return y;
}

/// Copies y into `to`, starting at entry `at` of position `dim`.
void paste(const Site& site, const Ref& to, size_t dim, const Whole& at, const Ref& y) {
  Ref view = to;
  const int64_t count = view.extents.at(dim) = y.extents.at(dim);
  if (view.extents != y.extents) throw PlanError(site.compiler.place() + ": the part does not fit");
  const int64_t extent = to.extents[dim], stride = to.strides[dim];
  Copy copy{nest_of({&view, &y}), size_of(view.element)};
  if (at.known) {
    view.offset += checked_first(site, *at.known, count, extent) * stride;
    return site.compiler.kernel("write", std::move(copy), view, {y});
  }
  copy.moving = Moving{0, at.ref.element, count, extent, stride};
  site.compiler.kernel("write", std::move(copy), view, {y, at.ref});
}

}  // namespace

// (x, at): the bracketed position is replaced by the result's, or removed; others stay.
void compile(const ir::Read& op, const Site& site) {
  const size_t dim = op.pattern.left_bracket.value();
  const bool several = op.pattern.indices.right.size() == op.pattern.indices.left.at(0).size();
  const int64_t count = several ? site.extents().at(dim) : 1;
  const Ref view = part(site, site.ref(0), dim, site.whole(1), count);
  site.define(several ? view : without_position(view, dim));
}

// (x, y, at): x with y written from entry `at`.
void compile(const ir::Write& op, const Site& site) {
  const size_t dim = op.pattern.left_bracket.value();
  const Ref x = site.ref(0), y = site.ref(1);
  const Whole at = site.whole(2);
  const Ref to = site.compiler.create(x.element, x.extents);
  site.compiler.move("write", x, to);
  paste(site, to, dim, at, with_position(y, dim, x.extents.size()));
  site.define(to);
}

void compile(const ir::Concat& op, const Site& site) {
  const size_t dim = op.pattern.right_bracket.value();
  const Ref to = site.create();
  int64_t first = 0;
  for (size_t i = 0; i < site.operands(); ++i) {
    const Ref x = with_position(site.ref(i), dim, to.extents.size());
    paste(site, to, dim, {first, {}}, x);
    first += x.extents[dim];
  }
  if (first != to.extents[dim])
    throw PlanError(site.compiler.place() + ": the parts are " + std::to_string(first) +
                    " entries, the result " + std::to_string(to.extents[dim]));
  site.define(to);
}

// (x, by): entry i of the result is entry (i - by) mod n of x.
void compile(const ir::Roll& op, const Site& site) {
  const size_t dim = op.pattern.left_bracket.value();
  const Ref x = site.ref(0);
  const Whole by = site.whole(1);
  const Ref to = site.compiler.create(x.element, x.extents);
  const int64_t n = x.extents[dim];
  if (by.known) {
    auto piece = [&](int64_t from_first, int64_t to_first, int64_t count) {
      Ref from = x, target = to;
      from.extents[dim] = target.extents[dim] = count;
      from.offset += from_first * x.strides[dim];
      target.offset += to_first * to.strides[dim];
      site.compiler.move("roll", from, target);
    };
    const int64_t shift = n == 0 ? 0 : ((*by.known % n) + n) % n;
    piece(n - shift, 0, shift);
    piece(0, shift, n - shift);
  } else {
    site.compiler.kernel(
        "roll", Roll{{x.extents, {to.strides, x.strides}}, dim, size_of(x.element), by.ref.element},
        to, {x, by.ref});
  }
  site.define(to);
}

// (x): entry i of the result is entry n-1-i of x.
void compile(const ir::Rev& op, const Site& site) {
  const Ref x = site.ref(0);
  const Ref to = site.compiler.create(x.element, x.extents);
  site.compiler.kernel("rev",
                       Reverse{{x.extents, {to.strides, x.strides}},
                               op.pattern.left_bracket.value(),
                               size_of(x.element)},
                       to, {x});
  site.define(to);
}

size_t position_of(const ir::Entry& op, const Type& type) {
  for (size_t i = 0; i < type.dims.size(); ++i)
    if (type.dims[i].dim == op.dim) return i;
  throw std::logic_error("the entry's dim does not exist");
}

// (x, n): x[n]; in a ring, the current block. On a stage, indices are relative to its first
// entry.
void compile(const ir::Entry& op, const Site& site) {
  const auto block = site.scope.blocks.find({site.instr.operands[0], site.instr.operands[1]});
  if (block != site.scope.blocks.end()) return site.define(block->second);
  const size_t dim = position_of(op, site.type(0));
  Whole at = site.whole(1);
  if (const int64_t first = site.placement().first(site.type(0).dims[dim])) {
    if (!at.known) throw PlanError(site.compiler.place() + ": an entry of another rank");
    *at.known -= first;
  }
  site.define(without_position(part(site, site.ref(0), dim, at, 1), dim));
}

}  // namespace shardproof::compile
