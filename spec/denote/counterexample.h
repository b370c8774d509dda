#pragma once
// Shows with numbers why an op is refused: the smallest mesh, sizes and inputs for which the
// devices end with a wrong value.
#include <functional>

#include "spec/denote/trial.h"

namespace shardproof::denote {

/// Sizes of axes and dims to try, fewest devices first, then fewest entries; those that split the
/// axis `about`, if one is named, before the others. A large fixed size of a dim is replaced by a
/// small one.
class Sizings {
 public:
  Sizings(const ir::Program& program, const std::vector<Shape>& shapes, const Axis& about = "");
  const ir::Program& program() const { return program_; }
  const std::vector<Sizes>& all() const { return all_; }

 private:
  ir::Program program_;
  std::vector<Sizes> all_;
};

/// Calls visit(x) for vectors of `length` integers in order of the sum of absolute values, until it
/// returns true or `budget` vectors were tried. Returns whether visit returned true.
bool integers_by_size(size_t length, size_t budget,
                      const std::function<bool(const std::vector<int64_t>&)>& visit);

/// Searches for integer values on the devices, at the operands' types, such that the outcome of
/// `op` does not represent its value at the stated result types (at any type, if none is stated).
/// Returns none if the search finds none. Of the axis `about` there are two devices, if they show
/// it.
std::optional<Counterexample> find_counterexample(const ir::Program& program, const ir::Op& op,
                                                  const std::vector<Input>& operands,
                                                  const std::vector<Type>& stated,
                                                  const Axis& about = "");

/// The same for an op with a right value and a wrong gradient: gradients of the result, at the dual
/// of a type that fits its value, for which an operand's gradient is not at the dual of its type.
/// Only for ops that are linear in each operand.
std::optional<Counterexample> find_adjoint_counterexample(const ir::Program& program,
                                                          const ir::Op& op,
                                                          const std::vector<Input>& operands,
                                                          const std::vector<Type>& stated,
                                                          const Axis& about = "");

}  // namespace shardproof::denote
