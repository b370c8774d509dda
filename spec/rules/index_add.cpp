// index_add: the adjoint of index. The dims of ids that vanish are added up; the result's indexed
// dim may be split where ids and x are copies.
#include "spec/rules/pattern.h"
#include "spec/rules/product.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::IndexAdd&) {
  const Shape result = contract(app, {Role::argument, Role::factor});
  return {conclude(app, result, app.type(1).dtype, app.operands[1].has_gradient)};
}

}  // namespace shardproof::rules
