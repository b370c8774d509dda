// index, index_unreduced, index_add, top_k: rows chosen by ids.
#include "spec/grad/pull.h"

namespace shardproof::grad {
namespace {

/// The gradient of the table: what was read is added where it came from.
void add_rows(Pull& p, const ir::Pattern& read) {
  const Ref g = p.g();
  ir::IndexAdd back;
  back.pattern.left = {read.left[1], read.right};
  back.pattern.right = read.left[0];
  use_own_names(read.left[0], p.in(0).type,
                {&back.pattern.left[0], &back.pattern.left[1], &back.pattern.right});
  back.pattern.left[1].marks = type_of(g).marks;
  back.pattern.right.marks = p.dual(0).marks;
  back.pattern.right_bracket = read.left_bracket;
  p.give(0, p.emit.op(std::move(back), {p.x(1), g}));
}

}  // namespace

void pull(Pull& p, const ir::Index& op) { add_rows(p, op.pattern); }
void pull(Pull& p, const ir::IndexUnreduced& op) { add_rows(p, op.pattern); }

void pull(Pull& p, const ir::IndexAdd& op) {
  const Ref g = p.g();
  ir::Pattern back;
  back.left = {op.pattern.right, op.pattern.left[0]};
  back.left[0].marks = type_of(g).marks;
  back.left_bracket = op.pattern.right_bracket;
  back.right = op.pattern.left[1];
  back.right.marks = p.dual(1).marks;
  const bool split = !back.left[0].dims[back.left_bracket.value_or(0)].axes.empty();
  ir::Op read = split ? ir::Op(ir::IndexUnreduced{back}) : ir::Op(ir::Index{back});
  p.give(1, p.emit.op(std::move(read), {g, p.x(0)}));
}

void pull(Pull& p, const ir::TopK& op) {
  const Ref g = p.g(0);
  if (!g) return;
  const Shape &whole = op.pattern.left[0], &largest = op.pattern.right;
  ir::IndexAdd back;
  back.pattern.left = {largest, largest};
  back.pattern.right = whole;
  for (size_t i = 0; i < whole.dims.size(); ++i)
    if (!(whole.dims[i].dim == largest.dims[i].dim)) back.pattern.right_bracket = i;
  back.pattern.left[1].marks = type_of(g).marks;
  back.pattern.left[0].marks.clear();
  back.pattern.right.marks = type_of(g).marks;
  p.give(0, p.emit.op(std::move(back), {p.y(1), g}));
}

}  // namespace shardproof::grad
