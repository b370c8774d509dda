// Ops on scalars, one entry at a time. Conditions are 0 or 1.
#include "spec/lower/context.h"

namespace shardproof::lower {

/// pow with a number as exponent is a root or a power; else exp(y log x) where x is known positive.
Nf power(algebra::Algebra& a, Nf x, Nf y) {
  if (auto exponent = a.as_number(y)) return a.pow(x, *exponent);
  return a.power(x, y);
}

namespace {

using algebra::Fn;
using ir::BinaryFn;
using ir::UnaryFn;

template <class F>
Results pointwise(Context& c, const Site& site, F f) {
  const Indices in(c, site);
  std::vector<Nf> x;
  for (size_t i = 0; i < site.instr.operands.size(); ++i) x.push_back(in.operand(i));
  return {{in.right(), f(x)}};
}

Nf unary(Context& c, UnaryFn fn, Nf x) {
  algebra::Algebra& a = c.a;
  switch (fn) {
    case UnaryFn::neg:
      return a.neg(x);
    case UnaryFn::logical_not:
      return a.sub(a.number(1), x);
    case UnaryFn::exp:
      return a.apply(Fn::exp, x);
    case UnaryFn::log:
      return a.apply(Fn::log, x);
    case UnaryFn::sqrt:
      return a.pow(x, {1, 2});
    case UnaryFn::rsqrt:
      return a.pow(x, {-1, 2});
    case UnaryFn::tanh:
      return a.apply(Fn::tanh, x);
    case UnaryFn::erf:
      return a.apply(Fn::erf, x);
    case UnaryFn::sin:
      return a.apply(Fn::sin, x);
    case UnaryFn::cos:
      return a.apply(Fn::cos, x);
    case UnaryFn::abs:
      return a.apply(Fn::abs, x);
    case UnaryFn::floor:
      return a.apply(Fn::floor, x);
  }
  throw std::logic_error("unary");
}

/// [x = y]; of two conditions 1 - x - y + 2 x y.
Nf equal(algebra::Algebra& a, Nf x, Nf y, bool conditions) {
  if (!conditions) return a.eq0(a.sub(x, y));
  return a.add(a.sub(a.sub(a.number(1), x), y), a.mul(a.number(2), a.mul(x, y)));
}

Nf binary(Context& c, BinaryFn fn, Nf x, Nf y, bool conditions) {
  algebra::Algebra& a = c.a;
  const Nf one = a.number(1);
  switch (fn) {
    case BinaryFn::add:
      return a.add(x, y);
    case BinaryFn::sub:
      return a.sub(x, y);
    case BinaryFn::mul:
    case BinaryFn::logical_and:
      return a.mul(x, y);
    case BinaryFn::div:
      return a.div(x, y);
    case BinaryFn::floordiv:
      return a.floordiv(x, y);
    case BinaryFn::mod:
      return a.mod(x, y);
    case BinaryFn::eq:
      return equal(a, x, y, conditions);
    case BinaryFn::ne:
      return a.sub(one, equal(a, x, y, conditions));
    case BinaryFn::lt:
      return a.lt0_real(a.sub(x, y));
    case BinaryFn::gt:
      return a.lt0_real(a.sub(y, x));
    case BinaryFn::le:
      return a.le0(a.sub(x, y));
    case BinaryFn::ge:
      return a.le0(a.sub(y, x));
    case BinaryFn::logical_or:
      return a.sub(a.add(x, y), a.mul(x, y));
    case BinaryFn::maximum:
      return a.maximum(x, y);
    case BinaryFn::minimum:
      return a.minimum(x, y);
    case BinaryFn::pow:
      return power(a, x, y);
  }
  throw std::logic_error("binary");
}

Nf cast(Context& c, Dtype from, Dtype to, Nf x) {
  algebra::Algebra& a = c.a;
  if (is_float(to) || to == from || to == Dtype::number || to == Dtype::key) return x;
  if (to == Dtype::boolean) return from == Dtype::boolean ? x : a.sub(a.number(1), a.eq0(x));
  if (to == Dtype::u32 && !a.known_nonnegative(x)) {
    algebra::LeafFacts facts;
    facts.integer = true;
    return a.opaque("u32", {}, {x}, facts);
  }
  if (a.known_integer(x)) return x;
  algebra::LeafFacts facts;
  facts.integer = true;
  return a.opaque("i32", {{{}, x}}, {}, facts);
}

Results same(Context& c, const Site& site) {
  return {c.typed(site.operand(0), site.result(0).type)};
}

}  // namespace

Results lower_op(Context& c, const ir::Number& op, const Site&) {
  return {{{}, number(c.a, op.text)}};
}

Results lower_op(Context& c, const ir::SizeOf& op, const Site&) {
  return {{{}, op.axis ? c.axis(op.name) : c.size(Dim{{op.name}})}};
}

Results lower_op(Context& c, const ir::Unary& op, const Site& site) {
  return pointwise(c, site, [&](const std::vector<Nf>& x) { return unary(c, op.fn, x[0]); });
}

Results lower_op(Context& c, const ir::Binary& op, const Site& site) {
  const bool conditions = site.type(0).dtype == Dtype::boolean;
  return pointwise(
      c, site, [&](const std::vector<Nf>& x) { return binary(c, op.fn, x[0], x[1], conditions); });
}

Results lower_op(Context& c, const ir::Where&, const Site& site) {
  return pointwise(c, site, [&](const std::vector<Nf>& x) { return c.a.where(x[0], x[1], x[2]); });
}

Results lower_op(Context& c, const ir::Cast& op, const Site& site) {
  const Dtype from = site.type(0).dtype;
  return pointwise(c, site, [&](const std::vector<Nf>& x) { return cast(c, from, op.to, x[0]); });
}

Results lower_op(Context& c, const ir::StopGrad&, const Site& site) { return same(c, site); }
Results lower_op(Context& c, const ir::Save&, const Site& site) { return same(c, site); }
Results lower_op(Context& c, const ir::Ascribe&, const Site& site) { return same(c, site); }

Results lower_op(Context& c, const ir::Total&, const Site& site) {
  Nf total = c.a.number(0);
  for (size_t i = 0; i < site.instr.operands.size(); ++i)
    total = c.a.add(total, site.operand(i).body);
  return {{{}, total}};
}

}  // namespace shardproof::lower
