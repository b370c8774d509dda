// Entry by entry. Each function of numbers stands beside its derivative.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/disturbed.h"
#include "oracle/huge.h"
#include "oracle/ops.h"
#include "oracle/pattern.h"
#include "oracle/sides.h"

namespace shardproof::oracle {
namespace {

struct Curve {
  double (*value)(double x);
  double (*slope)(double x, double y);  ///< y = value(x); null: the result has no gradient
};

Curve curve(ir::UnaryFn fn) {
  using F = ir::UnaryFn;
  constexpr double two_over_sqrt_pi = 1.1283791670955126;
  switch (fn) {
    case F::neg:
      return {[](double x) { return -x; }, [](double, double) { return -1.0; }};
    case F::logical_not:
      return {[](double x) { return x == 0 ? 1.0 : 0.0; }, nullptr};
    case F::exp:
      return {exponential, [](double, double y) { return y; }};
    case F::log:
      return {[](double x) { return std::log(x); }, [](double x, double) { return 1 / x; }};
    case F::sqrt:
      return {[](double x) { return std::sqrt(x); }, [](double, double y) { return 0.5 / y; }};
    case F::rsqrt:
      return {[](double x) { return 1 / std::sqrt(x); },
              [](double x, double y) { return -0.5 * y / x; }};
    case F::tanh:
      return {[](double x) { return std::tanh(x); }, [](double, double y) { return 1 - y * y; }};
    case F::erf:
      return {[](double x) { return std::erf(x); },
              [](double x, double) { return two_over_sqrt_pi * std::exp(-x * x); }};
    case F::sin:
      return {[](double x) { return std::sin(x); }, [](double x, double) { return std::cos(x); }};
    case F::cos:
      return {[](double x) { return std::cos(x); }, [](double x, double) { return -std::sin(x); }};
    case F::abs:
      return {[](double x) { return std::abs(x); },
              [](double x, double) { return x > 0   ? 1.0
                                            : x < 0 ? -1.0
                                                    : 0.0; }};
    case F::floor:
      return {[](double x) { return std::floor(x); }, [](double, double) { return 0.0; }};
    case F::expm1:
      return {[](double x) { return std::expm1(x); }, [](double x, double) { return std::exp(x); }};
    case F::log1p:
      return {[](double x) { return std::log1p(x); }, [](double x, double) { return 1 / (1 + x); }};
    case F::sign:
      return {[](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }, nullptr};
    case F::round:  // to even: the remainder of a division by 1 is at most a half
      return {[](double x) { return x - std::remainder(x, 1.0); }, nullptr};
  }
  throw std::domain_error("no such function");
}

struct Surface {
  double (*value)(double a, double b);
  double (*slope_a)(double a, double b);  ///< null: the result has no gradient
  double (*slope_b)(double a, double b);
};

Surface truth(double (*value)(double a, double b)) { return {value, nullptr, nullptr}; }

double floor_divided(double a, double b) {
  if (b == 0) throw std::domain_error("a division of integers by zero");
  return std::floor(a / b);
}

double quiet_nan() { return std::numeric_limits<double>::quiet_NaN(); }

Surface surface(ir::BinaryFn fn) {
  using F = ir::BinaryFn;
  switch (fn) {
    case F::add:
      return {[](double a, double b) { return a + b; }, [](double, double) { return 1.0; },
              [](double, double) { return 1.0; }};
    case F::sub:
      return {[](double a, double b) { return a - b; }, [](double, double) { return 1.0; },
              [](double, double) { return -1.0; }};
    case F::mul:
      return {[](double a, double b) { return a * b; }, [](double, double b) { return b; },
              [](double a, double) { return a; }};
    case F::div:
      return {[](double a, double b) { return a / b; }, [](double, double b) { return 1 / b; },
              [](double a, double b) { return -a / (b * b); }};
    case F::floordiv:
      return truth(floor_divided);
    case F::mod:
      return truth([](double a, double b) { return a - b * floor_divided(a, b); });
    case F::eq:
      return truth([](double a, double b) { return a == b ? 1.0 : 0.0; });
    case F::ne:
      return truth([](double a, double b) { return a != b ? 1.0 : 0.0; });
    case F::lt:
      return truth([](double a, double b) { return a < b ? 1.0 : 0.0; });
    case F::gt:
      return truth([](double a, double b) { return a > b ? 1.0 : 0.0; });
    case F::le:
      return truth([](double a, double b) { return a <= b ? 1.0 : 0.0; });
    case F::ge:
      return truth([](double a, double b) { return a >= b ? 1.0 : 0.0; });
    case F::logical_and:
      return truth([](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; });
    case F::logical_or:
      return truth([](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; });
    case F::maximum:  // the gradient of a tie goes to b
      return {[](double a, double b) {
                return std::isnan(a) || std::isnan(b) ? quiet_nan() : std::max(a, b);
              },
              [](double a, double b) { return a > b ? 1.0 : 0.0; },
              [](double a, double b) { return a > b ? 0.0 : 1.0; }};
    case F::minimum:
      return {[](double a, double b) {
                return std::isnan(a) || std::isnan(b) ? quiet_nan() : std::min(a, b);
              },
              [](double a, double b) { return a < b ? 1.0 : 0.0; },
              [](double a, double b) { return a < b ? 0.0 : 1.0; }};
    case F::pow:  // x^0 and 0^x (x > 0) are constant
      return {
          [](double a, double b) { return std::pow(a, b); },
          [](double a, double b) { return b == 0 ? 0 : b * std::pow(a, b - 1); },
          [](double a, double b) { return a == 0 && b > 0 ? 0 : std::pow(a, b) * std::log(a); }};
    case F::atan2:
      return {[](double a, double b) { return std::atan2(a, b); },
              [](double a, double b) { return b / (a * a + b * b); },
              [](double a, double b) { return -a / (a * a + b * b); }};
  }
  throw std::domain_error("no such function");
}

// An operand with its entries repeated along the result's dims that it lacks.
Var spread(Site& site, size_t i) {
  const std::vector<Split>&own = site.operand_type(i).dims, &all = site.type().dims;
  const Extents& shape = site.shape();
  if (same_names(own, all) && site.operand(i)->value.shape == shape) return site.operand(i);
  const Extents strides = row_major(site.operand(i)->value.shape);
  if (strides.size() != own.size()) throw std::domain_error("a tensor of other dims than its type");
  Extents walked;
  walked.reserve(all.size());
  size_t found = 0;
  for (const Split& split : all) {
    const auto at = position(site.run.program, own, split.dim);
    walked.push_back(at ? strides[*at] : 0);
    found += at ? 1 : 0;
  }
  if (found != own.size()) throw std::domain_error("the result lacks a dim of an operand");
  if (walked == row_major(shape) && site.operand(i)->value.shape == shape) return site.operand(i);
  return gather(site, site.operand(i), positions(shape, walked), shape);
}

// gradient * slope, entry by entry.
template <class Slope>
void contribute_scaled(const Var& x, const Tensor& gradient, const Slope& slope) {
  if (!x->followed) return;
  Tensor scaled = gradient;
  for (size_t i = 0; i < scaled.data.size(); ++i) scaled.data[i] *= slope(i);
  contribute(x, scaled);
}

bool has_sides(ir::BinaryFn fn) {
  using F = ir::BinaryFn;
  return fn == F::eq || fn == F::ne || fn == F::lt || fn == F::gt || fn == F::le || fn == F::ge ||
         fn == F::maximum || fn == F::minimum;
}

// For a comparison: whether it holds. For a minimum or maximum: whether the first operand is the
// result.
void note_sides(const Site& site, ir::BinaryFn fn, const Tensor& a, const Tensor& b,
                const Tensor& result) {
  if (!sides() || !has_sides(fn)) return;
  const bool chooses = fn == ir::BinaryFn::maximum || fn == ir::BinaryFn::minimum;
  Sides::Taken& taken = sides()->of(site.instr);
  for (size_t i = 0; i < result.data.size(); ++i) {
    const bool differ = a.data[i] != b.data[i];
    if (chooses && !differ) continue;
    const bool side = chooses ? result.data[i] == a.data[i] : result.data[i] != 0;
    (side ? taken.holds : taken.fails) = true;
    taken.operands_differ |= differ;
  }
}

bool is_exact(Dtype dtype) { return is_integer(dtype) || dtype == Dtype::boolean; }

double truncated(double x) {
  if (!std::isfinite(x)) throw std::domain_error("a cast of " + std::to_string(x));
  return std::trunc(x);
}

}  // namespace

Vars apply(const ir::Unary& op, Site& site) {
  const Curve f = curve(op.fn);
  const Var& x = site.operand(0);
  Tensor y = x->value;
  for (double& entry : y.data) entry = f.value(entry);
  if (!f.slope) return {constant(std::move(y))};
  return {site.record(std::move(y), x->followed, [x, f](const Node& result) {
    contribute_scaled(x, result.gradient,
                      [&](size_t i) { return f.slope(x->value.data[i], result.value.data[i]); });
  })};
}

Vars apply(const ir::Binary& op, Site& site) {
  const Surface f = surface(op.fn);
  const Var a = spread(site, 0), b = spread(site, 1);
  Tensor y = a->value;
  for (size_t i = 0; i < y.data.size(); ++i) y.data[i] = f.value(y.data[i], b->value.data[i]);
  note_sides(site, op.fn, a->value, b->value, y);
  if (!f.slope_a) return {constant(std::move(y))};
  return {site.record(std::move(y), a->followed || b->followed, [a, b, f](const Node& result) {
    const std::vector<double>&x = a->value.data, &z = b->value.data;
    contribute_scaled(a, result.gradient, [&](size_t i) { return f.slope_a(x[i], z[i]); });
    contribute_scaled(b, result.gradient, [&](size_t i) { return f.slope_b(x[i], z[i]); });
  })};
}

// Chosen, not multiplied: what is not taken gets 0, whatever it is.
Vars apply(const ir::Where&, Site& site) {
  const Var c = spread(site, 0), a = spread(site, 1), b = spread(site, 2);
  Tensor y = a->value;
  for (size_t i = 0; i < y.data.size(); ++i)
    if (c->value.data[i] == 0) y.data[i] = b->value.data[i];
  return {site.record(std::move(y), a->followed || b->followed, [a, b, c](const Node& result) {
    Tensor to_a = result.gradient, to_b = result.gradient;
    for (size_t i = 0; i < to_a.data.size(); ++i) (c->value.data[i] == 0 ? to_a : to_b).data[i] = 0;
    contribute(a, to_a);
    contribute(b, to_b);
  })};
}

// Between floats nothing but rounding; to an integer the fraction is cut off; a bool is whether x
// is not 0.
Vars apply(const ir::Cast& op, Site& site) {
  const Var& x = site.operand(0);
  if (!is_exact(op.to) && !disturbs()) return {x};
  Tensor y = x->value;
  if (!is_exact(op.to)) {
    disturb(y);
    return {site.record(std::move(y), x->followed,
                        [x](const Node& result) { contribute(x, result.gradient); })};
  }
  for (double& entry : y.data)
    entry = op.to == Dtype::boolean ? (entry != 0 ? 1.0 : 0.0) : truncated(entry);
  return {constant(std::move(y))};
}

Vars apply(const ir::StopGrad&, Site& site) { return {constant(site.operand(0)->value)}; }

Vars apply(const ir::Total&, Site& site) {
  const Vars fields = site.operands();
  Tensor sum = scalar(0);
  for (const Var& field : fields) sum.data[0] += field->value.data.at(0);
  return {site.record(std::move(sum), one_is_followed(fields), [fields](const Node& result) {
    for (const Var& field : fields) contribute(field, result.gradient);
  })};
}

}  // namespace shardproof::oracle
