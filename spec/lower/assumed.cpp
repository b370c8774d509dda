// `assume` in a function: facts about its parameters, and conditions that every call must meet.
#include <algorithm>
#include <map>
#include <set>
#include <type_traits>

#include "spec/lower/context.h"

namespace shardproof::lower {

void Context::declare_assumptions(const Frame& frame) {
  for (const ir::Assumption& each : program.assumptions(frame.function)) {
    const ir::ValueId param = frame.function.params.at(each.leaf);
    const Nf entry = frame.values.at(param)->body;
    const std::string text = each.text(frame.function.values.at(param).name);
    for (const ir::Assumption::Bound& bound : each.bounds) {
      const Nf to = arith(bound.to, nullptr);
      if (bound.op != "==" && bound.op != "!=") declare(entry, bound.op, to);
      bounds.push_back({bound.op, entry, to, {}, "assume " + text});
    }
    assume(text);
  }
}

namespace {

bool known(algebra::Algebra& a, Nf l, const std::string& op, Nf r) {
  if (op == "==") return a.is_zero(a.sub(l, r));
  if (op == "!=") return a.known_positive(a.sub(l, r)) || a.known_positive(a.sub(r, l));
  const Nf gap = op[0] == '>' ? a.sub(l, r) : a.sub(r, l);
  if (op.size() == 1) return a.known_positive(gap);
  return a.known_nonnegative(gap) ||
         (a.known_integer(gap) && a.known_positive(a.add(gap, a.number(1))));
}

std::string comparison_of(ir::BinaryFn fn, bool truth) {
  using Fn = ir::BinaryFn;
  if (fn == Fn::lt) return truth ? "<" : ">=";
  if (fn == Fn::ge) return truth ? ">=" : "<";
  if (fn == Fn::gt) return truth ? ">" : "<=";
  if (fn == Fn::le) return truth ? "<=" : ">";
  return "";
}

}  // namespace

/// The instructions that make the values of a function.
struct Makers {
  struct Carry {
    const ir::Instr* loop;
    const ir::Block* body;
    size_t index;
  };

  explicit Makers(const ir::Block& block) { collect(block, false); }

  void collect(const ir::Block& block, bool looped) {
    for (const ir::Instr& instr : block.instrs) {
      for (ir::ValueId v : instr.results) {
        of[v] = &instr;
        if (looped) this->looped.insert(v);
      }
      const auto* scan = std::get_if<ir::Scan>(&instr.op);
      if (!scan) continue;
      for (size_t i = 0; i < scan->body->params.size(); ++i) {
        this->looped.insert(scan->body->params[i]);
        if (i > 0) carries[scan->body->params[i]] = {&instr, scan->body.get(), i - 1};
      }
      collect(*scan->body, true);
    }
  }

  std::map<ir::ValueId, const ir::Instr*> of;
  std::map<ir::ValueId, Carry> carries;
  std::set<ir::ValueId> looped;  ///< in the body of a scan
};

namespace {

/// Decides whether every entry of a value satisfies `entry OP bound` from the instructions that
/// compute it. The normal form of a `where`, a remainder or a carry does not show such bounds.
class EntryBound {
 public:
  EntryBound(Context& context, const Frame& frame, std::string op, Nf bound)
      : c_(context), frame_(frame), op_(std::move(op)), bound_(bound), makers_(of(frame)) {}

  bool holds(ir::ValueId v) {
    if (++steps_ > most_steps) return false;
    if (hypotheses_.count(v) || shown(v)) return true;
    if (const auto carry = makers_.carries.find(v); carry != makers_.carries.end())
      return carried(carry->second);
    const auto made = makers_.of.find(v);
    if (made == makers_.of.end()) return false;
    const ir::Instr& instr = *made->second;
    return std::visit([&](const auto& op) { return by(op, instr, v); }, instr.op);
  }

 private:
  static constexpr int most_steps = 2000;

  static const Makers& of(const Frame& frame) {
    if (!frame.makers) frame.makers = std::make_shared<const Makers>(frame.function.body);
    return *frame.makers;
  }

