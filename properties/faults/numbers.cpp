#include "properties/faults/numbers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "spec/check/conditions.h"
#include "spec/check/refute.h"
#include "spec/denote/represent.h"

namespace shardproof::faults {
namespace {

using denote::Array;
using Numbers = std::vector<Array<double>>;

constexpr int wanted_runs = 2, attempts = 8;

bool requirements_hold(const ir::Program& program, const denote::Sizes& sizes) {
  std::map<Name, int64_t> all = sizes.dims;
  for (const auto& [axis, size] : sizes.mesh) all[axis] = size;
  return std::all_of(
      program.requirements.begin(), program.requirements.end(),
      [&](const ir::Requirement& each) { return ir::evaluate(each.condition, all) != 0; });
}

bool divides(const ir::Program& program, const Divisibility& condition,
             const denote::Sizes& sizes) {
  int64_t product = 1;
  for (const Axis& axis : condition.axes) product *= sizes.axis(axis);
  return program.size(condition.dim, sizes.dims) % product == 0;
}

/// Small random sizes; a dim that is split is a multiple of its axes' product.
denote::Sizes draw_sizes(const ir::Program& program, const std::vector<Divisibility>& conditions,
                         std::mt19937& rng) {
  denote::Sizes sizes;
  for (const auto& [axis, info] : program.axes)
    sizes.mesh.push_back({axis, info.size.value_or(2 + static_cast<int64_t>(rng() % 2))});
  std::map<Name, int64_t> units;
  for (const Divisibility& condition : conditions) {
    int64_t product = 1;
    for (const Axis& axis : condition.axes) product *= sizes.axis(axis);
    int64_t& unit = units.emplace(condition.dim.factors.at(0), 1).first->second;
    unit = std::lcm(unit, product);
  }
  for (const auto& [name, info] : program.dims) {
    if (info.kind != ir::DimInfo::Kind::plain) continue;
    const auto unit = units.find(name);
    const int64_t factor = unit == units.end() ? 2 + static_cast<int64_t>(rng() % 3)
                                               : 1 + static_cast<int64_t>(rng() % 2);
    sizes.dims[name] = factor * (unit == units.end() ? 1 : unit->second);
  }
  return sizes;
}

/// Nullopt: the sizes that were drawn do not fit the file.
std::optional<denote::Sizes> fitting_sizes(const ir::Program& program,
                                           const std::vector<Divisibility>& conditions,
                                           std::mt19937& rng) {
  for (int tries = 0; tries < 200; ++tries) try {
      denote::Sizes sizes = draw_sizes(program, conditions, rng);
      const bool good =
          sizes.devices() <= 16 && requirements_hold(program, sizes) &&
          std::all_of(conditions.begin(), conditions.end(), [&](const Divisibility& condition) {
            return divides(program, condition, sizes);
          });
      if (good) return sizes;
    } catch (const std::domain_error&) {  // a dim of no whole size
    }
  return std::nullopt;
}

/// Where the plan differs; `no_number`: it has none there.
struct Found {
  std::string text;
  bool no_number = false;
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

std::string text_of(const denote::Sizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes.mesh) text += name + "=" + std::to_string(size) + " ";
  for (const auto& [name, size] : sizes.dims) text += name + "=" + std::to_string(size) + " ";
  return text;
}

bool finite(const Numbers& arrays) {
  for (const Array<double>& array : arrays)
    for (double x : array.data)
      if (!std::isfinite(x)) return false;
  return true;
}

std::optional<Found> difference(const Array<double>& plan, const Array<double>& model) {
  if (plan.shape != model.shape) return Found{"another shape"};
  double scale = 1e-9;
  for (double x : model.data) scale = std::max(scale, std::abs(x));
  for (size_t i = 0; i < model.data.size(); ++i)
    if (!(std::abs(plan.data[i] - model.data[i]) <= 1e-6 * scale))
      return Found{"entry " + std::to_string(i) + " is " + number(plan.data[i]) +
                       ", of the model " + number(model.data[i]),
                   !std::isfinite(plan.data[i])};
  return std::nullopt;
}

class Runner {
 public:
  Runner(const ir::Program& program, const denote::Types& types, size_t plan, size_t model)
      : program_(program),
        types_(types),
        plan_(program.functions.at(plan)),
        model_(program.functions.at(model)),
        plan_index_(plan),
        model_index_(model) {}

