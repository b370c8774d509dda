// Evaluates a normal form at given sizes from the engine's tables; shares no rule with the normal
// form.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

using SizeValues = std::map<std::string, int>;

/// A leaf's value at any integer index: a function of name and index that satisfies the facts
/// encoded in the name.
inline double leaf_value(const std::string& name, const std::vector<int>& index,
                         const SizeValues& sizes) {
  uint64_t h = 1469598103934665603ull;
  for (char c : name) h = mix(h, static_cast<unsigned char>(c));
  for (int i : index) h = mix(h, static_cast<uint64_t>(static_cast<int64_t>(i)) + 77);
  if (name[0] == 'i') return static_cast<double>(h % static_cast<uint64_t>(sizes.at("K")));
  if (name[0] == 'w') return static_cast<double>(h % 7) - 3;    // an integer without a range
  if (name[0] == 'n') return 0.5 * static_cast<double>(h % 4);  // 0 <= value <= 3/2
  if (name[0] == 'p') return 0.5 + 0.25 * static_cast<double>(h % 6);
  return 0.5 * static_cast<double>(h % 9) - 2;
}

/// Powers as the model defines them: NaN for 1/0 and for fractional powers of negative
/// numbers.
inline double power_value(double base, double e) {
  if (std::fabs(base) < 1e-12) return e > 0 ? 0 : std::nan("");
  if (e != std::floor(e) && base < 0) return std::nan("");
  return std::pow(base, e);
}
inline double step_value(double x) { return std::isnan(x) ? x : x > 1e-9 ? 1 : 0; }
inline double log_value(double x) { return x > 1e-12 ? std::log(x) : std::nan(""); }

/// The operator that the laws use as an uninterpreted one.
inline double opaque_value(const std::vector<double>& values, int i) {
  double total = 0;
  for (size_t k = 0; k < values.size(); ++k)
    total += std::sin(1.0 + static_cast<double>(k) * (i + 1.5)) * values[k];
  return total;
}

/// The index of the value that `i` others precede, the lowest first where values are equal; or the
/// place of index i in that order. Outside of the values: 0.
inline double order_value(const std::vector<double>& values, int i, bool place) {
  std::vector<int> order(values.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return values[a] < values[b]; });
  if (i < 0 || i >= static_cast<int>(order.size())) return 0;
  return place ? static_cast<double>(std::find(order.begin(), order.end(), i) - order.begin())
               : order[i];
}

/// Whether a sum cancels to rounding noise: its sign and zeros are then unreliable.
inline bool cancels(double sum, double largest_term) {
  return sum != 0 && std::fabs(sum) < 1e-8 * largest_term;
}
/// Whether a float has reached a limit that the real function only approaches.
inline bool saturates(Op op, double value) {
  if (op == Op::exp) return value == 0;
  if (op == Op::sigmoid) return value == 0 || 1 - value < 1e-9;
  return op == Op::erf && 1 - std::fabs(value) < 1e-9;
}

struct NfValue {
  Engine& g;
  const SizeValues& sizes;
  double largest = 0;  // largest intermediate value, for the error bound

  using Env = std::map<VarId, int>;

  double operator()(Nf e, const Env& env) {
    double total = 0, term = 0;
    for (const Term& t : g.terms(e)) {
      double product = t.coef.value();
      bool vanishes = false;  // undefined values are finite, and a mask must hide them
      for (const Factor& f : g.factors(t.mono)) {
        double base = atom(f.atom, env), x = power_value(base, f.exponent.value());
        if (std::isnan(x)) x = 0.6180339 + std::fmod(std::fabs(base), 1.0);
        vanishes = vanishes || x == 0;
        largest = std::fmax(largest, std::fmax(std::fabs(x), std::fabs(base)));
        // power_value takes a tiny base as 0, so rounding decides: skip this point.
        if (base != 0 && std::fabs(base) < 1e-12) largest = HUGE_VAL;
        product *= x;
      }
      if (vanishes) product = 0;
      largest = std::fmax(largest, std::fabs(product));
      total += product, term = std::fmax(term, std::fabs(product));
    }
    if (cancels(total, term)) largest = HUGE_VAL;
    return total;
  }

