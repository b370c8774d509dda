// Gradients of pointwise ops: those of spec/ir/pointwise.def as text. g is U if the operands are
// copies; each gradient is linear in it.
#include <algorithm>
#include <functional>
#include <optional>

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

bool is_zero(Ref x) {
  const auto* op = std::get_if<ir::Op>(&x.node->op);
  const auto* number = op ? std::get_if<ir::Number>(op) : nullptr;
  return number && number->value == 0;
}

/// Whether op multiplies operand i by one number for all entries; `scalar(k)`: operand k has no
/// dims.
bool scales(const ir::Op& op, size_t i, const std::function<bool(size_t)>& scalar) {
  if (const auto* unary = std::get_if<ir::Unary>(&op)) return unary->fn == ir::UnaryFn::neg;
  const auto* binary = std::get_if<ir::Binary>(&op);
  if (!binary) return std::holds_alternative<ir::Cast>(op);
  if (binary->fn == ir::BinaryFn::div) return i == 0 && scalar(1);
  return binary->fn == ir::BinaryFn::mul && scalar(1 - i);
}

bool adds(const ir::Op& op) {
  const auto* binary = std::get_if<ir::Binary>(&op);
  return binary && (binary->fn == ir::BinaryFn::add || binary->fn == ir::BinaryFn::sub);
}

/// Whether two masks can stand in one `and`: one of them has all dims.
bool combine(const Type& a, const Type& b) {
  const auto within = [](const Type& part, const Type& all) {
    return std::all_of(part.dims.begin(), part.dims.end(), [&](const Split& split) {
      return std::count(all.dims.begin(), all.dims.end(), split) > 0;
    });
  };
  return within(a, b) || within(b, a);
}

/// g as `where(mask, value, 0)`: masks around masks are one, or each gradient below n of them would
/// repeat all n. No mask: g has none.
Masked masked(Graph& graph, Ref g) {
  const auto known = graph.masks.find(g);
  if (known != graph.masks.end()) return known->second;
  const auto* op = std::get_if<ir::Op>(&g.node->op);
  if (!op) return {};
  const std::vector<Ref> parts = g.node->operands;
  Emit e(graph, *g.node->block);
  Masked made;
  const auto scalar = [&](size_t k) { return type_of(parts[k]).dims.empty(); };
  for (size_t i = 0; i < parts.size() && !made.mask; ++i)
    if (scales(*op, i, scalar) && !scalar(i)) {
      made = masked(graph, parts[i]);
      if (!made.mask) continue;
      std::vector<Ref> scaled = parts;
      scaled[i] = made.value;
      made.value = e.op(*op, scaled);
    }
  if (std::holds_alternative<ir::Where>(*op)) {
    const bool then = is_zero(parts[2]);
    const Ref kept = parts[then ? 1 : 2];
    if (is_zero(parts[then ? 2 : 1]) && type_of(kept).dims == type_of(g).dims) {
      made = {parts[0], kept, then};
      const Masked inner = masked(graph, kept);
      if (inner.mask && combine(type_of(made.mask), type_of(inner.mask))) {
        const auto holds = [&](const Masked& m) {
          return m.where_true ? m.mask : e.unary(ir::UnaryFn::logical_not, m.mask);
        };
        const Ref outer = holds(made);
        made = {e.binary(ir::BinaryFn::logical_and, outer, holds(inner)), inner.value, true};
      }
    }
  }
  return graph.masks[g] = made;
}

/// What `make` gives for g, in which it is linear. For `where(c, h, 0)`: `where(c, make(h), 0)`,
/// which is zero where c is false even where the derivative overflows. No value if g has no mask.
std::optional<Ref> under_mask(Emit& e, Ref g, const std::function<Ref(Ref)>& make) {
  const Masked m = masked(e.graph, g);
  if (!m.mask) return {};
  const auto inside = under_mask(e, m.value, make);  // a mask of other dims
  const Ref made = inside ? *inside : make(m.value), zero = e.number("0");
  return m.where_true ? e.where(m.mask, made, zero) : e.where(m.mask, zero, made);
}

/// The gradient of operand i, given that of the result.
Ref pulled(Pull& p, const ir::Unary& op, size_t, Ref g) {
  return ir::pulled(op.fn, given(g), operand(0), result()).emit(p);
}
Ref pulled(Pull& p, const ir::Binary& op, size_t i, Ref g) {
  return ir::pulled(op.fn, i, given(g), operand(0), operand(1), result()).emit(p);
}
template <class Op>
Ref gradient(Pull& p, const Op& op, size_t i) {
  const auto make = [&](Ref g) { return pulled(p, op, i, g); };
  const auto scalar = [&](size_t k) { return p.in(k).type.dims.empty(); };
  const bool uniform = adds(op) || scales(op, i, scalar);
  const auto masked = uniform ? std::nullopt : under_mask(p.emit, p.g(), make);
  return masked ? *masked : make(p.g());
}

}  // namespace

void pull(Pull& p, const ir::Unary& op) {
  if (has_gradient(op.fn)) p.give(0, gradient(p, op, 0));
}

void pull(Pull& p, const ir::Binary& op) {
  if (!has_gradient(op.fn)) p.none(ir::name_of(op.fn));
  for (size_t i : {0, 1})
    if (p.wants(i)) p.give_pointwise(i, gradient(p, op, i));
}

void pull(Pull& p, const ir::Where&) {
  Emit& e = p.emit;
  const Ref g = p.g(), zero = e.number("0");
  if (p.wants(1)) p.give_pointwise(1, e.where(p.x(0), g, zero));
  if (p.wants(2)) p.give_pointwise(2, e.where(p.x(0), zero, g));
}

void pull(Pull& p, const ir::Cast&) { p.give(0, p.g()); }

}  // namespace shardproof::grad
