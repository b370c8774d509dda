#include "properties/generators/plan_run.h"

namespace shardproof::properties {

bool differs_somewhere(PlanCase& one, const std::vector<Divisibility>& conditions) {
  int runs = 0;
  for (unsigned seed = 1; runs < 4 && seed < 16; ++seed) {
    const auto wanted = draw(one, conditions, seed, seed % 2 == 0);
    if (!wanted) continue;
    ++runs;
    const auto got = run_on_ranks(one, {.precision = Precision::f64});
    if (!difference_in_double(one, got, *wanted).empty()) return true;
  }
  if (runs == 0) throw PlanError("nothing is claimed at small sizes");
  return false;
}

}  // namespace shardproof::properties
