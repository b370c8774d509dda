// Expressions as text, for reports.
#include <map>
#include <optional>
#include <utility>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

const char* name_of(Op op) {
  switch (op) {
    case Op::sum:
      return "sum";
    case Op::max:
      return "max";
    case Op::exp:
      return "exp";
    case Op::log:
      return "log";
    case Op::sigmoid:
      return "sigmoid";
    case Op::erf:
      return "erf";
    case Op::sin:
      return "sin";
    case Op::cos:
      return "cos";
    case Op::floor:
      return "floor";
    case Op::step:
      return "condition";
    case Op::leaf:
    case Op::iota:
    case Op::symbol:
    case Op::lambda:
    case Op::poly:
    case Op::sealed:
      break;
  }
  return "";
}

/// e <= 0 as a person writes it, with negative terms on the other side: S <= L.
static std::pair<Nf, Nf> sides(Engine& g, Nf e) {
  Nf left = g.zero, right = g.zero;
  for (const Term& t : g.terms(e))
    if (t.coef.sign() < 0)
      right = g.add(right, g.monomial(t.mono, -t.coef));
    else
      left = g.add(left, g.monomial(t.mono, t.coef));
  if (right != g.zero) return {left, right};
  for (const Term& t : g.terms(e))  // y = -100, not 100 + y = 0
    if (g.factors(t.mono).empty()) right = g.number(-t.coef);
  return {g.add(left, right), right};
}

/// A tensor that an opaque function takes: `w` where the binders are the indices of w in order.
std::string Engine::show_tensor(const TensorInfo& t, int depth, Names inside) {
  const size_t count = t.binders.size();
  const auto binder = [&](size_t i) {
    return slot(VarInfo::binder, static_cast<uint32_t>(i), t.binders[i]);
  };
  if (const auto found = single_atom(t.body); found && atoms[*found].kind == AtomKind::app) {
    const Atom& of = atoms[*found];
    const TensorInfo& named = tensors[of.ref];
    if (named.op == Op::leaf && of.args.size() >= count) {
      const size_t first = of.args.size() - count;
      bool whole = true;
      for (size_t i = 0; i < count; ++i) {
        whole = whole && of.args[first + i] == var(binder(i));
        inside[binder(i)] = "\n";  // in no text
      }
      std::string list;
      for (size_t i = 0; i < first; ++i)
        list += (list.empty() ? "" : ", ") + show(of.args[i], depth, inside);
      if (whole && list.find('\n') == list.npos)
        return named.name + (list.empty() ? "" : "[" + list + "]");
    }
  }
  std::string binders;
  for (size_t i = 0; i < count; ++i) {
    inside[binder(i)] = t.hints[i];
    binders += (binders.empty() ? "_" : ",") + t.hints[i];
  }
  const std::string body = show(t.body, depth - 1, inside);
  return binders.empty() ? body : "\\" + binders + ". " + body;
}

/// `name(tensors)[indices]`.
std::string Engine::show_named(const Atom& a, const TensorInfo& t, int depth, const Names& names) {
  std::string given, indices;
  for (const Nf arg : a.args) {
    const auto found = single_atom(arg);
    const bool tensor = found && is_op(*found, Op::lambda);
    std::string& list = tensor ? given : indices;
    list += (list.empty() ? "" : ", ") + show(arg, depth, names);
  }
  return t.name + (given.empty() ? "" : "(" + given + ")") +
         (indices.empty() ? "" : "[" + indices + "]");
}

/// `carry[indices]`; the first index counts the steps, all of them after the loop.
std::string Engine::show_scan(const Atom& a, const TensorInfo& t, int depth, const Names& names) {
  const auto named = shown_as.find(t.name);
  if (named == shown_as.end() || named->second.empty()) return "scan(..)";
  std::string indices;
  bool steps = true;
  for (const Nf arg : a.args) {
    const auto found = single_atom(arg);
    if (found && is_op(*found, Op::lambda)) continue;
    if (!std::exchange(steps, false))
      indices += (indices.empty() ? "" : ", ") + show(arg, depth, names);
  }
  return named->second + (indices.empty() ? "" : "[" + indices + "]");
}

/// `iota[2*floor(x)]` is a value that the file does not call an index: it shows as (2*floor(x)).
bool Engine::shows_as_sum(AtomId id) {
  if (!is_op(id, Op::iota)) return false;
  const auto only = single_atom(atoms[id].args[0]);
  return !only || atoms[*only].kind != AtomKind::var;
}

