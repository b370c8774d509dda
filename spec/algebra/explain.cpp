// Why two normal forms differ, as text: a factor, a summand, an operand, an index term, or a
// difference inside a function.
#include <algorithm>
#include <map>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

using Tokens = std::map<std::string, int>;  // operand and function names with multiplicity

struct Explainer {
  Engine& g;
  Written written;
  int depth = 0;
  size_t collected = 0;

  // --- names ---

  static bool is_loop(const TensorInfo& t) {
    return t.op == Op::symbol && t.name.starts_with("scan@");
  }
  std::string name_of_token(const TensorInfo& t) const {
    if (t.op == Op::symbol && t.name == "tanh") return "tanh(..)";
    if (!is_loop(t)) return t.name;
    const auto named = g.shown_as.find(t.name);
    return named == g.shown_as.end() || named->second.empty() ? "scan(..)" : named->second;
  }
  /// Counts names. Opens shared definitions at each use, up to a
  /// bound.
  void collect(AtomId id, Tokens& out) {
    if (++collected > 200000) return;
    const Atom& a = g.atoms[id];
    for (Nf arg : a.args) collect(arg, out);
    if (a.kind == AtomKind::eq0) ++out["[.. = 0]"];
    if (a.kind == AtomKind::le0) ++out["[.. <= 0]"];
    if (a.kind != AtomKind::app) return;
    const TensorInfo& t = g.tensors[a.ref];
    if (is_leaf(t.op))
      ++out[name_of_token(t)];
    else
      collect(Nf(t.body), out);
  }
  void collect(Nf e, Tokens& out) {
    for (const Term& t : g.terms(e))
      for (const Factor& f : g.factors(t.mono)) collect(f.atom, out);
  }
  Tokens tokens(const Term& t) {
    Tokens out;
    for (const Factor& f : g.factors(t.mono)) collect(f.atom, out);
    return out;
  }
  static Tokens minus(const Tokens& a, const Tokens& b) {
    Tokens out;
    for (auto& [name, n] : a) {
      auto it = b.find(name);
      int left = n - (it == b.end() ? 0 : it->second);
      if (left > 0) out[name] = left;
    }
    return out;
  }
  static int count(const Tokens& t) {
    int n = 0;
    for (auto& [name, k] : t) n += k;
    return n;
  }
  std::string text(const Term& t) { return g.show(g.monomial(t.mono, t.coef), 3); }

  // --- sums ---

  size_t looked =
      0;  // definitions are shared: without this bound a pair could be explained many times
  Difference nf(Nf plan, Nf model) {
    // Every pair of terms is compared; beyond this bound the result would not help a
    // reader.
    constexpr size_t readable = 300;
    if (++looked > readable || g.terms(plan).size() + g.terms(model).size() > readable) {
      Difference many;
      many.text = "differs from the model in many terms";
      return many;
    }
    if (auto f = factor(plan, model)) return *f;
    const Nf own = g.with_tanh(plan), other = g.with_tanh(model);
    if (own != other) plan = own, model = other;  // forms of one value may differ
    Nf residue = g.sub(plan, model);
    std::vector<Term> extra, missing;
    for (const Term& t : g.terms(residue)) {
      auto has = [&](Nf e) {
        for (const Term& u : g.terms(e))
          if (u.mono == t.mono) return true;
        return false;
      };
      if (has(plan) && has(model))
        return scaled(t, coefficient(plan, t.mono), coefficient(model, t.mono));
      (has(plan) ? extra : missing).push_back(t);
    }
    for (Term& t : missing) t.coef = -t.coef;
    if (extra.empty() && !missing.empty())
      return {Difference::missing_summand,
              "missing term " + text(missing[0]),
              {},
              "",
              text(missing[0])};
    if (missing.empty() && !extra.empty())
      return {Difference::extra_summand, "extra term " + text(extra[0]), {}, text(extra[0]), ""};
    if (extra.empty()) return {Difference::other, "differs from the model", {}, "", ""};
    return nearest(extra, missing);
  }

