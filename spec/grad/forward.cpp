#include "spec/grad/forward.h"

#include <algorithm>

namespace shardproof::grad {

Context* Forward::open(const Tape& tape, Block& block, Context* parent) {
  contexts_.push_back({&tape, &block, parent, {}, {}, {}, nullptr, {}});
  return &contexts_.back();
}

Context& Forward::home(ValueIndex v, Context& here) {
  Context* context = &here;
  while (context && context->tape != recording_.values[v].home) context = context->parent;
  if (!context) throw Defect{"a value is used outside its loop"};
  return *context;
}

/// Operands come first: a call within a call for each value of a long chain would end the stack.
Ref Forward::value(ValueIndex v, Context& here) {
  struct Open {
    ValueIndex value;
    Context* context;
    size_t next = 0;  ///< operand
  };
  Context& own = home(v, here);
  std::vector<Open> open{{v, &own}};
  while (!open.empty()) {
    Open& last = open.back();
    const bool known = last.context->values.contains(last.value);
    const TapeOp* op = known ? nullptr : computed_again(last.value, *last.context);
    if (op && last.next < op->operands.size()) {
      const ValueIndex operand = op->operands[last.next++];
      open.push_back({operand, &home(operand, *last.context)});
      continue;
    }
    if (!known) name(last.value, *last.context);
    open.pop_back();
  }
  return own.values.at(v);
}

/// The op of a value that is neither passed, saved nor kept. The operands of a loop are its first
/// carries.
const TapeOp* Forward::computed_again(ValueIndex v, const Context& context) const {
  const TapeValue& value = recording_.values[v];
  if (!value.saved.empty() || !value.made_by) return nullptr;
  return context.reverses && (context.tape->ring || value.kept) ? nullptr : value.made_by;
}

void Forward::name(ValueIndex v, Context& context) {
  const Ref made = compute(v, context);
  const TapeValue& value = recording_.values[v];
  if (name_of(made).empty() && !context.reverses) name_of(made) = value.name;
  if (name_of(made).empty() && value.made_by && !value.kept) name_of(made) = value.name;
  context.values[v] = made;
}

Ref Forward::compute(ValueIndex v, Context& context) {
  const TapeValue& value = recording_.values[v];
  if (context.reverses && context.tape->ring) {
    if (const auto last = last_carry(v, context)) return *last;
  } else if (context.reverses && (value.kept || !value.made_by)) {
    const Ref stack = stacked(*context.reverses, v, *context.parent);
    Emit emit(graph_, *context.block);
    const Ref entry = emit.entry(stack, context.index, std::get<Loop>(context.reverses->op).dim);
    const Ref made = emit.renamed(entry, plain(value.type));
    if (made != entry) made.node->apart = true, made.node->hint = value.name;
    return made;
  }
  if (!value.saved.empty()) {
    saved_.push_back(graph_.parameter(*context.block, value.saved, plain(value.type)));
    return saved_.back();
  }
  if (!value.made_by) throw Defect{"a parameter without a name"};
  const TapeOp& taped = *value.made_by;
  return std::visit(
      [&](const auto& op) -> Ref {
        using Op = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<Op, ir::Op>) return again(taped, value.result, op, context);
        if constexpr (std::is_same_v<Op, Library>) return library(taped, value.result, op, context);
        if constexpr (std::is_same_v<Op, Trusted>) return trusted(taped, value.result, op, context);
        return loop(taped, value.result, context);
      },
      taped.op);
}

/// A ring's backward visits its blocks in any order, with the final values of its carries.
std::optional<Ref> Forward::last_carry(ValueIndex v, Context& context) {
  const Tape& tape = *context.tape;
  for (size_t i = 0; i < tape.params.size(); ++i)
    if (v == tape.params[i] || v == tape.out[i])
      return value(context.reverses->results.at(i), *context.parent);
  return std::nullopt;
}

