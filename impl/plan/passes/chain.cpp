#include "impl/plan/passes/chain.h"

namespace shardproof::plan {

size_t without_factor(const Pointwise& chain, size_t at) {
  const size_t inputs = chain.inputs.size();
  const auto is_one = [&](size_t other) {
    return other >= inputs && chain.steps[other - inputs].fn == PointwiseFn::constant &&
           chain.steps[other - inputs].value == 1;
  };
  while (at >= inputs && chain.steps[at - inputs].fn == PointwiseFn::mul) {
    const std::vector<size_t>& both = chain.steps[at - inputs].arguments;
    if (!is_one(both[0]) && !is_one(both[1])) break;
    at = is_one(both[0]) ? both[1] : both[0];
  }
  return at;
}

}  // namespace shardproof::plan
