#include "impl/plan/touching.h"

#include <algorithm>

namespace shardproof::plan {

Touching::Touching(const std::vector<Step>& block) : positions_(4 * block.size()) {
  for (size_t i = 0; i < block.size(); ++i) add(i, block[i]);
}

void Touching::add(size_t position, const Step& step) {
  add(position, step.reads);
  add(position, step.writes);
  for (const Step& each : step.body) add(position, each);
}

void Touching::add(size_t position, const std::vector<BufferId>& ids) {
  for (BufferId id : ids)
    if (!positions_.ends_with(id, position)) positions_.push(id, position);
}

std::vector<size_t> Touching::of(const std::vector<BufferId>& ids) const {
  std::vector<size_t> found;
  for (BufferId id : ids)
    positions_.for_each(id, [&](size_t position) { found.push_back(position); });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<size_t> Touching::of(const Access& access) const {
  std::vector<BufferId> ids = access.reads;
  ids.insert(ids.end(), access.writes.begin(), access.writes.end());
  return of(ids);
}

std::vector<const Step*> Touching::steps_of(const std::vector<BufferId>& ids,
                                            const std::vector<Step>& block,
                                            const std::vector<bool>& gone) const {
  std::vector<const Step*> steps;
  for (size_t position : of(ids))
    if (!gone[position]) steps.push_back(&block[position]);
  return steps;
}

void erase_marked(std::vector<Step>& block, const std::vector<bool>& gone) {
  size_t kept = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    if (gone[i]) continue;
    if (kept != i) block[kept] = std::move(block[i]);
    ++kept;
  }
  block.erase(block.begin() + static_cast<ptrdiff_t>(kept), block.end());
}

}  // namespace shardproof::plan
