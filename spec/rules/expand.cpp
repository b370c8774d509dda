// expand: adds dims. A new dim that is split needs a copy of the operand on each device.
#include "spec/rules/pattern.h"
#include "spec/rules/product.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Expand&) {
  const Shape result = contract(app, {Role::factor});
  return one(conclude(app, result, app.type(0).dtype, app.has_gradient()));
}

}  // namespace shardproof::rules
