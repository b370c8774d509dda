#pragma once
// Small changes of a plan that a slip of its author explains: another operand, another operator,
// one that is left out or too many. Each is run; one that makes the results right names the line.
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/ir/program.h"

namespace shardproof {

/// A change after which the results that were run are right.
struct Repair {
  SourceRange range;        ///< of the expression that changes
  std::string words;        ///< "with `p` in place of `s`"
  std::vector<Edit> edits;  ///< the same as text; empty where the places of its parts are not known
};

struct RepairSearch {
  const ir::Program& program;
  size_t plan = 0;
  size_t result = 0;
  std::set<ir::ValueId> suspects;  ///< values that the model does not have
  /// Others that these are computed from: an op may be left out.
  std::set<ir::ValueId> read_by_suspects;
  SourceRange likely;  ///< of several changes, one inside this expression is the one
  std::function<bool(const ir::Program&)> right;  ///< whether the changed plan's results are right
  std::function<bool()> ended;                    ///< whether no further change may be run
};

/// The plan, whose blocks are its own, and what it reaches.
ir::Program own_copy(const ir::Program& program, size_t plan);

/// The change of the simplest kind. Nullopt if there is none, if changes of that kind at several
/// places are as good, or if not all could be run.
std::optional<Repair> find_repair(const RepairSearch& search);

}  // namespace shardproof
