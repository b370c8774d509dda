#include "spec/check/conditions.h"

#include <algorithm>
#include <stdexcept>

namespace shardproof {

std::string to_string(const Divisibility& condition) {
  std::string text;
  for (const Axis& axis : condition.axes) text += (text.empty() ? "" : "*") + axis;
  return text + " | " + to_string(condition.dim);
}

std::vector<Divisibility> conditions_of(const ir::Program& program,
                                        const std::vector<Type>& types) {
  std::vector<Divisibility> conditions;
  std::vector<const Split*> seen;  // most values are split as others are
  for (const Type& type : types)
    for (const Split& split : type.dims) {
      if (split.axes.empty() ||
          std::any_of(seen.begin(), seen.end(), [&](const Split* each) { return *each == split; }))
        continue;
      seen.push_back(&split);
      Divisibility condition{split.axes, Dim{{program.base(split.dim).at(0)}}};
      std::sort(condition.axes.begin(), condition.axes.end());
      if (std::find(conditions.begin(), conditions.end(), condition) == conditions.end())
        conditions.push_back(std::move(condition));
    }
  return conditions;
}

std::vector<Divisibility> reduce(std::vector<Divisibility> conditions) {
  const auto implied = [&](const Divisibility& weak) {
    return std::any_of(conditions.begin(), conditions.end(), [&](const Divisibility& strong) {
      return strong.dim == weak.dim && strong.axes.size() > weak.axes.size() &&
             std::includes(strong.axes.begin(), strong.axes.end(), weak.axes.begin(),
                           weak.axes.end());
    });
  };
  std::vector<Divisibility> kept;
  for (const Divisibility& condition : conditions)
    if (!implied(condition)) kept.push_back(condition);
  return kept;
}

bool may_hold(const ir::Program& program, const Divisibility& condition) {
  int64_t product = 1;
  for (const Axis& axis : condition.axes) {
    auto found = program.axes.find(axis);
    if (found == program.axes.end() || !found->second.size) return true;
    if (__builtin_mul_overflow(product, *found->second.size, &product)) return false;
  }
  try {
    return program.size(condition.dim, {}) % product == 0;
  } catch (const std::domain_error&) {
    return true;  // a size is not known
  }
}

}  // namespace shardproof
