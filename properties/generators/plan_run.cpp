#include "properties/generators/plan_run.h"

namespace shardproof::properties {

bool differs_somewhere(PlanCase& one, const std::vector<Divisibility>& conditions, int meshes) {
  const auto most_draws = static_cast<unsigned>(4 * meshes);
  int runs = 0;
  for (unsigned seed = 1; runs < meshes && seed < most_draws; ++seed) {
    MeshWish wish;
    if (seed > 16 && seed % 3 > 0) wish.least = 2;  // no dim of one entry hides another's
    const auto wanted = draw(one, conditions, seed, seed % 2 == 0, wish);
    if (!wanted) continue;
    ++runs;
    const auto got = run_on_ranks(one, {.precision = Precision::f64});
    if (!difference_in_double(one, got, *wanted).empty()) return true;
  }
  if (runs == 0) throw PlanError("nothing is claimed at small sizes");
  return false;
}

}  // namespace shardproof::properties