  Rational coefficient(Nf e, MonoId m) {
    for (const Term& t : g.terms(e))
      if (t.mono == m) return t.coef;
    return 0;
  }
  Difference scaled(const Term& t, Rational plan, Rational model) {
    Difference d;
    d.factor_value = g.number(plan / model);
    d.text = "term " + text({t.mono, model}) + " is off by the factor " + (plan / model).text();
    return d;
  }

  /// plan = r * model, if r depends on sizes only.
  std::optional<Difference> factor(Nf plan, Nf model) {
    if (plan == g.zero || model == g.zero) return std::nullopt;
    Engine::Content p = g.content(plan, false), m = g.content(model, false);
    Rational sign = 1;
    if (g.scale(p.body, -1) == m.body)
      sign = -1;
    else if (p.body != m.body)
      return std::nullopt;
    Mono ratio = p.common;
    for (const Factor& f : m.common) ratio.push_back({f.atom, -f.exponent});
    Nf r = g.fix(ratio, sign * p.coef / m.coef);
    if (g.mul(r, model) != plan || g.terms(r).size() != 1) return std::nullopt;
    for (const Factor& f : g.factors(g.terms(r)[0].mono))
      if (g.atoms[f.atom].kind != AtomKind::size && g.atoms[f.atom].kind != AtomKind::prime)
        return std::nullopt;
    return Difference{Difference::factor, "equal up to the factor " + g.show(r), r, "", ""};
  }

  /// The pair of unmatched terms with the fewest different names.
  Difference nearest(const std::vector<Term>& extra, const std::vector<Term>& missing) {
    int best = INT32_MAX;
    Term p = extra[0], m = missing[0];
    for (size_t i = 0; i < extra.size() && i < 12; ++i)
      for (size_t j = 0; j < missing.size() && j < 12; ++j) {
        Tokens x = tokens(extra[i]), y = tokens(missing[j]);
        int distance = count(minus(x, y)) + count(minus(y, x));
        if (distance < best) best = distance, p = extra[i], m = missing[j];
      }
    return term(p, m);
  }

  // --- one summand ---

  Difference term(const Term& p, const Term& m) {
    Nf plan = g.monomial(p.mono, p.coef), model = g.monomial(m.mono, m.coef);
    if (auto f = factor(plan, model)) {
      f->kind = Difference::other;  // of one term, not of the value
      f->text = "term " + text(m) + " is off by the factor " + g.show(f->factor_value);
      return *f;
    }
    Mono left = g.factors(p.mono), right = g.factors(m.mono);
    for (size_t i = 0; i < left.size();) {
      size_t j = 0;
      while (j < right.size() &&
             (right[j].atom != left[i].atom || right[j].exponent != left[i].exponent))
        ++j;
      if (j == right.size()) {
        ++i;
        continue;
      }
      left = without(left, i), right = without(right, j);
    }
    if (left.empty() && right.size() == 1) return lone(right[0], "missing");
    if (right.empty() && left.size() == 1) return lone(left[0], "extra");
    if (auto d = pairs(left, right)) return *d;
    if (auto d = names(tokens(p), tokens(m))) return *d;
    return {Difference::other, text(p) + " instead of " + text(m), {}, text(p), text(m)};
  }

  Difference lone(const Factor& f, const char* what) {
    std::string name = g.show_factor(f, 2, {});
    bool extra = what[0] == 'e';
    return {Difference::operand,
            std::string(what) + " factor " + name,
            {},
            extra ? name : "",
            extra ? "" : name};
  }