  /// False for a loop body's values during an induction: the frame holds one step, the proof is for
  /// all.
  bool readable(ir::ValueId v) const {
    return frame_.values.at(v).has_value() && !(inductions_ > 0 && makers_.looped.count(v));
  }
  Nf entry(ir::ValueId v) const { return c_.as_index(frame_.values.at(v)->body); }
  bool shown(ir::ValueId v) const { return readable(v) && known(c_.a, entry(v), op_, bound_); }
  bool from_above() const { return op_[0] == '<'; }
  bool from_below() const { return op_[0] == '>'; }

  bool all(const std::vector<ir::ValueId>& values) {
    return std::all_of(values.begin(), values.end(), [&](ir::ValueId v) { return holds(v); });
  }

  /// Induction: the bound holds for the initial value, and after a step if it holds before that
  /// step.
  bool carried(const Makers::Carry& carry) {
    const std::set<ir::ValueId> before = hypotheses_;
    if (!holds(carry.loop->operands.at(carry.index))) return false;
    hypotheses_.insert(carry.body->params.at(carry.index + 1));
    ++inductions_;
    const bool kept = holds(carry.body->next.at(carry.index));
    --inductions_;
    if (!kept) hypotheses_ = before;
    return kept;
  }

  template <class Op>
  bool by(const Op&, const ir::Instr&, ir::ValueId) {
    return false;
  }
  template <class Op>
  requires std::is_same_v<Op, ir::Save> || std::is_same_v<Op, ir::StopGrad> ||
      std::is_same_v<Op, ir::Ascribe> || std::is_same_v<Op, ir::Collective> ||
      std::is_same_v<Op, ir::Rearrange> || std::is_same_v<Op, ir::Expand> ||
      std::is_same_v<Op, ir::Entry> || std::is_same_v<Op, ir::Read> ||
      std::is_same_v<Op, ir::Roll> || std::is_same_v<Op, ir::Rev> ||
      std::is_same_v<Op, ir::Ppermute> || std::is_same_v<Op, ir::Index> ||
      std::is_same_v<Op, ir::IndexUnreduced>
  bool by(const Op&, const ir::Instr& instr, ir::ValueId) { return holds(instr.operands.at(0)); }
  bool by(const ir::Concat&, const ir::Instr& instr, ir::ValueId) { return all(instr.operands); }
  bool by(const ir::Write&, const ir::Instr& instr, ir::ValueId) {
    return holds(instr.operands.at(0)) && holds(instr.operands.at(1));
  }
  bool by(const ir::Cast& op, const ir::Instr& instr, ir::ValueId) {
    const Dtype from = frame_.function.values.at(instr.operands.at(0)).type.dtype;
    return (is_float(op.to) || is_integer(from) || from == Dtype::number) &&
           from != Dtype::boolean && holds(instr.operands[0]);
  }
  bool by(const ir::Binary& op, const ir::Instr& instr, ir::ValueId) {
    const ir::ValueId x = instr.operands.at(0), y = instr.operands.at(1);
    using Fn = ir::BinaryFn;
    if (op.fn == Fn::minimum || op.fn == Fn::maximum) {
      const bool either = op.fn == Fn::minimum ? from_above() : from_below();
      return either ? holds(x) || holds(y) : holds(x) && holds(y);
    }
    if (op.fn != Fn::mod || !readable(y)) return false;
    const Nf radix = entry(y), zero = c_.a.number(0);
    if (!c_.a.known_positive(radix)) return false;
    if (from_below()) return known(c_.a, zero, op_, bound_);
    const bool strict = op_.size() == 1 || !c_.a.known_integer(radix);
    const Nf most = strict ? radix : c_.a.sub(radix, c_.a.number(1));
    return from_above() && known(c_.a, most, "<=", bound_);
  }
  bool by(const ir::Where&, const ir::Instr& instr, ir::ValueId) {
    const ir::ValueId condition = instr.operands.at(0);
    return (holds(instr.operands.at(1)) || chosen(condition, true, instr.operands[1])) &&
           (holds(instr.operands.at(2)) || chosen(condition, false, instr.operands[2]));
  }
  bool by(const ir::Scan& scan, const ir::Instr& instr, ir::ValueId v) {
    const auto at = std::find(instr.results.begin(), instr.results.end(), v);
    const auto result = static_cast<size_t>(at - instr.results.begin());
    const size_t count = scan.body->next.size();
    ++inductions_;
    const bool every_step = holds(result < count ? scan.body->params.at(result + 1)
                                                 : scan.body->emit.at(result - count));
    --inductions_;
    return every_step;
  }

