#include "properties/generators/mesh_points.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace shardproof::properties {
namespace {

/// The first two axes are 2 and 3, or 3 and 2; others 1 or 2: the number of devices stays small.
void draw_mesh(const ir::Program& program, std::mt19937_64& rng, denote::Sizes& sizes) {
  std::vector<Axis> axes = program.axis_names();
  std::shuffle(axes.begin(), axes.end(), rng);
  const auto first = 2 + static_cast<int64_t>(rng() % 2);
  for (size_t i = 0; i < axes.size(); ++i) {
    auto drawn = 1 + static_cast<int64_t>(rng() % 2);
    if (i < 2) drawn = i == 0 ? first : 5 - first;
    if (sizes.devices() > 12) drawn = 1;
    sizes.mesh.push_back({axes[i], program.axes.at(axes[i]).size.value_or(drawn)});
  }
}

void make_divisible(const ir::Program& program, const Divisibility& condition,
                    denote::Sizes& sizes) {
  int64_t shards = 1;
  for (const Axis& axis : condition.axes) shards *= sizes.axis(axis);
  const std::vector<Name> base = program.base(condition.dim);
  if (base.empty()) return;
  if (auto found = sizes.dims.find(base[0]); found != sizes.dims.end())
    found->second = std::lcm(found->second, shards);
}

bool fits(const ir::Program& program, const std::vector<Divisibility>& conditions,
          const denote::Sizes& sizes) {
  std::map<Name, int64_t> all = sizes.dims;
  for (const auto& [axis, extent] : sizes.mesh) all[axis] = extent;
  try {
    for (const auto& [name, info] : program.dims) program.size(Dim{{name}}, all);
    for (const Divisibility& condition : conditions) {
      int64_t shards = 1;
      for (const Axis& axis : condition.axes) shards *= sizes.axis(axis);
      if (program.size(condition.dim, all) % shards != 0) return false;
    }
    return std::all_of(program.requirements.begin(), program.requirements.end(),
                       [&](const ir::Requirement& requirement) {
                         return ir::evaluate(requirement.condition, all) != 0;
                       });
  } catch (const std::domain_error&) {
    return false;
  }
}

}  // namespace

std::vector<Divisibility> all_conditions(const CheckedProgram& checked) {
  std::vector<Divisibility> conditions;
  for (const PlanReport& each : checked.plans())
    conditions.insert(conditions.end(), each.conditions.begin(), each.conditions.end());
  return conditions;
}

std::optional<denote::Sizes> mesh_sizes(const ir::Program& program,
                                        const std::vector<Divisibility>& conditions,
                                        std::mt19937_64& rng) {
  for (int tries = 0; tries < 400; ++tries) {
    denote::Sizes sizes;
    draw_mesh(program, rng, sizes);
    for (const auto& [name, info] : program.dims)
      if (info.kind == ir::DimInfo::Kind::plain)
        sizes.dims[name] = 1 + static_cast<int64_t>(rng() % 3);
    for (const Divisibility& condition : conditions) make_divisible(program, condition, sizes);
    if (fits(program, conditions, sizes)) return sizes;
  }
  return std::nullopt;
}

}  // namespace shardproof::properties
