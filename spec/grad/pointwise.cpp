// Pointwise ops. g is U where the operands are copies; each line is linear in it.
#include "spec/grad/pull.h"

namespace shardproof::grad {
namespace {

using ir::BinaryFn;
using ir::UnaryFn;

Ref slope(Pull& p, UnaryFn fn, Ref g) {
  Emit& e = p.emit;
  switch (fn) {
    case UnaryFn::neg:
      return e.unary(UnaryFn::neg, g);
    case UnaryFn::exp:
      return e.mul(g, p.y());
    case UnaryFn::log:
      return e.div(g, p.x(0));
    case UnaryFn::sqrt:
      return e.div(g, e.mul(e.number("2"), p.y()));
    case UnaryFn::rsqrt:
      return e.mul(g, e.mul(e.number("-0.5"), e.mul(p.y(), e.mul(p.y(), p.y()))));
    case UnaryFn::tanh:
      return e.mul(g, e.sub(e.number("1"), e.mul(p.y(), p.y())));
    case UnaryFn::erf:
      return e.mul(g, e.mul(e.number("1.1283791670955126"),
                            e.unary(UnaryFn::exp, e.unary(UnaryFn::neg, e.mul(p.x(0), p.x(0))))));
    case UnaryFn::sin:
      return e.mul(g, e.unary(UnaryFn::cos, p.x(0)));
    case UnaryFn::cos:
      return e.unary(UnaryFn::neg, e.mul(g, e.unary(UnaryFn::sin, p.x(0))));
    case UnaryFn::abs: {
      const Ref zero = e.number("0");
      return e.sub(e.where(e.binary(BinaryFn::gt, p.x(0), zero), g, zero),
                   e.where(e.binary(BinaryFn::lt, p.x(0), zero), g, zero));
    }
    case UnaryFn::logical_not:
    case UnaryFn::floor:
      break;
  }
  return {};
}

/// maximum and minimum: a tie is the second operand's.
void larger(Pull& p, BinaryFn fn, Ref g) {
  Emit& e = p.emit;
  const Ref first = e.binary(fn == BinaryFn::maximum ? BinaryFn::gt : BinaryFn::lt, p.x(0), p.x(1));
  const Ref zero = e.number("0");
  if (p.wants(0)) p.give_pointwise(0, e.where(first, g, zero));
  if (p.wants(1)) p.give_pointwise(1, e.where(first, zero, g));
}

void power(Pull& p, Ref g) {
  Emit& e = p.emit;
  if (p.wants(0)) {
    const Ref less = e.binary(BinaryFn::pow, p.x(0), e.sub(p.x(1), e.number("1")));
    p.give_pointwise(0, e.mul(e.mul(g, p.x(1)), less));
  }
  if (p.wants(1)) p.give_pointwise(1, e.mul(e.mul(g, p.y()), e.unary(UnaryFn::log, p.x(0))));
}

void quotient(Pull& p, Ref g) {
  Emit& e = p.emit;
  if (p.wants(0)) p.give_pointwise(0, e.div(g, p.x(1)));
  if (p.wants(1)) p.give_pointwise(1, e.unary(UnaryFn::neg, e.div(e.mul(g, p.y()), p.x(1))));
}

}  // namespace

void pull(Pull& p, const ir::Unary& op) {
  if (op.fn != UnaryFn::floor) p.give(0, slope(p, op.fn, p.g()));
}

void pull(Pull& p, const ir::Binary& op) {
  Emit& e = p.emit;
  const Ref g = p.g();
  switch (op.fn) {
    case BinaryFn::add:
      for (size_t i : {0, 1}) p.give_pointwise(i, g);
      return;
    case BinaryFn::sub:
      p.give_pointwise(0, g);
      if (p.wants(1)) p.give_pointwise(1, e.unary(UnaryFn::neg, g));
      return;
    case BinaryFn::mul:
      for (size_t i : {0, 1})
        if (p.wants(i)) p.give_pointwise(i, e.mul(g, p.x(1 - i)));
      return;
    case BinaryFn::div:
      return quotient(p, g);
    case BinaryFn::maximum:
    case BinaryFn::minimum:
      return larger(p, op.fn, g);
    case BinaryFn::pow:
      return power(p, g);
    default:
      p.none(ir::name_of(ir::Op(op)));
  }
}

void pull(Pull& p, const ir::Where&) {
  Emit& e = p.emit;
  const Ref g = p.g(), zero = e.number("0");
  if (p.wants(1)) p.give_pointwise(1, e.where(p.x(0), g, zero));
  if (p.wants(2)) p.give_pointwise(2, e.where(p.x(0), zero, g));
}

void pull(Pull& p, const ir::Cast&) { p.give(0, p.g()); }

}  // namespace shardproof::grad
