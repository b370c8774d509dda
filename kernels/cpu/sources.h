#pragma once
// Which values of a chain depend on a single bf16 value: they have 2^16 results, which can be
// looked up (look_ups.h).
#include <map>
#include <optional>

#include "kernels/cpu/row_code.h"

namespace shardproof::cpu {

/// Keeps a reference to the chain.
class Sources {
 public:
  explicit Sources(const RowChain& chain);

  /// The bf16 value on which this one depends alone, an input or what a step rounds, if this one
  /// takes longer to compute than to look up and is read together with others.
  std::optional<size_t> worth_looking_up(size_t value) const;

  /// The steps from `from` to `value`, of all bf16.
  Pointwise part_of(size_t value, size_t from) const;

 private:
  void add(size_t source, int64_t cost);
  void find_readers();
  void add_steps(Pointwise& part, std::map<size_t, size_t>& at, size_t value) const;

  const RowChain& chain_;
  std::vector<size_t> of_;     ///< by value: its source; of constants, and of several sources, none
  std::vector<int64_t> cost_;  ///< by value: instructions since its source
  std::vector<bool> is_read_;  ///< by value: with others than those of its source, or as a result
};

}  // namespace shardproof::cpu