  int integer(Nf e, const Env& env) {
    double v = (*this)(e, env);
    return static_cast<int>(std::lround(v));
  }

  double atom(AtomId id, const Env& env) {
    const Atom& a = g.atoms[id];
    switch (a.kind) {
      case AtomKind::size:
        return sizes.at(g.sizes[a.ref]);
      case AtomKind::prime:
        return a.ref;
      case AtomKind::var:
        return env.at(a.ref);
      case AtomKind::eq0:
        return std::fabs((*this)(a.args[0], env)) < 1e-9 ? 1 : 0;
      case AtomKind::le0:
        return (*this)(a.args[0], env) < 1e-9 ? 1 : 0;
      case AtomKind::app:
        break;
    }
    const TensorInfo& t = g.tensors[a.ref];
    if (t.op == Op::symbol) return symbol(a, env);
    std::vector<int> at;
    for (Nf arg : a.args) at.push_back(integer(arg, env));
    if (t.op == Op::leaf) return leaf_value(t.name, at, sizes);
    if (t.op == Op::iota) return at[0];
    Env inside;
    for (size_t i = 0; i < at.size(); ++i)
      inside[g.slot(VarInfo::param, static_cast<uint32_t>(i), t.ranges[i])] = at[i];
    if (t.op == Op::sum || t.op == Op::max) return bound(t, 0, inside);
    const double argument = (*this)(t.body, inside), value = function(t.op, argument);
    // log_value has no value for a tiny argument, so rounding decides: skip this point.
    if (t.op == Op::log && argument != 0 && std::fabs(argument) < 1e-12) largest = HUGE_VAL;
    if (saturates(t.op, value)) largest = HUGE_VAL;
    return value;
  }

  double symbol(const Atom& a, const Env& env) {
    const Atom& lambda = g.atoms[g.only_atom(a.args[0])];
    const TensorInfo& t = g.tensors[lambda.ref];
    Env inside;
    for (size_t i = 0; i < lambda.args.size(); ++i)
      inside[g.slot(VarInfo::param, static_cast<uint32_t>(i), t.ranges[i])] =
          integer(lambda.args[i], env);
    VarId v = g.slot(VarInfo::binder, 0, t.binders[0]);
    std::vector<double> values;
    int n = integer(t.binders[0], {});
    for (int k = 0; k < n; ++k) {
      inside[v] = k;
      values.push_back((*this)(t.body, inside));
    }
    const int at = integer(a.args[1], env);
    if (g.tensors[a.ref].name.starts_with("argsort"))
      return order_value(values, at, g.tensors[a.ref].name != "argsort");
    return opaque_value(values, at);
  }

  double bound(const TensorInfo& t, size_t i, Env& env) {
    if (i == t.binders.size()) return (*this)(t.body, env);
    VarId v = g.slot(VarInfo::binder, static_cast<uint32_t>(i), t.binders[i]);
    int n = integer(t.binders[i], {});
    double total = t.op == Op::sum ? 0 : -INFINITY, term = 0;
    for (int k = 0; k < n; ++k) {
      env[v] = k;
      double x = bound(t, i + 1, env);
      term = std::fmax(term, std::fabs(x));
      total = t.op == Op::sum ? total + x : !(x <= total) ? x : total;
      if (std::isnan(total)) break;
    }
    if (t.op == Op::sum && cancels(total, term)) largest = HUGE_VAL;
    return total;
  }

  static double function(Op op, double x) {
    switch (op) {
      case Op::poly:
      case Op::sealed:
        return x;
      case Op::exp:
        return std::exp(x);
      case Op::log:
        return x > 1e-12 ? std::log(x) : 0.41;
      case Op::sigmoid:
        return 1 / (1 + std::exp(-x));
      case Op::erf:
        return std::erf(x);
      case Op::sin:
        return std::sin(x);
      case Op::cos:
        return std::cos(x);
      case Op::floor:
        return std::floor(x + 1e-9);
      case Op::step:
        return step_value(x);
      case Op::leaf:
      case Op::iota:
      case Op::symbol:
      case Op::lambda:
      case Op::sum:
      case Op::max:
        break;
    }
    return std::nan("");
  }
};

}  // namespace shardproof::algebra
