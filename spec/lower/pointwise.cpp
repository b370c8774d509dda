// Scalar ops, entry by entry. Conditions are 0 or 1.
#include "spec/lower/context.h"

namespace shardproof::lower {

/// pow with a constant exponent is a root or a power; else exp(y log x) if x is known to be
/// positive.
Nf power(algebra::Algebra& a, Nf x, Nf y) {
  if (auto exponent = a.as_number(y)) return a.pow(x, *exponent);
  return a.power(x, y);
}

namespace {

using algebra::Fn;
using ir::BinaryFn;
using ir::UnaryFn;

/// x if it is an integer, else an uninterpreted integer function of x.
Nf rounded(algebra::Algebra& a, const std::string& name, Nf x) {
  if (a.known_integer(x)) return x;
  algebra::LeafFacts facts;
  facts.integer = true;
  return a.opaque(name, {{{}, x}}, {}, facts);
}

template <class F>
Results pointwise(Context& c, const Site& site, F f) {
  Context::Entries all = c.entries(site);
  return {{std::move(all.right), f(all.operands)}};
}

/// [x = y]; for two conditions 1 - x - y + 2 x y.
Nf equal(algebra::Algebra& a, Nf x, Nf y, bool conditions) {
  if (!conditions) return a.eq0(a.sub(x, y));
  return a.add(a.sub(a.sub(a.number(1), x), y), a.mul(a.number(2), a.mul(x, y)));
}

}  // namespace

Nf unary(algebra::Algebra& a_, UnaryFn fn, Nf x) {
  switch (fn) {
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, roles, strict, bits, grows, real, \
                         whole, block, exact, algebra, pull)                                      \
  case UnaryFn::id:                                                                               \
    return algebra;
#include "spec/ir/pointwise.def"
  }
  throw std::logic_error("no such function of one operand");
}

Nf binary(algebra::Algebra& a_, BinaryFn fn, Nf a, Nf b, bool conditions) {
  switch (fn) {
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, role_a, role_b, strict, bits, real, \
                          whole, exact, algebra, pull_a, pull_b)                             \
  case BinaryFn::id:                                                                         \
    return algebra;
#include "spec/ir/pointwise.def"
  }
  throw std::logic_error("no such function of two operands");
}

namespace {

Nf cast(Context& c, Dtype from, Dtype to, Nf x) {
  algebra::Algebra& a = c.a;
  if (is_float(to) || to == from || to == Dtype::number || to == Dtype::key) return x;
  if (to == Dtype::boolean) return from == Dtype::boolean ? x : a.sub(a.number(1), a.eq0(x));
  if (to == Dtype::u32 && !a.known_nonnegative(x)) {
    algebra::LeafFacts facts;
    facts.integer = true;
    return a.opaque("u32", {}, {x}, facts);
  }
  return rounded(a, "i32", x);
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
  return pointwise(c, site, [&](const std::vector<Nf>& x) { return unary(c.a, op.fn, x[0]); });
}

Results lower_op(Context& c, const ir::Binary& op, const Site& site) {
  const bool conditions = site.type(0).dtype == Dtype::boolean;
  return pointwise(c, site, [&](const std::vector<Nf>& x) {
    return binary(c.a, op.fn, x[0], x[1], conditions);
  });
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
