#pragma once
// The typing rules: for each op, the state of its result on every mesh axis, or the reason for a
// refusal.
#include <optional>
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// A fix in terms of the op, without a source location. The checker turns it into edits and tries
/// them.
struct FixHint {
  enum class Kind {
    wrap_operand,     ///< replace operand i's text X by `text` with $ standing for X
    replace_pattern,  ///< the pattern's text becomes `text`
    wrap_result,      ///< replace the op's text X by `text` with $ standing for X
    replace_op,       ///< replace the op's text by `text` with $ standing for operand i's text
    advice            ///< no edit
  } kind = Kind::advice;
  size_t operand = 0;
  std::string text = {};
  std::string message = {};    ///< "reduce before gelu"
  std::string pattern = {};    ///< for a wrap: also replaces the op's own pattern; empty: keeps it
  bool to_other_axes = false;  ///< the operand, which other axes then split
  int cost = 0;  ///< sort key: 0 no communication, 1 less reduction or scattering, 2 all_reduce
};

struct Refusal {
  std::string code;        ///< a code of diagnostics.def
  std::string message;     ///< headline: "gelu of a value that is unreduced over t"
  std::string label = {};  ///< in terms of devices: "gelu(p0 + p1) is not gelu(p0) + gelu(p1)"
  std::optional<size_t> operand = {};  ///< the operand at fault, if it is one
  std::vector<std::string> details = {};
  std::vector<FixHint> fixes = {};
  std::vector<Axis> axes = {};  ///< the mesh axes at fault
  bool gradient_only =
      false;  ///< the value is right but its gradient is wrong: I mixed with another state

  Axis only_axis() const { return axes.size() == 1 ? axes[0] : Axis(); }  ///< empty for several
};

/// An operand as the rules see it.
struct Operand {
  Type type;
  bool has_gradient =
      true;  ///< false: integers, bools, keys, numbers, stop_grad ..., and every value of a step
  std::optional<double> number;  ///< a literal or const; only 0 may be combined with U
};

struct RuleResult {
  std::vector<Type>
      types;  ///< one per result; after a refusal the stated type or a guess, to continue with
  std::optional<Refusal> refusal;  ///< the first one
  ir::Pattern completed;           ///< an inferred pattern with its axes and marks filled in
};

/// Applies the rule of one op; loops and calls have none. Also compares operand patterns and stated
/// results (E0301, E0302, E0214, E0306). Never throws for a resolved program.
RuleResult apply_rule(const ir::Program& program, const ir::Op& op,
                      const std::vector<Operand>& operands);

/// Whether the op's rule is sure to refuse these operands, one of which is a sum over the axis: the
/// op is not linear in it, or combines it with what is no sum. Asks no rule, as a refusal takes
/// time.
bool refuses_unreduced(const ir::Op& op, const std::vector<Operand>& operands, const Axis& axis);

/// Checks that a written type is well formed: an axis occurs once, U and Max are not mixed, and a
/// split axis has no mark.
std::optional<Refusal> check_type(const Type& type);

/// The type without axes that the file declares with size 1.
Type without_unit_axes(const ir::Program& program, Type type);

/// Equal for the checker: same dtype, same names and axis lists of dims, same marks in any
/// order.
bool same_type(const ir::Program& program, const Type& a, const Type& b);

}  // namespace shardproof
