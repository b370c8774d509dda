#pragma once
// Reverse mode on lowered tensors: each op gives its operands their cotangents as terms of the
// algebra. Nothing here looks at axes, marks or text. The derived backward of a plan shares with it
// the derivatives of pointwise functions (spec/ir/pointwise.def), and nothing else.
#include "spec/lower/context.h"

namespace shardproof::lower {

/// The cotangents of one frame's values; the frame is taped and holds the forward values.
class Cotangents {
 public:
  /// `wrt`: the values asked for. Only what lies on a way to them is computed.
  Cotangents(Context& context, Frame& values, const std::vector<ir::ValueId>& wrt);

  /// Adds to the cotangent of a value; the positions of `share` are those of the value's dims.
  void add(ir::ValueId value, const Tensor& share);
  /// Walks the instructions in reverse.
  void back(const ir::Block& block);
  /// The cotangent so far; 0 where nothing arrived.
  Tensor of(ir::ValueId value) const;
  /// The same values, to begin anew.
  Cotangents empty() const;
  bool arrived(ir::ValueId value) const { return of_.at(value).has_value(); }
  bool wants(ir::ValueId value) const { return wanted_.at(value); }

  Context& c;
  Frame& frame;

 private:
  void mark(const ir::Block& block);
  void mark_scan(const ir::Scan& scan, const ir::Instr& instr);

  std::vector<bool> wanted_;  ///< depends on `wrt`, and is a float
  std::vector<std::optional<Tensor>> of_;
};

/// One instruction on the way back.
struct Pull {
  Cotangents& all;
  const Site& site;
  Context& c;

  bool wants(size_t operand) const { return all.wants(site.instr.operands.at(operand)); }
  /// The cotangent of result `k` at the indices `at`, by position.
  Nf gradient(const Vars& at, size_t k = 0) const;
  /// The positions of `share` are those of the operand.
  void give(size_t operand, const Tensor& share) { all.add(site.instr.operands[operand], share); }
  /// The sum over the indices of `from` that are not among `index`.
  void give_sum(size_t operand, const Vars& index, const Vars& from, Nf share);
};

/// `taped` lowered `function`: its gradients with respect to the leaf parameters `wrt`, for the
/// cotangents `seeds` of its results.
std::vector<Tensor> gradients(Context& c, Frame& taped, const std::vector<Tensor>& seeds,
                              const std::vector<size_t>& wrt);

#define SHARDPROOF_PULLS(OP) void pull_op(Pull& p, const ir::OP& op);
// pull_pointwise.cpp
SHARDPROOF_PULLS(Unary)
SHARDPROOF_PULLS(Binary)
SHARDPROOF_PULLS(Where)
SHARDPROOF_PULLS(Cast)
SHARDPROOF_PULLS(Save)
SHARDPROOF_PULLS(Ascribe)
SHARDPROOF_PULLS(Total)
// pull_einsum.cpp
SHARDPROOF_PULLS(Einsum)
SHARDPROOF_PULLS(Reduce)
SHARDPROOF_PULLS(Expand)
SHARDPROOF_PULLS(Rearrange)
SHARDPROOF_PULLS(Collective)
// pull_slices.cpp
SHARDPROOF_PULLS(Read)
SHARDPROOF_PULLS(Write)
SHARDPROOF_PULLS(Concat)
SHARDPROOF_PULLS(Roll)
SHARDPROOF_PULLS(Rev)
SHARDPROOF_PULLS(Ordered)
SHARDPROOF_PULLS(Ppermute)
SHARDPROOF_PULLS(Entry)
SHARDPROOF_PULLS(Index)
SHARDPROOF_PULLS(IndexUnreduced)
SHARDPROOF_PULLS(IndexAdd)
SHARDPROOF_PULLS(TopK)
// pull_scan.cpp
SHARDPROOF_PULLS(Scan)
// derivative.cpp
SHARDPROOF_PULLS(Call)
SHARDPROOF_PULLS(Grad)
SHARDPROOF_PULLS(Ring)
SHARDPROOF_PULLS(Pipeline)
SHARDPROOF_PULLS(Stages)
#undef SHARDPROOF_PULLS

// What has no operand with a gradient, and what lets none through.
inline void pull_op(Pull&, const ir::Number&) {}
inline void pull_op(Pull&, const ir::SizeOf&) {}
inline void pull_op(Pull&, const ir::StopGrad&) {}
inline void pull_op(Pull&, const ir::Fold&) {}
inline void pull_op(Pull&, const ir::Iota&) {}
inline void pull_op(Pull&, const ir::Random&) {}
inline void pull_op(Pull&, const ir::Zeros&) {}
inline void pull_op(Pull&, const ir::Argmax&) {}

}  // namespace shardproof::lower
