// The gradient of a ring: a ring over the same blocks, with the final values of the carries.
//
// A carry that can be proved is the same in every order of the blocks: c = sum_b f(block b, m),
// with m the final value of the running maximum, or blocks written at their own offsets. So its
// gradient needs neither an order nor intermediate carries: with final carries each block gives f
// again, and m enters only through a factor that cancels. All of this is proved for the printed
// text, not for this code.
#include <algorithm>
#include <set>
#include <utility>

#include "spec/elaborate/elaborate.h"
#include "spec/grad/walk.h"
#include "spec/rules/ring.h"

namespace shardproof::grad {
namespace {

bool stops(const TapeValue& value) {
  const ir::Op* op = value.made_by ? std::get_if<ir::Op>(&value.made_by->op) : nullptr;
  return op && std::holds_alternative<ir::StopGrad>(*op);
}

/// Which of `wanted` a value depends on. Ignores paths through scales unless `past_scales`, and
/// through stop_grad unless `past_stops`.
class Sources {
 public:
  Sources(const std::deque<TapeValue>& values, const std::set<ValueIndex>& wanted, bool past_scales,
          bool past_stops = true)
      : values_(values), wanted_(wanted), past_scales_(past_scales), past_stops_(past_stops) {}

  std::set<ValueIndex> of(ValueIndex v) {
    visit_maker(v);
    return found_;
  }
  /// All values on which the wanted values depend.
  const std::set<ValueIndex>& seen() const { return seen_; }

 private:
  void visit(ValueIndex v) {
    if (!seen_.insert(v).second) return;
    if (values_[v].scale && !past_scales_) return;
    if (stops(values_[v]) && !past_stops_) return;
    if (wanted_.count(v)) found_.insert(v);
    visit_maker(v);
  }

  void visit_maker(ValueIndex v) {
    const TapeOp* taped = values_[v].made_by;
    if (!taped) return;
    for (ValueIndex operand : taped->operands) visit(operand);
    if (auto* loop = std::get_if<Loop>(&taped->op)) {
      for (ValueIndex out : loop->body->out) visit(out);
      for (ValueIndex out : loop->body->emit) visit(out);
    }
  }