  std::optional<Difference> names(const Tokens& p, const Tokens& m) {
    Tokens only_plan = minus(p, m), only_model = minus(m, p);
    for (const Tokens& each : {only_plan, only_model})
      if (!each.empty() && each.begin()->first.find_first_of("[(") != std::string::npos)
        return std::nullopt;  // a condition or tanh(..)
    if (only_plan.size() == 1 && only_model.size() == 1) {
      std::string a = only_plan.begin()->first, b = only_model.begin()->first;
      return Difference{
          Difference::operand, "operand differs: " + a + " instead of " + b, {}, a, b};
    }
    if (only_plan.empty() && only_model.size() == 1) {
      std::string b = only_model.begin()->first;
      return Difference{Difference::operand, "operand " + b + " is missing", {}, "", b};
    }
    if (only_model.empty() && only_plan.size() == 1) {
      std::string a = only_plan.begin()->first;
      return Difference{Difference::operand, "operand " + a + " is extra", {}, a, ""};
    }
    return std::nullopt;
  }

  /// Unmatched factors of the same kind, one from each side: an operand, an index term, or a
  /// function to descend into.
  std::optional<Difference> pairs(const Mono& left, const Mono& right) {
    int best = INT32_MAX;
    std::optional<std::pair<AtomId, AtomId>> chosen;
    for (const Factor& x : left)
      for (const Factor& y : right) {
        const Atom &a = g.atoms[x.atom], &b = g.atoms[y.atom];
        if (a.kind != b.kind || x.atom == y.atom) continue;
        if (a.kind == AtomKind::app && g.tensors[a.ref].op != g.tensors[b.ref].op) continue;
        Tokens s, t;
        collect(x.atom, s), collect(y.atom, t);
        int distance = count(minus(s, t)) + count(minus(t, s));
        if (distance < best) best = distance, chosen = {x.atom, y.atom};
      }
    if (!chosen) return std::nullopt;
    return atom(chosen->first, chosen->second);
  }

  std::optional<Difference> atom(AtomId x, AtomId y) {
    const Atom &a = g.atoms[x], &b = g.atoms[y];
    std::string s = g.show_atom(x, 2, {}), t = g.show_atom(y, 2, {});
    if (a.kind == AtomKind::eq0 || a.kind == AtomKind::le0) {
      s = condition(s, written.plan), t = condition(t, written.model);
      return Difference{Difference::index, "condition " + s + " instead of " + t, {}, s, t};
    }
    if (a.kind != AtomKind::app)
      return Difference{Difference::operand, s + " instead of " + t, {}, s, t};
    const TensorInfo &p = g.tensors[a.ref], &m = g.tensors[b.ref];
    if (p.op == Op::symbol && p.name == "tanh" && m.name == "tanh") {
      Difference d = nf(a.args[0], b.args[0]);
      d.text = "inside tanh: " + d.text, d.kind = Difference::inside;
      return d;
    }
    if (is_leaf(p.op)) {
      if (p.name != m.name && (is_loop(p) || is_loop(m)))
        return Difference{Difference::operand,
                          s == t ? "the results of two loops differ" : s + " instead of " + t,
                          {},
                          s,
                          t};
      if (p.name != m.name)
        return Difference{Difference::operand,
                          "operand differs: " + p.name + " instead of " + m.name,
                          {},
                          p.name,
                          m.name};
      for (size_t i = 0; i < a.args.size() && i < b.args.size(); ++i) {
        if (a.args[i] == b.args[i]) continue;
        std::string u = g.show(a.args[i], 2), v = g.show(b.args[i], 2);
        const bool loop = p.name.starts_with("scan@");
        const std::string where = loop ? "in the loop: " : "index of " + p.name + ": ";
        return Difference{Difference::index, where + u + " instead of " + v, {}, u, v};
      }
      return std::nullopt;
    }
    constexpr size_t most = 60;  // of a condition that can be read as a whole
    if (p.op == Op::step && s.size() <= most && t.size() <= most) {
      s = condition(s, written.plan), t = condition(t, written.model);
      return Difference{Difference::inside, "condition " + s + " instead of " + t, {}, s, t};
    }
    return inside(x, y);
  }

