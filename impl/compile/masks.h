#pragma once
// What is known of a mask before a plan runs, from how it is made.
#include <map>

#include "impl/compile/expression.h"
#include "kernels/fused.h"

namespace shardproof::compile {

class Masks {
 public:
  /// The buffer's entries are the op's.
  void count(BufferId buffer, const Iota& iota) { counts_.insert_or_assign(buffer, iota); }
  /// The buffer's entries are those of the expression, row-major along `labels`.
  void compute(BufferId buffer, const Expression& expression, const Labels& labels,
               const std::vector<int64_t>& extents);
  /// Something is written to the buffer.
  void forget(BufferId buffer);
  /// Of a view of a mask that has these strides.
  MaskKind kind(const Ref& mask, const MaskStrides& strides) const;

 private:
  /// A view that tells the index of one of its dims, from `first` on.
  struct Counted {
    Dim label;
    int64_t first;
  };
  std::optional<Counted> counted(const Expression& leaf) const;

  /// The labels of queries and keys where the expression allows what is not later.
  struct Order {
    Dim query, key;
  };
  std::optional<Order> order(const Expression& expression) const;

  /// A mask that allows what the index along one dim is at most that along another; the strides of
  /// the two, and of its other dims.
  struct Causal {
    int64_t query, key;
    std::vector<int64_t> others;
    MaskKind kind;
  };

  std::map<BufferId, Iota> counts_;
  std::map<BufferId, Causal> causal_;
};

}  // namespace shardproof::compile
