#include <algorithm>
#include <cmath>

#include "impl/compile/ops.h"
#include "kernels/cpu/kernels.h"
#include "spec/elaborate/elaborate.h"

namespace shardproof::compile {
namespace {

PointwiseFn fn_of(ir::UnaryFn fn) {
  switch (fn) {
#define SHARDPROOF_UNARY(id, ...) \
  case ir::UnaryFn::id:           \
    return PointwiseFn::id;
#include "spec/ir/pointwise.def"
  }
  throw std::logic_error("no such function of one operand");
}

PointwiseFn fn_of(ir::BinaryFn fn) {
  switch (fn) {
#define SHARDPROOF_BINARY(id, ...) \
  case ir::BinaryFn::id:           \
    return PointwiseFn::id;
#include "spec/ir/pointwise.def"
  }
  throw std::logic_error("no such function of two operands");
}

bool is_real(Dtype dtype) { return is_float(dtype) || dtype == Dtype::number; }

/// Operand i, if a chain can read it: it has the result's dims, or is in memory.
ExpressionPtr argument(const Site& site, size_t i, int64_t entries) {
  const ExpressionPtr& own = site.expression(i);
  const Ids to = matched(site.placement().program(), site.type(i), site.result_type());
  if (own->kind != Expression::Kind::apply) return placed(own, to);
  int64_t count = 1;
  for (int64_t extent : site.scope.extents->of(site.instr.operands[i])) count *= extent;
  if (count != entries) site.ref(i);  // computed once and then repeated
  return placed(site.expression(i), to);
}

int64_t entries_of(const Site& site) {
  int64_t count = 1;
  for (int64_t extent : site.extents()) count *= extent;
  return count;
}

/// A function of the operands' entries. If all operands are numbers, so is the result.
void chain(const Site& site, PointwiseFn fn, bool real) {
  std::vector<ExpressionPtr> arguments;
  const int64_t entries = entries_of(site);
  for (size_t i = 0; i < site.operands(); ++i) arguments.push_back(argument(site, i, entries));
  site.define(apply_to(fn, real, site.element(), std::move(arguments)));
}

/// The value of a function of constants, in double.
std::optional<double> known(const Site& site, PointwiseFn fn) {
  Pointwise program;
  program.f64 = true;
  std::vector<double> values;
  for (size_t i = 0; i < site.operands(); ++i) {
    if (site.expression(i)->kind != Expression::Kind::constant || !site.expression(i)->number)
      return std::nullopt;
    values.push_back(site.expression(i)->value);
    program.inputs.push_back(Element::f64);
  }
  std::vector<size_t> arguments;
  for (size_t i = 0; i < values.size(); ++i) arguments.push_back(i);
  program.steps.push_back({fn, true, arguments, 0, {}});
  const bool truth = site.result_type().dtype == Dtype::boolean;
  if (truth) program.steps.push_back({PointwiseFn::to_real, true, {values.size()}, 0, {}});
  program.output = Element::f64;
  std::vector<const void*> inputs;
  for (const double& value : values) inputs.push_back(&value);
  program.nest.strides.resize(values.size() + 1);
  double result = 0;
  cpu::run(program, &result, inputs.data());
  return result;
}

bool any_real(const Site& site, size_t first) {
  bool numbers = true;
  for (size_t i = first; i < site.operands(); ++i) {
    if (is_float(site.type(i).dtype)) return true;
    numbers = numbers && site.type(i).dtype == Dtype::number;
  }
  return numbers;
}

/// Nothing if a dim is not one of the result's as it is written, or is there more than once.
std::optional<Ids> matched_by_dims(const Shape& operand, const Shape& result) {
  Ids to;
  for (const Split& own : operand.dims) {
    const auto same = [&](const Split& each) { return each.dim == own.dim; };
    if (std::count_if(operand.dims.begin(), operand.dims.end(), same) > 1) return std::nullopt;
    const auto found = std::find_if(result.dims.begin(), result.dims.end(), same);
    if (found == result.dims.end() || std::any_of(found + 1, result.dims.end(), same))
      return std::nullopt;
    to.push_back(static_cast<size_t>(found - result.dims.begin()));
  }
  return to;
}

}  // namespace

Ids matched(const ir::Program& program, const Shape& operand, const Shape& result) {
  const auto same = [](const Split& a, const Split& b) { return a.dim == b.dim; };
  if (std::equal(operand.dims.begin(), operand.dims.end(), result.dims.begin(), result.dims.end(),
                 same))
    return first_ids(operand.dims.size());
  if (const auto to = matched_by_dims(operand, result)) return *to;
  const ir::Indices in = elaborate::whole_positions(program, {operand}, result);
  Ids to;
  for (const ir::Position& own : in.left.at(0)) {
    const auto found = std::find(in.right.begin(), in.right.end(), own);
    if (found == in.right.end()) throw std::logic_error("a pointwise result lacks a dim");
    to.push_back(static_cast<size_t>(found - in.right.begin()));
  }
  return to;
}

void compile(const ir::Number& op, const Site& site) {
  site.define(constant_of(op.value, Element::f64, true));
}

void compile(const ir::SizeOf& op, const Site& site) {
  const int64_t size =
      op.axis ? site.placement().mesh().size(op.name) : site.placement().size(op.name);
  site.define(constant_of(static_cast<double>(size), Element::f64, true));
}

void compile(const ir::Unary& op, const Site& site) {
  if (auto value = known(site, fn_of(op.fn)))
    return site.define(constant_of(*value, Element::f64, true));
  chain(site, fn_of(op.fn), is_real(site.type(0).dtype));
}

void compile(const ir::Binary& op, const Site& site) {
  if (site.result_type().dtype == Dtype::number)
    if (auto value = known(site, fn_of(op.fn)))
      return site.define(constant_of(*value, Element::f64, true));
  chain(site, fn_of(op.fn), any_real(site, 0));
}

void compile(const ir::Where&, const Site& site) {
  chain(site, PointwiseFn::where, any_real(site, 1));
}

void compile(const ir::Cast& op, const Site& site) {
  const Dtype from = site.type(0).dtype;
  const Element to = site.compiler.element(op.to);
  const ExpressionPtr& x = site.expression(0);
  if (x->kind == Expression::Kind::constant && op.to != Dtype::boolean)
    return site.define(constant_of(is_float(op.to) ? x->value : std::trunc(x->value), to));
  if (op.to == Dtype::boolean)
    return site.define(apply_to(PointwiseFn::to_boolean, is_real(from), to, {x}));
  if (is_float(op.to) && !is_real(from))
    return site.define(apply_to(PointwiseFn::to_real, true, to, {x}));
  if (!is_float(op.to) && is_real(from))
    return site.define(apply_to(PointwiseFn::to_integer, true, to, {x}));
  if (x->element == to) return site.define(x);
  // Between two floats or two integers: x, rounded to the new element.
  const bool real = is_real(from);
  const auto cast = [&] {
    return apply_to(real ? PointwiseFn::mul : PointwiseFn::add, real, to,
                    {site.expression(0), constant_of(real ? 1 : 0, to)});
  };
  // With several readers, keep the narrow value, and let each reader widen it.
  if (!real || size_of(to) <= size_of(x->element) || !site.has_several_uses_here())
    return site.define(cast());
  site.ref(0);
  site.define_anew_for_each(cast());
}

void compile(const ir::Fold& op, const Site& site) {
  std::vector<ExpressionPtr> arguments{site.expression(0)};
  if (!op.tag) arguments.push_back(site.expression(1));
  site.define(apply_to(op.tag ? PointwiseFn::fold_tag : PointwiseFn::fold, false, Element::u64,
                       std::move(arguments), op.tag.value_or("")));
}

void compile(const ir::StopGrad&, const Site& site) { site.define(site.expression(0)); }
void compile(const ir::Save&, const Site& site) { site.define(site.expression(0)); }

// The dims may have new names.
void compile(const ir::Ascribe&, const Site& site) {
  if (site.expression(0)->kind == Expression::Kind::constant)
    return site.define(site.expression(0));
  site.define(site.ref(0));
}

void compile(const ir::Zeros& op, const Site& site) {
  site.define(constant_of(0, site.compiler.element(op.dtype)));
}

// The sum of the operands. On a marked axis, a copy counts on device 0 only.
void compile(const ir::Total& op, const Site& site) {
  ExpressionPtr sum;
  for (size_t i = 0; i < site.operands(); ++i) {
    bool counts = true;
    for (const auto& [axis, mark] : op.marks) {
      const auto own = site.type(i).marks.find(axis);
      const bool unreduced = own != site.type(i).marks.end() && own->second == Mark::U;
      if (mark == Mark::U && !unreduced)
        counts = counts && site.placement().mesh().digit(site.placement().rank(), axis) == 0;
    }
    const ExpressionPtr term = counts ? site.expression(i) : constant_of(0, site.element());
    sum = sum ? apply_to(PointwiseFn::add, true, site.element(), {sum, term}) : term;
  }
  site.define(sum);
}

}  // namespace shardproof::compile
