#pragma once
// Which sides of its conditions a program has taken.
#include <unordered_map>

#include "spec/ir/program.h"

namespace shardproof::oracle {

/// While one lives, all evaluations of its thread note how each comparison, minimum and maximum
/// came out. The programs that it evaluates outlive it.
class Sides {
 public:
  Sides();
  ~Sides();
  Sides(const Sides&) = delete;

  size_t taken() const;      ///< of all conditions together
  bool one_is_open() const;  ///< some condition has taken one side alone
  void note(const ir::Instr& instr, bool side) { taken_[&instr] |= side ? 1U : 2U; }

 private:
  std::unordered_map<const ir::Instr*, unsigned> taken_;
  Sides* before_;
};

/// The one that lives in this thread; null where none does.
Sides* sides();

}  // namespace shardproof::oracle
