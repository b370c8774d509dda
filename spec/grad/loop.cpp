// The gradient of a loop: a scan in reverse order over the carries that the forward scan emits.
#include <algorithm>
#include <set>
#include <utility>

#include "spec/grad/walk.h"

namespace shardproof::grad {
namespace {

/// Finds the values in a tape that gradients reach, through ops that have one.
class Reach {
 public:
  explicit Reach(const std::deque<TapeValue>& values) : values_(values) {}

  std::set<ValueIndex> from(const Tape& tape, std::set<ValueIndex> seeds) {
    reached_ = std::move(seeds);
    walk(tape.ops);
    return reached_;
  }

 private:
  void walk(const std::deque<TapeOp>& ops) {
    for (auto taped = ops.rbegin(); taped != ops.rend(); ++taped) {
      const bool hit = std::any_of(taped->results.begin(), taped->results.end(),
                                   [&](ValueIndex v) { return reached_.count(v) > 0; });
      if (auto* library = std::get_if<Library>(&taped->op); library && !hit)
        walk(library->body->ops);
      if (!hit) continue;
      auto* op = std::get_if<ir::Op>(&taped->op);
      for (size_t i = 0; i < taped->operands.size(); ++i)
        if (!op || flows(*op, i)) add(taped->operands[i]);
      if (auto* loop = std::get_if<Loop>(&taped->op)) {
        for (ValueIndex v : loop->body->out) add(v);
        for (ValueIndex v : loop->body->emit) add(v);
        walk(loop->body->ops);
      }
    }
  }

  void add(ValueIndex v) {
    if (values_[v].active) reached_.insert(v);
  }