namespace {

/// Whether the op changes nothing: fan_out, and moves over axes of size 1.
bool stays(const ir::Op& op, const Type& from, const Type& to) {
  if (auto* permute = std::get_if<ir::Ppermute>(&op))
    return from.dims[permute->pattern.left_bracket.value()].axes.empty();
  if (!std::holds_alternative<ir::Collective>(op) || from.marks != to.marks) return false;
  for (size_t i = 0; i < from.dims.size(); ++i)
    if (from.dims[i].axes != to.dims[i].axes) return false;
  return true;
}

}  // namespace

Ref Forward::again(const TapeOp& taped, size_t result, const ir::Op& op, Context& context) {
  if (std::holds_alternative<ir::StopGrad>(op)) return value(taped.operands[0], context);
  std::vector<Ref> operands;
  for (ValueIndex v : taped.operands) operands.push_back(value(v, context));
  const auto type = [&](ValueIndex v) { return plain(recording_.values[v].type); };
  Emit emit(graph_, *context.block);
  if (auto* entry = std::get_if<ir::Entry>(&op))
    if (const auto& ring = recording_.values[taped.operands[1]].home->ring)
      return emit.block_of(operands[0], operands[1], entry->dim, ring->block);
  const Type made = type(taped.results.at(result));
  if (stays(op, type(taped.operands.empty() ? taped.results[0] : taped.operands[0]), made))
    return emit.renamed(operands[0], made);
  ir::Op copy = op;
  if (auto* cast = std::get_if<ir::Cast>(&copy)) cast->grad.reset();
  Node* node;
  if (const ir::Pattern* pattern = ir::pattern_of(op))
    node = emit.op(std::move(copy), pattern->indices, std::move(operands), made).node;
  else
    node = emit.op(std::move(copy), std::move(operands)).node;
  node->again = true;
  for (size_t r = 0; r < taped.results.size() && r < node->types.size(); ++r) {
    const ValueIndex v = taped.results[r];
    context.values[v] =
        node->types[r].dtype == Dtype::number ? Ref{node, r} : emit.renamed({node, r}, type(v));
  }
  return context.values.at(taped.results.at(result));
}

Shape stated(const ir::Program& program, const Shape& pattern, const Type& operand) {
  const ir::Indices in = unchanged(program, operand);
  Shape shape = regrouped(program, in.all, unchanged(program, pattern).right, in.right, operand);
  for (size_t d = 0; d < shape.dims.size(); ++d) shape.dims[d].dim = pattern.dims[d].dim;
  return shape;
}

Ref Forward::library(const TapeOp& taped, size_t result, const Library& library, Context& context) {
  Node*& node = calls_[{&taped, &context}];
  if (node) return {node, result};
  CallText text;
  text.function = library.call->function;
  text.working = library.call->working;
  std::vector<Ref> operands;
  for (size_t i = 0; i < taped.operands.size(); ++i) {
    operands.push_back(value(taped.operands[i], context));
    const bool tensor = type_of(operands[i]).dtype != Dtype::number;
    if (i < library.call->left.size() && tensor) {
      text.left.push_back(stated(graph_.program, library.call->left[i], type_of(operands[i])));
    }
    const bool scalar = i >= library.call->left.size() && type_of(operands[i]).dims.empty();
    text.keywords.push_back(scalar ? library.call->arguments[i].param : "");
  }
  // Arguments after a keyword must be keywords too.
  for (size_t i = text.keywords.size(), by_position = 0; i-- > 0;) {
    by_position = by_position || text.keywords[i].empty();
    if (by_position) text.keywords[i].clear();
  }
  node = graph_.make(*context.block);
  for (ValueIndex v : taped.results) node->types.push_back(plain(recording_.values[v].type));
  if (library.call->right)
    text.right = stated(graph_.program, *library.call->right, node->types[0]);
  node->op = std::move(text);
  node->operands = std::move(operands);
  node->names.resize(node->types.size());
  return {node, result};
}

Ref Forward::trusted(const TapeOp& taped, size_t result, const Trusted& call, Context& context) {
  Node*& node = calls_[{&taped, &context}];
  if (node) return {node, result};
  std::vector<Ref> operands;
  for (ValueIndex v : taped.operands) operands.push_back(value(v, context));
  CallText text{graph_.program.functions[call.plan].name, {}, {}, {}, {}};
  text.keywords.resize(operands.size());
  node = graph_.make(*context.block);
  node->op = std::move(text);
  node->operands = std::move(operands);
  for (ValueIndex v : taped.results) node->types.push_back(plain(recording_.values[v].type));
  node->names.resize(node->types.size());
  return {node, result};
}

