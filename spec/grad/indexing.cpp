// Gradients of x[n], index, index_unreduced, index_add, top_k: rows selected by a number or by ids.
#include "spec/grad/pull.h"

namespace shardproof::grad {
namespace {

/// index_add of `x` by `ids` into the dual of operand 0; `bracket` is its position that the ids
/// index.
void add_rows(Pull& p, ir::Indices in, size_t bracket, Ref ids, Ref x) {
  for (ir::IndexId id : in.right.at(bracket)) in.all[id].name = "[" + in.all[id].name + "]";
  ir::IndexAdd back;
  back.pattern.right_bracket = bracket;
  p.give(0, p.emit.op(std::move(back), in, {ids, x}, p.dual(0)));
}

/// The gradient of the table: adds the cotangent at the rows that were read.
void add_back(Pull& p, const ir::Pattern& read) {
  const ir::Indices& in = read.indices;
  add_rows(p, {in.all, {in.left[1], in.right}, in.left[0]}, read.left_bracket.value(), p.x(1),
           p.g());
}

}  // namespace

/// `where(iota(N) == n, g, 0)`.
void pull(Pull& p, const ir::Entry& op) {
  const Type wanted = p.dual(0);
  size_t at = 0;
  while (!(wanted.dims.at(at).dim == op.dim)) ++at;
  const ir::Indices in = unchanged(p.emit.graph.dims, wanted);
  Positions others = in.right;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(at));
  const Ref number = p.emit.iota({{wanted.dims[at]}, {}}, 0);
  const Ref here = p.emit.binary(ir::BinaryFn::eq, number, p.x(1));
  p.give(0, p.emit.where(here, p.emit.expand(in.all, p.g(), others, in.right, wanted),
                         p.emit.number("0")));
}

void pull(Pull& p, const ir::Index& op) { add_back(p, op.pattern); }
void pull(Pull& p, const ir::IndexUnreduced& op) { add_back(p, op.pattern); }

void pull(Pull& p, const ir::IndexAdd& op) {
  const Ref g = p.g();
  const ir::Indices& in = op.pattern.indices;
  ir::Pattern back;
  back.left_bracket = op.pattern.right_bracket;
  const bool split = !type_of(g).dims.at(back.left_bracket.value()).axes.empty();
  ir::Op read = split ? ir::Op(ir::IndexUnreduced{back}) : ir::Op(ir::Index{back});
  p.give(1, p.emit.op(std::move(read), {in.all, {in.right, in.left[0]}, in.left[1]}, {g, p.x(0)},
                      p.dual(1)));
}

void pull(Pull& p, const ir::TopK& op) {
  const Ref g = p.g(0);
  if (!g) return;
  ir::Indices in = op.pattern.indices;
  size_t bracket = 0;
  while (in.left[0].at(bracket) == in.right[bracket]) ++bracket;
  for (ir::IndexId id : in.right[bracket])  // paired now: the ids and x both have it
    std::erase_if(in.all[id].name, [](char c) { return c == '[' || c == ']'; });
  add_rows(p, {in.all, {in.right, in.right}, in.left[0]}, bracket, p.y(1), g);
}

}  // namespace shardproof::grad
