// Random programs. One recipe per family of rules, aimed at the side conditions of its rules.
#pragma once

#include <algorithm>

#include "spec/algebra/program_text.h"
#include "spec/laws/dice.h"

namespace shardproof::algebra {

enum class Recipe {
  mixed,
  roots,
  offsets,
  digits,
  masks,
  radix,
  signs,
  maxima,
  powers,
  floors,
  quotients,
  opaques,
  opposites,
  values,
  conditions,
  guarded,
  circles,
  mirrors,
  rolls,
  between,
  bounded,
  count
};

class Generator {
 public:
  Generator(laws::Dice dice, Recipe recipe) : dice_(std::move(dice)), recipe_(recipe) {}

  /// A program over two free variables: 0 with range K, and 1 with range V/t.
  E program() {
    ranges_ = {"K", "V/t"}, scope_ = {0, 1};
    return recipe_ == Recipe::mixed || coin(4) ? expression(3) : aimed(2);
  }
  size_t variables() const { return ranges_.size(); }

 private:
  int below(int n) { return static_cast<int>(dice_.below(n)); }
  bool coin(int n = 2) { return below(n) == n - 1; }  // shrinks towards false
  template <typename T>
  T one_of(std::vector<T> v) {
    return v[static_cast<size_t>(below(static_cast<int>(v.size())))];
  }
  static E make(Expr e) { return std::make_shared<const Expr>(std::move(e)); }
  E node(Expr::Kind kind, std::vector<E> kids, Rational value = 0) {
    Expr e{};
    e.kind = kind, e.kids = std::move(kids), e.value = value;
    return make(e);
  }
  E number(Rational r) { return node(Expr::number, {}, r); }
  E fn(Fn f, E x) {
    Expr e{};
    e.kind = Expr::fn, e.function = f, e.kids = {x};
    return make(e);
  }
  E compare_real(E x) {
    Expr e{};
    e.kind = Expr::le_real, e.kids = {x}, e.name = coin() ? "any" : "";
    return make(e);
  }
  E with_index(Expr::Kind kind, std::vector<Index> index, std::string name = "") {
    Expr e{};
    e.kind = kind, e.index = std::move(index), e.name = std::move(name);
    return make(e);
  }
  std::string range() { return one_of<std::string>({"K", "L", "t", "V", "V/t", "D", "D/2", "2"}); }
  int variable() { return one_of(scope_); }
  int fresh(const std::string& r) {
    ranges_.push_back(r);
    scope_.push_back(static_cast<int>(ranges_.size()) - 1);
    return static_cast<int>(ranges_.size()) - 1;
  }
  E binder(Expr::Kind kind, int var, E body) {
    scope_.erase(std::find(scope_.begin(), scope_.end(), var));
    Expr e{};
    e.kind = kind, e.var = var, e.name = ranges_[static_cast<size_t>(var)], e.kids = {body};
    return make(e);
  }

  Index index() {
    Index e;
    e.parts.push_back({1, "", variable(), coin(6) ? "ids" : ""});
    if (coin(3)) e.parts.push_back({one_of<int>({1, -1, 2}), "", variable(), ""});
    if (coin(4)) e.parts.push_back({1, range(), variable(), ""});
    if (coin(4)) e.parts.push_back({one_of<int>({1, 2, -1, 3}), coin() ? "" : range(), -1, ""});
    return e;
  }
  E leaf() {
    std::vector<Index> at = {index()};
    if (coin()) at.push_back(index());
    return with_index(Expr::leaf, at, one_of<std::string>({"x", "y", "pos"}));
  }
  E mask() {
    Index e = index();
    if (coin())
      e.parts.push_back(
          {-1, coin() ? "" : range(), coin() ? -1 : variable(), coin(5) ? "wild" : ""});
    return with_index(coin() ? Expr::eq : Expr::le, {e});
  }
  E atom() {
    switch (below(8)) {
      case 0:
        return number(one_of<Rational>({1, 2, -1, {1, 2}, 3}));
      case 1:
        return mask();
      case 2:
        return with_index(Expr::iota, {index()});
      case 3:
        return with_index(Expr::size, {}, range());
      default:
        return leaf();
    }
  }
  E sum_over(int depth, Expr::Kind kind = Expr::sum) {
    int v = fresh(range());
    return binder(kind, v, expression(depth - 1));
  }
  E expression(int depth) {
    if (depth <= 0) return atom();
    switch (below(14)) {
      case 0:
      case 1:
        return node(Expr::add, {expression(depth - 1), expression(depth - 1)});
      case 2:
      case 3:
      case 4:
        return node(Expr::mul, {expression(depth - 1), expression(depth - 1)});
      case 5:
      case 6:
        return sum_over(depth);
      case 7:
        return sum_over(depth, Expr::max);
      case 8:
        return fn(function(), expression(depth - 1));
      case 9:
        return node(Expr::pow, {expression(depth - 1)}, exponent());
      case 10:
        return node(Expr::where, {mask(), expression(depth - 1), expression(depth - 1)});
      case 11:
        return node(Expr::maximum, {expression(depth - 1), expression(depth - 1)});
      case 12:
        return compare_real(expression(depth - 1));
      default:
        return aimed(depth);
    }
  }
  Fn function() {
    return one_of<Fn>({Fn::exp, Fn::log, Fn::sigmoid, Fn::tanh, Fn::erf, Fn::sin, Fn::cos, Fn::abs,
                       Fn::floor, Fn::step, Fn::relu, Fn::silu, Fn::sign});
  }
  Rational exponent() { return one_of<Rational>({2, 3, -1, {1, 2}, {-1, 2}, {3, 2}, -2}); }

