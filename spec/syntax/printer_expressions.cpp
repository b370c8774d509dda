// Expressions, with no more parentheses than precedence asks for.
#include "spec/syntax/parser.h"
#include "spec/syntax/printer.h"

namespace shardproof::syntax {
namespace {

// How tightly an expression binds: the level of the grammar that produces it.
enum Level {
  level_or,
  level_and,
  level_not,
  level_compare,
  level_sum,
  level_term,
  level_unary,
  level_postfix
};

Level binary_level(const std::string& text) {
  if (text == "or") return level_or;
  if (text == "and") return level_and;
  if (text == "+" || text == "-") return level_sum;
  if (text == "*" || text == "/" || text == "//" || text == "%" || text == "@") return level_term;
  return level_compare;
}

Level level_of(const Expr& expr) {
  if (expr.kind == Expr::Kind::binary) return binary_level(expr.text);
  if (expr.kind == Expr::Kind::unary) return expr.text == "not" ? level_not : level_unary;
  return level_postfix;
}

std::string at_level(const Expr& expr, Level level) {
  const std::string text = print(expr);
  return level_of(expr) < level ? "(" + text + ")" : text;
}

std::string print_binary(const Expr& expr) {
  const Level level = binary_level(expr.text);
  const auto tighter = static_cast<Level>(level + 1);
  // Chains lean to the left; comparisons do not chain.
  const Level left = level == level_compare ? tighter : level;
  return at_level(expr.args[0], left) + " " + expr.text + " " + at_level(expr.args[1], tighter);
}

// `2.x` would be a number without its digits.
std::string print_field(const Expr& expr) {
  const bool number = expr.args[0].kind == Expr::Kind::number;
  const std::string record = at_level(expr.args[0], level_postfix);
  return (number ? "(" + record + ")" : record) + "." + expr.text;
}

std::string print_unary(const Expr& expr) {
  if (expr.text == "not") return "not " + at_level(expr.args[0], level_compare);
  return "-" + at_level(expr.args[0], level_postfix);
}

std::string print_with(const Expr& expr) {
  std::vector<std::string> fields;
  for (size_t i = 1; i < expr.args.size(); ++i)
    fields.push_back(expr.arg_names[i] + " = " + print(expr.args[i]));
  return at_level(expr.args[0], level_postfix) + " with { " + join(fields, ", ") + " }";
}

// `jnp.sum(x, 0)`, `x.sum(0)`.
std::string print_foreign(const Expr& expr) {
  const bool method = expr.names[0].empty();
  const auto own = [&](const auto& all) {
    return std::decay_t<decltype(all)>(all.begin() + (method ? 1 : 0), all.end());
  };
  return (method ? at_level(expr.args[0], level_postfix) : expr.names[0]) + "." + expr.text +
         print_arguments(own(expr.args), own(expr.arg_names));
}

std::string print_call(const Expr& expr) {
  if (expr.text == "with") return print_with(expr);
  if (!expr.names.empty()) return print_foreign(expr);
  return (expr.each ? "each " : "") + expr.text + print_arguments(expr.args, expr.arg_names);
}

std::string print_gradient(const Expr& expr) {
  const std::string word = expr.kind == Expr::Kind::grad ? "grad(" : "value_and_grad(";
  const std::string wrt = expr.names.empty() ? "" : " wrt " + join(expr.names, ", ");
  return word + expr.text + wrt + ")" + print_arguments(expr.args, expr.arg_names);
}

}  // namespace

std::string print(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::number:
    case Expr::Kind::boolean:
    case Expr::Kind::name:
    case Expr::Kind::dtype:
      return expr.text;
    case Expr::Kind::string:
      return "\"" + expr.text + "\"";
    case Expr::Kind::size:
      return "|" + expr.text + "|";
    case Expr::Kind::call:
    case Expr::Kind::cast:
      return print_call(expr);
    case Expr::Kind::zeros:
      return "zeros(" + print(expr.type[0]) + ")";
    case Expr::Kind::grad:
    case Expr::Kind::value_and_grad:
      return print_gradient(expr);
    case Expr::Kind::field:
      return print_field(expr);
    case Expr::Kind::entry:
      return at_level(expr.args[0], level_postfix) + "[" + join(expr.names, ", ") + "]";
    case Expr::Kind::unary:
      return print_unary(expr);
    case Expr::Kind::binary:
      return print_binary(expr);
  }
  return "";
}

std::string print_arguments(const std::vector<Expr>& args, const std::vector<Name>& names) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool named = i < names.size() && !names[i].empty();
    parts.push_back((named ? names[i] + "=" : "") + print(args[i]));
  }
  return "(" + join(parts, ", ") + ")";
}

std::string print_list(const std::vector<Expr>& exprs) {
  std::vector<std::string> parts;
  for (const Expr& expr : exprs) parts.push_back(print(expr));
  return join(parts, ", ");
}

std::string print_sum(const Expr& expr) { return at_level(expr, level_sum); }

}  // namespace shardproof::syntax