std::optional<Nf> Engine::tanh_argument(AtomId a) {
  if (!writes_tanh || !is_op(a, Op::sigmoid)) return std::nullopt;
  VarSet none;
  const Nf twice = open(atoms[a].ref, atoms[a].args, {}, &none);
  for (const Term& t : terms(twice))
    if (writes_sigmoid && !(t.coef / Rational(2)).is_integer())
      return std::nullopt;  // one that is written
  return scale(twice, {1, 2});
}

std::string Engine::show_atom(AtomId id, int depth, const Names& names) {
  const Atom& a = atoms[id];
  switch (a.kind) {
    case AtomKind::size:
      return "|" + sizes[a.ref] + "|";
    case AtomKind::prime:
      return std::to_string(a.ref);
    case AtomKind::var: {
      auto it = names.find(a.ref);
      return it == names.end() ? vars[a.ref].hint : it->second;
    }
    case AtomKind::eq0:
    case AtomKind::le0: {
      const auto [left, right] = sides(*this, a.args[0]);
      return "[" + show(left, depth, names) + (a.kind == AtomKind::eq0 ? " = " : " <= ") +
             show(right, depth, names) + "]";
    }
    case AtomKind::app:
      break;
  }
  const TensorInfo& t = tensors[a.ref];
  if (t.op == Op::symbol && t.name == "tanh")
    return depth <= 0 ? "tanh(..)" : "tanh(" + show(a.args[0], depth - 1, names) + ")";
  if (t.op == Op::symbol && t.name.starts_with("scan@")) return show_scan(a, t, depth, names);
  if (shows_as_sum(id)) return "(" + show(a.args[0], depth, names) + ")";
  if (is_leaf(t.op)) return show_named(a, t, depth, names);
  if (t.op == Op::sealed) ++depth;  // the sealed term is printed in its place, not as a function
  if (depth <= 0) return std::string(name_of(t.op)) + "(..)";
  Names inside;
  for (size_t i = 0; i < a.args.size(); ++i)
    inside[slot(VarInfo::param, static_cast<uint32_t>(i), t.ranges[i])] =
        show(a.args[i], depth, names);
  if (t.op == Op::lambda) return show_tensor(t, depth, std::move(inside));
  if (t.op == Op::step) {
    const auto [larger, smaller] = sides(*this, t.body);
    return "[" + show(smaller, depth, inside) + " < " + show(larger, depth, inside) + "]";
  }
  std::string binders;
  for (size_t i = 0; i < t.binders.size(); ++i) {
    inside[slot(VarInfo::binder, static_cast<uint32_t>(i), t.binders[i])] = t.hints[i];
    binders += (binders.empty() ? "_" : ",") + t.hints[i];
  }
  std::string body = show(t.body, depth - 1, inside);
  return name_of(t.op) + binders + "(" + body + ")";
}

/// The text of (x^2)^(1/2) without its square.
static std::optional<std::string> absolute(Engine& g, const Factor& f, const std::string& text) {
  const Atom& a = g.atoms[f.atom];
  const std::string square = "^2)";
  if (!g.is_op(f.atom, Op::poly) || (f.exponent * Rational(2)).is_integer() == false ||
      f.exponent.is_integer() || !text.ends_with(square))
    return std::nullopt;
  const Nf body = g.tensors[a.ref].body;
  if (g.terms(body).size() != 1 || !g.terms(body)[0].coef.is_one()) return std::nullopt;
  const Mono& only = g.factors(g.terms(body)[0].mono);
  if (only.size() != 1 || !(only[0].exponent == Rational(2))) return std::nullopt;
  std::string inner = text.substr(1, text.size() - 1 - square.size());
  if (g.is_op(only[0].atom, Op::poly)) inner = inner.substr(1, inner.size() - 2);
  return "abs(" + inner + ")";
}

std::string Engine::show_factor(const Factor& f, int depth, const Names& names) {
  std::string text = show_atom(f.atom, depth, names);
  if (f.exponent.is_one()) return text;
  std::string e = f.exponent.text();
  if (const auto of = absolute(*this, f, text)) {
    text = *of, e = (f.exponent * Rational(2)).text();
    if (e == "1") return text;
    return text + "^" + (e[0] == '-' ? "(" + e + ")" : e);
  }
  return text + "^" + (f.exponent.is_integer() && f.exponent.sign() > 0 ? e : "(" + e + ")");
}