  E aimed(int depth) {
    switch (recipe_ == Recipe::mixed
                ? static_cast<Recipe>(1 + below(static_cast<int>(Recipe::count) - 1))
                : recipe_) {
      case Recipe::roots:
        return roots(depth);
      case Recipe::offsets:
        return offsets(depth);
      case Recipe::digits:
        return digits(depth);
      case Recipe::masks:
        return masks(depth);
      case Recipe::radix:
        return radix();
      case Recipe::signs:
        return signs(depth);
      case Recipe::maxima:
        return maxima(depth);
      case Recipe::floors:
        return floors();
      case Recipe::quotients:
        return quotient(depth);
      case Recipe::opaques:
        return opaque(depth);
      case Recipe::opposites:
        return opposites(depth);
      case Recipe::values:
        return values();
      case Recipe::conditions:
        return conditions(depth);
      case Recipe::guarded:
        return guarded();
      case Recipe::circles:
        return circles(depth);
      case Recipe::mirrors:
        return mirrors(depth);
      case Recipe::rolls:
        return rolls(depth);
      case Recipe::between:
        return between(depth);
      case Recipe::bounded:
        return bounded();
      case Recipe::mixed:
      case Recipe::powers:
      case Recipe::count:
        break;
    }
    return powers(depth);
  }

