#pragma once
// Facts about a mask that are known at compile time, from the ops that compute it.
#include <map>

#include "impl/compile/expression.h"
#include "kernels/fused.h"

namespace shardproof::compile {

class Masks {
 public:
  /// Records that the buffer holds the result of this iota.
  void count(BufferId buffer, const Iota& iota) { counts_.insert_or_assign(buffer, iota); }
  /// Records that the buffer holds the expression's entries, row-major.
  void compute(BufferId buffer, const Expression& expression, const std::vector<int64_t>& extents);
  /// Forgets the buffer: a step writes to it.
  void forget(BufferId buffer);
  /// The kind of a mask with these strides.
  MaskKind kind(const Ref& mask, const MaskStrides& strides) const;

 private:
  /// A view that counts along a position, starting at `first`.
  struct Counted {
    size_t position;
    int64_t first;
  };
  std::optional<Counted> counted(const Expression& leaf) const;

  /// The positions of queries and keys, if the expression allows keys that are not later.
  struct Order {
    size_t query, key;
  };
  std::optional<Order> order(const Expression& expression) const;

  /// A mask that allows entries whose index along one dim is at most that along another; the
  /// strides of both, and of its other dims.
  struct Causal {
    int64_t query, key;
    std::vector<int64_t> others;
    MaskKind kind;
  };

  std::map<BufferId, Iota> counts_;
  std::map<BufferId, Causal> causal_;
};

}  // namespace shardproof::compile
