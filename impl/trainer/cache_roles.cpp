#include "impl/trainer/cache_roles.h"

#include <algorithm>

#include "impl/tensor/placement.h"
#include "impl/train_step/roles.h"

namespace shardproof {
namespace {

bool is_state(const std::vector<Name>& state, const Name& group) {
  return std::find(state.begin(), state.end(), group) != state.end();
}

bool contains(const std::vector<size_t>& leaves, size_t leaf) {
  return std::find(leaves.begin(), leaves.end(), leaf) != leaves.end();
}

bool has(const Type& type, const Dim& dim) {
  return std::any_of(type.dims.begin(), type.dims.end(),
                     [&](const Split& each) { return each.dim == dim; });
}

}  // namespace

std::optional<CacheRoles> cache_roles(const ir::Function& plan, const std::vector<Name>& state) {
  CacheRoles roles;
  size_t leaf = 0;
  for (const auto& [group, count] : plan.param_groups) {
    const Type& type = plan.values.at(plan.params.at(leaf)).type;
    if (is_state(state, group)) {
      leaf += count;
      continue;
    }
    if (group == "ids" || group == "segments" || (group == "at" && type.dims.empty()))
      (group == "ids" ? roles.ids : group == "at" ? roles.at : roles.segments) = leaf;
    else if (is_float(type.dtype) && !type.dims.empty())
      for (size_t i = 0; i < count; ++i) roles.cache.push_back(leaf + i);
    else
      return std::nullopt;
    leaf += count;
  }
  if (!roles.ids || !roles.at || roles.cache.empty()) return std::nullopt;
  if (plan.results.size() != roles.cache.size() + 1) return std::nullopt;
  const std::vector<Split>& ids = plan.values.at(plan.params[*roles.ids]).type.dims;
  const std::vector<Split>& logits = plan.results[0].dims;
  if (logits.size() != ids.size() + 1 || !std::equal(ids.begin(), ids.end(), logits.begin()))
    return std::nullopt;
  for (const auto& [axis, mark] : plan.results[0].marks)
    if (mark == Mark::Max) return std::nullopt;
  for (size_t i = 0; i < roles.cache.size(); ++i)
    if (!same_value_type(plan.results[i + 1], plan.values.at(plan.params[roles.cache[i]]).type))
      return std::nullopt;
  return roles;
}

const Dim& positions_of(const ir::Function& plan, const CacheRoles& roles) {
  const auto param = [&](size_t leaf) -> const Type& {
    return plan.values.at(plan.params.at(leaf)).type;
  };
  if (roles.segments) return param(*roles.segments).dims.back().dim;
  const Dim* found = nullptr;
  for (const Split& each : param(roles.cache[0]).dims) {
    bool known = has(param(*roles.ids), each.dim);
    for (size_t i = 0; i < plan.params.size(); ++i)
      known = known || (!contains(roles.cache, i) && has(param(i), each.dim));
    if (known) continue;
    if (found)
      throw PlanError(plan.name + ": which dim of its cache are the positions, " +
                      to_string(*found) + " or " + to_string(each.dim) +
                      "? Give it segments: i32[.. positions]");
    found = &each.dim;
  }
  if (!found) throw PlanError(plan.name + ": no dim of its cache are the positions");
  return *found;
}

}  // namespace shardproof
