// Lowers a ring. Its devices take the blocks in different orders, so each carry is written in a
// form that does not depend on the order; if there is none, the ring is refused.
#include <algorithm>
#include <utility>

#include "spec/algebra/engine.h"
#include "spec/lower/loop.h"

namespace shardproof::lower {

namespace {

using ir::ValueId;

/// Leaves for a carry before and after a block. `end` is its last value, once that is solved.
struct RingCarry {
  const ir::Value& value;
  ValueId param, next;
  TensorExpr init, before, after;
  bool summed;     ///< U over the ring's axis: each device adds its own terms
  bool made_here;  ///< `next` is the result of an instruction of the body, so it can be replaced
  std::optional<TensorExpr> end = {};
};

/// next = factor * carry + rest, entry by entry.
struct Linear {
  Nf factor, rest;
};

class RingLowering {
 public:
  RingLowering(Context& c, const ir::Ring& op, const Site& site)
      : c_(c), op_(op), body_(*op.body), site_(site), frame_(site.frame), g_(c.a.engine()) {
    const Axis& axis = op.dim.axes.at(0);
    const Nf blocks = c.axis(axis);
    c.a.declare_range(c.a.div(c.size(op.dim.dim), blocks));  // c | L is a condition of the types
    b_ = c.loop_index(depth() + " block of " + axis, blocks);
  }

  Results run() {
    for (size_t i = 0; i < body_.next.size(); ++i) add_carry(i);
    while (solve_next()) continue;
    Results results;
    for (size_t r = 0; r < site_.instr.results.size(); ++r) results.push_back(result(r));
    return results;
  }

 private:
  std::string depth() const { return std::to_string(frame_.depth); }
  Nf one() { return c_.a.number(1); }

  [[noreturn]] void refuse(const std::string& words, const std::string& hint) const {
    throw Unsupported("ring", site_.instr.place, words, hint);
  }

  // --- the body, for given values of the carries ---

  void add_carry(size_t i) {
    const ValueId param = body_.params.at(i + 1), next = body_.next[i];
    const ir::Value& value = frame_.function.values.at(param);
    const TensorExpr init = c_.typed(site_.operand(i), value.type);
    const auto mark = value.type.marks.find(op_.dim.axes.at(0));
    const bool made = std::any_of(
        body_.instrs.begin(), body_.instrs.end(),
        [&](const ir::Instr& instr) { return instr.results == std::vector<ValueId>{next}; });
    // The value after a block depends on the block, so that the exponentials of the values before
    // and after are different factors.
    carries_.push_back({value, param, next, init, leaf("carry~ring", i, init.index, value, false),
                        leaf("carry~after", i, init.index, value, true),
                        mark != value.type.marks.end() && mark->second == Mark::U, made});
  }

  TensorExpr leaf(const std::string& kind, size_t i, Vars index, const ir::Value& value,
                  bool at_b) {
    Vars all = index;
    if (at_b) all.push_back(b_);
    const std::string name = kind + depth() + "." + std::to_string(i);
    c_.ring_carries[name] = value.name;
    return {std::move(index), c_.leaf(name, all, value.type.dtype).body};
  }

  /// Carry i after a block: solved carries are `after` where the body reads their new values; all
  /// carries are `before` at the start of the body.
  template <class Before, class After>
  TensorExpr next(size_t i, Before before, After after) {
    return at(carries_[i].next, carries_[i].value.type, before, after);
  }
  /// The same of any value of the body.
  template <class Before, class After>
  TensorExpr at(ValueId wanted, const Type& type, Before before, After after) {
    const std::set<ValueId> given = frame_.given;
    frame_.values.at(body_.params.at(0)) = TensorExpr{{}, c_.a.iota(c_.a.var(b_))};
    for (const RingCarry& carry : carries_) frame_.values.at(carry.param) = before(carry);
    for (const RingCarry& carry : carries_) {
      if (!carry.end || !carry.made_here || carry.next == wanted) continue;
      frame_.values.at(carry.next) = after(carry);
      frame_.given.insert(carry.next);
    }
    ++frame_.depth, ++c_.unsealed;
    const auto around = std::exchange(c_.block_number, b_);
    c_.block(body_, frame_, {wanted});
    c_.block_number = around;
    --frame_.depth, --c_.unsealed;
    frame_.given = given;
    return c_.typed(*frame_.values.at(wanted), type);
  }
  TensorExpr next_at_leaves(size_t i) {
    return next(
        i, [](const RingCarry& k) { return k.before; }, [](const RingCarry& k) { return k.after; });
  }

