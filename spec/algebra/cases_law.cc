// Law: what compare() calls equal by cases of signs has equal values. Functions with a corner, each
// written in two ways with random arguments; half of the time one number of the second is changed.
#include <gtest/gtest.h>

#include <cmath>

#include "spec/algebra/algebra.h"
#include "spec/laws/dice.h"
#include "spec/laws/holds.h"

namespace shardproof::algebra {
namespace {

/// A value twice: as a term of two unknown reals, and at the points where it is evaluated.
struct Both {
  Algebra* a;
  Nf term;
  std::vector<double> at;
};

template <class Term, class Real>
Both both(const Both& x, const Both& y, Term term, Real real) {
  Both result{x.a, term(*x.a, x.term, y.term), {}};
  for (size_t i = 0; i < x.at.size(); ++i) result.at.push_back(real(x.at[i], y.at[i]));
  return result;
}
Both operator+(const Both& x, const Both& y) {
  return both(
      x, y, [](Algebra& a, Nf p, Nf q) { return a.add(p, q); }, std::plus<>());
}
Both operator-(const Both& x, const Both& y) {
  return both(
      x, y, [](Algebra& a, Nf p, Nf q) { return a.sub(p, q); }, std::minus<>());
}
Both operator*(const Both& x, const Both& y) {
  return both(
      x, y, [](Algebra& a, Nf p, Nf q) { return a.mul(p, q); }, std::multiplies<>());
}
Both maximum(const Both& x, const Both& y) {
  return both(
      x, y, [](Algebra& a, Nf p, Nf q) { return a.maximum(p, q); },
      [](double p, double q) { return std::max(p, q); });
}
Both minimum(const Both& x, const Both& y) {
  return both(
      x, y, [](Algebra& a, Nf p, Nf q) { return a.minimum(p, q); },
      [](double p, double q) { return std::min(p, q); });
}
Both number(const Both& like, Rational value) {
  return {like.a, like.a->number(value),
          std::vector<double>(like.at.size(),
                              static_cast<double>(value.num) / static_cast<double>(value.den))};
}
Both magnitude(const Both& x) {
  return both(
      x, x, [](Algebra& a, Nf p, Nf) { return a.pow(a.mul(p, p), Rational(1, 2)); },
      [](double p, double) { return std::fabs(p); });
}
Both exp(const Both& x) {
  return both(
      x, x, [](Algebra& a, Nf p, Nf) { return a.apply(Fn::exp, p); },
      [](double p, double) { return std::exp(p); });
}
Both log(const Both& x) {
  return both(
      x, x, [](Algebra& a, Nf p, Nf) { return a.apply(Fn::log, p); },
      [](double p, double) { return std::log(p); });
}
/// [x > 0] y + [x <= 0] z
Both choose(const Both& x, const Both& y, const Both& z) {
  const Both positive = both(
      x, x, [](Algebra& a, Nf p, Nf) { return a.lt0_real(a.neg(p)); },
      [](double p, double) { return p > 0 ? 1.0 : 0.0; });
  return positive * y + (number(x, 1) - positive) * z;
}

Both power(const Both& x, Rational exponent) {
  const double real = static_cast<double>(exponent.num) / static_cast<double>(exponent.den);
  return both(
      x, x, [&](Algebra& a, Nf p, Nf) { return a.pow(p, exponent); },
      [&](double p, double) { return std::pow(p, real); });
}

/// x over the larger of w and n > 0.
Both clipped(int way, const Both& x, const Both& w, const Both& n) {
  const Both one = number(x, 1);
  return way == 0   ? x * power(maximum(w, n), -1)
         : way == 1 ? x * minimum(power(n, -1), power(w, -1))
                    : choose(w - n, x * power(w, -1), x * power(n, -1));
}

/// The functions: `way` selects how it is written; n is a counting number.
Both written(int function, int way, const Both& x, const Both& y, const Both& n) {
  const Both zero = number(x, 0), one = number(x, 1);
  switch (function) {
    case 0:  // |x| n
      return way == 0   ? magnitude(x) * n
             : way == 1 ? maximum(x, zero - x) * n
                        : choose(x, x, zero - x) * n;
    case 1:  // x between -1 and n
      return way == 0   ? minimum(maximum(x, zero - one), n)
             : way == 1 ? maximum(minimum(x, n), zero - one)
                        : choose(x - n, n, choose(zero - one - x, zero - one, x));
    case 2:  // log(1 + exp(x)) + n
      return way == 0   ? log(one + exp(x)) + n
             : way == 1 ? maximum(x, zero) + log(one + exp(zero - magnitude(x))) + n
                        : x + log(one + exp(zero - x)) + n;
    case 3:  // log(exp(x) + exp(y) exp(n))
      if (way == 0) return log(exp(x) + exp(y) * exp(n));
      if (way == 1) {
        const Both m = maximum(x, y);
        return m + log(exp(x - m) + exp(y - m) * exp(n));
      }
      return y + log(exp(x - y) + exp(n));
    case 4:  // a maximum of three
      return way == 0   ? maximum(x, maximum(y, n))
             : way == 1 ? maximum(maximum(n, y), x)
                        : choose(x - y, maximum(x, n), maximum(y, n));
    case 5:  // x where it is above n >= -1
      return way == 0   ? choose(x - n, maximum(x, zero - one), zero)
             : way == 1 ? choose(x - n, x, zero)
                        : choose(n - x, zero, choose(x - n, x, zero));
    case 6:  // x over the larger of a positive value and a number
      return clipped(way, x, y * y + one, n * n + one);
    case 7:  // of a value of any sign: the ways differ
      return clipped(way, x, y + number(x, Rational(1, 4)), n * n + one);
    case 8: {  // the root of the larger
      const Both w = y * y + x * x, c = n * n + one;
      return way == 0   ? power(maximum(w, c * c), Rational(1, 2))
             : way == 1 ? maximum(power(w, Rational(1, 2)), c)
                        : choose(w - c * c, power(w, Rational(1, 2)), c);
    }
    case 9: {  // the larger of a root and a value of any sign: one of the ways differs
      const Both w = x * x + number(x, Rational(1, 4)), root = power(w, Rational(1, 2));
      return way == 0   ? maximum(root, y) + n
             : way == 1 ? choose(y - root, y, root) + n
                        : choose(w - y * y, root, y) + n;
    }
    case 10: {  // a parabola between -1 and 1, lines outside
      const Both c = minimum(maximum(x, zero - one), one), half = number(x, Rational(1, 2));
      return way == 0   ? choose(one - x * x, half * x * x, magnitude(x) - half) + n
             : way == 1 ? c * (x - half * c) + n
                        : choose(magnitude(x) - one, magnitude(x) - half, half * x * x) + n;
    }
    case 11: {  // the smaller of x y and y times x between 1/2 and 1
      const Both low = number(x, Rational(1, 2));
      return way == 0   ? minimum(x * y, maximum(minimum(x, one), low) * y) * n
             : way == 1 ? choose(y, y * minimum(x, one), y * maximum(x, low)) * n
                        : minimum(minimum(maximum(x, low), one) * y, y * x) * n;
    }
    case 12:  // n where x and y have the same sign
      return way == 0 ? choose(x * y, n, zero)
             : way == 1
                 ? choose(x, choose(y, n, zero), choose(zero - x, choose(zero - y, n, zero), zero))
                 : n - choose(zero - x * y, n, zero) -
                       choose(x * y, zero, choose(zero - x * y, zero, n));
    case 13: {  // n where y is positive and x y too, or x: one of the ways differs
      const Both positive = choose(y, n, zero);
      return way == 0   ? choose(x * y, positive, zero)
             : way == 1 ? choose(x, positive, zero)
                        : choose(zero - x, positive, zero);
    }
    case 14: {  // n where the greater, or the smaller, of x and y is above 1
      const bool least = n.at.at(0) < 0;
      const Both either = choose(x - one, n, choose(y - one, n, zero));
      const Both all = choose(x - one, choose(y - one, n, zero), zero);
      return way == 0   ? choose((least ? minimum(x, y) : maximum(x, y)) - one, n, zero)
             : way == 1 ? choose(choose(x - y, least ? y : x, least ? x : y) - one, n, zero)
                        : (least ? all : either);
    }
    case 15: {  // the magnitude of a choice of two signs
      const Both e = exp(y);
      return way == 0   ? magnitude(choose(x, e + one, zero - e)) * n
             : way == 1 ? (e + choose(x, one, zero)) * n
                        : choose(x, one + e, magnitude(e)) * n;
    }
    case 16: {  // the smaller of y e^x and y times e^x between 1/2 and 1, at least 2 y where y < 0
      const Both e = exp(x), half = number(x, Rational(1, 2)), two = number(x, 2);
      const Both least = minimum(e * y, minimum(maximum(e, half), one) * y);
      const Both up = minimum(e, one), down = minimum(maximum(e, half), two);
      return way == 0   ? choose(y, least, maximum(least, two * y)) * n
             : way == 1 ? y * choose(y, up, down) * n
                        : (up * maximum(y, zero) - down * maximum(zero - y, zero)) * n;
    }
    case 17: {  // n where a product with a square is > 0: one of the ways differs
      const Both e = exp(x) - number(x, Rational(1, 2)), above = choose(e, n, zero);
      return way == 0   ? choose(y * y * e, n, zero)
             : way == 1 ? choose(y, above, choose(zero - y, above, zero))
                        : choose(y, above, zero);
    }
    case 18:  // 1 where x is above 1 and n: one of the ways differs
      return way == 0   ? choose(x - one, choose(x - n, one, zero), zero)
             : way == 1 ? choose(x - maximum(one, n), one, zero)
                        : choose(x - one, one, zero);
    default:  // max + min
      return way == 0   ? maximum(x, y) + minimum(x, y) * n
             : way == 1 ? x + y - minimum(y, x) + minimum(x, y) * n
                        : choose(x - y, x + y * n, y + x * n);
  }
}

struct Found {
  int right = 0, proved = 0, changed = 0, fooled = 0;
};

/// One function in two ways, the second with another number if `changed`. text: both.
struct Trial {
  bool right = false, equal = false;
  std::string text;
};
Trial try_pair(laws::Dice dice, Fault fault) {
  const auto below = [&](int64_t n) { return static_cast<int>(dice.below(n)); };
  const int function = below(20);  // clips are in either order above limit 1
  Algebra a(Budget{function == 1 ? 24 : 1, 400000, 400000}, fault);
  Both x{&a, a.at(a.leaf("x", {}), {}), {}}, y{&a, a.at(a.leaf("y", {}), {}), {}};
  for (int p = -3; p <= 3; ++p)
    for (int q = -3; q <= 3; ++q) x.at.push_back(p / 2.0), y.at.push_back(q / 2.0);
  const Rational n(below(8) - 4, 2), m = below(2) ? n : n + Rational(1, 2);
  const int first = below(3), second = (first + 1 + below(2)) % 3;
  // Roots and products of a sum are multiplied out, and its sign is not looked for.
  const bool alone =
      function == 10 || function == 12 || function == 13 || function == 16 || function == 17;
  const Both u = below(2) || alone ? x : x + y * number(x, 2);
  const Both one = written(function, first, u, y, number(x, n));
  const Both two = written(function, second, u, y, number(x, m));
  double apart = 0;
  for (size_t k = 0; k < one.at.size(); ++k)
    apart = std::max(apart, std::fabs(one.at[k] - two.at[k]));
  return {apart < 1e-9, compare(a, one.term, two.term) == Comparison::equal,
          a.show(one.term) + "\nand\n" + a.show(two.term)};
}

void add(Found& found, const Trial& trial) {
  (trial.right ? found.right : found.changed)++;
  if (trial.equal) (trial.right ? found.proved : found.fooled)++;
}

TEST(Cases, WhatIsCalledEqualIsEqual) {
  Found found;
  EXPECT_TRUE(laws::holds("what is called equal is equal", 1'900, 20'000, [&] {
    const Trial trial = try_pair(laws::Dice(*laws::dice_words(16)), Fault::none);
    add(found, trial);
    if (trial.equal && !trial.right) RC_FAIL(trial.text);
  }));
  EXPECT_GT(found.changed, 300);
  EXPECT_GT(found.proved, found.right * 17 / 20) << found.proved << " of " << found.right;
}

TEST(Cases, FindPlantedFaults) {
  for (Fault fault :
       {Fault::case_implied, Fault::case_product, Fault::case_alone, Fault::step_denominator,
        Fault::step_square, Fault::clip_order, Fault::sign_of_factor, Fault::step_absorption}) {
    Found found;
    for (uint64_t seed = 0; seed < 1900 && found.fooled == 0; ++seed)
      add(found, try_pair(laws::Dice(seed), fault));
    EXPECT_GT(found.fooled, 0) << static_cast<int>(fault);
  }
}

}  // namespace
}  // namespace shardproof::algebra
