#include "spec/grad/graph.h"

#include <algorithm>
#include <map>

#include "spec/elaborate/names.h"
#include "spec/rules/ring.h"
#include "spec/rules/rule.h"

namespace shardproof::grad {

Block* Graph::block(Block* parent) {
  blocks_.push_back({parent, {}});
  return &blocks_.back();
}

Node* Graph::make(Block& block) {
  constexpr size_t most = 400'000;  // about 600 MB
  if (nodes_.size() >= most) throw Defect{"it has more than 400,000 values"};
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
  RuleResult rule = apply_rule(dims, op, typed);
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

Ref Emit::iota(const Shape& shape, size_t dim) {
  return op(ir::Iota{ir::Created{shape, false, {}}, dim}, {});
}

Positions kept(const Positions& from, const std::vector<ir::IndexId>& wanted) {
  Positions result;
  for (const ir::Position& position : from) {
    ir::Position rest;
    for (ir::IndexId id : position)
      if (std::count(wanted.begin(), wanted.end(), id)) rest.push_back(id);
    if (!rest.empty()) result.push_back(std::move(rest));
  }
  return result;
}

Shape regrouped(const ir::Program& program, const PatternIndices& all, const Positions& positions,
                const Positions& at, const Shape& shape) {
  ir::Indices in;
  in.all = all;
  std::map<ir::IndexId, std::pair<Name, std::vector<Axis>>> known;
  for (size_t i = 0; i < at.size(); ++i) {
    const elaborate::Factors factors = elaborate::factors(program, shape.dims.at(i).dim);
    for (size_t f = 0; f < at[i].size(); ++f) {
      const bool nameless = factors.at(f).name.find('.') != Name::npos;
      known[at[i][f]].first = nameless ? factors[f].dim : factors[f].name;
    }
    if (const auto first = elaborate::leading(program, in, at[i]))
      known[*first].second = shape.dims[i].axes;
  }
  Shape result;
  for (const ir::Position& position : positions) {
    const auto same = std::find(at.begin(), at.end(), position);
    if (same != at.end()) {
      result.dims.push_back(shape.dims[static_cast<size_t>(same - at.begin())]);
      continue;
    }
    Split split;
    for (ir::IndexId id : position) split.dim.factors.push_back(known.at(id).first);
    if (const auto first = elaborate::leading(program, in, position))
      split.axes = known.at(*first).second;
    result.dims.push_back(std::move(split));
  }
  result.marks = shape.marks;
  return result;
}

Ref Emit::op(ir::Op op, const ir::Indices& in, std::vector<Ref> operands, const Shape& right) {
  std::vector<Shape> types;
  for (size_t i = 0; i < in.left.size(); ++i) types.push_back(type_of(operands.at(i)));
  if (!write_names(graph.dims, op, in, types, right))
    throw Defect{std::string("no pattern of ") + ir::name_of(op) + " gives " + to_string(right)};
  return this->op(std::move(op), std::move(operands));
}

Ref Emit::sum(const PatternIndices& all, Ref x, const Positions& from, const Positions& to,
              const Shape& right) {
  const Positions rest = kept(from, flat(to));
  if (flat(rest).size() == flat(from).size()) return rearrange(all, x, from, to, right);
  ir::Reduce reduce{ir::ReduceFn::sum, {}, std::nullopt};
  const bool in_order = flat(rest) == flat(to);
  const Positions& first = in_order ? to : rest;
  const Ref made = op(std::move(reduce), {all, {from}, first}, {x},
                      regrouped(graph.dims, all, first, to, right));
  return rearrange(all, made, first, to, right);
}

/// A group with a new part is built from its factors.
Ref Emit::expand(const PatternIndices& all, Ref x, const Positions& from, const Positions& to,
                 const Shape& right) {
  const std::vector<ir::IndexId> known = flat(from);
  if (known.size() == flat(to).size()) return rearrange(all, x, from, to, right);
  Positions first;
  for (const ir::Position& position : to) {
    const auto old = std::count_if(position.begin(), position.end(), [&](ir::IndexId id) {
      return std::count(known.begin(), known.end(), id) > 0;
    });
    if (old == 0 || old == static_cast<std::ptrdiff_t>(position.size()))
      first.push_back(position);
    else
      for (ir::IndexId id : position) first.push_back({id});
  }
  Shape states = regrouped(graph.dims, all, first, to, right);
  states.marks = type_of(x).marks;
  const Ref made = op(ir::Expand{}, {all, {from}, first}, {x}, states);
  return rearrange(all, made, first, to, right);
}

Ref Emit::rearrange(const PatternIndices& all, Ref x, const Positions& from, const Positions& to,
                    const Shape& right) {
  if (from == to) return x;
  Shape states = right;
  states.marks = type_of(x).marks;
  return op(ir::Rearrange{}, {all, {from}, to}, {x}, states);
}

Ref Emit::renamed(Ref x, const Shape& like) {
  // First renames positions of x whose names are needed at other positions.
  for (int i = 0; i < 2 && !same_dims(type_of(x), like); ++i) {
    Shape right = type_of(x);
    if (right.dims.size() != like.dims.size()) break;
    for (size_t d = 0; d < right.dims.size(); ++d) right.dims[d].dim = like.dims[d].dim;
    x = op(ir::Rearrange{}, unchanged(graph.dims, type_of(x)), {x}, right);
  }
  if (same_dims(type_of(x), like)) return x;
  throw Defect{to_string(type_of(x)) + " cannot be called " + to_string(like)};
}

Ref Emit::collective(ir::CollectiveFn fn, Ref x, const Shape& right) {
  const Shape& left = type_of(x);
  bool same = left.marks == right.marks;
  for (size_t i = 0; i < left.dims.size(); ++i)
    same = same && left.dims[i].axes == right.dims.at(i).axes;
  if (same) return x;
  return op(ir::Collective{fn, {}}, unchanged(graph.dims, left), {x}, right);
}

Ref Emit::entry(Ref x, Ref index, const Dim& dim) { return op(ir::Entry{dim}, {x, index}); }

Type emitted_type(const ScanText& loop, const Type& emitted) {
  if (loop.ring) {
    const auto type = rules::emitted_by_ring(emitted, loop.ring->of, loop.ring->block);
    if (!type) throw Defect{"a ring emits " + to_string(emitted)};
    return *type;
  }
  Type type = emitted;
  type.dims.insert(type.dims.begin(), Split{loop.dim, {}});
  return type;
}

Ref Emit::block_of(Ref x, Ref index, const Dim& dim, const Dim& of_ring) {
  Type type = type_of(x);
  for (Split& split : type.dims)
    if (split.dim == dim) split = {of_ring, {}};
  Node* node = graph.make(block);
  node->op = ir::Op{ir::Entry{dim}};
  x.node->apart = true;
  node->operands = {x, index};
  node->types = {type};
  node->names.resize(1);
  return {node, 0};
}

}  // namespace shardproof::grad
