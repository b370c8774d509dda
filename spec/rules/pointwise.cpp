// Pointwise ops: dims are matched by name; one operand has all of them.
#include <algorithm>

#include "spec/elaborate/elaborate.h"
#include "spec/rules/combine.h"
#include "spec/rules/product.h"
#include "spec/rules/split.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

size_t widest(const Application& app, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i)
    if (app.type(i).dims.size() > app.type(best).dims.size()) best = i;
  return best;
}

bool linear(Role role) { return role == Role::term || role == Role::factor; }

/// The type to continue with after an error: a U of an operand in which the op is linear stays U.
void guess(Application& app, size_t all, const std::vector<Role>& roles, Dtype dtype) {
  Type type = app.type(all);
  type.dtype = dtype;
  type.marks.clear();
  for (size_t i = 0; i < roles.size(); ++i)
    if (linear(roles[i]))
      for (const auto& [axis, mark] : app.type(i).marks)
        if (mark != Mark::Max && state(type, axis) == State::R) type.marks[axis] = mark;
  app.guess = {type};
}

Types pointwise(Application& app, const std::vector<Role>& roles, Dtype dtype) {
  const size_t all = widest(app, roles.size());
  guess(app, all, roles, dtype);
  std::vector<const Shape*> shapes;
  for (size_t i = 0; i < roles.size(); ++i) shapes.push_back(&app.type(i));
  app.completed.indices = elaborate::whole_positions(app.program, shapes, app.type(all));
  for (size_t i = 0; i < roles.size(); ++i) {
    for (const ir::Position& position : app.pattern.indices.left[i])
      if (!std::count(app.pattern.indices.right.begin(), app.pattern.indices.right.end(), position))
        refuse({.code = "E0305",
                .message = app.name +
                           ": no operand has all dims: " + show(app.program, app.type(i)) +
                           " and " + show(app.program, app.type(all)),
                .label = "there is no outer broadcasting: write expand or einsum",
                .operand = i});
    need_alike(app, i, all);
  }
  Type result = app.type(all);
  result.dtype = dtype;
  result.marks = combine(app, roles);
  return one(std::move(result));
}

std::vector<Role> roles(ir::UnaryFn fn) {
  switch (fn) {
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, role, ...) \
  case ir::UnaryFn::id:                                                    \
    return {Role::role};
#include "spec/ir/pointwise.def"
  }
  throw std::logic_error("no such function of one operand");
}

std::vector<Role> roles(ir::BinaryFn fn) {
  switch (fn) {
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, role_a, role_b, ...) \
  case ir::BinaryFn::id:                                                      \
    return {Role::role_a, Role::role_b};
#include "spec/ir/pointwise.def"
  }
  throw std::logic_error("no such function of two operands");
}

std::vector<Role> roles(const ir::Where&) { return {Role::argument, Role::term, Role::term}; }

}  // namespace

Types rule(Application& app, const ir::Unary& op) {
  return pointwise(app, roles(op.fn), gives_truth(op.fn) ? Dtype::boolean : common_dtype(app));
}

Types rule(Application& app, const ir::Binary& op) {
  const Dtype dtype = gives_truth(op.fn) ? Dtype::boolean : common_dtype(app);
  if (dtype == Dtype::boolean) app.forget_gradients();
  return pointwise(app, roles(op.fn), dtype);
}

Types rule(Application& app, const ir::Where& op) {
  Dtype dtype = Dtype::number;
  for (size_t i = 1; i < app.operands.size(); ++i)
    if (dtype == Dtype::number) dtype = app.type(i).dtype;
  return pointwise(app, roles(op), dtype);
}

/// None for ops whose operands are not sorted by what is linear in them.
static std::vector<Role> roles(const ir::Op& op) {
  if (auto* unary = std::get_if<ir::Unary>(&op)) return roles(unary->fn);
  if (auto* binary = std::get_if<ir::Binary>(&op)) return roles(binary->fn);
  if (auto* where = std::get_if<ir::Where>(&op)) return roles(*where);
  if (auto* einsum = std::get_if<ir::Einsum>(&op)) return roles(*einsum);
  if (auto* reduce = std::get_if<ir::Reduce>(&op)) return roles(*reduce);
  return {};
}

}  // namespace shardproof::rules

namespace shardproof {

bool refuses_unreduced(const ir::Op& op, const std::vector<Operand>& operands, const Axis& axis) {
  const std::vector<rules::Role> roles = rules::roles(op);
  size_t factors = 0;
  for (size_t i = 0; i < roles.size() && i < operands.size(); ++i) {
    const rules::State state = rules::state(operands[i].type, axis);
    const bool sum = state == rules::State::U;
    if (state == rules::State::S || (sum && !rules::linear(roles[i]))) return true;
    if (roles[i] == rules::Role::term && !sum && operands[i].number != 0.0) return true;
    factors += sum && roles[i] == rules::Role::factor;
  }
  return factors > 1;
}

}  // namespace shardproof
