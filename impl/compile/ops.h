#pragma once
// One function per op: adds the op's steps, and defines its results.
#include "impl/compile/compiler.h"

namespace shardproof::compile {

// pointwise.cpp
void compile(const ir::Number&, const Site&);
void compile(const ir::SizeOf&, const Site&);
void compile(const ir::Unary&, const Site&);
void compile(const ir::Binary&, const Site&);
void compile(const ir::Where&, const Site&);
void compile(const ir::Cast&, const Site&);
void compile(const ir::Fold&, const Site&);
void compile(const ir::StopGrad&, const Site&);
void compile(const ir::Save&, const Site&);
void compile(const ir::Ascribe&, const Site&);
void compile(const ir::Zeros&, const Site&);
void compile(const ir::Total&, const Site&);
// einsum.cpp, reduce.cpp
void compile(const ir::Einsum&, const Site&);
void compile(const ir::Reduce&, const Site&);
// structure.cpp
void compile(const ir::Expand&, const Site&);
void compile(const ir::Rearrange&, const Site&);
// slices.cpp
void compile(const ir::Read&, const Site&);
void compile(const ir::Write&, const Site&);
void compile(const ir::Concat&, const Site&);
void compile(const ir::Roll&, const Site&);
void compile(const ir::Rev&, const Site&);
void compile(const ir::Entry&, const Site&);
// indexing.cpp
void compile(const ir::Index&, const Site&);
void compile(const ir::IndexUnreduced&, const Site&);
void compile(const ir::IndexAdd&, const Site&);
// created.cpp
void compile(const ir::Iota&, const Site&);
void compile(const ir::Random&, const Site&);
// ordered.cpp
void compile(const ir::Ordered&, const Site&);
void compile(const ir::Argmax&, const Site&);
void compile(const ir::TopK&, const Site&);
// collective.cpp, ppermute.cpp
void compile(const ir::Collective&, const Site&);
void compile(const ir::Ppermute&, const Site&);
// calls.cpp
void compile(const ir::Call&, const Site&);
void compile(const ir::Grad&, const Site&);
// loops.cpp
void compile(const ir::Scan&, const Site&);
void compile(const ir::Ring&, const Site&);
void compile(const ir::Pipeline&, const Site&);
void compile(const ir::Stages&, const Site&);

/// The reduction, over all indices but `kept`, of the product of the views.
View reduced(Compiler& compiler, Reduction fn, const std::vector<const View*>& x, const Ids& kept,
             Element element);
/// The position in the result of each position of a pointwise operand.
Ids matched(const ir::Program& program, const Shape& operand, const Shape& result);
/// The position of the operand that an `x[n]` indexes.
size_t position_of(const ir::Entry& op, const Type& type);

}  // namespace shardproof::compile
