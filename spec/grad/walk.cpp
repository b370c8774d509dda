#include "spec/grad/walk.h"

#include <algorithm>
#include <utility>

#include "spec/elaborate/elaborate.h"

namespace shardproof::grad {

Type Walk::dual_of(ValueIndex v) const {
  const TapeValue& value = forward_.recording().values[v];
  Type type = plain(dual(value.type, axes_));
  type.dtype = value.gradient;
  return type;
}

void Walk::give(ValueIndex v, Ref gradient, Pending& pending) {
  if (!gradient || !forward_.recording().values[v].active) return;
  const Type wanted = dual_of(v);
  gradient = pending.emit.renamed(gradient, wanted);
  gradient = pending.emit.cast(gradient, wanted.dtype);
  if (!(type_of(gradient) == wanted))
    throw Defect{"the gradient of " + to_string(forward_.recording().values[v].type) +
                 " came out " + to_string(type_of(gradient))};
  pending.parts[v].push_back(gradient);
  if (gradient.node->hint.empty()) gradient.node->hint = "g_" + forward_.recording().values[v].name;
}

Ref Walk::take(ValueIndex v, Pending& pending) {
  auto found = pending.parts.find(v);
  if (found == pending.parts.end() || found->second.empty()) return {};
  std::vector<Ref>& parts = found->second;
  for (size_t i = 0; i < parts.size() && parts.size() > 1; ++i)
    if (parts[i].node->hint == "g_" + forward_.recording().values[v].name)
      parts[i].node->hint += "_" + std::to_string(i + 1);
  const Ref sum = pending.emit.add(parts);
  parts = {sum};
  const Name& name = forward_.recording().values[v].name;
  // The field of a record is written where the record is made.
  if (!name.empty() && name_of(sum).empty()) {
    sum.node->hint = "g_" + name;
    if (name.find('.') == Name::npos) name_of(sum) = sum.node->hint;
  }
  return sum;
}

Ref Walk::take_or_zeros(ValueIndex v, Pending& pending) {
  const Ref sum = take(v, pending);
  return sum ? sum : pending.emit.zeros(dual_of(v));
}

void Walk::back(const std::deque<TapeOp>& ops, Pending& pending) {
  for (auto taped = ops.rbegin(); taped != ops.rend(); ++taped) back(*taped, pending);
}

namespace {

template <class Op>
constexpr bool has_pull = requires(Pull& p, const Op& op) {
  pull(p, op);
};

}  // namespace

void Walk::back(const TapeOp& taped, Pending& pending) {
  const bool flows = std::any_of(taped.results.begin(), taped.results.end(), [&](ValueIndex v) {
    return forward_.recording().values[v].active && pending.parts.count(v) && !stops_at_.count(v);
  });
  if (!flows) return;
  Pull p(*this, taped, *pending.context, pending.emit);
  Pending* outer = std::exchange(pending_, &pending);
  if (auto* loop = std::get_if<Loop>(&taped.op)) {
    loop->body->ring ? ring(taped, *loop, pending) : this->loop(taped, *loop, pending);
  } else if (auto* library = std::get_if<Library>(&taped.op)) {
    if (!pull_library(p, forward_.graph().program, *library)) back(library->body->ops, pending);
  } else if (auto* trusted = std::get_if<Trusted>(&taped.op)) {
    pull_trusted(p, forward_.graph().program, *trusted);
  } else if (auto* entry = std::get_if<ir::Entry>(&std::get<ir::Op>(taped.op))) {
    const auto& values = forward_.recording().values;
    const Tape &made_in = *values[taped.operands[0]].home, &loop = *values[taped.operands[1]].home;
    if (is_inside(loop, made_in))  // each step has another entry: the loop emits them
      pending.entries[taped.operands[0]].push_back(take(taped.results[0], pending));
    else
      pull(p, *entry);
  } else {
    const ir::Op& op = std::get<ir::Op>(taped.op);
    std::visit(
        [&](const auto& each) {
          if constexpr (has_pull<std::decay_t<decltype(each)>>)
            pull(p, each);
          else
            p.none(ir::name_of(op));
        },
        op);
  }
  pending_ = outer;
}

Ref Pull::g(size_t result) {
  if (!walk_.forward_.recording().values[taped.results.at(result)].active) return {};
  return walk_.take(taped.results[result], *walk_.pending_);
}
bool Pull::wants(size_t operand) const { return in(operand).active; }
Ref Pull::x(size_t operand) { return walk_.forward_.value(taped.operands.at(operand), context_); }
Ref Pull::y(size_t result) { return walk_.forward_.value(taped.results.at(result), context_); }
const TapeValue& Pull::in(size_t operand) const {
  return walk_.forward_.recording().values[taped.operands.at(operand)];
}
const TapeValue& Pull::out(size_t result) const {
  return walk_.forward_.recording().values[taped.results.at(result)];
}
Type Pull::dual(size_t operand) const { return walk_.dual_of(taped.operands.at(operand)); }

void Pull::give(size_t operand, Ref gradient) {
  walk_.give(taped.operands.at(operand), gradient, *walk_.pending_);
}

void Pull::give_pointwise(size_t operand, Ref gradient) {
  if (!wants(operand)) return;
  const Type wanted = dual(operand);
  const ir::Indices in = elaborate::whole_positions(emit.graph.dims, {wanted}, type_of(gradient));
  give(operand, emit.sum(in.all, gradient, in.right, in.left[0], wanted));
}

}  // namespace shardproof::grad
