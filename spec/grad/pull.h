#pragma once
// One step going back: the gradients of its results are known, those of its operands are given.
#include "spec/grad/forward.h"

namespace shardproof::grad {

class Walk;

class Pull {
 public:
  Pull(Walk& walk, const TapeOp& taped, Context& context, Emit emit)
      : taped(taped), emit(emit), walk_(walk), context_(context) {}

  const TapeOp& taped;
  Emit emit;

  /// The gradient of a result; none: nothing flows.
  Ref g(size_t result = 0);
  bool wants(size_t operand) const;           ///< a gradient of it is asked for
  Ref x(size_t operand);                      ///< forward value
  Ref y(size_t result = 0);                   ///< forward result
  const TapeValue& in(size_t operand) const;  ///< as in the plan: I included
  const TapeValue& out(size_t result = 0) const;
  Type dual(size_t operand) const;  ///< the type of its gradient
  /// Adds to the gradient of an operand, whose positions it has: under its names, in its dtype.
  void give(size_t operand, Ref gradient);
  /// The same for pointwise ops: in the operand's order, dims that it lacks are added up first.
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
void pull(Pull& p, const ir::Index& op);
void pull(Pull& p, const ir::IndexUnreduced& op);
void pull(Pull& p, const ir::IndexAdd& op);
void pull(Pull& p, const ir::TopK& op);
void pull(Pull& p, const ir::Collective& op);
void pull(Pull& p, const ir::Ppermute& op);
void pull(Pull& p, const ir::Total& op);
void pull_trusted(Pull& p, const ir::Program& program, const Trusted& op);
/// The gradients by `X_grad`; false: the library has none for what is wanted.
bool pull_library(Pull& p, const ir::Program& program, const Library& op);

}  // namespace shardproof::grad
