// Two names of one dim (S and T of L) change places in a pattern, or one stands for the other.
#include <algorithm>

#include "properties/faults/families.h"
#include "spec/elaborate/elaborate.h"

namespace shardproof::faults {
namespace {

bool has(const Shape& shape, const Dim& dim) { return find(shape, dim) != nullptr; }

/// `a` and `b` change places in one shape, whichever of them it has.
void exchange(Shape& shape, const Dim& a, const Dim& b) {
  for (Split& split : shape.dims)
    if (split.dim == a)
      split.dim = b;
    else if (split.dim == b)
      split.dim = a;
}

std::vector<Dim> dims_of(const ir::Pattern& pattern) {
  std::vector<Dim> dims;
  const auto add = [&](const Shape& shape) {
    for (const Split& split : shape.dims)
      if (std::find(dims.begin(), dims.end(), split.dim) == dims.end()) dims.push_back(split.dim);
  };
  for (const Shape& left : pattern.left) add(left);
  add(pattern.right);
  return dims;
}

/// An exchange that the language refuses is no fault, and neither is one of names alone.
void exchange_in(const Ground& ground, const Site& site, size_t operand, const Dim& a, const Dim& b,
                 Faults& faults) {
  ir::Op op = site.instr->op;
  ir::Pattern& pattern = *ir::pattern_of(op);
  if (!has(pattern.left[operand], a) && !has(pattern.left[operand], b)) return;
  const ir::Indices before = pattern.indices;
  exchange(pattern.left[operand], a, b);
  std::vector<Shape> types;
  for (ir::ValueId v : site.instr->operands) types.push_back(ground.type(v));
  if (elaborate::elaborate(ground.program, op, types)) return;
  if (pattern.indices.left == before.left && pattern.indices.right == before.right) return;
  faults.push_back(with_op(site, Family::labels,
                           to_string(a) + " for " + to_string(b) + " in operand " +
                               std::to_string(operand + 1) + " of " + ir::name_of(op),
                           op));
}

}  // namespace

void other_labels(const Ground& ground, const Site& site, Faults& faults) {
  if (!site.instr) return;
  const ir::Op& op = site.instr->op;
  const ir::Pattern* pattern = ir::pattern_of(op);
  const bool labelled =
      std::holds_alternative<ir::Einsum>(op) || std::holds_alternative<ir::Reduce>(op) ||
      std::holds_alternative<ir::Expand>(op) || std::holds_alternative<ir::Rearrange>(op);
  if (!labelled || pattern->inferred) return;
  const std::vector<Dim> dims = dims_of(*pattern);
  for (size_t i = 0; i < dims.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (ground.program.same_dim(dims[i], dims[j]))
        for (size_t k = 0; k < pattern->left.size(); ++k)
          exchange_in(ground, site, k, dims[j], dims[i], faults);
}

}  // namespace shardproof::faults
