// Evaluates a lowered normal form at given sizes and inputs, from the algebra's tables; for the
// laws. It shares no rule with the normal form.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <sstream>

#include "spec/algebra/engine.h"
#include "spec/ir/pointwise.h"

namespace shardproof::lower {

struct Array {
  std::vector<int64_t> shape;
  std::vector<double> data;
};

struct ValueOf {
  algebra::Engine& g;
  std::map<std::string, int64_t> sizes;  // dims and axes
  std::map<std::string, Array> leaves;   // one extent per base factor
  /// uniform and normal: of key and index. fold: of key and n, or of the key and a tag
  std::function<double(const std::string& name, double key, double index)> draw;

  /// Values of scans computed so far: by step, by carry.
  std::map<std::string, std::vector<std::vector<Array>>> seen = {};
  long moment = 0, moments = 0;  ///< current setting of the carries, and their number

  using Nf = algebra::Nf;
  using Op = algebra::Op;
  using Env = std::map<algebra::VarId, int64_t>;

  double operator()(Nf e, const Env& env) {
    const algebra::Poly p = g.terms(e);
    if (p.size() == 1 && p[0].coef.is_one() && g.factors(p[0].mono).size() == 1 &&
        g.factors(p[0].mono)[0].exponent.is_one())
      return atom(g.factors(p[0].mono)[0].atom, env);  // a key is returned bit by bit
    double total = 0;
    for (const algebra::Term& t : p) {
      double product = t.coef.value();
      bool vanishes = false;  // undefined values are finite, and a mask must hide them
      for (const algebra::Factor& f : g.factors(t.mono)) {
        const double x = power(atom(f.atom, env), f.exponent.value());
        vanishes = vanishes || x == 0;
        product *= x;
      }
      total += vanishes ? 0 : product;
    }
    return total;
  }

 private:
  static double power(double base, double e) {
    if (e == 1) return base;
    const double x = std::pow(base, e);
    return std::isfinite(x) ? x : 0.618;
  }
  int64_t integer(Nf e, const Env& env) { return std::llround((*this)(e, env)); }

  double atom(algebra::AtomId id, const Env& env) {
    const algebra::Atom& a = g.atoms[id];
    switch (a.kind) {
      case algebra::AtomKind::size:
        return static_cast<double>(sizes.at(g.sizes[a.ref]));
      case algebra::AtomKind::prime:
        return a.ref;
      case algebra::AtomKind::var:
        return static_cast<double>(env.at(a.ref));
      case algebra::AtomKind::eq0:
        return std::fabs((*this)(a.args[0], env)) < 1e-9 ? 1 : 0;
      case algebra::AtomKind::le0:
        return (*this)(a.args[0], env) < 1e-9 ? 1 : 0;
      case algebra::AtomKind::app:
        return apply(a, env);
    }
    return std::nan("");
  }

  double apply(const algebra::Atom& a, const Env& env) {
    const algebra::TensorInfo& t = g.tensors[a.ref];
    if (t.op == Op::symbol) return symbol(t.name, a, env);
    if (t.op == Op::iota) return static_cast<double>(integer(a.args[0], env));
    if (t.op == Op::leaf) return leaf(t.name, a.args, env);
    Env inside = parameters(a, env);
    if (t.op == Op::sum || t.op == Op::max) return bound(t, 0, inside);
    return function(t.op, (*this)(t.body, inside));
  }

  Env parameters(const algebra::Atom& a, const Env& env) {
    const algebra::TensorInfo& t = g.tensors[a.ref];
    Env inside;
    for (uint32_t i = 0; i < a.args.size(); ++i)
      inside[g.slot(algebra::VarInfo::param, i, t.ranges[i])] = integer(a.args[i], env);
    return inside;
  }

  /// Outside its range a leaf has some finite value.
  double leaf(const std::string& name, const std::vector<Nf>& index, const Env& env) {
    if (name[0] >= '0' && name[0] <= '9') return std::stod(name);
    const Array& array = leaves.at(name);
    size_t at = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      const int64_t k = integer(index[i], env), n = array.shape[i];
      if (k < 0 || k >= n) return 0.37;
      at = at * static_cast<size_t>(n) + static_cast<size_t>(k);
    }
    return array.data[at];
  }

