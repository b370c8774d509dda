#include "spec/check/requirements.h"

#include <algorithm>
#include <set>

#include "spec/check/reached.h"
#include "spec/ir/walk.h"

namespace shardproof {

ir::Arith over_plain_dims(const ir::Program& program, const ir::Arith& arith) {
  if (arith.kind == ir::Arith::Kind::size) return program.size(Dim{{arith.text}});
  ir::Arith copy = arith;
  for (ir::Arith& arg : copy.args) arg = over_plain_dims(program, arg);
  return copy;
}

bool hold(const ir::Program& program, const std::vector<ir::Requirement>& requirements,
          const std::map<Name, int64_t>& sizes) {
  return std::all_of(requirements.begin(), requirements.end(), [&](const ir::Requirement& each) {
    return ir::evaluate(over_plain_dims(program, each.condition), sizes) != 0;
  });
}

std::optional<bool> hold_at_all_indices(const ir::Program& program, const ir::OfIndices& condition,
                                        std::map<Name, int64_t> sizes) {
  constexpr int64_t most = 1 << 18;
  std::vector<int64_t> ranges;
  int64_t all = 1;
  try {
    for (const auto& [name, range] : condition.indices) {
      const double size = ir::evaluate(over_plain_dims(program, range), sizes);
      if (!(size >= 1 && size <= most) || (all *= static_cast<int64_t>(size)) > most)
        return std::nullopt;
      ranges.push_back(static_cast<int64_t>(size));
      sizes[name] = 1;
    }
    const ir::Arith base = over_plain_dims(program, condition.base);
    for (int64_t at = 0; at < all; ++at) {
      int64_t rest = at;
      for (size_t i = 0; i < ranges.size(); ++i) {
        sizes[condition.indices[i].first] = rest % ranges[i] + 1;
        rest /= ranges[i];
      }
      const double value = ir::evaluate(base, sizes);
      const bool holds = condition.op == ">="   ? value >= 0
                         : condition.op == ">"  ? value > 0
                         : condition.op == "<=" ? value <= 0
                         : condition.op == "<"  ? value < 0
                         : condition.op == "==" ? value == 0
                                                : value != 0;
      if (!holds) return false;
    }
    return true;
  } catch (const std::domain_error&) {  // a size is open
    return std::nullopt;
  }
}

bool requires_of_values(const ir::Function& function) {
  bool found = false;
  for_each_block(function.body, [&](const ir::Block& block) {
    for (const ir::Requirement& each : block.requirements)
      found = found || ir::uses_values(each.condition);
  });
  return found;
}

bool requires_values(const ir::Program& program, size_t function) {
  const std::set<size_t> all = reached_functions(program, function);
  return std::any_of(all.begin(), all.end(),
                     [&](size_t f) { return requires_of_values(program.functions.at(f)); });
}

std::vector<ir::Requirement> requirements_of_sizes(const ir::Program& program, size_t function) {
  std::set<size_t> reached{function};
  add_reached(program, program.functions.at(function), reached);
  std::vector<ir::Requirement> result;
  for (const size_t f : reached) add_requirements(program.functions.at(f), false, result);
  return result;
}

std::vector<ir::Requirement> requirements_of_claim(const ir::Program& program, size_t plan) {
  std::vector<ir::Requirement> result = requirements_of_sizes(program, plan);
  const ir::Function& function = program.functions.at(plan);
  for (const std::optional<size_t>& other : {function.model, function.after})
    if (other)
      for (ir::Requirement& each : requirements_of_sizes(program, *other))
        result.push_back(std::move(each));
  for (ir::Requirement& each : program.consistency(function)) result.push_back(std::move(each));
  return result;
}

}  // namespace shardproof