  /// Roots and logs of even powers and products of unknown sign.
  E roots(int depth) {
    E x = coin() ? leaf() : expression(depth - 1);
    E square = node(Expr::pow, {x}, one_of<Rational>({2, 4, -2}));
    if (coin()) square = node(Expr::mul, {square, coin() ? leaf() : node(Expr::pow, {leaf()}, 2)});
    return coin(3) ? fn(Fn::log, square)
                   : node(Expr::pow, {square}, one_of<Rational>({{1, 2}, {-1, 2}, {3, 2}}));
  }
  /// Sum_u [u = e] f(u), with e inside or outside the range.
  E offsets(int depth) {
    int u = fresh(range());
    E rest =
        node(Expr::mul, {with_index(Expr::leaf, {{{{1, "", u, ""}}}}, "x"), expression(depth - 1)});
    Index e = index();
    e.parts.push_back({-1, "", u, ""});
    return binder(Expr::sum, u, node(Expr::mul, {with_index(Expr::eq, {e}), rest}));
  }
  /// Sum_{c,j} f(c * stride + j), with a right or a wrong stride.
  E digits(int depth) {
    int j = fresh(range()), c = fresh(range());
    std::string stride = coin(3) ? range() : ranges_[static_cast<size_t>(j)];
    Index w{{{1, "", j, ""}, {1, stride, c, ""}}};
    if (coin(4)) w.parts.push_back({1, "", variable(), ""});
    E body = with_index(Expr::leaf, {w}, "x");
    if (coin()) body = fn(one_of<Fn>({Fn::exp, Fn::sigmoid}), body);
    if (coin())
      body = node(Expr::mul,
                  {body, coin() ? with_index(Expr::leaf, {w}, "y") : expression(depth - 1)});
    if (coin(4)) body = node(Expr::mul, {body, with_index(Expr::iota, {w})});
    Expr::Kind kind = coin(4) ? Expr::max : Expr::sum;
    return binder(kind, c, binder(kind, j, body));
  }
  /// Pieces cut by thresholds, windows of a partition, nested masks.
  E masks(int depth) {
    int u = fresh(range());
    std::string window = ranges_[static_cast<size_t>(u)];
    Index low{{{1, "", u, ""}, {-1, range(), -1, ""}}};
    if (coin()) low.parts.push_back({one_of<int>({1, 2}), "", -1, ""});
    if (coin(3)) low = Index{{{1, "V/t", u, ""}, {-1, "", variable(), coin() ? "ids" : ""}}};
    Index high = low;
    high.parts.push_back(
        {one_of<int>({1, 1, -1, 2}), coin() ? "V/t" : one_of<std::string>({"", "D/2"}), -1, ""});
    E x = with_index(Expr::le, {low}), y = with_index(Expr::le, {high});
    E body =
        coin()
            ? node(Expr::where, {x, expression(depth - 1), node(Expr::where, {y, leaf(), leaf()})})
            : node(Expr::mul,
                   {node(Expr::add, {x, node(Expr::mul, {number(-1), y})}), expression(depth - 1)});
    return binder(Expr::sum, u, body);
  }
  /// [c * R + j = e] and [.. <= e]: wrong radices, high parts that are no multiples, low parts out
  /// of bounds.
  E radix() {
    int j = fresh(range()), c = fresh(range());
    std::string r = coin(3) ? range() : ranges_[static_cast<size_t>(j)];
    Index e{{{1, "", j, ""}, {one_of<int>({1, -1}), r, c, ""}}};
    if (coin()) e.parts.push_back({-1, "", variable(), coin(4) ? "ids" : ""});
    if (coin())
      e.parts.push_back({one_of<int>({1, -1}), range(), variable(), coin(4) ? "wild" : ""});
    if (coin(3)) e.parts.push_back({one_of<int>({1, -1, 2}), coin() ? r : "", -1, ""});
    E f = node(Expr::mul, {with_index(coin() ? Expr::eq : Expr::le, {e}),
                           with_index(Expr::leaf, {{{{1, "", j, ""}}}, {{{1, "", c, ""}}}}, "x")});
    return binder(Expr::sum, c, binder(Expr::sum, j, f));
  }
  /// step and relu of products with zero or negative factors; comparisons of reals.
  E signs(int depth) {
    E x = node(Expr::mul, {leaf(), coin() ? mask() : leaf()});
    if (coin(3)) x = node(Expr::add, {x, node(Expr::mul, {leaf(), mask()})});
    if (coin(3)) x = node(Expr::mul, {x, number(-1)});
    if (coin(4)) {  // a function of two reals, or of one and a number, compared
      const Fn f = one_of<Fn>({Fn::exp, Fn::sigmoid, Fn::erf, Fn::sin, Fn::log});
      const E other = coin() ? number(one_of<Rational>({1, {1, 2}, 2, -1})) : fn(f, leaf());
      return compare_real(node(Expr::add, {signed_(fn(f, leaf())), signed_(other)}));
    }
    if (coin(3)) {  // a choice between two reals that may be equal, compared in both directions
      E a = leaf(), b = node(Expr::mul, {number(one_of<int>({1, 2})), leaf()});
      E less = compare_real(node(Expr::add, {a, node(Expr::mul, {number(-1), b})}));
      E more = compare_real(node(Expr::add, {b, node(Expr::mul, {number(-1), a})}));
      return node(Expr::add, {node(Expr::mul, {less, coin() ? a : node(Expr::mul, {a, b})}),
                              node(Expr::mul, {more, b})});
    }
    if (coin(4)) {  // an integer of any sign, clipped at 0
      const E n = with_index(Expr::iota, {index()});
      return fn(Fn::relu, node(Expr::add, {n, number(one_of<int>({-1, -2, 1}))}));
    }
    E s = coin(3) ? compare_real(coin() ? node(Expr::add, {leaf(), number({1, 2})}) : x)
                  : fn(one_of<Fn>({Fn::step, Fn::relu, Fn::abs, Fn::sign}), x);
    return coin() ? s : node(Expr::mul, {s, expression(depth - 1)});
  }
  /// Maxima of bodies with constant factors and terms of either sign.
  E maxima(int depth) {
    int u = fresh(range());
    E x = with_index(Expr::leaf, {{{{1, "", u, ""}}}}, "x");
    x = node(Expr::mul, {x, coin() ? leaf() : with_index(Expr::leaf, {{{{1, "", 0, ""}}}}, "y")});
    if (coin(3))
      x = coin() ? node(Expr::pow, {x}, one_of<Rational>({2, 3, {1, 2}, -1}))
                 : fn(one_of<Fn>({Fn::exp, Fn::sigmoid, Fn::log, Fn::floor, Fn::abs}), x);
    if (coin()) x = node(Expr::add, {x, expression(depth - 1)});
    return binder(Expr::max, u, coin() ? x : node(Expr::mul, {number(-1), x}));
  }
  /// Floors, quotients and remainders of index terms.
  E floors() {
    if (coin(3)) return nested_floor();
    int j = fresh(range()), c = fresh(range());
    std::string r = coin(3) ? range() : ranges_[static_cast<size_t>(j)];
    Index e{{{1, "", j, ""}, {1, coin(4) ? range() : r, c, ""}}};
    if (coin()) e.parts.push_back({one_of<int>({1, -1, 3}), coin() ? r : "", -1, ""});
    E q = with_index(coin() ? Expr::floordiv : Expr::mod, {e}, r);
    if (coin(3)) q = fn(Fn::floor, node(Expr::add, {q, node(Expr::mul, {leaf(), number({1, 2})})}));
    return binder(Expr::sum, c, binder(Expr::sum, j, node(Expr::mul, {q, leaf()})));
  }
  /// floor((floor(x k) + y) / n), where y is an integer or not.
  E nested_floor() {
    const auto part = [&](E x) {
      return node(Expr::mul, {number(one_of<Rational>({{1, 2}, {1, 3}, {3, 2}, 1})), x});
    };
    E inside = fn(Fn::floor, part(leaf()));
    const std::string name = coin() ? "w" : "x";
    E more = with_index(Expr::leaf, {{{{1, "", variable(), ""}}}}, name);
    return fn(Fn::floor, part(coin() ? inside : node(Expr::add, {inside, more})));
  }
  E signed_(E x) { return node(Expr::mul, {number(one_of<Rational>({1, -1, -2})), x}); }
  /// A power of the sigmoid of x or -x.
  E logistic(E x) {
    return node(Expr::pow, {fn(Fn::sigmoid, signed_(x))}, one_of<Rational>({1, 2, 3}));
  }
  /// exp, log, sigmoid and powers of each other.
  E powers(int depth) {
    E x = coin() ? leaf() : expression(depth - 1);
    E e = fn(one_of<Fn>({Fn::exp, Fn::sigmoid, Fn::tanh}), x);
    if (coin(3)) e = node(Expr::mul, {logistic(x), fn(Fn::exp, signed_(x))});
    if (coin()) e = node(Expr::mul, {e, fn(Fn::exp, leaf())});
    if (coin()) e = node(Expr::pow, {e}, exponent());
    if (coin(3)) e = node(Expr::pow, {node(Expr::add, {number(1), e})}, exponent());
    return coin(3) ? fn(Fn::log, e) : e;
  }

