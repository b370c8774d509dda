// Gradients of pointwise ops, from spec/ir/pointwise.def, summed over the indices that an operand
// lacks.
#include <variant>

#include "spec/lower/derivative.h"

namespace shardproof::lower {

namespace {

/// A normal form, or a number to be converted to one: the type that evaluates the derivatives'
/// text.
struct Term : ir::Notation<Term> {
  algebra::Algebra* algebra = nullptr;  ///< null: the term is a number
  std::variant<Nf, double> is;
  Term(double number) : is(number) {}
  Term(algebra::Algebra& a, Nf x) : algebra(&a), is(x) {}

  Nf in(algebra::Algebra& a) const {
    if (const Nf* x = std::get_if<Nf>(&is)) return *x;
    return number(a, ir::digits(std::get<double>(is)));
  }
  static Term unary(ir::UnaryFn fn, const Term& x) {
    algebra::Algebra& a = *x.algebra;
    return {a, lower::unary(a, fn, x.in(a))};
  }
  static Term binary(ir::BinaryFn fn, const Term& x, const Term& y) {
    algebra::Algebra& a = *(x.algebra ? x : y).algebra;
    return {a, lower::binary(a, fn, x.in(a), y.in(a))};
  }
  static Term choice(const Term& c, const Term& x, const Term& y) {
    algebra::Algebra& a = *c.algebra;
    return {a, a.where(c.in(a), x.in(a), y.in(a))};
  }
};

void share(Pull& p, const Indices& in, size_t i, Nf gradient) {
  p.give_sum(i, in.left(i), in.right(), gradient);
}

void identity(Pull& p) {
  const Vars& index = p.site.operand(0).index;
  if (p.wants(0)) p.give(0, {index, p.gradient(index)});
}

Term result(Pull& p, const Indices& in) {
  return {p.c.a, p.c.at(*p.site.frame.values.at(p.site.instr.results[0]), in.right())};
}

}  // namespace

void pull_op(Pull& p, const ir::Unary& op) {
  if (!p.wants(0) || !has_gradient(op.fn)) return;
  algebra::Algebra& a = p.c.a;
  const Indices in(p.c, p.site);
  const Term g(a, p.gradient(in.right())), x(a, in.operand(0));
  share(p, in, 0, ir::pulled(op.fn, g, x, result(p, in)).in(a));
}

void pull_op(Pull& p, const ir::Binary& op) {
  if (!has_gradient(op.fn)) return;
  algebra::Algebra& a = p.c.a;
  const Indices in(p.c, p.site);
  const Term g(a, p.gradient(in.right())), x(a, in.operand(0)), y(a, in.operand(1));
  for (size_t i : {0, 1})
    if (p.wants(i)) share(p, in, i, ir::pulled(op.fn, i, g, x, y, result(p, in)).in(a));
}

void pull_op(Pull& p, const ir::Where&) {
  const Indices in(p.c, p.site);
  algebra::Algebra& a = p.c.a;
  const Nf g = p.gradient(in.right()), condition = in.operand(0);
  if (p.wants(1)) share(p, in, 1, a.mul(g, condition));
  if (p.wants(2)) share(p, in, 2, a.mul(g, a.sub(a.number(1), condition)));
}

void pull_op(Pull& p, const ir::Cast&) { identity(p); }
void pull_op(Pull& p, const ir::Save&) { identity(p); }
void pull_op(Pull& p, const ir::Ascribe&) { identity(p); }

void pull_op(Pull& p, const ir::Total&) {
  for (size_t i = 0; i < p.site.instr.operands.size(); ++i)
    if (p.wants(i)) p.give(i, {{}, p.gradient({})});
}

}  // namespace shardproof::lower
