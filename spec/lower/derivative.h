#pragma once
// Reverse-mode differentiation of lowered tensors: each op gives its operands their cotangents as
// terms of the algebra. Nothing here uses mesh axes, marks or text. With the derived backward of a
// plan it shares only the derivatives of pointwise functions (spec/ir/pointwise.def).
#include "spec/lower/context.h"

namespace shardproof::lower {

/// The cotangents of one frame's values; the frame is taped and holds the forward values.
class Cotangents {
 public:
  /// `wrt`: the values to differentiate by. Only values between them and the results get a
  /// cotangent.
  Cotangents(Context& context, Frame& values, const std::vector<ir::ValueId>& wrt);

  /// Adds `share` to the cotangent of a value; both have the positions of the value's dims.
  void add(ir::ValueId value, const TensorExpr& share);
  /// Runs the instructions in reverse order.
  void back(const ir::Block& block);
  /// The cotangent so far; 0 if none was added.
  TensorExpr of(ir::ValueId value) const;
  /// The same values with no cotangents yet.
  Cotangents empty() const;
  bool arrived(ir::ValueId value) const { return of_.at(value).has_value(); }
  bool wants(ir::ValueId value) const { return wanted_.at(value); }

  Context& c;
  Frame& frame;

 private:
  void mark(const ir::Block& block);
  void mark_scan(const ir::Scan& scan, const ir::Instr& instr);

  std::vector<bool> wanted_;  ///< depends on `wrt`, and is a float
  std::vector<std::optional<TensorExpr>> of_;
};

/// One instruction in the reverse pass.
struct Pull {
  Cotangents& all;
  const Site& site;
  Context& c;

  bool wants(size_t operand) const { return all.wants(site.instr.operands.at(operand)); }
  /// The cotangent of result `k` at the indices `at`, by position.
  Nf gradient(const Vars& at, size_t k = 0) const;
  /// Adds to an operand's cotangent; `share` has the operand's positions.
  void give(size_t operand, const TensorExpr& share) {
    all.add(site.instr.operands[operand], share);
  }
  /// Adds `share`, summed over the indices in `from` that are not in `index`.
  void give_sum(size_t operand, const Vars& index, const Vars& from, Nf share);
};

/// The gradients of `function` with respect to the leaf parameters `wrt`, for the cotangents
/// `seeds` of its results. `taped` is the frame that lowered it.
std::vector<TensorExpr> gradients(Context& c, Frame& taped, const std::vector<TensorExpr>& seeds,
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

// Ops without a differentiable operand, and ops that stop gradients.
inline void pull_op(Pull&, const ir::Number&) {}
inline void pull_op(Pull&, const ir::SizeOf&) {}
inline void pull_op(Pull&, const ir::StopGrad&) {}
inline void pull_op(Pull&, const ir::Fold&) {}
inline void pull_op(Pull&, const ir::Iota&) {}
inline void pull_op(Pull&, const ir::Random&) {}
inline void pull_op(Pull&, const ir::Zeros&) {}
inline void pull_op(Pull&, const ir::Argmax&) {}

}  // namespace shardproof::lower
