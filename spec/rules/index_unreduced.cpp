// index_unreduced: an einsum with a one-hot over the indexed dim, so its axes become U.
#include "spec/rules/pattern.h"
#include "spec/rules/product.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::IndexUnreduced&) {
  const Shape result = contract(app, {Role::factor, Role::argument});
  return one(conclude(app, result, app.type(0).dtype, app.has_gradient(0)));
}

}  // namespace shardproof::rules
