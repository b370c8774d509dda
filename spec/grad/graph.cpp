#include "spec/grad/graph.h"

#include <algorithm>

#include "spec/rules/rule.h"

namespace shardproof::grad {

Block* Graph::block(Block* parent) {
  blocks_.push_back({parent, {}});
  return &blocks_.back();
}

Node* Graph::make(Block& block) {
  nodes_.emplace_back();
  Node* node = &nodes_.back();
  node->block = &block;
  block.nodes.push_back(node);
  return node;
}

Ref Graph::parameter(Block& block, const Name& name, const Type& type) {
  Node* node = make(block);
  node->op = Parameter{};
  node->types = {type};
  node->names = {name};
  return {node, 0};
}

Ref Graph::add(Block& block, ir::Op op, std::vector<Ref> operands) {
  std::vector<Operand> typed;
  for (Ref ref : operands) {
    Operand operand{type_of(ref), false, std::nullopt};
    if (operand.type.dtype == Dtype::number) operand.number = 1;
    if (auto* made = std::get_if<ir::Op>(&ref.node->op))
      if (auto* number = std::get_if<ir::Number>(made)) operand.number = number->value;
    typed.push_back(std::move(operand));
  }
  RuleResult rule = apply_rule(program, op, typed);
  if (rule.refusal) {
    std::string types;
    for (const Operand& operand : typed) types += " " + to_string(operand.type);
    throw Defect{std::string(ir::name_of(op)) + ": " + rule.refusal->message + " of" + types};
  }
  Node* node = make(block);
  node->op = std::move(op);
  node->operands = std::move(operands);
  node->types = std::move(rule.types);
  for (Type& type : node->types)
    std::erase_if(type.marks, [](const auto& mark) { return mark.second == Mark::I; });
  node->names.resize(node->types.size());
  return {node, 0};
}

Ref Emit::number(const std::string& text) { return op(ir::Number{text, std::stod(text)}, {}); }

Ref Emit::size(const Dim& dim) {
  Ref result;
  for (const Name& name : dim.factors) {
    const bool literal = !name.empty() && name[0] >= '0' && name[0] <= '9';
    const Ref factor = literal ? number(name) : op(ir::SizeOf{name, false}, {});
    result = result ? mul(result, factor) : factor;
  }
  return result;
}

Ref Emit::cast(Ref x, Dtype to) {
  return type_of(x).dtype == to ? x : op(ir::Cast{to, std::nullopt}, {x});
}

Ref Emit::zeros(const Type& type) {
  return op(ir::Zeros{ir::Created{type, false, {}}, type.dtype}, {});
}

Ref Emit::sum(Ref x, const Shape& right) {
  if (right.dims.size() == type_of(x).dims.size()) return x;
  ir::Reduce reduce{ir::ReduceFn::sum, {}, std::nullopt};
  reduce.pattern.left = {type_of(x)};
  reduce.pattern.right = right;
  return op(std::move(reduce), {x});
}

Ref Emit::expand(Ref x, const Shape& right) {
  if (right.dims.size() == type_of(x).dims.size()) return x;
  ir::Expand expand;
  expand.pattern.left = {type_of(x)};
  expand.pattern.right = right;
  expand.pattern.right.marks = type_of(x).marks;
  return op(std::move(expand), {x});
}

Ref Emit::arrange(Ref x, const Shape& like) {
  const Type& have = type_of(x);
  const bool same =
      std::equal(have.dims.begin(), have.dims.end(), like.dims.begin(), like.dims.end(),
                 [](const Split& a, const Split& b) { return a.dim == b.dim; });
  if (same) return x;
  // Dims of both names keep them; of the others, those that are the same dim are paired.
  ir::Rearrange arrange;
  arrange.pattern.left = {have};
  arrange.pattern.right.marks = have.marks;
  std::vector<bool> used(have.dims.size(), false);
  const auto take = [&](const Dim& dim, bool exact) -> std::optional<size_t> {
    for (size_t i = 0; i < have.dims.size(); ++i) {
      const bool named_elsewhere = !exact && find(like, have.dims[i].dim);
      if (used[i] || named_elsewhere) continue;
      if (exact ? have.dims[i].dim == dim : graph.program.same_dim(have.dims[i].dim, dim)) {
        used[i] = true;
        return i;
      }
    }
    return std::nullopt;
  };
  for (const Split& split : like.dims) {
    auto at = take(split.dim, true);
    if (!at) at = take(split.dim, false);
    if (!at) throw Defect{"no order of " + to_string(have) + " is " + to_string(like)};
    arrange.pattern.right.dims.push_back({split.dim, have.dims[*at].axes});
  }
  return op(std::move(arrange), {x});
}

Ref Emit::collective(ir::CollectiveFn fn, Ref x, const Shape& right) {
  ir::Collective collective{fn, {}};
  collective.pattern.left = {type_of(x)};
  collective.pattern.right = right;
  const Shape& left = type_of(x);
  return left == right ? x : op(std::move(collective), {x});
}

Ref Emit::entry(Ref x, Ref index, const Dim& dim) { return op(ir::Entry{dim}, {x, index}); }

}  // namespace shardproof::grad
