// expand, rearrange, roll, rev, collectives: the same entries in another place.
#include "oracle/ops.h"
#include "oracle/pattern.h"

namespace shardproof::oracle {
namespace {

// result[.. i ..] = x[.. source(i, size) ..] along the position in brackets.
template <class Source>
Var moved_along(Site& site, const Reading& reading, const Source& source) {
  const Indices& left = reading.left[0];
  const Stretch bracket = stretch_of(reading, left, reading.bracket);
  want_all(left, reading.right);
  Positions from = reading.walk(reading.right, left);
  for (int64_t& at : from) {
    const int64_t i = at / bracket.stride % bracket.size;
    at += (source(i, bracket.size) - i) * bracket.stride;
  }
  return gather(site, site.operand(0), std::move(from), site.shape());
}

Var rolled(Site& site, const Reading& reading, int64_t by) {
  return moved_along(site, reading,
                     [&](int64_t i, int64_t size) { return ((i - by) % size + size) % size; });
}

// All entries of the operand, each in its place of the result; again and again along new indices.
Vars moved(Site& site, const ir::Pattern& pattern, Form form) {
  const auto read = read_pattern(site, pattern, form, 1);
  const Reading& reading = *read;
  const Var& x = site.operand(0);
  if (reading.right == reading.left[0] && x->value.shape == site.shape() && !x->followed)
    return {x};
  want_all(reading.left[0], reading.right);
  return {gather(site, x, reading.walk(reading.right, reading.left[0]), site.shape())};
}

}  // namespace

Vars apply(const ir::Expand& op, Site& site) { return moved(site, op.pattern, Form::extends); }
Vars apply(const ir::Rearrange& op, Site& site) { return moved(site, op.pattern, Form::renames); }
// The erasure: a value is whole on either side.
Vars apply(const ir::Collective& op, Site& site) {
  const std::vector<Split>& own = site.operand_type(0).dims;
  const bool stays = op.pattern.left.size() == 1 && same_names(op.pattern.left[0].dims, own) &&
                     same_names(op.pattern.right.dims, own) && same_names(site.type().dims, own);
  if (stays && !site.operand(0)->followed) return {site.operand(0)};
  return moved(site, op.pattern, Form::plain);
}

Vars apply(const ir::Roll& op, Site& site) {
  return {rolled(site, *read_pattern(site, op.pattern, Form::plain, 1), site.whole(1))};
}

Vars apply(const ir::Rev& op, Site& site) {
  const auto read = read_pattern(site, op.pattern, Form::plain, 1);
  const Reading& reading = *read;
  return {moved_along(site, reading, [](int64_t i, int64_t size) { return size - 1 - i; })};
}

// The block of device i goes to device i + by; the blocks are those of the dim's first axis.
Vars apply(const ir::Ppermute& op, Site& site) {
  const auto read = read_pattern(site, op.pattern, Form::plain, 1);
  const Reading& reading = *read;
  const int64_t size = stretch_of(reading, reading.left[0], reading.bracket).size;
  const Split& split = op.pattern.left[0].dims[op.pattern.left_bracket.value()];
  if (split.axes.empty()) throw std::domain_error("the dim in brackets has no axis");
  const int64_t blocks = site.run.table.axis(split.axes[0]);
  if (size % blocks != 0)
    throw std::domain_error("|" + to_string(split.dim) + "| = " + std::to_string(size) +
                            " does not divide into " + std::to_string(blocks) + " blocks");
  return {rolled(site, reading, site.whole(1) % blocks * (size / blocks))};
}

}  // namespace shardproof::oracle