  /// Whether `condition == truth` implies the bound for `value`.
  bool chosen(ir::ValueId condition, bool truth, ir::ValueId value) {
    const auto made = makers_.of.find(condition);
    if (made == makers_.of.end()) return false;
    const ir::Instr& instr = *made->second;
    const auto* unary = std::get_if<ir::Unary>(&instr.op);
    if (unary && unary->fn == ir::UnaryFn::logical_not)
      return chosen(instr.operands.at(0), !truth, value);
    const auto* binary = std::get_if<ir::Binary>(&instr.op);
    if (!binary) return false;
    const ir::ValueId x = instr.operands.at(0), y = instr.operands.at(1);
    if (binary->fn == (truth ? ir::BinaryFn::logical_and : ir::BinaryFn::logical_or))
      return chosen(x, truth, value) || chosen(y, truth, value);
    const std::string op = comparison_of(binary->fn, truth);
    if (op.empty()) return false;
    if (x == value) return follows(value, op, y);
    return y == value && follows(value, (op[0] == '<' ? ">" : "<") + op.substr(1), x);
  }

  /// Whether `value OP other` implies the bound.
  bool follows(ir::ValueId value, const std::string& op, ir::ValueId other) const {
    if (op[0] != op_[0] || !readable(other)) return false;
    const Nf limit = entry(other);
    const bool needs_strict = op_.size() == 1 && op.size() == 2;
    if (known(c_.a, limit, needs_strict ? op_ : op_.substr(0, 1) + "=", bound_)) return true;
    // For integers, y > -1 is y >= 0.
    const bool whole = op.size() == 1 && c_.a.known_integer(limit) &&
                       is_integer(frame_.function.values.at(value).type.dtype);
    const Nf next = c_.a.add(limit, c_.a.number(op[0] == '>' ? 1 : -1));
    return whole && known(c_.a, next, op_, bound_);
  }

  Context& c_;
  const Frame& frame_;
  std::string op_;
  Nf bound_;
  const Makers& makers_;
  std::set<ir::ValueId> hypotheses_;
  int inductions_ = 0, steps_ = 0;
};

}  // namespace

bool Context::bounded(const Site& site, ir::ValueId value, const std::string& op, Nf bound) {
  const Nf entry = as_index(site.frame.values.at(value)->body);
  const Nf gap = op == ">=" ? a.sub(entry, bound) : a.sub(bound, entry);
  const auto stated = [&](const Condition& each) {
    const Nf to = as_index(each.left);
    if (each.op == "<=") return a.known_nonnegative(a.sub(gap, a.sub(each.right, to)));
    if (each.op == ">=") return a.known_nonnegative(a.sub(gap, a.sub(to, each.right)));
    return false;
  };
  return a.le0(a.neg(gap)) == a.number(1) || std::any_of(bounds.begin(), bounds.end(), stated) ||
         EntryBound(*this, site.frame, op, bound).holds(value);
}

void Context::check_call(size_t callee, const Site& site) {
  if (!site.frame.top || quiet()) return;
  for (ir::Assumption& each : program.assumptions(program.functions.at(callee))) {
    const ir::ValueId argument = site.instr.operands.at(each.leaf);
    const bool met = std::all_of(each.bounds.begin(), each.bounds.end(), [&](const auto& bound) {
      return EntryBound(*this, site.frame, bound.op, arith(bound.to, nullptr)).holds(argument);
    });
    if (met) continue;
    const SourceRange range = site.instr.place.range;
    const bool told = std::any_of(unmet.begin(), unmet.end(), [&](const Unmet& other) {
      return other.range == range && other.callee == callee &&
             other.assumption.range == each.range && other.argument == argument;
    });
    if (!told) unmet.push_back({range, callee, argument, std::move(each)});
  }
}

}  // namespace shardproof::lower
