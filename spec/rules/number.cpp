// Literals, sizes, and keys derived from keys: the same on every device.
#include "spec/rules/table.h"

namespace shardproof::rules {

static Type scalar(Dtype dtype) {
  Type type;
  type.dtype = dtype;
  return type;
}

Types rule(Application&, const ir::Number&) { return {scalar(Dtype::number)}; }

Types rule(Application&, const ir::SizeOf&) { return {scalar(Dtype::number)}; }

Types rule(Application& app, const ir::Fold&) {
  app.guess = {scalar(Dtype::key)};
  need_copy(app, 0, "the key");
  need_copy(app, 1, "the number folded in");
  return app.guess;
}

}  // namespace shardproof::rules
