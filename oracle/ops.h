#pragma once
// Every op: its results from its operands, and beside it how gradients go back. A new op does not
// compile until it is here.
#include "oracle/moves.h"

namespace shardproof::oracle {

// created.cpp
Vars apply(const ir::Number& op, Site& site);
Vars apply(const ir::SizeOf& op, Site& site);
Vars apply(const ir::Iota& op, Site& site);
Vars apply(const ir::Zeros& op, Site& site);
// random.cpp
Vars apply(const ir::Random& op, Site& site);
Vars apply(const ir::Fold& op, Site& site);
// pointwise.cpp
Vars apply(const ir::Unary& op, Site& site);
Vars apply(const ir::Binary& op, Site& site);
Vars apply(const ir::Where& op, Site& site);
Vars apply(const ir::Cast& op, Site& site);
Vars apply(const ir::StopGrad& op, Site& site);
Vars apply(const ir::Total& op, Site& site);
// einsum.cpp
Vars apply(const ir::Einsum& op, Site& site);
// reduce.cpp
Vars apply(const ir::Reduce& op, Site& site);
Vars apply(const ir::Argmax& op, Site& site);
// structure.cpp
Vars apply(const ir::Expand& op, Site& site);
Vars apply(const ir::Rearrange& op, Site& site);
Vars apply(const ir::Roll& op, Site& site);
Vars apply(const ir::Rev& op, Site& site);
Vars apply(const ir::Ppermute& op, Site& site);
Vars apply(const ir::Collective& op, Site& site);
// slices.cpp
Vars apply(const ir::Read& op, Site& site);
Vars apply(const ir::Write& op, Site& site);
Vars apply(const ir::Concat& op, Site& site);
Vars apply(const ir::Entry& op, Site& site);
// indexing.cpp
Vars apply(const ir::Index& op, Site& site);
Vars apply(const ir::IndexUnreduced& op, Site& site);
Vars apply(const ir::IndexAdd& op, Site& site);
// ordered.cpp
Vars apply(const ir::Ordered& op, Site& site);
Vars apply(const ir::TopK& op, Site& site);
// loops.cpp
Vars apply(const ir::Scan& op, Site& site);
Vars apply(const ir::Ring& op, Site& site);
Vars apply(const ir::Pipeline& op, Site& site);
Vars apply(const ir::Stages& op, Site& site);
// calls.cpp
Vars apply(const ir::Call& op, Site& site);
Vars apply(const ir::Grad& op, Site& site);

// The erasure: these give way to their operand.
inline Vars apply(const ir::Save&, Site& site) { return {site.operand(0)}; }
inline Vars apply(const ir::Ascribe&, Site& site) { return {site.operand(0)}; }

/// NaN is larger than every number, so that it passes through max, and sorts last.
bool less(double a, double b);

}  // namespace shardproof::oracle