  /// `[S <= L]` as it is written; if that is not known also its negation, `[L < S]`.
  static std::string condition(const std::string& shown, Inequalities as) {
    const bool lax = shown.find(" <= ") != shown.npos;
    const std::string sign = lax ? " <= " : " < ";
    const size_t at = shown.find(sign);
    if (at == shown.npos || as == (lax ? Inequalities::lax : Inequalities::strict)) return shown;
    const size_t right = at + sign.size();
    const std::string opposite = "[" + shown.substr(right, shown.size() - right - 1) +
                                 (lax ? " < " : " <= ") + shown.substr(1, at - 1) + "]";
    return as == Inequalities::both ? shown + " (or " + opposite + ")" : opposite;
  }

  Tokens names_inside(const TensorInfo& t) {
    Tokens out;
    collect(Nf(t.body), out);
    return out;
  }

  std::optional<Difference> inside(AtomId x, AtomId y) {
    const Atom &a = g.atoms[x], &b = g.atoms[y];
    const TensorInfo &p = g.tensors[a.ref], &m = g.tensors[b.ref];
    if (++depth > 6) return std::nullopt;
    const bool same_names = names_inside(p) == names_inside(m);
    if (same_names && p.binders.size() == m.binders.size() && p.binders != m.binders) {
      for (size_t i = 0; i < p.binders.size(); ++i) {
        if (std::find(m.binders.begin(), m.binders.end(), p.binders[i]) != m.binders.end())
          continue;
        for (Nf other : m.binders)
          if (std::find(p.binders.begin(), p.binders.end(), other) == p.binders.end()) {
            std::string u = g.show(p.binders[i]), v = g.show(other);
            return Difference{
                Difference::index, label(p.op) + " over " + u + " instead of " + v, {}, u, v};
          }
      }
    }
    VarSet avoid, left, right;
    for (Nf arg : a.args) avoid = set_union(avoid, g.free_of(arg));
    for (Nf arg : b.args) avoid = set_union(avoid, g.free_of(arg));
    Nf plan = g.open(a.ref, a.args, avoid, &left), model = g.open(b.ref, b.args, avoid, &right);
    if (plan == model) return std::nullopt;
    Difference d = nf(plan, model);
    if (p.op == Op::poly && d.kind == Difference::factor) {  // of this part, not of the value
      d.kind = Difference::other;
      d.text = g.show_atom(y, 2, {}) + " is off by the factor " + g.show(d.factor_value);
    }
    if (p.op == Op::poly) return d;
    d.text = "inside " + label(p.op) + ": " + d.text;
    if (p.op != Op::sum && p.op != Op::max) d.kind = Difference::inside;
    return d;
  }

  static std::string label(Op op) {
    const std::string name = name_of(op);
    return name.empty() ? "definition" : name;
  }
};

}  // namespace

/// The text from `first` on, shortened to a readable length.
static std::string part(const std::string& text, size_t first) {
  constexpr size_t most = 160;
  const std::string from = first == 0 ? text : "... " + text.substr(first);
  return from.size() <= most ? from : from.substr(0, most) + " ...";
}

/// Shortens a message. Where it shows the plan's part and the model's, starts just before the first
/// difference.
static std::string cut(const Difference& found) {
  constexpr size_t before = 60;
  const std::string between = " instead of ", &plan = found.plan_part, &model = found.model_part;
  const std::string both = plan + between + model;
  if (!plan.empty() && found.text.ends_with(both)) {
    const auto apart = std::mismatch(plan.begin(), plan.end(), model.begin(), model.end()).first;
    const auto same = static_cast<size_t>(apart - plan.begin());
    const size_t first = same > before ? same - before : 0;
    return found.text.substr(0, found.text.size() - both.size()) + part(plan, first) + between +
           part(model, first);
  }
  for (const std::string& words : {between, std::string(" is off by the factor ")})
    if (const size_t at = found.text.find(words); at != found.text.npos)
      return part(found.text.substr(0, at), 0) + words +
             part(found.text.substr(at + words.size()), 0);
  return part(found.text, 0);
}

std::optional<Difference> explain(Algebra& algebra, Nf plan, Nf model, Written written) {
  if (plan == model) return std::nullopt;
  Difference found = Explainer{algebra.engine(), written}.nf(plan, model);
  found.text = cut(found);
  return found;
}

}  // namespace shardproof::algebra