  // --- leaves of carries in terms ---

  uint32_t tensor_of(const TensorExpr& leaf) const { return g_.atoms[g_.only_atom(leaf.body)].ref; }

  /// Whether the term contains one of the leaves.
  bool mentions(Nf e, const std::vector<uint32_t>& leaves) {
    std::map<uint32_t, bool> seen;
    return mentions(e, leaves, &seen);
  }
  bool mentions(Nf e, const std::vector<uint32_t>& leaves, std::map<uint32_t, bool>* seen) {
    if (auto known = seen->find(e.id); known != seen->end()) return known->second;
    bool found = false;
    for (const algebra::Term& t : g_.terms(e))
      for (const algebra::Factor& f : g_.factors(t.mono))
        found = found || mentions_atom(f.atom, leaves, seen);
    return (*seen)[e.id] = found;
  }
  bool mentions_atom(algebra::AtomId id, const std::vector<uint32_t>& leaves,
                     std::map<uint32_t, bool>* seen) {
    const algebra::Atom& atom = g_.atoms[id];
    for (Nf arg : atom.args)
      if (mentions(arg, leaves, seen)) return true;
    if (atom.kind != algebra::AtomKind::app) return false;
    if (std::count(leaves.begin(), leaves.end(), atom.ref)) return true;
    const algebra::TensorInfo& tensor = g_.tensors[atom.ref];
    return tensor.op != algebra::Op::leaf && mentions(Nf(tensor.body), leaves, seen);
  }
  std::vector<uint32_t> befores() const {
    std::vector<uint32_t> result;
    for (const RingCarry& carry : carries_) result.push_back(tensor_of(carry.before));
    return result;
  }
  std::vector<uint32_t> afters() const {
    std::vector<uint32_t> result;
    for (const RingCarry& carry : carries_) result.push_back(tensor_of(carry.after));
    return result;
  }
  bool free_of_carries(Nf e) { return !mentions(e, befores()) && !mentions(e, afters()); }

  // --- one carry ---

  bool solve_next() {
    for (size_t i = 0; i < carries_.size(); ++i) {
      if (carries_[i].end) continue;
      const TensorExpr value = next_at_leaves(i);
      const Context::Quiet quiet(c_);
      auto end = solved(i, value);
      if (!end || !free_of_carries(*end)) continue;
      carries_[i].end = TensorExpr{carries_[i].init.index, *end};
      return true;
    }
    return false;
  }

  std::optional<Nf> solved(size_t i, const TensorExpr& value) {
    const RingCarry& carry = carries_[i];
    if (value.body == carry.before.body) return carry.init.body;
    if (auto end = extremum(carry, value.body)) return end;
    if (auto end = written(carry)) return end;
    if (auto end = log_of_sum(carry, value.body)) return end;
    const auto linear = linear_in(value.body, carry.before);
    if (!linear) return std::nullopt;
    if (auto end = plain_sum(carry, *linear)) return end;
    if (carry.summed) return std::nullopt;  // devices' factors would differ
    if (auto end = condition(carry, *linear)) return end;
    return rescaled(i, *linear);
  }

  Nf over_blocks(Nf e) { return c_.a.sum({b_}, e); }

  /// max(c, f) and min(c, f).
  std::optional<Nf> extremum(const RingCarry& carry, Nf value) {
    const auto found = extremum_with(c_.a, value, carry.before.body);
    if (!found || carry.summed || !free_of_carries(found->rest)) return std::nullopt;
    return found->of(c_.a, carry.init.body, c_.a.max({b_}, found->rest));
  }

  /// log(e^c + f): e^c is a plain sum.
  std::optional<Nf> log_of_sum(const RingCarry& carry, Nf value) {
    const auto exp = [&](Nf e) { return c_.a.apply(algebra::Fn::exp, e); };
    const auto next = linear_in(exp(value), {carry.before.index, exp(carry.before.body)});
    if (!next || next->factor != one() || carry.summed || !free_of_carries(next->rest))
      return std::nullopt;
    return c_.a.apply(algebra::Fn::log, c_.a.add(exp(carry.init.body), over_blocks(next->rest)));
  }