Ref Forward::loop(const TapeOp& taped, size_t result, Context& context) {
  Node* node = scan(taped, context);
  const Tape& body = *std::get<Loop>(taped.op).body;
  if (result < body.params.size()) return {node, result};
  return emitted(*node,
                 value(body.emit[result - body.params.size()], *context.loop_bodies[&taped]));
}

Node* Forward::scan(const TapeOp& taped, Context& context) {
  if (auto known = context.loops.find(&taped); known != context.loops.end()) return known->second;
  const Loop& loop = std::get<Loop>(taped.op);
  const Tape& tape = *loop.body;
  std::vector<Ref> inits;
  for (size_t i = 0; i < tape.params.size(); ++i)
    inits.push_back(value(taped.operands[i], context));
  Node* node = graph_.make(*context.block);
  context.loops[&taped] = node;
  Block* block = graph_.block(context.block);
  Context* body = context.loop_bodies[&taped] = open(tape, *block, &context);
  Type index;
  index.dtype = Dtype::i32;
  ScanText text{loop.dim, loop.reverse, graph_.parameter(*block, tape.index_name, index),
                {},       {},           {},
                block,    tape.ring};
  body->values[tape.index] = text.index;
  for (ValueIndex v : tape.params) {
    const TapeValue& carry = recording_.values[v];
    text.carries.push_back(graph_.parameter(*block, carry.name, plain(carry.type)));
    body->values[v] = text.carries.back();
    node->types.push_back(plain(carry.type));
  }
  node->names.resize(node->types.size());
  for (size_t i = 0; i < taped.results.size() && i < tape.params.size(); ++i)
    node->names[i] = recording_.values[taped.results[i]].name;
  node->op = std::move(text);
  node->operands = std::move(inits);
  std::vector<Ref> next;
  for (ValueIndex v : tape.out) next.push_back(value(v, *body));
  std::get<ScanText>(node->op).next = std::move(next);
  return node;
}

/// With other names for the dims that the loop stacks it over: no type has a dim twice.
Ref Forward::without_dim(const ScanText& loop, Ref value) {
  Shape apart = type_of(value);
  const auto has = [&](const Name& name) {
    return std::any_of(apart.dims.begin(), apart.dims.end(), [&](const Split& split) {
      return std::count(split.dim.factors.begin(), split.dim.factors.end(), name) > 0;
    });
  };
  for (const Name& dim : loop.dim.factors) {
    if (!has(dim)) continue;
    std::optional<Name> name;
    for (int n = 1; !name || has(*name); ++n) name = other_name(graph_.dims, dim, n);
    for (Split& split : apart.dims)
      std::replace(split.dim.factors.begin(), split.dim.factors.end(), dim, *name);
  }
  return Emit(graph_, *loop.body).renamed(value, apart);
}

Ref Forward::emitted(Node& scan, Ref value) {
  ScanText& text = std::get<ScanText>(scan.op);
  if (!text.ring) value = without_dim(text, value);
  for (size_t i = 0; i < text.emit.size(); ++i)
    if (text.emit[i] == value) return {&scan, text.carries.size() + i};
  text.emit.push_back(value);
  scan.types.push_back(emitted_type(text, type_of(value)));
  scan.names.emplace_back();
  return {&scan, scan.types.size() - 1};
}

Ref Forward::stacked(const TapeOp& taped, ValueIndex v, Context& here) {
  Context* context = &here;
  const Tape* home = std::get<Loop>(taped.op).body->parent;
  while (context && context->tape != home) context = context->parent;
  if (!context) throw Defect{"a loop is used outside its loop"};
  Node* node = scan(taped, *context);
  const Ref result = emitted(*node, value(v, *context->loop_bodies[&taped]));
  const Name& name = recording_.values[v].name;
  if (name_of(result).empty() && !name.empty()) name_of(result) = name + "s";
  return result;
}

}  // namespace shardproof::grad
