#include "properties/generators/plan_run.h"

namespace shardproof::properties {

namespace {

/// The dims whose sizes are free.
std::vector<Name> free_dims(const ir::Program& program) {
  std::vector<Name> names;
  for (const auto& [name, info] : program.dims)
    if (info.kind == ir::DimInfo::Kind::plain && !info.size) names.push_back(name);
  return names;
}

/// Later draws: no dim has one entry, which hides another's, or one dim is larger than all others:
/// of a head with two entries, a rotation has one angle, and any frequency is right.
MeshWish wish_of(const std::vector<Name>& dims, unsigned seed) {
  MeshWish wish;
  if (seed <= 16) return wish;
  if (seed % 3 > 0)
    wish.least = 2;
  else if (!dims.empty())
    wish.given[dims[seed / 3 % dims.size()]] = seed / 3 / dims.size() % 2 ? 6 : 8;
  return wish;
}

}  // namespace

bool differs_somewhere(PlanCase& one, const std::vector<Divisibility>& conditions, int meshes) {
  const auto most_draws = static_cast<unsigned>(4 * meshes);
  const std::vector<Name> dims = free_dims(*one.unit.program);
  int runs = 0;
  for (unsigned seed = 1; runs < meshes && seed < most_draws; ++seed) {
    const MeshWish wish = wish_of(dims, seed);
    std::optional<std::vector<oracle::Tensor>> wanted;
    try {
      wanted = draw(one, conditions, seed, seed % 2 == 0, wish);
    } catch (const PlanError&) {
      if (wish.given.empty()) throw;
    }
    if (!wanted) continue;
    ++runs;
    const auto got = run_on_ranks(one, {.precision = Precision::f64});
    if (!difference_in_double(one, got, *wanted).empty()) return true;
  }
  if (runs == 0) throw PlanError("nothing is claimed at small sizes");
  return false;
}

}  // namespace shardproof::properties
