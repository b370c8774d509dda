// einsum: a sum of products. At most one operand may be unreduced on an axis.
#include "spec/rules/pattern.h"
#include "spec/rules/product.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

std::vector<Role> roles(const ir::Einsum& op) {
  return std::vector<Role>(op.pattern.left.size(), Role::factor);
}

Types rule(Application& app, const ir::Einsum& op) {
  const Shape result = contract(app, roles(op));
  return one(conclude(app, result, op.to.value_or(common_dtype(app)), app.has_gradient()));
}

}  // namespace shardproof::rules
