// Small programs for the laws: evaluated directly in double, and built as normal forms.
#pragma once

#include <memory>

#include "spec/algebra/nf_value.h"

namespace shardproof::algebra {

/// A size expression of the tests: "" is 1; "V/t" and "D/2" are declared divisions.
inline int size_value(const std::string& s, const SizeValues& sizes) {
  if (s.empty()) return 1;
  if (s == "V/t") return sizes.at("V") / sizes.at("t");
  if (s == "D/2") return sizes.at("D") / 2;
  if (s == "2") return 2;
  return sizes.at(s);
}
inline Nf size_nf(Algebra& a, const std::string& s) {
  if (s.empty()) return a.number(1);
  if (s == "V/t") return a.div(a.size("V"), a.size("t"));
  if (s == "D/2") return a.mul(a.size("D"), a.number({1, 2}));
  if (s == "2") return a.number(2);
  return a.size(s);
}

/// Sum of k * size * var, of ids[var] terms, and of k * size; its remainder if there is a `circle`.
struct Index {
  struct Part {
    int k;
    std::string size;
    int var = -1;         // -1: constant
    std::string through;  // integer leaf applied to the variable
  };
  std::vector<Part> parts = {};
  std::string circle = {};  ///< a size
};

/// [x > 0]; undefined where rounding could decide it.
inline double sign_bit(double x) {
  double size = std::fabs(x);
  return size > 1e-13 && size < 1e-6 ? std::nan("") : step_value(x);
}

struct Expr;
using E = std::shared_ptr<const Expr>;

struct Expr {
  enum Kind {
    number,
    size,
    leaf,
    iota,
    eq,
    le,
    le_real,
    add,
    mul,
    pow,
    fn,
    maximum,
    where,
    sum,
    max,
    floordiv,
    mod,
    opaque,
    masked_exp
  } kind;
  Rational value;    // number; exponent of pow
  std::string name;  // leaf, size; le_real: through le0 if not empty; range of sum, max; divisor of
                     // floordiv, mod
  std::vector<Index> index;  // leaf; iota, eq, le, floordiv, mod: one
  int var = -1;              // sum, max
  Fn function = Fn::exp;
  std::vector<E> kids;
};

struct Direct {
  const SizeValues& sizes;
  double largest = 0;
  std::vector<int> env;

  int at(const Index& e) const {
    int total = 0;
    for (const auto& p : e.parts) {
      double x = p.var < 0 ? 1 : env[static_cast<size_t>(p.var)];
      if (!p.through.empty()) x = leaf_value(p.through, {static_cast<int>(x)}, sizes);
      total += p.k * size_value(p.size, sizes) * static_cast<int>(x);
    }
    if (e.circle.empty()) return total;
    const int n = size_value(e.circle, sizes);
    return ((total % n) + n) % n;
  }

  double operator()(const E& e) {
    double v = value(*e);
    largest = std::fmax(largest, std::fabs(v));
    if (v != 0 && std::fabs(v) < 1e-12) largest = HUGE_VAL;  // 0 to step, log and powers
    return v;
  }

  double value(const Expr& e) {
    switch (e.kind) {
      case Expr::number:
        return e.value.value();
      case Expr::size:
        return size_value(e.name, sizes);
      case Expr::leaf: {
        std::vector<int> index;
        for (const Index& i : e.index) index.push_back(at(i));
        return leaf_value(e.name, index, sizes);
      }
      case Expr::iota:
        return at(e.index[0]);
      case Expr::eq:
        return at(e.index[0]) == 0;
      case Expr::le:
        return at(e.index[0]) <= 0;
      case Expr::le_real:
        return 1 - sign_bit((*this)(e.kids[0]));
      case Expr::add:
        return added((*this)(e.kids[0]), (*this)(e.kids[1]));
      case Expr::mul:
        return (*this)(e.kids[0]) * (*this)(e.kids[1]);
      case Expr::pow:
        return power_value((*this)(e.kids[0]), e.value.value());
      case Expr::fn:
        return applied(e.function, (*this)(e.kids[0]));
      case Expr::maximum: {
        double x = (*this)(e.kids[0]), y = (*this)(e.kids[1]);
        return std::isnan(x) || x > y ? x : y;
      }
      case Expr::where: {
        double c = (*this)(e.kids[0]), x = (*this)(e.kids[1]), y = (*this)(e.kids[2]);
        return c * x + (1 - c) * y;
      }
      case Expr::floordiv:
        return std::floor(at(e.index[0]) / double(size_value(e.name, sizes)) + 1e-9);
      case Expr::mod: {
        int n = size_value(e.name, sizes), x = at(e.index[0]) % n;
        return x < 0 ? x + n : x;
      }
      case Expr::masked_exp:
        return (*this)(e.kids[0]) != 0 ? std::exp((*this)(e.kids[1])) : 0;
      case Expr::opaque: {
        std::vector<double> values;
        int i = at(e.index[0]);
        for (int k = 0; k < size_value(e.name, sizes); ++k) {
          env[static_cast<size_t>(e.var)] = k;
          values.push_back((*this)(e.kids[0]));
        }
        return opaque_value(values, i);
      }
      case Expr::sum:
      case Expr::max:
        break;
    }
    return bound(e);
  }

  double added(double x, double y) {
    if (cancels(x + y, std::fmax(std::fabs(x), std::fabs(y)))) largest = HUGE_VAL;
    return x + y;
  }