  const std::deque<TapeValue>& values_;
  const std::set<ValueIndex>& wanted_;
  bool past_scales_, past_stops_;
  std::set<ValueIndex> seen_, found_;
};

/// Whether v = factor * carry + rest, or the carry with a block written into it: the forms in which
/// a ring's carry is a sum.
bool adds_to(const std::deque<TapeValue>& values, ValueIndex v, ValueIndex carry) {
  if (v == carry) return true;
  const TapeOp* taped = values[v].made_by;
  const ir::Op* op = taped ? std::get_if<ir::Op>(&taped->op) : nullptr;
  if (!op) return false;
  const std::set<ValueIndex> own = {carry};
  const auto has = [&](ValueIndex each) {
    return each == carry || !Sources(values, own, true).of(each).empty();
  };
  const auto with = std::count_if(taped->operands.begin(), taped->operands.end(), has);
  if (with == 0) return true;
  const auto* binary = std::get_if<ir::Binary>(op);
  const bool linear =
      std::holds_alternative<ir::Einsum>(*op) || std::holds_alternative<ir::Write>(*op) ||
      std::holds_alternative<ir::Cast>(*op) || std::holds_alternative<ir::Expand>(*op) ||
      std::holds_alternative<ir::Rearrange>(*op) ||
      (binary && (binary->fn == ir::BinaryFn::add || binary->fn == ir::BinaryFn::mul ||
                  (binary->fn == ir::BinaryFn::sub && has(taped->operands[0]))));
  const auto at = std::find_if(taped->operands.begin(), taped->operands.end(), has);
  return linear && with == 1 && adds_to(values, *at, carry);
}

bool is_extremum_of(const TapeValue& next, ValueIndex carry) {
  const ir::Op* op = next.made_by ? std::get_if<ir::Op>(&next.made_by->op) : nullptr;
  const auto* binary = op ? std::get_if<ir::Binary>(op) : nullptr;
  return binary && (binary->fn == ir::BinaryFn::maximum || binary->fn == ir::BinaryFn::minimum) &&
         std::count(next.made_by->operands.begin(), next.made_by->operands.end(), carry) == 1;
}

}  // namespace

namespace {

/// Whether some uses of a scale carry are in a stop_grad and others are not: then the gradient of
/// the text differs from that of the sum, in which the scale cancels.
bool stopped_in_part(const std::deque<TapeValue>& values, const Tape& ring, size_t carry) {
  const std::set<ValueIndex> own = {ring.params[carry], ring.out[carry]};
  bool open = false, stopped = false;
  for (size_t j = 0; j < ring.out.size(); ++j) {
    if (j == carry) continue;
    open = open || !Sources(values, own, true, false).of(ring.out[j]).empty();
    Sources all(values, own, true);
    all.of(ring.out[j]);
    for (ValueIndex v : all.seen())
      stopped = stopped || (stops(values[v]) && !Sources(values, own, true).of(v).empty());
  }
  return open && stopped;
}

}  // namespace

void mark_scales(Recording& recording, Tape& ring) {
  std::deque<TapeValue>& values = recording.values;
  for (size_t i = 0; i < ring.params.size(); ++i) {
    if (!is_extremum_of(values[ring.out[i]], ring.params[i])) continue;
    const std::set<ValueIndex> own = {ring.params[i], ring.out[i]};
    bool scales = false;
    for (size_t j = 0; j < ring.out.size(); ++j)
      scales = scales || (j != i && !Sources(values, own, true).of(ring.out[j]).empty());
    values[ring.out[i]].scale = scales;
  }
}

void Walk::ring(const TapeOp& taped, const Loop& op, Pending& pending) {
  const Tape& tape = *op.body;
  const auto& values = forward_.recording().values;
  for (size_t i = 0; i < tape.params.size(); ++i)
    if (values[tape.out[i]].scale && stopped_in_part(values, tape, i))
      refuse("U0001", taped.place,
             "no gradient yet through a ring that has stop_grad on some uses of the carry `" +
                 values[tape.params[i]].name + "` and not on others: write it on all or on none");
  for (size_t i = 0; i < tape.params.size(); ++i) {
    if (!values[tape.out[i]].active || !pending.parts.count(taped.results[i])) continue;
    std::set<ValueIndex> others;
    for (size_t j = 0; j < tape.params.size(); ++j)
      if (j != i && values[tape.out[j]].active) others.insert({tape.params[j], tape.out[j]});
    const bool reads = !Sources(values, others, false).of(tape.out[i]).empty();
    const bool largest = is_extremum_of(values[tape.out[i]], tape.params[i]);
    if (reads || largest || !adds_to(values, tape.out[i], tape.params[i]))
      refuse("U0001", taped.place,
             "no gradient yet through the carry `" + values[tape.params[i]].name + "` of a ring: " +
                 (reads     ? "it reads another carry that has a gradient"
                  : largest ? "it is a maximum, whose gradient goes to one block"
                            : "it is not written as a sum of blocks"));
  }
  Node* node = forward_.graph().make(pending.emit.block);
  Pending inner = inside(taped, tape, pending);
  node->op =
      ScanText{op.dim, false, inner.context->index, {}, {}, {}, &inner.emit.block, tape.ring};
  emitted_by(taped, tape, inner, pending);
  go_back(taped, tape, inner, pending);
  first_values(taped, tape, pending);
  add_up(op, node, inner, pending);
  blocks_home(node, inner, pending);
  node->names.resize(node->types.size());
}

/// c0 enters c once, scaled from the start of the ring to its end: the gradient through one block
/// with the carries' initial values before it and final values after it, ignoring the block
/// itself.
void Walk::first_values(const TapeOp& taped, const Tape& ring, Pending& pending) {
  const auto& values = forward_.recording().values;
  const auto active = [&](ValueIndex v) { return values[v].active; };
  if (std::none_of(taped.operands.begin(), taped.operands.end(), active)) return;
  Context* context = forward_.open(ring, pending.emit.block, pending.context);
  context->reverses = &taped;
  for (size_t i = 0; i < ring.params.size(); ++i)
    context->values[ring.params[i]] = forward_.value(taped.operands[i], *pending.context);
  Type index;
  index.dtype = Dtype::i32;
  context->values[ring.index] = forward_.graph().parameter(pending.emit.block, "", index);
  Pending inner{Emit(forward_.graph(), pending.emit.block), context, {}, {}};
  go_back(taped, ring, inner, pending);
  for (size_t i = 0; i < ring.params.size(); ++i)
    if (active(taped.operands[i])) give(taped.operands[i], take(ring.params[i], inner), pending);
}

void Walk::go_back(const TapeOp& taped, const Tape& ring, Pending& inner, Pending& pending) {
  for (size_t i = 0; i < ring.params.size(); ++i)
    if (pending.parts.count(taped.results[i]))
      give(ring.out[i], take(taped.results[i], pending), inner);
  Pending* outer = std::exchange(pending_, &inner);
  back(ring, inner);
  pending_ = outer;
}

/// Each block's gradient travels with it: each device adds its part.
void Walk::blocks_home(Node* node, Pending& inner, Pending& pending) {
  ScanText& text = std::get<ScanText>(node->op);
  for (const auto& [v, parts] : inner.entries) {
    const TapeValue& value = forward_.recording().values[v];
    if (!value.active || parts.empty()) continue;
    const Ref sum = inner.emit.add(parts);
    text.emit.push_back(inner.emit.cast(sum, sum_dtype(type_of(sum).dtype)));
    node->types.push_back(emitted_type(text, type_of(text.emit.back())));
    node->names.emplace_back();
    give(v, {node, node->types.size() - 1}, pending);
  }
}

/// The gradient of an emitted value: of a travelling sum it arrives with the block, otherwise it is
/// read at the block's offset.
void Walk::emitted_by(const TapeOp& taped, const Tape& ring, Pending& inner, Pending& pending) {
  const auto& values = forward_.recording().values;
  for (size_t i = 0; i < ring.emit.size(); ++i) {
    const ValueIndex whole = taped.results[ring.params.size() + i];
    if (!values[ring.emit[i]].active || !pending.parts.count(whole)) continue;
    const Ref g = take(whole, pending), b = inner.context->index;
    if (rules::travels(values[ring.emit[i]].type, ring.ring->of)) {
      give(ring.emit[i], inner.emit.block_of(g, b, ring.ring->of.dim, ring.ring->block), inner);
      continue;
    }
    const Type wanted = dual_of(ring.emit[i]);
    ir::Read read;
    for (size_t d = 0; d < wanted.dims.size(); ++d)
      if (wanted.dims[d].dim == ring.ring->block) read.pattern.left_bracket = d;
    const ir::Indices in = elaborate::whole_positions(inner.emit.graph.dims, {type_of(g)}, wanted);
    const Ref place = inner.emit.mul(b, inner.emit.size(ring.ring->block));
    give(ring.emit[i], inner.emit.op(std::move(read), in, {g, place}, wanted), inner);
  }
}

}  // namespace shardproof::grad
