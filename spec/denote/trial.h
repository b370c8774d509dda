#pragma once
// One op, one mesh, one set of sizes: the values that devices may hold, what the op makes of them,
// and what it should make.
#include <optional>

#include "spec/denote/candidates.h"
#include "spec/denote/represent.h"
#include "spec/denote/run.h"

namespace shardproof::denote {

/// An operand of an op that is to be refuted.
struct Input {
  Type type;
  std::optional<double> number = {};  ///< a literal or const
  std::string name = {};              ///< what to call it; "operand 1" where empty
  bool has_gradient = true;
};

/// Types only.
std::vector<Type> types_of(const std::vector<Input>& inputs);

/// A place where a device may hold any number: the others follow from these.
struct Slot {
  size_t operand;
  int64_t device;
  size_t entry;
};

template <class S>
using Values = std::vector<Distributed<S>>;  ///< one per operand or result

class Trial {
 public:
  /// Throws Mismatch where the sizes do not fit the types.
  Trial(const Geometry& geometry, const ir::Op& op, const std::vector<Input>& inputs);

  const std::vector<Slot>& slots() const { return slots_; }
  const Geometry& geometry() const { return geometry_; }
  const ir::Op& op() const { return op_; }
  const std::vector<Input>& inputs() const { return inputs_; }

  /// The operands with these numbers in the slots, copies filled in.
  template <class S>
  Values<S> operands(const std::vector<S>& numbers) const;

  /// What the devices hold after the op. Throws Error.
  template <class S>
  Values<S> outcome(const Values<S>& operands, const std::vector<Type>& results) const;

  /// The value of an operand. It must have one.
  template <class S>
  Array<S> value(const Values<S>& operands, size_t i) const;

  /// The op's results on whole tensors. Throws Error.
  template <class S>
  std::vector<Array<S>> wanted(const Values<S>& operands, const std::vector<Type>& results) const;
  /// The same of whole operands: one array each.
  template <class S>
  std::vector<Array<S>> wanted_of(Values<S> whole, const std::vector<Type>& results) const;

 private:
  const Geometry& geometry_;
  Geometry single_;
  const ir::Op& op_;
  std::vector<Input> inputs_;
  std::vector<Slot> slots_;
};

}  // namespace shardproof::denote
