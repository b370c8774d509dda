#pragma once
// The type rules of RULES: for each op, the state of its result on every mesh axis, or why there is
// none.
#include <optional>
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// A fix in terms of the op, before it has a place in the text: the checker turns it into edits and
/// tries it.
struct FixHint {
  enum class Kind {
    wrap_operand,     ///< replace operand i's text X by `text` with $ standing for X
    replace_pattern,  ///< the pattern's text becomes `text`
    wrap_result,      ///< replace the op's text X by `text` with $ standing for X
    replace_op,       ///< replace the op's text by `text` with $ standing for operand i's text
    advice            ///< words only
  } kind = Kind::advice;
  size_t operand = 0;
  std::string text = {};
  std::string message = {};  ///< "reduce before gelu"
  std::string pattern = {};  ///< of a wrap: the op's own pattern becomes this too; empty: it stays
  int cost = 0;  ///< 0 no communication, 1 reduces or scatters less, 2 all_reduce; order of listing
};

struct Refusal {
  std::string code;        ///< of diagnostics.def
  std::string message;     ///< headline: "gelu of a value that is unreduced over t"
  std::string label = {};  ///< in terms of devices: "gelu(p0 + p1) is not gelu(p0) + gelu(p1)"
  std::optional<size_t> operand = {};  ///< the culprit, when it is one
  std::vector<std::string> details = {};
  std::vector<FixHint> fixes = {};
  std::vector<Axis> axes = {};  ///< the mesh axes at fault
  bool gradient_only =
      false;  ///< the value is right and its gradient wrong: I mixed with another state
};

/// An operand as the rules see it.
struct Operand {
  Type type;
  bool has_gradient =
      true;  ///< false: integers, bools, keys, numbers, stop_grad ..., and every value of a step
  std::optional<double> number;  ///< a literal or const: only 0 goes with U
};

struct RuleResult {
  std::vector<Type>
      types;  ///< one per result; with a refusal: as stated, or the best guess, to go on with
  std::optional<Refusal> refusal;  ///< the first one
  ir::Pattern
      completed;  ///< the op's pattern with inferred axes and marks filled in (ops with a pattern)
};

/// The rule of one op that is neither a loop nor a call. Operand patterns and stated results are
/// compared here too (E0301, E0302, E0214, E0306). Never throws for a resolved program.
RuleResult apply_rule(const ir::Program& program, const ir::Op& op,
                      const std::vector<Operand>& operands);

/// Well-formedness of a written type: an axis at most once, U or Max marks but not both, no mark on
/// a split axis.
std::optional<Refusal> check_type(const Type& type);

/// The axes of size 1 that the file declares are no part of a type.
Type without_unit_axes(const ir::Program& program, Type type);

/// Equal for the checker: same dtype, dims with the same names and axis lists, same marks (order of
/// marks is no matter).
bool same_type(const ir::Program& program, const Type& a, const Type& b);

}  // namespace shardproof
