#pragma once
// When the results of a function need a value: always, or only if a `where` selects its branch. A
// value's own conditions (a divisor is not 0, the argument of a logarithm is positive) matter only
// where the value is needed.
#include <map>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::lower {

/// One branch of a `where` in the same function.
struct Guard {
  ir::ValueId condition = ir::no_value;
  bool holds = true;
  bool operator==(const Guard&) const = default;
};

/// A result that needs the value wherever all guards hold; without guards, always.
struct Way {
  size_t result = 0;
  std::vector<Guard> guards = {};
  bool operator==(const Way&) const = default;
};
using Demand = std::vector<Way>;

/// For a model, count only what is certainly needed (at_least); for a plan, what may be (at_most).
enum class Reach { at_least, at_most };

/// The demand on the operands of an op that mixes entries.
Demand collapsed(const Demand& demand, Reach reach);

/// By value of `function`, values in loop bodies included.
std::vector<Demand> demands(const ir::Program& program, const ir::Function& function, Reach reach);

}  // namespace shardproof::lower
