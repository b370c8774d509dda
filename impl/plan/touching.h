#pragma once
// Which steps of a block use a buffer, without a walk over all of them.
#include "impl/plan/steps.h"

namespace shardproof::plan {

/// By buffer the positions in a block of the steps that read or write it, they or a step in their
/// body.
class Touching {
 public:
  explicit Touching(const std::vector<Step>& block);
  /// The step at `position` has this access too. What it had before stays listed.
  void add(size_t position, const Access& access);
  /// The positions of steps that may use one of the buffers, each once, in order.
  std::vector<size_t> of(const std::vector<BufferId>& ids) const;
  std::vector<size_t> of(const Access& access) const;
  /// Those steps of the block that are not `gone`.
  std::vector<const Step*> steps_of(const std::vector<BufferId>& ids,
                                    const std::vector<Step>& block,
                                    const std::vector<bool>& gone) const;

 private:
  std::vector<std::vector<size_t>> positions_;
};

/// Erases the steps that `gone` marks.
void erase_marked(std::vector<Step>& block, const std::vector<bool>& gone);

}  // namespace shardproof::plan