  MeshRun run() {
    std::vector<Divisibility> conditions = conditions_of(program_, types_.at(plan_index_));
    for (const Type& result : plan_.results)
      for (Divisibility& each : conditions_of(program_, {result})) conditions.push_back(each);
    for (const auto& types : types_)
      for (Divisibility& each : conditions_of(program_, types)) conditions.push_back(each);
    std::mt19937 rng(11);
    MeshRun result;
    for (int attempt = 0; attempt < attempts && result.agreed < wanted_runs; ++attempt) {
      const auto sizes = fitting_sizes(program_, conditions, rng);
      if (!sizes) break;
      std::optional<Found> found;
      const Ran ran = once(*sizes, static_cast<unsigned>(attempt), found);
      if (found) result.difference = text_of(*sizes) + ": " + found->text;
      if (ran == Ran::differs) return result;
      result.agreed += ran == Ran::agrees;
    }
    if (result.agreed) result.difference.clear();
    return result;
  }

 private:
  /// no_value: of the model; or of the plan, where floats end before the reals do: exp(-1e10) is 0.
  enum class Ran { agrees, differs, no_value };

  Ran once(const denote::Sizes& sizes, unsigned seed, std::optional<Found>& found) const {
    Numbers inputs, wanted;
    try {
      inputs =
          random_inputs(program_, model_, sizes, seed, seed % 2 ? Draw::positive : Draw::mixed);
      wanted = denote::evaluate<double>(program_, model_index_, sizes, inputs);
    } catch (const denote::Error&) {
      return Ran::no_value;
    }
    if (!finite(wanted)) return Ran::no_value;
    try {
      found = on_mesh(sizes, inputs, wanted, seed);
    } catch (const denote::Mismatch& error) {
      found = Found{error.what()};
    } catch (const denote::Error&) {
      return Ran::no_value;
    }
    return !found ? Ran::agrees : found->no_number ? Ran::no_value : Ran::differs;
  }

  std::optional<Found> on_mesh(const denote::Sizes& sizes, const Numbers& inputs,
                               const Numbers& wanted, unsigned seed) const {
    const denote::Geometry geometry(program_, sizes);
    std::mt19937_64 rng(seed);
    std::vector<denote::Distributed<double>> held;
    std::vector<ir::ValueId> params = plan_.params;
    params.insert(params.end(), plan_.saved_params.begin(), plan_.saved_params.end());
    for (size_t i = 0; i < params.size(); ++i)
      held.push_back(
          denote::distribute(geometry, types_[plan_index_].at(params[i]), inputs.at(i), rng));
    const auto results =
        denote::evaluate_on_mesh<double>(program_, types_, plan_index_, sizes, held);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto value = denote::represented(geometry, plan_.results.at(i), results.at(i));
      auto found = value ? difference(*value, wanted[i])
                         : Found{"the devices do not hold a " + to_string(plan_.results[i])};
      if (!found) continue;
      found->text = "result " + std::to_string(i + 1) + " of " + plan_.name + ": " + found->text;
      return found;
    }
    return std::nullopt;
  }

  const ir::Program& program_;
  const denote::Types& types_;
  const ir::Function &plan_, &model_;
  size_t plan_index_, model_index_;
};

}  // namespace

MeshRun run_on_meshes(const ir::Program& program, const denote::Types& types, size_t plan,
                      size_t model) {
  return Runner(program, types, plan, model).run();
}

}  // namespace shardproof::faults
