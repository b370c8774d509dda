#include "properties/generators/mesh_run.h"

#include <algorithm>
#include <cmath>

#include "impl/beside_oracle/plan_case.h"
#include "spec/check/one_device.h"
#include "spec/check/points.h"
#include "spec/check/requirements.h"
#include "spec/denote/gradient.h"
#include "spec/denote/represent.h"
#include "spec/ir/claim.h"

namespace shardproof::properties {
namespace {

denote::Sizes sizes_of(const MeshWorld& world, size_t plan, denote::RandomBits& rng) {
  const auto sizes = mesh_sizes(world.program, world.conditions, rng,
                                {.requirements = requirements_of_claim(world.program, plan)});
  if (!sizes) throw denote::Unsupported("no small mesh meets its conditions");
  return *sizes;
}

}  // namespace

MeshRun::MeshRun(const MeshWorld& world, size_t plan, unsigned seed)
    : world_(world),
      plan_(plan),
      function_(world.program.functions.at(plan)),
      rng_(seed),
      sizes_(sizes_of(world, plan, rng_)),
      geometry_(world.program, sizes_) {
  for (Draw draw : {Draw::mixed, Draw::positive}) {  // a step's variances have roots
    whole_ = random_inputs(world.program, function_, sizes_, seed, draw);
    local_.clear();
    for (size_t i = 0; i < whole_.size(); ++i)
      local_.push_back(beside::same_on_devices(
          geometry_, world_.types.at(plan_).at(function_.params[i]), whole_[i], rng_));
    claimed_ = claim();
    if (std::all_of(claimed_.begin(), claimed_.end(), finite)) break;
  }
}

std::vector<std::optional<denote::Array<double>>> MeshRun::results() {
  std::vector<denote::Distributed<double>> inputs = local_;
  if (function_.after)
    for (auto& each : denote::saved_on_mesh<double>(geometry_, world_.types, plan_, primal(inputs),
                                                    world_.backwards))
      inputs.push_back(std::move(each));
  const auto held =
      denote::evaluate_on_mesh<double>(geometry_, world_.types, plan_, inputs, world_.backwards);
  std::vector<std::optional<denote::Array<double>>> found;
  for (size_t r = 0; r < held.size(); ++r)
    found.push_back(denote::represented(geometry_, function_.results.at(r), held[r]));
  return found;
}

std::string MeshRun::text() const {
  std::string text = function_.name + " at";
  for (const auto& [axis, size] : sizes_.mesh) text += " " + axis + "=" + std::to_string(size);
  for (const auto& [dim, size] : sizes_.dims) text += " " + dim + "=" + std::to_string(size);
  return text;
}

Arrays MeshRun::claim() const {
  const ir::Program& program = world_.program;
  if (!function_.model)
    return denote::evaluate<double>(at_mesh_sizes(program, sizes_), plan_, sizes_, whole_);
  const size_t model = *function_.model;
  if (!function_.implements_grad) return denote::evaluate<double>(program, model, sizes_, whole_);
  return denote::numeric_gradient(program, model, sizes_, primal(whole_), function_.wrt,
                                  {whole_.begin() + own(), whole_.end()});
}

std::ptrdiff_t MeshRun::own() const {
  return static_cast<std::ptrdiff_t>(world_.program.functions.at(*function_.model).params.size());
}

bool finite(const denote::Array<double>& array) {
  return std::all_of(array.data.begin(), array.data.end(),
                     [](double x) { return std::isfinite(x); });
}

std::string difference(const std::optional<denote::Array<double>>& got,
                       const denote::Array<double>& wanted) {
  if (!got) return "the devices hold no value of its type";
  if (got->shape != wanted.shape) return "another shape";
  if (!finite(wanted)) return "";  // nothing is claimed where the model is not defined
  double scale = 1;
  for (double x : wanted.data) scale = std::max(scale, std::abs(x));
  for (size_t k = 0; k < wanted.data.size(); ++k)
    if (!(std::abs(got->data[k] - wanted.data[k]) <= 1e-8 * scale))
      return "entry " + std::to_string(k) + " is " + std::to_string(got->data[k]) + ", not " +
             std::to_string(wanted.data[k]);
  return "";
}

denote::Backwards written_backwards(const ir::Program& program) {
  denote::Backwards backwards;
  for (size_t f = 0; f < program.functions.size(); ++f)
    if (const ir::Function& function = program.functions[f]; function.after)
      backwards[{*function.after, function.wrt}] = f;
  return backwards;
}

std::string first_difference(const CheckedProgram& checked, size_t plan,
                             const denote::Backwards& backwards) {
  denote::Types types;
  for (size_t f = 0; f < checked.program().functions.size(); ++f) types.push_back(checked.types(f));
  const std::vector<Divisibility> conditions = all_conditions(checked);
  int runs = 0;
  for (unsigned seed = 1; runs < 3; ++seed) try {
      MeshRun run({checked.program(), types, conditions, backwards},
                  ir::claim_of(checked.program(), plan), seed);
      const auto results = run.results();
      for (size_t r = 0; r < run.claimed().size(); ++r) {
        const std::string found = difference(results.at(r), run.claimed()[r]);
        if (!found.empty()) return run.text() + ", result " + std::to_string(r) + ": " + found;
      }
      ++runs;
    } catch (const denote::OutOfRange&) {
      if (seed > 20) throw;
    }
  return "";
}

}  // namespace shardproof::properties
