#include "spec/algebra/engine.h"
namespace shardproof::algebra {
std::optional<Difference> explain(Algebra& a, Nf plan, Nf model) {
  if (plan == model) return std::nullopt;
  Difference d;
  d.text = a.show(a.sub(plan, model));
  return d;
}
}  // namespace shardproof::algebra
