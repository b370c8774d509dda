// index_add: the adjoint of index. Dims of ids that the result lacks are summed. The indexed dim of
// the result may be split if ids and x are copies.
#include "spec/rules/pattern.h"
#include "spec/rules/product.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::IndexAdd&) {
  const Shape result = contract(app, {Role::argument, Role::factor});
  return one(conclude(app, result, app.type(1).dtype, app.has_gradient(1)));
}

}  // namespace shardproof::rules