  const std::deque<TapeValue>& values_;
  std::set<ValueIndex> reached_;
};

}  // namespace

/// The carries with a nonzero gradient: those whose last value has one, and those on which such a
/// carry, or an emitted value with a gradient, depends.
std::vector<bool> Walk::reached(const TapeOp& taped, const Loop& op, Pending& pending) const {
  const auto& values = forward_.recording().values;
  const Tape& body = *op.body;
  const size_t carries = body.params.size();
  std::vector<bool> result(carries, false);
  std::set<ValueIndex> seeds;
  for (size_t i = 0; i < taped.results.size(); ++i) {
    if (!pending.parts.count(taped.results[i]) || !values[taped.results[i]].active) continue;
    if (i < carries)
      result[i] = true;
    else
      seeds.insert(body.emit[i - carries]);
  }
  for (bool more = true; more;) {
    more = false;
    std::set<ValueIndex> from = seeds;
    for (size_t i = 0; i < carries; ++i)
      if (result[i]) from.insert(body.out[i]);
    const std::set<ValueIndex> found = Reach(values).from(body, from);
    for (size_t i = 0; i < carries; ++i)
      if (!result[i] && values[body.params[i]].active && found.count(body.params[i]))
        result[i] = more = true;
  }
  return result;
}

/// The empty body of the backward loop of `taped`.
Pending Walk::inside(const TapeOp& taped, const Tape& tape, Pending& pending) {
  Graph& graph = forward_.graph();
  Block* block = graph.block(&pending.emit.block);
  Type index;
  index.dtype = Dtype::i32;
  Context* context = forward_.open(tape, *block, pending.context);
  context->index = graph.parameter(*block, tape.index_name, index);
  context->values[tape.index] = context->index;
  context->reverses = &taped;
  return {Emit(graph, *block), context, {}, {}};
}

void Walk::loop(const TapeOp& taped, const Loop& op, Pending& pending) {
  const Tape& tape = *op.body;
  const size_t carries = tape.params.size();
  Graph& graph = forward_.graph();
  const std::vector<bool> wanted = reached(taped, op, pending);
  Node* node = graph.make(pending.emit.block);
  Pending inner = inside(taped, tape, pending);
  Block* block = &inner.emit.block;
  const Ref at = inner.context->index;
  ScanText text{op.dim, !op.reverse, at, {}, {}, {}, block};
  std::vector<size_t> carried;
  std::vector<Ref> inits;
  for (size_t i = 0; i < carries; ++i) {
    if (!wanted[i]) continue;
    carried.push_back(i);
    inits.push_back(pending.parts.count(taped.results[i])
                        ? take(taped.results[i], pending)
                        : pending.emit.zeros(dual_of(tape.params[i])));
    const Type type = dual_of(tape.params[i]);
    text.carries.push_back(
        graph.parameter(*block, "g_" + forward_.recording().values[tape.params[i]].name, type));
    node->types.push_back(type);
    give(tape.out[i], text.carries.back(), inner);
  }
  for (size_t i = carries; i < taped.results.size(); ++i) {
    if (!pending.parts.count(taped.results[i])) continue;
    const Ref stack = take(taped.results[i], pending);
    give(tape.emit[i - carries], inner.emit.entry(stack, at, op.dim), inner);
  }
  // A nested walk creates its own gradients; those of the carries are requested after it.
  Pending* outer = std::exchange(pending_, &inner);
  back(tape, inner);
  pending_ = outer;
  for (size_t i : carried) text.next.push_back(take_or_zeros(tape.params[i], inner));
  node->operands = std::move(inits);
  node->op = std::move(text);
  node->names.resize(node->types.size());
  for (size_t j = 0; j < carried.size(); ++j) give(taped.operands[carried[j]], {node, j}, pending);
  hand_out(op, node, inner, pending);
}

/// Moves the position of t[n] to the front, as in the loop's emitted values; t itself has it
/// elsewhere.
Ref Walk::in_place(const Loop& op, ValueIndex v, Ref stack, Pending& pending) const {
  const auto& values = forward_.recording().values;
  const TapeOp& taped = *values[op.body->entries.at({v, op.body->index})].made_by;
  const Dim& dim = std::get<ir::Entry>(std::get<ir::Op>(taped.op)).dim;
  const Type wanted = dual_of(v);
  const ir::Indices in = unchanged(pending.emit.graph.dims, wanted);
  size_t at = 0;
  while (!(wanted.dims.at(at).dim == dim)) ++at;
  Positions from = in.right;
  std::rotate(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(at),
              from.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  return pending.emit.rearrange(in.all, stack, from, in.right, wanted);
}

/// The gradient of a captured value is summed over the loop's steps in a carry.
void Walk::add_up(const Loop& op, Node* node, Pending& inner, Pending& pending) {
  std::vector<std::pair<ValueIndex, Ref>> totals;
  for (const auto& [v, unused] : inner.parts) {
    const TapeValue& value = forward_.recording().values[v];
    if (value.home == op.body.get() || !value.active) continue;
    if (const Ref part = take(v, inner)) totals.emplace_back(v, part);
  }
  for (const auto& [v, part] : totals) give(v, summed(v, part, node, inner, pending), pending);
}

/// The sum over the loop's steps of a part of the gradient of v.
Ref Walk::summed(ValueIndex v, Ref part, Node* node, Pending& inner, Pending& pending) {
  ScanText& text = std::get<ScanText>(node->op);
  Type type = dual_of(v);
  if (text.ring) type.dtype = sum_dtype(type.dtype), part = inner.emit.cast(part, type.dtype);
  const Name& name = forward_.recording().values[v].name;
  const Ref carry =
      forward_.graph().parameter(*text.body, "sum_" + (name.empty() ? "v" : name), type);
  text.carries.push_back(carry);
  text.next.push_back(inner.emit.add(carry, part));
  node->operands.push_back(pending.emit.zeros(type));
  node->types.push_back(type);
  node->names.emplace_back();
  return {node, node->types.size() - 1};
}

/// Gradients of captured values: stacked for t[n], summed in a carry for all others.
void Walk::hand_out(const Loop& op, Node* node, Pending& inner, Pending& pending) {
  add_up(op, node, inner, pending);
  ScanText& text = std::get<ScanText>(node->op);
  std::vector<std::pair<ValueIndex, Ref>> stacks;
  for (const auto& [v, parts] : inner.entries) {
    if (!forward_.recording().values[v].active || parts.empty()) continue;
    stacks.emplace_back(v, inner.emit.add(parts));
  }
  const size_t first = node->types.size();
  for (auto& [v, sum] : stacks) {
    text.emit.push_back(sum);
    node->types.push_back(emitted_type(text, type_of(sum)));
    node->names.emplace_back();
  }
  for (size_t i = 0; i < stacks.size(); ++i)
    give(stacks[i].first, in_place(op, stacks[i].first, {node, first + i}, pending), pending);
}

}  // namespace shardproof::grad
