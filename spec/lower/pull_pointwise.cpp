// Ops on scalars, one entry at a time: the cotangent times the derivative, summed over the dims
// that an operand lacks.
#include "spec/lower/derivative.h"

namespace shardproof::lower {

namespace {

using algebra::Fn;
using ir::BinaryFn;
using ir::UnaryFn;

/// Of y = fn(x). Written as a person would write it, so that little is left to the algebra.
Nf derivative(algebra::Algebra& a, UnaryFn fn, Nf x, Nf y) {
  switch (fn) {
    case UnaryFn::neg:
      return a.number(-1);
    case UnaryFn::exp:
      return y;
    case UnaryFn::log:
      return a.pow(x, -1);
    case UnaryFn::sqrt:
      return a.mul(a.number({1, 2}), a.pow(x, {-1, 2}));
    case UnaryFn::rsqrt:
      return a.mul(a.number({-1, 2}), a.pow(x, {-3, 2}));
    case UnaryFn::tanh:
      return a.sub(a.number(1), a.mul(y, y));
    case UnaryFn::erf:
      return a.mul(a.mul(a.number(2), a.pow(pi(a), {-1, 2})), a.apply(Fn::exp, a.neg(a.mul(x, x))));
    case UnaryFn::sin:
      return a.apply(Fn::cos, x);
    case UnaryFn::cos:
      return a.neg(a.apply(Fn::sin, x));
    case UnaryFn::abs:
      return a.apply(Fn::sign, x);
    case UnaryFn::logical_not:
    case UnaryFn::floor:
      return a.number(0);
  }
  throw std::logic_error("unary");
}

/// Of x fn y, with respect to its first and its second operand. Of two equal numbers the second is
/// the greater and the less.
std::pair<Nf, Nf> derivatives(algebra::Algebra& a, BinaryFn fn, Nf x, Nf y) {
  const Nf zero = a.number(0), one = a.number(1);
  const auto chosen = [&](Nf first) { return std::pair(first, a.sub(one, first)); };
  switch (fn) {
    case BinaryFn::add:
      return {one, one};
    case BinaryFn::sub:
      return {one, a.neg(one)};
    case BinaryFn::mul:
      return {y, x};
    case BinaryFn::div:
      return {a.pow(y, -1), a.neg(a.mul(a.mul(x, a.pow(y, -1)), a.pow(y, -1)))};
    case BinaryFn::maximum:
      return chosen(a.lt0_real(a.sub(y, x)));
    case BinaryFn::minimum:
      return chosen(a.lt0_real(a.sub(x, y)));
    default:
      return {zero, zero};
  }
}

Nf forward(const Pull& p, size_t i, const Slots& result) {
  return p.c.at(p.site.operand(i), operand_slots(p.c, p.site, i, result));
}

void share(Pull& p, size_t i, const Slots& result, Nf derivative) {
  const Nf body = p.c.a.mul(p.gradient(result), derivative);
  p.give_sum(i, operand_slots(p.c, p.site, i, result), result, body);
}

void identity(Pull& p) {
  const Slots result = p.result_slots();
  if (p.wants(0)) share(p, 0, result, p.c.a.number(1));
}

void pull_power(Pull& p, const Slots& result, Nf x, Nf y) {
  algebra::Algebra& a = p.c.a;
  if (p.wants(0)) share(p, 0, result, a.mul(y, power(a, x, a.sub(y, a.number(1)))));
  if (p.wants(1)) share(p, 1, result, a.mul(a.apply(Fn::log, x), power(a, x, y)));
}

}  // namespace

void pull_op(Pull& p, const ir::Unary& op) {
  const Slots result = p.result_slots();
  const Nf y = p.c.at(*p.site.frame.values.at(p.site.instr.results[0]), result);
  if (p.wants(0)) share(p, 0, result, derivative(p.c.a, op.fn, forward(p, 0, result), y));
}

void pull_op(Pull& p, const ir::Binary& op) {
  const Slots result = p.result_slots();
  const Nf x = forward(p, 0, result), y = forward(p, 1, result);
  if (op.fn == BinaryFn::pow) return pull_power(p, result, x, y);
  const auto [first, second] = derivatives(p.c.a, op.fn, x, y);
  if (p.wants(0)) share(p, 0, result, first);
  if (p.wants(1)) share(p, 1, result, second);
}

void pull_op(Pull& p, const ir::Where&) {
  const Slots result = p.result_slots();
  const Nf condition = forward(p, 0, result);
  if (p.wants(1)) share(p, 1, result, condition);
  if (p.wants(2)) share(p, 2, result, p.c.a.sub(p.c.a.number(1), condition));
}

void pull_op(Pull& p, const ir::Cast&) { identity(p); }
void pull_op(Pull& p, const ir::Save&) { identity(p); }
void pull_op(Pull& p, const ir::Ascribe&) { identity(p); }

void pull_op(Pull& p, const ir::Total&) {
  for (size_t i = 0; i < p.site.instr.operands.size(); ++i)
    if (p.wants(i)) p.give(i, {}, p.gradient({}));
}

}  // namespace shardproof::lower
