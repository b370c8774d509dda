#pragma once
// The gradient of one step: from those of its results to those of its operands.
#include "spec/grad/forward.h"

namespace shardproof::grad {

class Walk;

class Pull {
 public:
  Pull(Walk& walk, const TapeOp& taped, Context& context, Emit emit)
      : taped(taped), emit(emit), walk_(walk), context_(context) {}

  const TapeOp& taped;
  Emit emit;

  /// The gradient of a result; none if there is none.
  Ref g(size_t result = 0);
  bool wants(size_t operand) const;           ///< whether its gradient is needed
  Ref x(size_t operand);                      ///< forward value
  Ref y(size_t result = 0);                   ///< forward result
  const TapeValue& in(size_t operand) const;  ///< as in the plan, including I
  const TapeValue& out(size_t result = 0) const;
  Type dual(size_t operand) const;  ///< the type of its gradient
  /// Adds to the gradient of an operand with the same positions; renames and casts it.
  void give(size_t operand, Ref gradient);
  /// The same for pointwise ops: reorders, and sums over dims that the operand lacks.
  void give_pointwise(size_t operand, Ref gradient);
  [[noreturn]] void none(const std::string& what) const {
    refuse("E0217", taped.place, "no gradient through " + what);
  }

 private:
  Walk& walk_;
  Context& context_;
};

void pull(Pull& p, const ir::Unary& op);
void pull(Pull& p, const ir::Binary& op);
void pull(Pull& p, const ir::Where& op);
void pull(Pull& p, const ir::Cast& op);
void pull(Pull& p, const ir::Einsum& op);
void pull(Pull& p, const ir::Reduce& op);
void pull(Pull& p, const ir::Expand& op);
void pull(Pull& p, const ir::Rearrange& op);
void pull(Pull& p, const ir::Read& op);
void pull(Pull& p, const ir::Write& op);
void pull(Pull& p, const ir::Concat& op);
void pull(Pull& p, const ir::Roll& op);
void pull(Pull& p, const ir::Rev& op);
void pull(Pull& p, const ir::Ordered& op);
/// For an entry of a value of the same step of the loop.
void pull(Pull& p, const ir::Entry& op);
void pull(Pull& p, const ir::Index& op);
void pull(Pull& p, const ir::IndexUnreduced& op);
void pull(Pull& p, const ir::IndexAdd& op);
void pull(Pull& p, const ir::TopK& op);
void pull(Pull& p, const ir::Collective& op);
void pull(Pull& p, const ir::Ppermute& op);
void pull(Pull& p, const ir::Total& op);
void pull_trusted(Pull& p, const ir::Program& program, const Trusted& op);
/// Uses `X_grad`; false if the library does not have the wanted gradient.
bool pull_library(Pull& p, const ir::Program& program, const Library& op);

}  // namespace shardproof::grad
