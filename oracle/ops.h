#pragma once
// Every op: its results from its operands, and beside it how gradients go back. A new op does not
// compile until it is here.
#include "oracle/moves.h"

namespace shardproof::oracle {

// created.cpp
Vars apply(const ir::Number& op, Step& step);
Vars apply(const ir::SizeOf& op, Step& step);
Vars apply(const ir::Iota& op, Step& step);
Vars apply(const ir::Zeros& op, Step& step);
// random.cpp
Vars apply(const ir::Random& op, Step& step);
Vars apply(const ir::Fold& op, Step& step);
// pointwise.cpp
Vars apply(const ir::Unary& op, Step& step);
Vars apply(const ir::Binary& op, Step& step);
Vars apply(const ir::Where& op, Step& step);
Vars apply(const ir::Cast& op, Step& step);
Vars apply(const ir::StopGrad& op, Step& step);
Vars apply(const ir::Total& op, Step& step);
// einsum.cpp
Vars apply(const ir::Einsum& op, Step& step);
// reduce.cpp
Vars apply(const ir::Reduce& op, Step& step);
Vars apply(const ir::Argmax& op, Step& step);
// structure.cpp
Vars apply(const ir::Expand& op, Step& step);
Vars apply(const ir::Rearrange& op, Step& step);
Vars apply(const ir::Roll& op, Step& step);
Vars apply(const ir::Rev& op, Step& step);
Vars apply(const ir::Ppermute& op, Step& step);
Vars apply(const ir::Collective& op, Step& step);
// slices.cpp
Vars apply(const ir::Read& op, Step& step);
Vars apply(const ir::Write& op, Step& step);
Vars apply(const ir::Concat& op, Step& step);
Vars apply(const ir::Entry& op, Step& step);
// indexing.cpp
Vars apply(const ir::Index& op, Step& step);
Vars apply(const ir::IndexUnreduced& op, Step& step);
Vars apply(const ir::IndexAdd& op, Step& step);
// ordered.cpp
Vars apply(const ir::Ordered& op, Step& step);
Vars apply(const ir::TopK& op, Step& step);
// loops.cpp
Vars apply(const ir::Scan& op, Step& step);
Vars apply(const ir::Ring& op, Step& step);
Vars apply(const ir::Pipeline& op, Step& step);
Vars apply(const ir::Stages& op, Step& step);
// calls.cpp
Vars apply(const ir::Call& op, Step& step);
Vars apply(const ir::Grad& op, Step& step);

// The erasure: these give way to their operand.
inline Vars apply(const ir::Save&, Step& step) { return {step.operand(0)}; }
inline Vars apply(const ir::Ascribe&, Step& step) { return {step.operand(0)}; }

/// NaN is larger than every number, so that it passes through max, and sorts last.
bool less(double a, double b);

}  // namespace shardproof::oracle