  double bound(const algebra::TensorInfo& t, uint32_t i, Env& env) {
    if (i == t.binders.size()) return (*this)(t.body, env);
    const algebra::VarId v = g.slot(algebra::VarInfo::binder, i, t.binders[i]);
    double total = t.op == Op::sum ? 0 : -INFINITY;
    for (int64_t k = 0; k < integer(t.binders[i], {}); ++k) {
      env[v] = k;
      const double x = bound(t, i + 1, env);
      total = t.op == Op::sum ? total + x : std::fmax(total, x);
    }
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
        return x > 0 ? std::log(x) : 0.41;
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
        return x > 1e-9 ? 1 : 0;
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

  // --- operators ---

  /// The entries of a lambda, row-major; `first` fixes its leading binders.
  Array table(Nf e, const Env& env, const std::vector<int64_t>& first = {}) {
    const algebra::Atom& a = g.atoms[g.only_atom(e)];
    const algebra::TensorInfo& t = g.tensors[a.ref];
    Env inside = parameters(a, env);
    for (uint32_t i = 0; i < first.size(); ++i)
      inside[g.slot(algebra::VarInfo::binder, i, t.binders[i])] = first[i];
    Array array;
    for (size_t i = first.size(); i < t.binders.size(); ++i)
      array.shape.push_back(integer(t.binders[i], {}));
    fill(t, static_cast<uint32_t>(first.size()), inside, &array.data);
    return array;
  }
  void fill(const algebra::TensorInfo& t, uint32_t i, Env& env, std::vector<double>* out) {
    if (i == t.binders.size()) return out->push_back((*this)(t.body, env));
    const algebra::VarId v = g.slot(algebra::VarInfo::binder, i, t.binders[i]);
    for (int64_t k = 0; k < integer(t.binders[i], {}); ++k) {
      env[v] = k;
      fill(t, i + 1, env, out);
    }
  }

  double symbol(const std::string& name, const algebra::Atom& a, const Env& env) {
    if (name == "uniform" || name == "normal" || name.rfind("fold", 0) == 0)
      return draw(name, (*this)(a.args[0], env), a.args.size() > 1 ? (*this)(a.args[1], env) : 0);
    if (name == "i32" || name == "u32") return std::trunc(table(a.args[0], env).data[0]);
    if (name == "power") return std::pow((*this)(a.args[0], env), (*this)(a.args[1], env));
    if (auto fn = ir::unary_named(name)) return ir::value(*fn, table(a.args[0], env).data[0]);
    if (auto fn = ir::binary_named(name))
      return ir::value(*fn, (*this)(a.args[0], env), (*this)(a.args[1], env));
    if (name.rfind("scan", 0) == 0) return scan(name, a, env);
    if (name == "product") {
      const std::vector<double> all = table(a.args[0], env).data;
      return std::accumulate(all.begin(), all.end(), 1.0, std::multiplies<>());
    }
    return ordered(name, table(a.args[0], env).data, a, env);
  }

  /// Positions in the order of the values; for ties, the lowest first.
  double ordered(const std::string& name, const std::vector<double>& row, const algebra::Atom& a,
                 const Env& env) {
    std::vector<size_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    const bool rising = name.starts_with("argsort");
    std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
      return rising ? row[i] < row[j] : row[j] < row[i];
    });
    if (name.ends_with("^-1"))
      return static_cast<double>(
          std::find(order.begin(), order.end(), static_cast<size_t>(integer(a.args[1], env))) -
          order.begin());
    return static_cast<double>(
        order.at(name == "argmax" ? 0 : static_cast<size_t>(integer(a.args[1], env))));
  }

  /// "scan@<depth> [reverse] <carry> of <carries>" at a step; see loop.cpp for the arguments.
  double scan(const std::string& name, const algebra::Atom& a, const Env& env) {
    std::istringstream words(name.substr(5));
    std::string depth, which, word;
    words >> depth >> which;
    const bool reverse = which == "reverse";
    if (reverse) words >> which;
    std::vector<std::string> carries;
    for (words >> word; words >> word;) carries.push_back("carry" + depth + "." + word);
    const size_t m = carries.size();
    std::vector<int64_t> index;
    for (size_t i = 2 * m; i < a.args.size(); ++i) index.push_back(integer(a.args[i], env));
    const algebra::TensorInfo& step = g.tensors[g.atoms[g.only_atom(a.args[m])].ref];
    const int64_t length = integer(step.binders[0], {});
    const int64_t steps = reverse ? length - 1 - index[0] : index[0];
    const std::vector<Nf> parts(a.args.begin(), a.args.begin() + static_cast<long>(2 * m));
    auto& states = seen[key_of(name, parts, env)];
    if (states.empty()) {
      states.emplace_back();
      for (size_t i = 0; i < m; ++i) states.back().push_back(table(parts[i], env));
    }
    const std::map<std::string, Array> before = leaves;
    const long outside = moment;
    while (static_cast<int64_t>(states.size()) <= steps) {
      const auto k = static_cast<int64_t>(states.size()) - 1;
      moment = ++moments;
      for (size_t i = 0; i < m; ++i) leaves[carries[i]] = states.back()[i];
      std::vector<Array> next;
      for (size_t i = 0; i < m; ++i)
        next.push_back(table(parts[m + i], env, {reverse ? length - 1 - k : k}));
      states.push_back(next);
    }
    leaves = before, moment = outside;
    const auto at = std::find(carries.begin(), carries.end(), "carry" + depth + "." + which);
    return entry(
        states.at(static_cast<size_t>(steps)).at(static_cast<size_t>(at - carries.begin())),
        {index.begin() + 1, index.end()});
  }
  /// Scans with the same parts, free variables and outer carries have the same
  /// values.
  std::string key_of(const std::string& name, const std::vector<Nf>& parts, const Env& env) {
    std::string key =
        std::to_string(moment) + (name.find("reverse") == std::string::npos ? "" : "r");
    for (Nf part : parts) {
      key += "," + std::to_string(part.id);
      for (algebra::VarId v : g.free_of(part)) key += ":" + std::to_string(env.at(v));
    }
    return key;
  }
  static double entry(const Array& array, const std::vector<int64_t>& index) {
    size_t at = 0;
    for (size_t i = 0; i < index.size(); ++i)
      at = at * static_cast<size_t>(array.shape[i]) + static_cast<size_t>(index[i]);
    return array.data.at(at);
  }
};

}  // namespace shardproof::lower