  double applied(Fn fn, double x) {
    const double value = function(fn, x);
    const Op op = fn == Fn::exp                     ? Op::exp
                  : fn == Fn::sigmoid               ? Op::sigmoid
                  : fn == Fn::tanh || fn == Fn::erf ? Op::erf
                                                    : Op::poly;
    if (saturates(op, value)) largest = HUGE_VAL;
    return value;
  }

  double bound(const Expr& e) {
    double total = e.kind == Expr::sum ? 0 : -INFINITY, term = 0;
    for (int i = 0; i < size_value(e.name, sizes); ++i) {
      env[static_cast<size_t>(e.var)] = i;
      double x = (*this)(e.kids[0]);
      term = std::fmax(term, std::fabs(x));
      total = e.kind == Expr::sum ? total + x : !(x <= total) ? x : total;
      if (std::isnan(total)) break;
    }
    if (e.kind == Expr::sum && cancels(total, term)) largest = HUGE_VAL;
    return total;
  }

  static double function(Fn fn, double x) {
    switch (fn) {
      case Fn::exp:
        return std::exp(x);
      case Fn::log:
        return log_value(x);
      case Fn::sigmoid:
        return 1 / (1 + std::exp(-x));
      case Fn::tanh:
        return std::tanh(x);
      case Fn::erf:
        return std::erf(x);
      case Fn::sin:
        return std::sin(x);
      case Fn::cos:
        return std::cos(x);
      case Fn::abs:
        return std::fabs(x);
      case Fn::floor:
        return std::floor(x + 1e-9);
      case Fn::step:
        return sign_bit(x);
      case Fn::relu:
        return x > 0 || std::isnan(x) ? x : 0;
      case Fn::silu:
        return x / (1 + std::exp(-x));
      case Fn::sign:
        return sign_bit(x) - sign_bit(-x);
    }
    return 0;
  }
};

struct Lower {
  Algebra& a;
  std::vector<Nf> env;
  std::string suffix = {};  ///< of leaves' names

  Leaf leaf(const std::string& own, size_t rank) {
    const std::string name = own + suffix;
    LeafFacts facts;
    if (name[0] == 'i') facts = {true, false, a.size("K"), false};
    if (name[0] == 'w') facts.integer = true;
    if (name[0] == 'p') facts.positive = true;
    const Leaf made = a.leaf(name, std::vector<Nf>(rank, a.size("K")), facts);
    if (name[0] == 'n') declare_bounds(made, rank);
    return made;
  }
  void declare_bounds(Leaf made, size_t rank) {
    std::vector<Nf> each;
    for (size_t i = 0; i < rank; ++i)
      each.push_back(a.var(a.fresh(a.size("K"), "n" + std::to_string(i))));
    const Nf entry = a.at(made, each);
    if (a.known_nonnegative(entry)) return;
    a.declare_bound(entry, false);
    a.declare_bound(a.sub(a.number({3, 2}), entry), false);
  }

  Nf at(const Index& e) {
    Nf total = a.number(0);
    for (const auto& p : e.parts) {
      Nf x = p.var < 0 ? a.number(1) : env[static_cast<size_t>(p.var)];
      if (!p.through.empty()) x = a.at(leaf(p.through, 1), {x});
      total = a.add(total, a.mul(a.mul(a.number(p.k), size_nf(a, p.size)), x));
    }
    return e.circle.empty() ? total : a.mod(total, size_nf(a, e.circle));
  }

  Nf operator()(const E& e) {
    std::vector<Nf> index;
    for (const Index& i : e->index) index.push_back(at(i));
    auto kid = [&](size_t i) { return (*this)(e->kids[i]); };
    switch (e->kind) {
      case Expr::number:
        return a.number(e->value);
      case Expr::size:
        return size_nf(a, e->name);
      case Expr::leaf:
        return a.at(leaf(e->name, index.size()), index);
      case Expr::iota:
        return a.iota(index[0]);
      case Expr::eq:
        return a.eq0(index[0]);
      case Expr::le:
        return a.le0(index[0]);
      case Expr::le_real:
        return e->name.empty() ? a.le0_real(kid(0)) : a.le0(kid(0));
      case Expr::add:
        return a.add(kid(0), kid(1));
      case Expr::mul:
        return a.mul(kid(0), kid(1));
      case Expr::pow:
        return a.pow(kid(0), e->value);
      case Expr::fn:
        return a.apply(e->function, kid(0));
      case Expr::maximum:
        return a.maximum(kid(0), kid(1));
      case Expr::where:
        return a.where(kid(0), kid(1), kid(2));
      case Expr::floordiv:
        return a.floordiv(index[0], size_nf(a, e->name));
      case Expr::mod:
        return a.mod(index[0], size_nf(a, e->name));
      case Expr::sum:
      case Expr::max:
      case Expr::opaque:
      case Expr::masked_exp:
        break;
    }
    if (e->kind == Expr::masked_exp)
      return a.apply(Fn::exp, a.where(kid(0), kid(1), a.minus_infinity()));
    Var v = a.fresh(size_nf(a, e->name), "v" + std::to_string(e->var));
    env[static_cast<size_t>(e->var)] = a.var(v);
    Nf body = kid(0);
    if (e->kind == Expr::opaque) return a.opaque("scan", {{{v}, body}}, index);
    return e->kind == Expr::sum ? a.sum({v}, body) : a.max({v}, body);
  }
};

}  // namespace shardproof::algebra