  /// Products and quotients of sums: weights that sum to one, sums of sums, and a sum under another
  /// index.
  E quotient(int depth) {
    int u = fresh(range()), w = fresh(ranges_[static_cast<size_t>(u)]);
    auto weight = [&](int v) {
      return fn(Fn::exp, with_index(Expr::leaf, {{{{1, "", v, ""}}}, {{{1, "", 0, ""}}}}, "x"));
    };
    E z = binder(Expr::sum, w, coin(3) ? node(Expr::mul, {weight(w), leaf()}) : weight(w));
    E p = node(Expr::mul, {weight(u), node(Expr::pow, {z}, one_of<Rational>({-1, -1, 2, 1}))});
    if (coin()) p = node(Expr::mul, {p, coin() ? leaf() : expression(depth - 1)});
    return binder(Expr::sum, u, p);
  }
  /// Uninterpreted operators on tensors with parameters; exp of masked scores.
  E opaque(int depth) {
    int u = fresh(range());
    E body = expression(depth - 1);
    if (coin(3)) {
      Expr e{};
      e.kind = Expr::masked_exp, e.kids = {mask(), body};
      return binder(Expr::sum, u, make(e));
    }
    Index at = index();
    scope_.erase(std::find(scope_.begin(), scope_.end(), u));
    Expr e{};
    e.kind = Expr::opaque, e.var = u, e.name = ranges_[static_cast<size_t>(u)];
    e.kids = {body}, e.index = {coin() ? at : Index{{{1, "", variable(), ""}}}};
    for (auto& p : e.index[0].parts)
      if (p.var == u) p.var = 0;
    return coin() ? make(e) : node(Expr::mul, {make(e), leaf()});
  }

