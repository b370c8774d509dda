#include "spec/lower/aligned.h"

#include <stdexcept>

namespace shardproof::lower {

using algebra::Algebra;
using algebra::Nf;

bool same_ranges(Algebra& a, const TensorExpr& plan, const TensorExpr& model) {
  if (plan.index.size() != model.index.size()) return false;
  for (size_t i = 0; i < plan.index.size(); ++i)
    if (a.range(plan.index[i]) != a.range(model.index[i])) return false;
  return true;
}

Nf aligned(Algebra& a, const TensorExpr& plan, const TensorExpr& model) {
  if (plan.index.size() != model.index.size()) throw std::logic_error("results differ in dims");
  std::vector<std::pair<algebra::Var, Nf>> map;
  for (size_t i = 0; i < plan.index.size(); ++i)
    if (!(plan.index[i] == model.index[i])) map.push_back({plan.index[i], a.var(model.index[i])});
  return map.empty() ? plan.body : a.substitute(plan.body, map);
}

}  // namespace shardproof::lower
