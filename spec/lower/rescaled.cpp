#include "spec/lower/rescaled.h"

#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::lower {

namespace {

const Name next_name = "carry~next.0";

/// The carries times exp(rate m), or by it.
std::vector<TensorExpr> scaled(Context& c, const LoopText& text, const Rescaling& rescaling,
                               std::vector<TensorExpr> carries, bool back) {
  const Nf m = c.at(carries.at(rescaling.by), text.carries.at(rescaling.by).index);
  for (const auto& [i, rate] : rescaling.rates) {
    const Nf exponent = c.a.mul(back ? c.a.neg(rate) : rate, m);
    const Vars& index = text.carries.at(i).index;
    carries[i] = {index, c.a.mul(c.at(carries[i], index), c.a.apply(algebra::Fn::exp, exponent))};
  }
  return carries;
}

struct RateSearch {
  Context& c;
  const LoopText& text;
  const std::vector<TensorExpr>& leaves;
  const Iteration& step;
  algebra::Engine& g = c.a.engine();

  bool is_real(size_t i) const { return is_float(text.carries[i].dtype); }
  algebra::AtomId atom(size_t i) const { return g.only_atom(leaves[i].body); }

  /// Has the same value in each step, and no index that carry i lacks.
  bool is_fixed(Nf e, size_t i) {
    const std::vector<Var> free = c.a.variables(e);
    return std::all_of(free.begin(), free.end(),
                       [&](Var v) { return lower::contains(text.carries[i].index, v); }) &&
           !c.mentions_carry(e);
  }
  bool has_indices_of(size_t i, size_t by) const {
    const Vars& own = text.carries[by].index;
    return std::all_of(own.begin(), own.end(),
                       [&](Var v) { return lower::contains(text.carries[i].index, v); });
  }
  /// The factor of m, as far as it is fixed.
  Nf factor_of(size_t by, Nf e, size_t i) {
    Nf found = g.zero;
    for (const algebra::Term& t : g.terms(e)) {
      algebra::Mono rest = g.factors(t.mono);
      std::erase_if(rest, [&](const algebra::Factor& f) {
        return f.atom == atom(by) && f.exponent.is_one();
      });
      const Nf factor = g.fix(rest, t.coef);
      if (rest.size() < g.factors(t.mono).size() && is_fixed(factor, i))
        found = g.add(found, factor);
    }
    return found;
  }
  /// The rate r, if the step has a term c_i exp(r (m - m')) .. .
  std::optional<Nf> rate(size_t i, size_t by) {
    if (i == by || !is_real(i) || !has_indices_of(i, by)) return std::nullopt;
    const auto change =
        c.a.as_number(factor_of(by, c.a.sub(leaves[by].body, step.next[by].body), i));
    if (!change || change->sign() == 0) return std::nullopt;
    for (const algebra::Term& t : g.terms(step.next[i].body)) {
      Nf exponent = g.zero;
      bool own = false;
      for (const algebra::Factor& f : g.factors(t.mono)) {
        own = own || f.atom == atom(i);
        if (g.is_op(f.atom, algebra::Op::exp))
          exponent = g.add(exponent, g.scale(g.inner(f.atom), f.exponent));
      }
      const Nf factor = factor_of(by, exponent, i);
      if (own && !c.a.is_zero(factor)) return g.scale(factor, algebra::Rational(1) / *change);
    }
    return std::nullopt;
  }

  /// Reads no carry that `before` does not read, and not m.
  bool reads_fewer(Nf after, Nf before, size_t by) {
    std::set<Name> left = carries_in(c.a, before);
    left.erase(g.tensors[g.atoms[atom(by)].ref].name);
    const std::set<Name> read = carries_in(c.a, after);
    return std::includes(left.begin(), left.end(), read.begin(), read.end());
  }

  std::optional<Rescaling> with(size_t by) {
    Rescaling found{by, {}};
    if (!is_real(by)) return std::nullopt;
    for (size_t i = 0; i < text.carries.size(); ++i)
      if (const auto rate = this->rate(i, by)) found.rates.emplace(i, *rate);
    for (bool changed = true; changed && !found.rates.empty();) {
      const Iteration steps = rescaled(c, text, found).step(leaves);
      changed = std::erase_if(found.rates, [&](const auto& each) {
        return !reads_fewer(steps.next[each.first].body, step.next[each.first].body, by);
      });
    }
    return found.rates.empty() ? std::nullopt : std::optional(found);
  }
};

}  // namespace

std::optional<Rescaling> rescaling_of(Context& c, const LoopText& text,
                                      const std::vector<TensorExpr>& leaves,
                                      const Iteration& step) {
  RateSearch search{c, text, leaves, step};
  for (size_t by = 0; by < leaves.size(); ++by)
    if (auto found = search.with(by)) return found;
  return std::nullopt;
}

/// The step for any next value of m, a leaf, with an index that nothing else has: exponentials of
/// it are factors of their own.
static std::optional<Iteration> for_any_next(Context& c, const LoopText& text,
                                             const Rescaling& rescaling,
                                             const std::vector<TensorExpr>& carries) {
  if (!text.step_with) return std::nullopt;
  const Carry& m = text.carries.at(rescaling.by);
  Vars index = m.index;
  index.push_back(c.loop_index(std::to_string(text.depth) + " next", c.size(text.dim)));
  const TensorExpr after{m.index, c.leaf(next_name, index, m.dtype).body};
  Iteration step = text.step_with(carries, rescaling.by, after);
  step.next[rescaling.by] = after;
  step.next = scaled(c, text, rescaling, step.next, false);
  return step;
}

/// Takes the values of `any` that do not depend on the leaf: they are those of the step.
static void take_those_of(Context& c, const Iteration& any, Iteration& step) {
  const auto take = [&](const std::vector<TensorExpr>& from, std::vector<TensorExpr>& to) {
    for (size_t i = 0; i < to.size(); ++i)
      if (!carries_in(c.a, from[i].body).contains(next_name)) to[i] = from[i];
  };
  take(any.next, step.next), take(any.emit, step.emit);
}

LoopText rescaled(Context& c, const LoopText& text, const Rescaling& rescaling) {
  LoopText result = text;
  std::vector<TensorExpr> starts;
  for (const Carry& carry : text.carries) starts.push_back(carry.init);
  starts = scaled(c, text, rescaling, starts, false);
  for (size_t i = 0; i < starts.size(); ++i) result.carries[i].init = starts[i];
  for (const auto& [i, rate] : rescaling.rates)
    result.carries[rescaling.by].needed |= text.carries[i].needed;
  result.step_with = {};
  result.step = [&c, text, rescaling](const std::vector<TensorExpr>& carries) {
    const std::vector<TensorExpr> own = scaled(c, text, rescaling, carries, true);
    auto& obligations = c.a.engine().obligations;
    const size_t known = obligations.size();
    const std::optional<Iteration> any = for_any_next(c, text, rescaling, own);
    Iteration step = text.step(own);
    obligations.resize(known);  // what the step needs was noted of its own carries
    step.next = scaled(c, text, rescaling, step.next, false);
    if (any) take_those_of(c, *any, step);
    return step;
  };
  return result;
}

std::vector<TensorExpr> in_own_scale(Context& c, const LoopText& text, const Rescaling& rescaling,
                                     std::vector<TensorExpr> last) {
  return scaled(c, text, rescaling, std::move(last), true);
}

}  // namespace shardproof::lower
