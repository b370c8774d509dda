#include "impl/compile/compiler.h"

namespace shardproof::compile {

const ExpressionPtr& Site::expression(size_t i) const {
  const ir::ValueId id = instr.operands.at(i);
  const CompiledValue& value = scope.values.at(id);
  if (!value.known()) throw std::logic_error("a value is used before it is made");
  return value.expression;
}

Whole Site::whole(size_t i) const {
  const ExpressionPtr& value = expression(i);
  if (value->kind == Expression::Kind::constant) return {static_cast<int64_t>(value->value), {}};
  const Ref at = ref(i);
  return {std::nullopt, at, compiler.affine(at)};
}

void Site::define(Ref made, size_t i) const {
  if (wanted(i)) scope.values.at(instr.results[i]) = in_memory(std::move(made));
}

// A chain with one use stays pending, so that its reader may fuse it; others are computed now.
void Site::define(ExpressionPtr made, size_t i) const {
  constexpr size_t longest = 24;
  if (!wanted(i)) return;
  const ir::ValueId id = instr.results[i];
  const bool computed =
      made->kind == Expression::Kind::apply && (scope.uses.at(id) > 1 || ops_of(*made) > longest);
  scope.values.at(id) = {std::move(made)};
  if (computed) compiler.ref(scope, id);
}

void Site::define_anew_for_each(ExpressionPtr made) const {
  scope.values.at(instr.results.at(0)) = {std::move(made)};
}

}  // namespace shardproof::compile