  /// A comparison of two indices and its opposite, summed or multiplied; and how often it holds.
  E opposites(int depth) {
    int u = fresh(range()), v = coin() ? variable() : fresh(ranges_[static_cast<size_t>(u)]);
    Index e{{{1, "", u, ""}, {-1, "", v, coin(5) ? "wild" : ""}}}, back = e;
    if (coin(4)) e.parts.push_back({one_of<int>({1, -1}), coin() ? "" : range(), -1, ""});
    for (auto& p : e.parts) p.k = -p.k;
    E x = with_index(Expr::le, {e}), y = with_index(Expr::le, {back});
    E body = coin(3) ? x : node(coin() ? Expr::add : Expr::mul, {x, y});
    if (coin()) {
      E f = with_index(Expr::leaf, {{{{1, "", u, ""}}}, {{{1, "", v, ""}}}}, "x");
      E a = node(Expr::mul, {f, x}), b = node(Expr::mul, {f, y});
      body = node(Expr::add, {binder_copy(u, a), binder_copy(u, b)});
      scope_.erase(std::find(scope_.begin(), scope_.end(), u));
    } else {
      body = binder(Expr::sum, u, coin(3) ? node(Expr::mul, {body, leaf()}) : body);
    }
    const bool own = static_cast<size_t>(v) == ranges_.size() - 1 && v != u;
    return own ? binder(Expr::sum, v, body) : node(Expr::mul, {body, expression(depth - 1)});
  }
  E binder_copy(int var, E body) {
    Expr e{};
    e.kind = Expr::sum, e.var = var, e.name = ranges_[static_cast<size_t>(var)], e.kids = {body};
    return make(e);
  }
  /// stride * iota(c) + iota(j), with a right or a wrong stride, as a number.
  E values() {
    int j = fresh(range()), c = fresh(range());
    std::string stride = coin(3) ? range() : ranges_[static_cast<size_t>(j)];
    E high = node(Expr::mul, {size_of(stride), with_index(Expr::iota, {{{{1, "", c, ""}}}})});
    E sum = node(Expr::add, {high, with_index(Expr::iota, {{{{1, "", j, ""}}}})});
    if (coin()) sum = node(Expr::add, {leaf(), sum});
    if (coin(3)) sum = fn(one_of<Fn>({Fn::cos, Fn::sigmoid}), sum);
    E f = with_index(Expr::leaf, {{{{1, "", j, ""}, {1, stride, c, ""}}}}, "x");
    return binder(Expr::sum, c, binder(Expr::sum, j, coin() ? node(Expr::mul, {f, sum}) : sum));
  }
  E size_of(const std::string& name) { return with_index(Expr::size, {}, name); }
  /// A comparison of values chosen by comparisons.
  E conditions(int depth) {
    E a = with_index(Expr::iota, {index()}), b = with_index(Expr::iota, {index()});
    E chosen = node(Expr::where, {mask(), a, coin() ? b : number(0)});
    if (coin(3)) chosen = node(Expr::where, {mask(), chosen, number(1)});
    E e = node(Expr::add, {chosen, with_index(Expr::iota, {index()})});
    if (coin()) e = node(Expr::add, {chosen, node(Expr::mul, {number(-1), b})});
    Expr zero{};
    zero.kind = Expr::le_real, zero.kids = {e}, zero.name = "any";
    E c = make(zero);
    return node(Expr::mul, {coin() ? node(Expr::mul, {c, mask()}) : c, expression(depth - 1)});
  }

