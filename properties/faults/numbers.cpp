#include "properties/faults/numbers.h"

#include <algorithm>

#include "properties/generators/mesh_run.h"
#include "spec/check/conditions.h"
#include "spec/check/requirements.h"

namespace shardproof::faults {
namespace {

using properties::MeshRun;

constexpr int wanted_meshes = 2;
constexpr unsigned attempts = 8;

std::vector<Divisibility> all_conditions(const ir::Program& program, const denote::Types& types) {
  std::vector<Divisibility> conditions;
  const auto add = [&](const std::vector<Type>& of) {
    for (Divisibility& each : conditions_of(program, of)) conditions.push_back(std::move(each));
  };
  for (const auto& of : types) add(of);
  for (const ir::Function& function : program.functions) add(function.results);
  return conditions;
}

/// undecided: the claim has no value, or the plan, where floats end before the reals do:
/// exp(-1e10) is 0.
enum class Ran { agrees, differs, undecided };

Ran compare(MeshRun& run, std::string& found) {
  std::vector<std::optional<denote::Array<double>>> results;
  try {
    results = run.results();
  } catch (const denote::Mismatch& error) {
    found = run.text() + ": " + error.what();
    return Ran::differs;
  }
  for (size_t r = 0; r < run.claimed().size(); ++r) {
    const std::string text = properties::difference(results.at(r), run.claimed()[r]);
    if (text.empty()) continue;
    found = run.text() + ", result " + std::to_string(r + 1) + ": " + text;
    return results[r] && !properties::finite(*results[r]) ? Ran::undecided : Ran::differs;
  }
  return Ran::agrees;
}

}  // namespace

Agreement run_on_meshes(const ir::Program& program, const denote::Types& types, size_t plan,
                        const denote::Backwards& backwards) {
  const std::vector<Divisibility> conditions = all_conditions(program, types);
  Agreement agreement;
  // Numbers are not drawn to meet what is required of them.
  if (requires_values(program, plan)) return agreement;
  for (unsigned seed = 1; seed <= attempts && agreement.meshes < wanted_meshes; ++seed) try {
      MeshRun run({program, types, conditions, backwards}, plan, seed);
      const properties::Arrays& claimed = run.claimed();
      if (!std::all_of(claimed.begin(), claimed.end(), properties::finite)) continue;
      const Ran ran = compare(run, agreement.difference);
      if (ran == Ran::differs) return agreement;
      agreement.meshes += ran == Ran::agrees;
    } catch (const denote::Error&) {  // no value at these sizes
    }
  if (agreement.meshes) agreement.difference.clear();
  return agreement;
}

}  // namespace shardproof::faults
