#pragma once
// When the results of a function ask for a value: always, or only where a `where` takes the branch
// that it stands in. What a value needs (a divisor that is not 0, a logarithm of what is positive)
// is needed only there.
#include <map>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::lower {

/// A branch of a `where` of the same function.
struct Guard {
  ir::ValueId condition = ir::no_value;
  bool holds = true;
  bool operator==(const Guard&) const = default;
};

/// A result of the function asks for it wherever all guards hold; without any, always.
struct Way {
  size_t result = 0;
  std::vector<Guard> guards = {};
  bool operator==(const Way&) const = default;
};
using Demand = std::vector<Way>;

/// Of a model what is certainly asked for counts, of a plan what may be.
enum class Reach { at_least, at_most };

/// The demand of the operands of an op that does not keep entries apart.
Demand collapsed(const Demand& demand, Reach reach);

/// By value of `function`, loop bodies included.
std::vector<Demand> demands(const ir::Program& program, const ir::Function& function, Reach reach);

}  // namespace shardproof::lower
