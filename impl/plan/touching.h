#pragma once
// An index of the steps of a block by the buffers that they use.
#include "impl/plan/lists.h"
#include "impl/plan/steps.h"

namespace shardproof::plan {

/// By buffer: the positions of the steps in a block that read or write it, directly or in their
/// body.
class Touching {
 public:
  explicit Touching(const std::vector<Step>& block);
  /// Adds the buffers that the step at `position` uses now. Those that it used before stay listed.
  void add(size_t position, const Step& step);
  void add(size_t position, const std::vector<BufferId>& ids);
  /// The positions of steps that may use one of the buffers, in order, without duplicates.
  std::vector<size_t> of(const std::vector<BufferId>& ids) const;
  std::vector<size_t> of(const Access& access) const;
  /// Those steps, except the ones marked in `gone`.
  std::vector<const Step*> steps_of(const std::vector<BufferId>& ids,
                                    const std::vector<Step>& block,
                                    const std::vector<bool>& gone) const;

 private:
  Lists positions_;  ///< by buffer
};

/// Erases the steps that `gone` marks.
void erase_marked(std::vector<Step>& block, const std::vector<bool>& gone);

}  // namespace shardproof::plan