  /// A function of a condition, multiplied by this or another condition, or by none.
  E guarded() {
    E c = mask(), other = coin() ? c : mask();
    E inside = node(Expr::where, {other, leaf(), coin() ? leaf() : number(0)});
    if (coin(3)) inside = node(Expr::add, {number(2), node(Expr::mul, {inside, inside})});
    E f = fn(one_of<Fn>({Fn::exp, Fn::sigmoid, Fn::cos, Fn::floor}), inside);
    if (coin(3)) f = node(Expr::pow, {node(Expr::add, {number(1), f})}, -1);
    return coin(4) ? f : node(Expr::mul, {coin() ? c : node(Expr::mul, {c, leaf()}), f});
  }
  /// Powers of the sine and cosine of x or -x.
  E circles(int depth) {
    E x = coin() ? leaf() : expression(depth - 1);
    if (coin(3)) x = node(Expr::mul, {number(one_of<Rational>({2, 3, {1, 2}, {3, 2}})), x});
    if (coin(3)) x = node(Expr::add, {x, leaf()});
    E s = node(Expr::pow, {fn(Fn::sin, signed_(x))}, one_of<Rational>({1, 2, 3, 4}));
    E c = node(Expr::pow, {fn(Fn::cos, signed_(x))}, one_of<Rational>({1, 2}));
    return node(coin() ? Expr::add : Expr::mul, {s, c});
  }

  /// Signs, roots and logarithms of sums of values in [0, 3/2] and numbers.
  E bounded() {
    const auto value = [&] {
      E n = with_index(Expr::leaf, {{{{1, "", variable(), ""}}}}, "n");
      return coin(3) ? node(Expr::mul, {n, coin() ? n : with_index(Expr::leaf, {index()}, "n")})
                     : n;
    };
    E e = number(one_of<Rational>({0, {3, 2}, {-3, 2}, 1, 3}));
    for (int left = 1 + below(2); left > 0; --left) e = node(Expr::add, {e, signed_(value())});
    if (coin(3)) e = fn(one_of<Fn>({Fn::log, Fn::exp}), e);
    if (coin(4)) e = node(Expr::add, {e, number(one_of<Rational>({1, -1, {-1, 2}}))});
    e = coin(4) ? node(Expr::pow, {e}, one_of<Rational>({{1, 2}, -1, 2}))
                : fn(one_of<Fn>({Fn::step, Fn::relu, Fn::abs, Fn::sign, Fn::log}), e);
    return coin() ? e : node(Expr::mul, {e, leaf()});
  }

  /// Sum_u f(R - 1 - u) g(u), where R is or is not the range.
  E mirrors(int depth) {
    int u = fresh(range());
    Index plain{{{1, "", u, ""}}}, back{{{-1, "", u, ""}, {-1, "", -1, ""}}};
    back.parts.push_back({1, coin(4) ? range() : ranges_[static_cast<size_t>(u)], -1, ""});
    E f = with_index(Expr::leaf, {back}, "x");
    if (coin()) f = fn(one_of<Fn>({Fn::exp, Fn::sigmoid}), f);
    E body = node(Expr::mul, {f, with_index(Expr::leaf, {coin(3) ? back : plain}, "y")});
    if (coin(3)) body = node(Expr::mul, {body, with_index(coin() ? Expr::iota : Expr::le, {back})});
    return binder(Expr::sum, u, node(Expr::mul, {body, coin() ? leaf() : expression(depth - 1)}));
  }

  /// Sum_u f((u + c) mod R) g(u), where R is or is not the range.
  E rolls(int depth) {
    const int u = fresh(range());
    const auto rolled = [&] {
      Index at{{{1, "", u, ""}, {one_of<int>({-1, 1, 2, 0}), "", -1, ""}},
               coin(5) ? range() : ranges_[static_cast<size_t>(u)]};
      if (coin(5)) at.parts.push_back({1, "", variable(), ""});
      return at;
    };
    E body = with_index(Expr::leaf, {rolled()}, "x");
    if (coin()) body = fn(one_of<Fn>({Fn::exp, Fn::sigmoid}), body);
    const Index plain{{{1, "", u, ""}}}, other = coin() ? rolled() : plain;
    if (coin()) body = node(Expr::mul, {body, with_index(Expr::leaf, {other}, "y")});
    if (coin(3))
      body = node(Expr::mul, {body, with_index(one_of<Expr::Kind>({Expr::iota, Expr::le, Expr::eq}),
                                               {coin() ? rolled() : plain})});
    return binder(Expr::sum, u, node(Expr::mul, {body, coin(3) ? expression(depth - 1) : leaf()}));
  }
  /// How many indices lie between two bounds, summed over one of them.
  E between(int depth) {
    const int low = fresh(range()),
              v = fresh(coin(4) ? range() : ranges_[static_cast<size_t>(low)]);
    const int high = coin(3) ? 0 : variable();
    Index from{{{1, "", low, ""}, {-1, "", v, ""}}}, to{{{1, "", v, ""}, {-1, "", high, ""}}};
    if (coin(4)) from.parts.push_back({one_of<int>({1, -1}), "", -1, ""});
    if (coin(4)) to.parts.push_back({one_of<int>({1, -1}), "", -1, ""});
    E body = node(Expr::mul, {with_index(Expr::le, {from}), with_index(Expr::le, {to})});
    E counted = binder(Expr::sum, v, body);
    E f = with_index(Expr::leaf, {{{{1, "", low, ""}}}}, "x");
    return binder(
        Expr::sum, low,
        node(Expr::mul, {counted, coin(3) ? node(Expr::mul, {f, expression(depth - 1)}) : f}));
  }

