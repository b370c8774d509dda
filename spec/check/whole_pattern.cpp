#include "spec/check/whole_pattern.h"

#include <algorithm>

namespace shardproof {
namespace {

bool same_order(const ir::Program& program, const Shape& a, const Shape& b) {
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [&](const Split& x, const Split& y) { return program.same_dim(x.dim, y.dim); });
}

}  // namespace

std::optional<FixHint> all_types_of_pattern(const ir::Program& program, const ir::Op& op,
                                            const std::vector<Operand>& operands) {
  if (std::holds_alternative<ir::Collective>(op)) return std::nullopt;
  ir::Op changed = op;
  ir::Pattern* pattern = ir::pattern_of(changed);
  if (!pattern || pattern->inferred || pattern->left_inferred ||
      pattern->left.size() > operands.size())
    return std::nullopt;
  for (size_t i = 0; i < pattern->left.size(); ++i) {
    Shape& left = pattern->left[i];
    if (!same_order(program, left, operands[i].type)) return std::nullopt;
    for (size_t k = 0; k < left.dims.size(); ++k) left.dims[k].axes = operands[i].type.dims[k].axes;
    left.marks = operands[i].type.marks;
  }
  const RuleResult rule = apply_rule(program, changed, operands);
  if (!rule.refusal || rule.refusal->fixes.empty()) return std::nullopt;
  FixHint hint = rule.refusal->fixes[0];
  if (hint.kind != FixHint::Kind::replace_pattern) return std::nullopt;
  hint.message = "state the types of the operands and of the result";
  return hint;
}

}  // namespace shardproof
