#pragma once
// Why an op is refused, in numbers: the smallest mesh, sizes and inputs for which the devices do
// not end with what they should.
#include <functional>

#include "spec/denote/trial.h"

namespace shardproof::denote {

/// Sizes of axes and dims to try, fewest devices first, then fewest entries. Dims of the program
/// that have a large known size are taken to be small.
class Sizings {
 public:
  Sizings(const ir::Program& program, const std::vector<Shape>& shapes);
  const ir::Program& program() const { return program_; }
  const std::vector<Sizes>& all() const { return all_; }

 private:
  ir::Program program_;
  std::vector<Sizes> all_;
};

/// Calls visit(x) for the vectors of `length` integers in order of the sum of their absolute
/// values, until it is true or `budget` vectors were tried.
bool integers_by_size(size_t length, size_t budget,
                      const std::function<bool(const std::vector<int64_t>&)>& visit);

/// Integers that the devices hold, at the operands' types, such that what they hold after `op` does
/// not represent the op's value at the stated result types; with none stated, at no type at all.
/// Nothing is returned where the search finds none.
std::optional<Counterexample> find_counterexample(const ir::Program& program, const ir::Op& op,
                                                  const std::vector<Input>& operands,
                                                  const std::vector<Type>& stated);

/// The same for an op with a right value and a wrong gradient: gradients that the devices get for
/// the result, at the dual of a type that fits its value, and an operand's gradient that is not at
/// the dual of its type. Ops that are linear in each operand only.
std::optional<Counterexample> find_adjoint_counterexample(const ir::Program& program,
                                                          const ir::Op& op,
                                                          const std::vector<Input>& operands,
                                                          const std::vector<Type>& stated);

}  // namespace shardproof::denote