  laws::Dice dice_;
  Recipe recipe_;
  std::vector<std::string> ranges_;  // of every variable
  std::vector<int> scope_;           // variables in scope
};

/// A program, with two free variables and `variables` in total.
struct Drawn {
  E program;
  size_t variables = 0;
};
inline Drawn drawn(laws::Dice dice, Recipe recipe) {
  Generator generator(std::move(dice), recipe);
  E program = generator.program();
  return {program, generator.variables()};
}
/// Called by RapidCheck to print the smallest failure.
inline void showValue(const Drawn& drawn, std::ostream& out) { out << "\n" << text(drawn.program); }

/// The first point where the normal form's value differs from the program's; empty if they agree
/// wherever the program is defined. With `other_names`, builds the program under other names and
/// renames it afterwards; `same` counts programs that get exactly the original normal form.
inline std::string mismatch(const Drawn& drawn, int limit, Fault fault, long* compared,
                            const std::vector<std::string>& other_names = {},
                            long* same = nullptr) {
  const E& program = drawn.program;
  Algebra a(Budget{limit, 400000, 400000}, fault);
  Lower lower{a, std::vector<Nf>(drawn.variables)};
  Var k = a.fresh(a.size("K"), "k"), j = a.fresh(size_nf(a, "V/t"), "j");
  a.declare_range(size_nf(a, "D/2"));
  lower.env[0] = a.var(k), lower.env[1] = a.var(j);
  Nf e;
  try {
    if (!other_names.empty()) {
      lower.suffix = "'";
      const Nf first = lower(program);
      std::vector<std::pair<Nf, Nf>> names;
      for (const std::string& name : other_names)
        for (size_t rank : {1u, 2u}) {
          const std::vector<Nf> at(rank, a.number(0));
          lower.suffix = "'";
          const Nf from = a.at(lower.leaf(name, rank), at);
          lower.suffix = "";
          names.emplace_back(from, a.at(lower.leaf(name, rank), at));
        }
      e = a.rename({first}, names)[0];
    }
    const Nf as_it_stands = lower(program);
    if (other_names.empty()) e = as_it_stands;
    if (same != nullptr) *same += e == as_it_stands;
  } catch (const BudgetExceeded&) {
    return "";
  } catch (const Overflow&) {
    return "";
  }
  for (const SizeValues& sizes : {SizeValues{{"K", 4}, {"L", 3}, {"t", 2}, {"V", 6}, {"D", 2}},
                                  SizeValues{{"K", 2}, {"L", 5}, {"t", 3}, {"V", 6}, {"D", 8}},
                                  SizeValues{{"K", 1}, {"L", 2}, {"t", 1}, {"V", 5}, {"D", 6}}})
    for (int x = 0; x < sizes.at("K"); ++x)
      for (int y = 0; y < size_value("V/t", sizes); ++y) {
        Direct direct{sizes, 0, std::vector<int>(drawn.variables)};
        direct.env[0] = x, direct.env[1] = y;
        double expected = direct(program);
        if (!std::isfinite(expected) || direct.largest > 1e7) continue;
        NfValue value{a.engine(), sizes};
        double actual = value(e, {{k.id, x}, {j.id, y}});
        if (compared != nullptr) ++*compared;
        if (value.largest > 1e7) continue;  // also where a double overflows
        double error = std::fabs(actual - expected),
               bound = 1e-6 * (1 + direct.largest + value.largest * 1e-3);
        if (!(error <= bound))
          return std::to_string(expected) + " became " + std::to_string(actual) + " in " +
                 a.show(e);
      }
  return "";
}

}  // namespace shardproof::algebra