  std::optional<Linear> linear_in(Nf value, const TensorExpr& leaf) {
    if (g_.terms(leaf.body).size() != 1) return std::nullopt;
    const std::vector<uint32_t> own = {tensor_of(leaf)};
    const algebra::AtomId atom = g_.only_atom(leaf.body);
    Linear result{c_.a.number(0), c_.a.number(0)};
    for (const algebra::Term& t : g_.terms(value)) {
      const Nf term = g_.monomial(t.mono, t.coef);
      if (!mentions(term, own)) {
        result.rest = c_.a.add(result.rest, term);
        continue;
      }
      const algebra::Mono& factors = g_.factors(t.mono);
      const auto is_own = [&](const algebra::Factor& f) {
        return mentions(g_.of_atom(f.atom), own);
      };
      const auto at = std::find_if(factors.begin(), factors.end(), is_own);
      if (std::count_if(factors.begin(), factors.end(), is_own) != 1 || !at->exponent.is_one())
        return std::nullopt;
      const Nf others = g_.fix(without(factors, static_cast<size_t>(at - factors.begin())), t.coef);
      if (at->atom == atom) {
        result.factor = c_.a.add(result.factor, others);
      } else if (g_.is_op(at->atom, algebra::Op::poly)) {
        const auto inside = linear_in(g_.inner(at->atom), leaf);
        if (!inside) return std::nullopt;
        result.factor = c_.a.add(result.factor, c_.a.mul(others, inside->factor));
        result.rest = c_.a.add(result.rest, c_.a.mul(others, inside->rest));
      } else {
        return std::nullopt;
      }
    }
    return result;
  }

  /// c + f.
  std::optional<Nf> plain_sum(const RingCarry& carry, const Linear& next) {
    if (next.factor != one() || !free_of_carries(next.rest)) return std::nullopt;
    return c_.a.add(carry.init.body, over_blocks(next.rest));
  }

  /// write("[L] .., W .. -> L ..", c, f, at=b * |W|): each entry is written once.
  std::optional<Nf> written(const RingCarry& carry) {
    const auto made = std::find_if(
        body_.instrs.begin(), body_.instrs.end(),
        [&](const ir::Instr& instr) { return instr.results == std::vector<ValueId>{carry.next}; });
    if (made == body_.instrs.end()) return std::nullopt;
    const auto* write = std::get_if<ir::Write>(&made->op);
    if (write == nullptr || made->operands.at(0) != carry.param) return std::nullopt;
    const Site site{*made, frame_};
    const Indices in(c_, site, write->pattern);
    const Vars whole = in.right(write->pattern.left_bracket.value());
    const Vars block = without(in.left(1), in.right());
    const Nf blocks = c_.a.range(b_), length = c_.size(block), entry = in.operand(1);
    if (c_.size(whole) != c_.a.mul(blocks, length) || !free_of_carries(entry) ||
        c_.as_index(site.operand(2).body) != c_.a.mul(c_.a.var(b_), length))
      return std::nullopt;
    return c_.typed({in.right(), at_places(entry, block, whole)}, carry.value.type).body;
  }

  /// The entries of all blocks, each at its own place of the whole.
  Nf at_places(Nf entry, const Vars& block, const Vars& whole) {
    const Nf index = c_.a.add(c_.a.mul(c_.a.var(b_), c_.size(block)), c_.join(block));
    Vars bound = block;
    bound.push_back(b_);
    const Nf here = c_.a.eq0(c_.a.sub(c_.join(whole), index));
    return c_.a.sum(bound, c_.a.mul(here, entry));
  }

  /// c or f, c and f.
  std::optional<Nf> condition(const RingCarry& carry, const Linear& next) {
    if (carry.value.type.dtype != Dtype::boolean) return std::nullopt;
    if (!free_of_carries(next.factor) || !free_of_carries(next.rest)) return std::nullopt;
    const auto no = [&](Nf e) { return c_.a.sub(one(), e); };
    if (next.factor == no(next.rest))
      return c_.a.maximum(carry.init.body, c_.a.max({b_}, next.rest));
    if (!c_.a.is_zero(next.rest)) return std::nullopt;
    return no(c_.a.maximum(no(carry.init.body), c_.a.max({b_}, no(next.factor))));
  }

