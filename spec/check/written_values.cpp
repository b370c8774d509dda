#include "spec/check/written_values.h"

#include <algorithm>

namespace shardproof {
namespace {

using syntax::Expr;

/// The last argument is the value, and the call does not change it.
bool keeps_its_value(const Expr& expr) {
  if (expr.kind == Expr::Kind::cast) return true;
  if (expr.kind != Expr::Kind::call || expr.each) return false;
  for (const char* name :
       {"all_gather", "all_reduce", "psum_scatter", "slice", "fan_out", "save", "stop_grad",
        "zero_nonroot", "zero_pad", "all_to_all", "psum", "reduce_scatter"})
    if (expr.text == name) return true;
  return false;
}

const Expr* last_value(const Expr& expr) {
  for (auto each = expr.args.rbegin(); each != expr.args.rend(); ++each)
    if (each->kind != Expr::Kind::string && each->kind != Expr::Kind::dtype) return &*each;
  return nullptr;
}

}  // namespace

const WrittenName* find_name(const WrittenScope* scope, const Name& name) {
  for (; scope; scope = scope->outer)
    if (const auto found = scope->names.find(name); found != scope->names.end())
      return &found->second;
  return nullptr;
}

void WrittenFunctions::add(syntax::File file) {
  files_.push_back(std::make_unique<syntax::File>(std::move(file)));
  for (const syntax::Declaration& each : files_.back()->declarations)
    if (const auto* function = std::get_if<syntax::FunctionDecl>(&each))
      functions_.try_emplace(function->name, function);
}

const syntax::FunctionDecl* WrittenFunctions::find(const Name& name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

WrittenScope& WrittenFunctions::made() {
  scopes_.push_back(std::make_unique<WrittenScope>());
  return *scopes_.back();
}

void WrittenFunctions::read(const syntax::Block& block, WrittenScope& scope) {
  const auto add = [&](const std::vector<Expr>& values) {
    for (const Expr& each : values) scope.returned.push_back(&each);
  };
  std::vector<const syntax::Emit*> emitted;
  for (const syntax::Statement& statement : block) {
    if (const auto* bind = std::get_if<syntax::Bind>(&statement.node)) {
      for (size_t i = 0; i < bind->targets.size(); ++i) {
        WrittenName meant{WrittenName::Kind::value, nullptr, nullptr, &scope, i,
                          statement.range.begin};
        if (!bind->value.empty()) meant.expr = &bind->value[0];
        if (!bind->loop.empty()) meant.loop = &bind->loop[0];
        scope.names[bind->targets[i].name] = meant;
      }
    } else if (const auto* returned = std::get_if<syntax::Return>(&statement.node)) {
      add(returned->values);
    } else if (const auto* next = std::get_if<syntax::Next>(&statement.node)) {
      add(next->values);
    } else if (const auto* emit = std::get_if<syntax::Emit>(&statement.node)) {
      emitted.push_back(emit);
    }
  }
  for (const syntax::Emit* emit : emitted) add(emit->values);
}

const WrittenScope* WrittenFunctions::scope_of(const syntax::FunctionDecl& function) {
  const WrittenScope*& known = of_functions_[&function];
  if (known) return known;
  WrittenScope& scope = made();
  size_t number = 0;
  for (const auto* params : {&function.params, &function.saved})
    for (const syntax::Param& param : *params)
      for (const Name& name : param.group.names)
        scope.names[name] = {WrittenName::Kind::parameter, nullptr, nullptr, nullptr, number++,
                             param.group.range.begin};
  read(function.body, scope);
  return known = &scope;
}

const WrittenScope* WrittenFunctions::scope_of_call(const syntax::FunctionDecl& function,
                                                    const Written& call) {
  const auto [known, fresh] = of_calls_.try_emplace({&function, call}, nullptr);
  if (!fresh) return known->second;
  const std::vector<Expr>& args = call.expr->args;
  if (function.pattern || call.expr->each) return nullptr;
  WrittenScope& scope = made();
  scope = *scope_of(function);
  for (auto& [name, meant] : scope.names) {
    if (meant.kind == WrittenName::Kind::value) meant.scope = &scope;
    if (meant.kind != WrittenName::Kind::parameter) continue;
    if (meant.number >= args.size()) return nullptr;
    meant = {WrittenName::Kind::passed, &args[meant.number], nullptr, call.scope, 0, meant.begin};
  }
  return known->second = &scope;
}

const WrittenScope* WrittenFunctions::scope_of_loop(const syntax::Loop& loop,
                                                    const WrittenScope& outer) {
  const WrittenScope*& known = of_loops_[{&loop, &outer}];
  if (known) return known;
  WrittenScope& scope = made();
  scope.outer = &outer;
  scope.depth = outer.depth + 1;
  for (size_t i = 0; i < loop.variables.size(); ++i)
    scope.names[loop.variables[i]] = {WrittenName::Kind::index, nullptr, nullptr, &scope, i, 0};
  for (size_t i = 0; i < loop.carries.size(); ++i)
    scope.names[loop.carries[i].name] = {WrittenName::Kind::carry,   nullptr, nullptr, &scope, i,
                                         loop.carries[i].range.begin};
  read(loop.body, scope);
  return known = &scope;
}

Written WrittenFunctions::seen_through(Written at) {
  while (at.expr) {
    const Expr& expr = *at.expr;
    if (keeps_its_value(expr)) {
      const Expr* value = last_value(expr);
      if (!value) return at;
      at = {value, nullptr, at.scope, 0};
      continue;
    }
    if (expr.kind != Expr::Kind::name) return at;
    const WrittenName* meant = find_name(at.scope, expr.text);
    if (!meant || (!meant->expr && !meant->loop)) return at;
    at = {meant->expr, meant->loop, meant->scope,
          meant->kind == WrittenName::Kind::value ? meant->number : 0};
  }
  return at;
}

std::optional<Written> WrittenFunctions::inside(const Written& call) {
  if (!call.expr || call.expr->kind != Expr::Kind::call) return std::nullopt;
  const syntax::FunctionDecl* function = find(call.expr->text);
  if (!function || !function->has_body) return std::nullopt;
  const WrittenScope* scope = scope_of_call(*function, {call.expr, nullptr, call.scope, 0});
  if (!scope || scope->returned.empty()) return std::nullopt;
  if (call.result < scope->returned.size())
    return Written{scope->returned[call.result], nullptr, scope, 0};
  return Written{scope->returned[0], nullptr, scope, call.result};  // `return f(x)` of several
}

}  // namespace shardproof
