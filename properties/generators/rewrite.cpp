#include "properties/generators/rewrite.h"

#include <algorithm>
#include <map>

namespace shardproof::properties {
namespace {

using namespace syntax;
using Names = std::map<Name, Name>;

void visit(Expr& expr, const std::function<void(Expr&)>& each) {
  for (Expr& arg : expr.args) visit(arg, each);
  each(expr);
}

void visit_exprs(Block& block, const std::function<void(Expr&)>& each);

void visit_exprs(Statement& statement, const std::function<void(Expr&)>& each) {
  std::visit(
      [&](auto& node) {
        using Node = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<Node, Require>) visit(node.condition, each);
        if constexpr (requires { node.values; })
          for (Expr& value : node.values) visit(value, each);
        if constexpr (std::is_same_v<Node, Bind>) {
          for (Expr& value : node.value) visit(value, each);
          for (Loop& loop : node.loop) {
            for (Carry& carry : loop.carries) visit(carry.init, each);
            visit_exprs(loop.body, each);
          }
        }
      },
      statement.node);
}

void visit_exprs(Block& block, const std::function<void(Expr&)>& each) {
  for (Statement& statement : block) visit_exprs(statement, each);
}

std::set<Name> names_used(Statement& statement) {
  std::set<Name> used;
  visit_exprs(statement, [&](Expr& expr) {
    if (expr.kind == Expr::Kind::name) used.insert(expr.text);
    if (expr.kind == Expr::Kind::entry) used.insert(expr.names.begin(), expr.names.end());
  });
  return used;
}

std::set<Name> names_bound(const Statement& statement) {
  std::set<Name> bound;
  if (auto* bind = std::get_if<Bind>(&statement.node))
    for (const Target& target : bind->targets) bound.insert(target.name);
  return bound;
}

void collect_targets(const Block& block, Names& renamed) {
  for (const Statement& statement : block)
    if (auto* bind = std::get_if<Bind>(&statement.node)) {
      for (const Target& target : bind->targets) renamed[target.name] = target.name + "_r";
      for (const Loop& loop : bind->loop) collect_targets(loop.body, renamed);
    }
}

void rename_targets(Block& block, const Names& renamed) {
  for (Statement& statement : block)
    if (auto* bind = std::get_if<Bind>(&statement.node)) {
      for (Target& target : bind->targets) target.name = renamed.at(target.name);
      for (Loop& loop : bind->loop) {
        for (Carry& carry : loop.carries)  // a result may have its carry's name
          if (renamed.contains(carry.name)) carry.name = renamed.at(carry.name);
        rename_targets(loop.body, renamed);
      }
    }
}

void each_body(File& file, const std::function<void(Block&)>& act) {
  for (Declaration& declaration : file.declarations)
    if (auto* function = std::get_if<FunctionDecl>(&declaration))
      if (function->has_body) act(function->body);
}

bool disjoint(const std::set<Name>& a, const std::set<Name>& b) {
  for (const Name& name : a)
    if (b.count(name)) return false;
  return true;
}

/// `stages` stays where it is: only the first stage of a pipeline has the values of the lines
/// before it.
bool may_move(const Statement& statement) {
  const auto* bind = std::get_if<Bind>(&statement.node);
  return bind && std::none_of(bind->loop.begin(), bind->loop.end(),
                              [](const Loop& loop) { return loop.kind == Loop::Kind::stages; });
}

void swap_in(Block& block, laws::Dice& dice) {
  for (size_t i = 0; i + 1 < block.size(); ++i) {
    if (!may_move(block[i]) || !may_move(block[i + 1]) || !dice.below(2)) continue;
    if (disjoint(names_bound(block[i]), names_used(block[i + 1])))
      std::swap(block[i], block[i + 1]);
  }
  for (Statement& statement : block)
    if (auto* bind = std::get_if<Bind>(&statement.node))
      for (Loop& loop : bind->loop) swap_in(loop.body, dice);
}

}  // namespace

void rename_values(File& file, laws::Dice&) {
  std::set<Name> saved;  // in `after P(..; saved)` the names of P's values are part of the claim
  for (Declaration& declaration : file.declarations)
    if (auto* function = std::get_if<FunctionDecl>(&declaration))
      for (const Param& param : function->saved)
        saved.insert(param.group.names.begin(), param.group.names.end());
  each_body(file, [&](Block& body) {
    Names renamed;
    collect_targets(body, renamed);
    for (auto& [from, to] : renamed)
      if (saved.count(from)) to = from;
    rename_targets(body, renamed);
    visit_exprs(body, [&](Expr& expr) {
      if (expr.kind == Expr::Kind::name && renamed.count(expr.text)) expr.text = renamed[expr.text];
    });
  });
}

void swap_independent_lines(File& file, laws::Dice& dice) {
  each_body(file, [&](Block& body) { swap_in(body, dice); });
}

void commute(File& file, laws::Dice& dice) {
  each_body(file, [&](Block& body) {
    visit_exprs(body, [&](Expr& expr) {
      const bool commutes =
          expr.kind == Expr::Kind::binary && (expr.text == "+" || expr.text == "*");
      if (commutes && dice.below(2)) std::swap(expr.args[0], expr.args[1]);
    });
  });
}

}  // namespace shardproof::properties