  /// a c + f with a = mu(before) / mu(after), and f mu(after) free of carries: then c mu is a plain
  /// sum. mu depends on solved carries only and is positive for all their values.
  std::optional<Nf> rescaled(size_t i, const Linear& next_value) {
    const auto parts = gauge(next_value.factor);
    if (!parts) return std::nullopt;
    const auto& [before, after] = *parts;
    // Of another function mu for each block, the factors of two blocks would not cancel.
    if (!c_.a.known_positive(before) || g_.mentions(before, b_.id)) return std::nullopt;
    if (!free_of_carries(c_.a.mul(next_value.rest, c_.a.pow(after, -1)))) return std::nullopt;
    const RingCarry& carry = carries_[i];
    const auto leaf = [](const RingCarry& k) { return k.before; };
    // mu(m) / mu(m) = 1 for every m, so both factors use the same function mu.
    const auto same = linear_in(next(i, leaf, leaf).body, carry.before);
    if (!same || same->factor != one()) return std::nullopt;
    const auto first = [&](const RingCarry& k) { return &k == &carry ? k.before : k.init; };
    const auto last = [](const RingCarry& k) { return *k.end; };
    const auto ended = linear_in(next(i, first, last).body, carry.before);
    if (!ended) return std::nullopt;
    const Nf start = c_.a.mul(ended->factor, carry.init.body);
    if (g_.mentions(start, b_.id)) return std::nullopt;
    return c_.a.add(start, over_blocks(ended->rest));
  }

  struct Gauge {
    Nf before, after;
  };
  /// The factor as a function of the carries before the block times one of those after it.
  std::optional<Gauge> gauge(Nf factor) {
    if (!g_.is_single(factor)) return std::nullopt;
    const algebra::Term t = g_.terms(factor)[0];
    algebra::Mono before, after;
    for (const algebra::Factor& f : g_.factors(t.mono)) {
      const bool of_before = mentions(g_.of_atom(f.atom), befores());
      if (of_before && mentions(g_.of_atom(f.atom), afters())) return std::nullopt;
      (of_before ? before : after).push_back(f);
    }
    return Gauge{g_.fix(before, 1), g_.fix(after, t.coef)};
  }

  // --- results ---

  TensorExpr result(size_t r) {
    if (site_.instr.results[r] == ir::no_value) return {};
    if (r >= carries_.size()) return emitted(r);
    const RingCarry& carry = carries_.at(r);
    if (!carry.end && frame_.needed.at(site_.instr.results[r]))
      refuse(
          "the carry `" + carry.value.name +
              "` is not shown to be the same in every order of the blocks",
          "shown are sums, the maximum, the minimum, `and`, `or`, a block that is written at its "
          "own place, and sums that are rescaled by other carries (a running softmax)");
    if (!carry.end) return {c_.vars(site_.result(r).type.dims), c_.a.number(0)};
    return c_.typed(*carry.end, site_.result(r).type);
  }

  /// Each device adds its term of a block while it passes, or keeps the values of all blocks: as a
  /// value of the whole tensor these are the same.
  TensorExpr emitted(size_t r) {
    const Type& type = site_.result(r).type;
    const std::vector<Vars> own = c_.positions(type.dims);
    if (!frame_.needed.at(site_.instr.results[r])) return {flat(own), c_.a.number(0)};
    const ir::Value& value = frame_.function.values.at(body_.emit.at(r - carries_.size()));
    const TensorExpr entry = at(
        body_.emit[r - carries_.size()], value.type, [](const RingCarry& k) { return k.before; },
        [](const RingCarry& k) { return k.after; });
    if (!free_of_carries(entry.body))
      refuse("what it emits" + (value.name.empty() ? "" : ", `" + value.name + "`,") +
                 " is not shown to be the same in every order of the blocks",
             "emit what is made of the block and of what is there before the ring");
    const std::vector<Vars> places = c_.positions(value.type.dims);
    std::vector<Nf> index;
    Vars block, whole;
    for (size_t i = 0; i < places.size(); ++i) {
      const bool is_block = value.type.dims[i].dim == op_.block;
      if (is_block) block = places[i], whole = own.at(i);
      for (Nf term : c_.terms(is_block ? places[i] : own.at(i))) index.push_back(term);
    }
    return {flat(own), at_places(c_.at(entry, index), block, whole)};
  }

  Context& c_;
  const ir::Ring& op_;
  const ir::Block& body_;
  const Site& site_;
  Frame& frame_;
  algebra::Engine& g_;
  Var b_;
  std::vector<RingCarry> carries_;
};

}  // namespace

Results lower_op(Context& c, const ir::Ring& op, const Site& site) {
  return RingLowering(c, op, site).run();
}

}  // namespace shardproof::lower
