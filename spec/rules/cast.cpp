// Casts, stop_grad and save keep the type. A cast between floats is treated as linear and
// monotonic, so it keeps U and Max.
#include "spec/rules/combine.h"
#include "spec/rules/table.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Cast& op) {
  Type result = app.type(0);
  result.dtype = op.to;
  app.guess = {result};
  if (!is_float(op.to)) app.guess[0].marks = combine(app, {Role::argument});
  return app.guess;
}

Types rule(Application& app, const ir::StopGrad&) { return {app.type(0)}; }

Types rule(Application& app, const ir::Save&) { return {app.type(0)}; }

}  // namespace shardproof::rules
