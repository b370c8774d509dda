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

  /// How a condition came out, in any entry so far.
  struct Taken {
    bool holds = false, fails = false;
    bool operands_differ = false;  ///< in some entry; x > x never has another side
  };

  size_t taken() const;      ///< of all conditions together
  bool one_is_open() const;  ///< some condition of operands that differ has taken one side alone
  Taken& of(const ir::Instr& instr) { return taken_[&instr]; }

 private:
  std::unordered_map<const ir::Instr*, Taken> taken_;
  Sides* before_;
};

/// The one that lives in this thread; null where none does.
Sides* sides();

}  // namespace shardproof::oracle
