#pragma once
// One op on one mesh with one set of sizes: the inputs that devices may hold, the op's outcome, and
// the value it should have.
#include <optional>

#include "spec/denote/candidates.h"
#include "spec/denote/represent.h"
#include "spec/denote/run.h"

namespace shardproof::denote {

/// An operand of the op to refute.
struct Input {
  Type type;
  std::optional<double> number = {};  ///< a literal or const
  std::string name = {};              ///< the name in messages; if empty, "operand 1" and so on
  bool has_gradient = true;
  std::optional<size_t> same_as = {};   ///< the value of an earlier operand
  std::optional<size_t> index_of = {};  ///< of an iota: the dim whose index each entry is
};

/// The inputs' types.
std::vector<Type> types_of(const std::vector<Input>& inputs);

/// An entry on a device that may be any number; copies follow from it.
struct FreeEntry {
  size_t operand;
  int64_t device;
  size_t entry;
};

template <class S>
using Values = std::vector<Distributed<S>>;  ///< one per operand or result

class Trial {
 public:
  /// Throws Mismatch if the sizes do not fit the types.
  Trial(const Geometry& geometry, const ir::Op& op, const std::vector<Input>& inputs);

  const std::vector<FreeEntry>& free_entries() const { return free_entries_; }
  const Geometry& geometry() const { return geometry_; }
  const ir::Op& op() const { return op_; }
  const std::vector<Input>& inputs() const { return inputs_; }

  /// The operands with these numbers in the free entries; fills in the copies.
  template <class S>
  Values<S> operands(const std::vector<S>& numbers) const;

  /// The devices' arrays after the op. Throws Error.
  template <class S>
  Values<S> outcome(const Values<S>& operands, const std::vector<Type>& results) const;

  /// The value of an operand. It must represent one.
  template <class S>
  Array<S> value(const Values<S>& operands, size_t i) const;

  /// The op's results on whole tensors. Throws Error.
  template <class S>
  std::vector<Array<S>> wanted(const Values<S>& operands, const std::vector<Type>& results) const;
  /// The same for whole operands, one array each.
  template <class S>
  std::vector<Array<S>> wanted_of(Values<S> whole, const std::vector<Type>& results) const;

 private:
  const Geometry& geometry_;
  Geometry single_;
  const ir::Op& op_;
  std::vector<Input> inputs_;
  std::vector<FreeEntry> free_entries_;
};

}  // namespace shardproof::denote
