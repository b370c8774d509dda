#include "spec/rules/ring.h"

namespace shardproof::rules {

bool travels(const Type& emitted, const Split& of) {
  const auto mark = emitted.marks.find(of.axes.at(0));
  return mark != emitted.marks.end() && mark->second == Mark::U;
}

std::optional<Type> emitted_by_ring(const Type& emitted, const Split& of, const Dim& block) {
  Type result = emitted;
  bool found = false;
  for (Split& split : result.dims) {
    if (split.dim == of.dim) return std::nullopt;
    if (!(split == Split{block, {}})) continue;
    split.dim = of.dim;
    if (travels(emitted, of)) split.axes = of.axes;
    found = true;
  }
  if (travels(emitted, of)) result.marks.erase(of.axes.at(0));
  return found ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace shardproof::rules
