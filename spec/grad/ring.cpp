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

namespace {

/// By carry: the others with a gradient whose values it is made of, theirs included.
std::vector<std::set<size_t>> carries_read(const std::deque<TapeValue>& values, const Tape& ring) {
  std::vector<std::set<size_t>> reads(ring.params.size());
  for (size_t i = 0; i < reads.size(); ++i)
    for (size_t j = 0; j < reads.size(); ++j)
      if (j != i && values[ring.out[j]].active &&
          !Sources(values, {ring.params[j], ring.out[j]}, false).of(ring.out[i]).empty())
        reads[i].insert(j);
  for (bool more = true; more;) {
    more = false;
    for (auto& own : reads)
      for (size_t j : std::set<size_t>(own))
        for (size_t k : reads[j]) more = own.insert(k).second || more;
  }
  return reads;
}

bool is_zeros(const TapeValue& value) {
  const ir::Op* op = value.made_by ? std::get_if<ir::Op>(&value.made_by->op) : nullptr;
  return op && std::holds_alternative<ir::Zeros>(*op);
}

}  // namespace

/// A carry that others are scaled by has its whole gradient once theirs have gone back: one ring
/// after the other.
void Walk::ring(const TapeOp& taped, const Loop& op, Pending& pending) {
  const Tape& tape = *op.body;
  const auto& values = forward_.recording().values;
  for (size_t i = 0; i < tape.params.size(); ++i)
    if (values[tape.out[i]].scale && stopped_in_part(values, tape, i))
      refuse("U0001", taped.place,
             "no gradient yet through a ring that has stop_grad on some uses of the carry `" +
                 values[tape.params[i]].name + "` and not on others: write it on all or on none");
  const std::vector<std::set<size_t>> reads = carries_read(values, tape);
  std::set<size_t> done;
  for (bool first = true;; first = false) {
    std::set<size_t> wanted, now;
    for (size_t i = 0; i < tape.params.size(); ++i)
      if (!done.count(i) && values[tape.out[i]].active && pending.parts.count(taped.results[i]))
        wanted.insert(i);
    if (wanted.empty() && !first) return;
    for (size_t i : wanted)
      if (std::none_of(wanted.begin(), wanted.end(),
                       [&](size_t k) { return k != i && reads[k].count(i); }))
        now.insert(i);
    for (size_t i : now.empty() ? wanted : now) {
      const bool largest = is_extremum_of(values[tape.out[i]], tape.params[i]);
      const bool starts = !reads[i].empty() && !is_zeros(values[taped.operands[i]]);
      const bool of_terms = std::any_of(reads[i].begin(), reads[i].end(), [&](size_t j) {
        return rules::travels(values[tape.params[j]].type, tape.ring->of);
      });
      if (now.empty() || largest || starts || of_terms ||
          !adds_to(values, tape.out[i], tape.params[i]))
        refuse("U0001", taped.place,
               "no gradient yet through the carry `" + values[tape.params[i]].name +
                   "` of a ring: " +
                   (now.empty() ? "it reads another carry, which reads it"
                    : largest   ? "it is a maximum, whose gradient goes to one block"
                    : starts    ? "it reads another carry that has a gradient, and does not begin "
                                  "with zeros"
                    : of_terms  ? "it reads an unreduced carry that has a gradient"
                                : "it is not written as a sum of blocks"));
    }
    ring_back(taped, op, now, first, pending);
    done.insert(now.begin(), now.end());
  }
}

/// One ring going back, for the carries `of`, and for what the ring emits.
void Walk::ring_back(const TapeOp& taped, const Loop& op, const std::set<size_t>& of, bool emits,
                     Pending& pending) {
  const Tape& tape = *op.body;
  Node* node = forward_.graph().make(pending.emit.block);
  Pending inner = inside(taped, tape, pending);
  node->op =
      ScanText{op.dim, false, inner.context->index, {}, {}, {}, &inner.emit.block, tape.ring};
  if (emits) emitted_by(taped, tape, inner, pending);
  go_back(taped, tape, of, inner, pending);
  first_values(taped, tape, of, pending);
  add_up(op, node, inner, pending);
  others_read(taped, tape, of, node, inner, pending);
  blocks_home(node, inner, pending);
  node->names.resize(node->types.size());
}

/// What the carries `of` give to the others that they read: added up over the blocks. c does not
/// depend on what is read before and after a block alike, so that both parts together are right.
void Walk::others_read(const TapeOp& taped, const Tape& ring, const std::set<size_t>& of,
                       Node* node, Pending& inner, Pending& pending) {
  for (size_t j = 0; j < ring.params.size(); ++j) {
    if (of.count(j) || !forward_.recording().values[ring.out[j]].active) continue;
    std::vector<Ref> parts;
    for (ValueIndex v : {ring.params[j], ring.out[j]})
      if (const Ref part = take(v, inner)) parts.push_back(part);
    if (!parts.empty())
      give(taped.results[j], summed(taped.results[j], inner.emit.add(parts), node, inner, pending),
           pending);
  }
}

/// c0 enters c once, scaled from the start of the ring to its end: the gradient through one block
/// with the carries' initial values before it and final values after it, ignoring the block
/// itself.
void Walk::first_values(const TapeOp& taped, const Tape& ring, const std::set<size_t>& of,
                        Pending& pending) {
  const auto& values = forward_.recording().values;
  std::vector<size_t> starts;  // those of scales too: what they scale begins with them
  for (size_t i = 0; i < ring.params.size(); ++i)
    if (values[taped.operands[i]].active && (of.count(i) || !values[ring.out[i]].active))
      starts.push_back(i);
  if (starts.empty() || of.empty()) return;
  Context* context = forward_.open(ring, pending.emit.block, pending.context);
  context->reverses = &taped;
  for (size_t i = 0; i < ring.params.size(); ++i)
    context->values[ring.params[i]] = forward_.value(taped.operands[i], *pending.context);
  Type index;
  index.dtype = Dtype::i32;
  context->values[ring.index] = forward_.graph().parameter(pending.emit.block, "", index);
  Pending inner{Emit(forward_.graph(), pending.emit.block), context, {}, {}};
  go_back(taped, ring, of, inner, pending);
  for (size_t i : starts) give(taped.operands[i], take(ring.params[i], inner), pending);
}

void Walk::go_back(const TapeOp& taped, const Tape& ring, const std::set<size_t>& of,
                   Pending& inner, Pending& pending) {
  std::set<ValueIndex> others;
  for (size_t i = 0; i < ring.params.size(); ++i)
    if (of.count(i))
      give(ring.out[i], take(taped.results[i], pending), inner);
    else
      others.insert(ring.out[i]);
  Pending* outer = std::exchange(pending_, &inner);
  std::swap(stops_at_, others);
  back(ring, inner);
  std::swap(stops_at_, others);
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
