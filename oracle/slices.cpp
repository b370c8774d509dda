// read, write, concat, entries of a loop: one dim in brackets, a stretch of it on the other side.
#include "oracle/ops.h"

namespace shardproof::oracle {
namespace {

// Where the stretch from `at` on lies in a tensor of shape `whole`, whose dim `bracket` it is of.
Positions stretch(const Extents& whole, size_t bracket, int64_t at, int64_t length) {
  if (at < 0 || at + length > whole[bracket])
    throw std::domain_error("entries " + std::to_string(at) + " to " +
                            std::to_string(at + length - 1) + " of " +
                            std::to_string(whole[bracket]));
  Extents part = whole;
  part[bracket] = length;
  const Extents strides = row_major(whole);
  return positions(part, strides, at * strides[bracket]);
}

// How many entries `part` has where `whole` has the dim in brackets: one where it lacks the dim.
int64_t length_of(const Extents& whole, size_t bracket, const Extents& part) {
  return part.size() == whole.size() ? part[bracket] : 1;
}

Positions all(const Extents& shape) { return positions(shape, row_major(shape)); }

}  // namespace

Vars apply(const ir::Read& op, Step& step) {
  const Var& x = step.operand(0);
  const Extents shape = step.shape();
  const size_t bracket = op.pattern.left_bracket.value();
  const int64_t length = length_of(x->value.shape, bracket, shape);
  return {gather(step, x, stretch(x->value.shape, bracket, step.whole(1), length), shape)};
}

Vars apply(const ir::Write& op, Step& step) {
  const Var &x = step.operand(0), &y = step.operand(1);
  const Extents shape = step.shape();
  const size_t bracket = op.pattern.left_bracket.value();
  const int64_t length = length_of(shape, bracket, y->value.shape);
  Positions at = stretch(shape, bracket, step.whole(2), length);
  return {place(step, {{x, all(shape)}, {y, std::move(at)}}, shape)};
}

Vars apply(const ir::Concat& op, Step& step) {
  const Extents shape = step.shape();
  const size_t bracket = op.pattern.right_bracket.value();
  std::vector<Part> parts;
  int64_t used = 0;
  for (const Var& x : step.operands()) {
    const int64_t length = length_of(shape, bracket, x->value.shape);
    parts.push_back({x, stretch(shape, bracket, used, length)});
    used += length;
  }
  if (used != shape[bracket])
    throw std::domain_error("the operands have " + std::to_string(used) + " entries of " +
                            std::to_string(shape[bracket]));
  return {place(step, std::move(parts), shape)};
}

// t[n]: one entry. In a ring k[b]: the block b, in place of the whole dim.
Vars apply(const ir::Entry& op, Step& step) {
  const Var& x = step.operand(0);
  const Extents shape = step.shape();
  const size_t dim = position(step.operand_type(0).dims, op.dim);
  const int64_t length = length_of(x->value.shape, dim, shape);
  return {gather(step, x, stretch(x->value.shape, dim, step.whole(1) * length, length), shape)};
}

}  // namespace shardproof::oracle
