// Gradients of pointwise ops: those of spec/ir/pointwise.def as text. g is U if the operands are
// copies; each gradient is linear in it.
#include <functional>

#include "spec/grad/pull.h"

namespace shardproof::grad {
namespace {

/// A value of the derived text, emitted on use: the type in which the derivatives are evaluated.
struct Term : ir::Notation<Term> {
  std::function<Ref(Pull&)> emit;
  Term(double number) : emit([number](Pull& p) { return p.emit.number(ir::digits(number)); }) {}
  Term(std::function<Ref(Pull&)> make) : emit(std::move(make)) {}

  static Term unary(ir::UnaryFn fn, const Term& x) {
    return {[=](Pull& p) { return p.emit.unary(fn, x.emit(p)); }};
  }
  static Term binary(ir::BinaryFn fn, const Term& a, const Term& b) {
    return {[=](Pull& p) {
      const Ref first = a.emit(p);
      return p.emit.binary(fn, first, b.emit(p));
    }};
  }
  static Term choice(const Term& c, const Term& a, const Term& b) {
    return {[=](Pull& p) {
      const Ref condition = c.emit(p), first = a.emit(p);
      return p.emit.where(condition, first, b.emit(p));
    }};
  }
};

Term given(Ref g) {
  return {[g](Pull&) { return g; }};
}
Term operand(size_t i) {
  return {[i](Pull& p) { return p.x(i); }};
}
Term result() {
  return {[](Pull& p) { return p.y(); }};
}

}  // namespace

void pull(Pull& p, const ir::Unary& op) {
  if (has_gradient(op.fn)) p.give(0, ir::pulled(op.fn, given(p.g()), operand(0), result()).emit(p));
}

void pull(Pull& p, const ir::Binary& op) {
  if (!has_gradient(op.fn)) p.none(ir::name_of(op.fn));
  const Term g = given(p.g());
  for (size_t i : {0, 1})
    if (p.wants(i))
      p.give_pointwise(i, ir::pulled(op.fn, i, g, operand(0), operand(1), result()).emit(p));
}

void pull(Pull& p, const ir::Where&) {
  Emit& e = p.emit;
  const Ref g = p.g(), zero = e.number("0");
  if (p.wants(1)) p.give_pointwise(1, e.where(p.x(0), g, zero));
  if (p.wants(2)) p.give_pointwise(2, e.where(p.x(0), zero, g));
}

void pull(Pull& p, const ir::Cast&) { p.give(0, p.g()); }

}  // namespace shardproof::grad
