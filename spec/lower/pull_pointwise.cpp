// Ops on scalars, one entry at a time: the cotangent times the derivative, summed over the
// indices that an operand lacks.
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

void share(Pull& p, const Indices& in, size_t i, Nf derivative) {
  if (!p.wants(i)) return;
  p.give_sum(i, in.left(i), in.right(), p.c.a.mul(p.gradient(in.right()), derivative));
}

void identity(Pull& p) {
  const Vars& index = p.site.operand(0).index;
  if (p.wants(0)) p.give(0, {index, p.gradient(index)});
}

void pull_power(Pull& p, const Indices& in, Nf x, Nf y) {
  algebra::Algebra& a = p.c.a;
  if (p.wants(0)) share(p, in, 0, a.mul(y, power(a, x, a.sub(y, a.number(1)))));
  if (p.wants(1)) share(p, in, 1, a.mul(a.apply(Fn::log, x), power(a, x, y)));
}

}  // namespace

void pull_op(Pull& p, const ir::Unary& op) {
  if (!p.wants(0)) return;
  const Indices in(p.c, p.site);
  const Nf y = p.c.at(*p.site.frame.values.at(p.site.instr.results[0]), in.right());
  share(p, in, 0, derivative(p.c.a, op.fn, in.operand(0), y));
}

void pull_op(Pull& p, const ir::Binary& op) {
  const Indices in(p.c, p.site);
  const Nf x = in.operand(0), y = in.operand(1);
  if (op.fn == BinaryFn::pow) return pull_power(p, in, x, y);
  const auto [first, second] = derivatives(p.c.a, op.fn, x, y);
  share(p, in, 0, first);
  share(p, in, 1, second);
}

void pull_op(Pull& p, const ir::Where&) {
  const Indices in(p.c, p.site);
  const Nf condition = in.operand(0);
  share(p, in, 1, condition);
  share(p, in, 2, p.c.a.sub(p.c.a.number(1), condition));
}

void pull_op(Pull& p, const ir::Cast&) { identity(p); }
void pull_op(Pull& p, const ir::Save&) { identity(p); }
void pull_op(Pull& p, const ir::Ascribe&) { identity(p); }

void pull_op(Pull& p, const ir::Total&) {
  for (size_t i = 0; i < p.site.instr.operands.size(); ++i)
    if (p.wants(i)) p.give(i, {{}, p.gradient({})});
}

}  // namespace shardproof::lower