/// Shared definitions are printed at every use, so a text can be exponentially longer than its
/// term: the outermost call limits the number of terms and prints "..." for the rest.
std::string Engine::show(Nf e, int depth, const Names& names) {
  constexpr int summands_shown = 200;
  if (show_nesting == 0) show_left = summands_shown;
  ++show_nesting;
  std::string text = show_left > 0 ? show_sum(e, depth, names) : "...";
  --show_nesting;
  return text;
}

/// `2*x`, `x / 3`, `2*x / 3`.
static std::string with_coefficient(const std::string& number, const std::string& product) {
  if (product.empty()) return number;
  const size_t slash = number.find('/');
  const std::string over = slash == number.npos ? "" : " / " + number.substr(slash + 1);
  const std::string times = number.substr(0, slash);
  return (times == "1" ? "" : times + "*") + product + over;
}

/// 2 c sigmoid(2 u) - c with the terms of tanh(u) in place of sigmoid(2 u); else e.
Nf Engine::with_tanh(Nf e) {
  if (!writes_tanh) return e;
  Nf result = zero;
  for (const Term& t : terms(e)) {
    Nf product = number(t.coef);
    for (const Factor& f : factors(t.mono)) {
      const bool power = f.exponent.is_integer() && f.exponent.sign() > 0;
      const bool opens = (is_op(f.atom, Op::sum) && f.exponent.is_one()) || is_op(f.atom, Op::poly);
      if (power && opens) {
        VarSet over;
        const Nf body = open(atoms[f.atom].ref, atoms[f.atom].args, free_of(e), &over);
        const Nf told = with_tanh(body);
        const Nf whole = over.empty() ? told : sum(over, told);
        product = mul(product, told == body ? fix({f}, 1) : pow(whole, f.exponent));
        continue;
      }
      const std::optional<Nf> u = tanh_argument(f.atom);
      if (!u || !power) {
        product = mul(product, fix({f}, 1));
        continue;
      }
      TensorInfo tanh;
      tanh.op = Op::symbol, tanh.name = "tanh";
      const Nf half = scale(add(one, app(tensor(std::move(tanh), "tanh"), {*u})), {1, 2});
      product = mul(product, pow(half, f.exponent));
    }
    result = add(result, product);
  }
  return result;
}

/// `(L - 1) % |L|` for e = u - n floor(u / n).
std::optional<std::string> Engine::show_remainder(Nf e, int depth, const Names& names) {
  for (const Term& t : terms(e)) {
    const Mono& m = factors(t.mono);
    for (size_t i = 0; i < m.size(); ++i) {
      if (!is_op(m[i].atom, Op::floor) || !m[i].exponent.is_one()) continue;
      const Nf n = fix(without(m, i), -t.coef), u = sub(e, monomial(t.mono, t.coef));
      if (!integer(n) || u == zero || mul(inner(m[i].atom), n) != u) continue;
      const std::string of = show_sum(u, depth, names), by = show_sum(n, depth, names);
      return (is_single(u) ? of : "(" + of + ")") + " % " + (is_single(n) ? by : "(" + by + ")");
    }
  }
  return std::nullopt;
}

std::string Engine::show_sum(Nf e, int depth, const Names& names) {
  if (e == zero) return "0";
  if (const auto remainder = show_remainder(e, depth, names)) return *remainder;
  std::string out;
  size_t count = 0;
  e = with_tanh(e);
  for (const Term& t : terms(e)) {
    if (++count > 12 || --show_left < 0) return out + " + ...";
    Rational c = t.coef;
    std::string sign = c.sign() < 0 ? (out.empty() ? "-" : " - ") : (out.empty() ? "" : " + ");
    if (c.sign() < 0) c = -c;
    std::string product;
    const Mono& m = factors(t.mono);
    for (const Factor& f : m)
      product += (product.empty() ? "" : "*") + show_factor(f, depth, names);
    if (m.size() == 1 && m[0].exponent.is_one() && c.is_one() && sign.find('-') == sign.npos &&
        (is_op(m[0].atom, Op::sealed) || shows_as_sum(m[0].atom)))
      product = product.substr(1, product.size() - 2);  // a term needs no parentheses
    out += sign + with_coefficient(c.text(), product);
  }
  return out;
}

}  // namespace shardproof::algebra
