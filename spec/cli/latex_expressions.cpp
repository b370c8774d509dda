// Types and expressions of the notation as mathematics: `\sum_{M} x[B_d,M]\,w[M,F_t]`.
#include <algorithm>
#include <map>

#include "spec/cli/latex.h"
#include "spec/syntax/parser.h"

namespace shardproof::cli::latex {

using namespace syntax;

std::string escaped(const std::string& name) {
  static const std::map<char, std::string> spelled = {
      {'\\', "\\textbackslash{}"}, {'^', "\\textasciicircum{}"}, {'~', "\\textasciitilde{}"}};
  std::string result;
  for (char c : name) {
    if (const auto found = spelled.find(c); found != spelled.end()) {
      result += found->second;
      continue;
    }
    if (std::string("_%#&${}").find(c) != std::string::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string word(const std::string& text) { return "\\text{" + escaped(text) + "}"; }

std::string joined(const std::vector<std::string>& list, const std::string& between) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) text += (i > 0 ? between : "") + list[i];
  return text;
}

std::string names(const std::vector<Name>& list, const std::string& between) {
  std::vector<std::string> parts;
  for (const Name& name : list) parts.push_back(escaped(name));
  return joined(parts, between);
}

namespace {

std::string subscript(const std::string& text) { return "_{" + text + "}"; }

std::string dim_text(const SplitExpr& split) {
  if (split.kind == SplitExpr::Kind::ellipsis) return "\\ldots";
  if (split.kind == SplitExpr::Kind::star) return "\\ast";
  std::string text = names(split.names, "\\,");
  if (split.names.size() > 1) text = "(" + text + ")";
  if (split.axes.size() == 1 && split.axes[0].size() == 1)
    text += "_" + split.axes[0];
  else if (!split.axes.empty())
    text += subscript(names(split.axes, ","));
  return split.bracketed ? "\\underline{" + text + "}" : text;
}

std::string dims_text(const std::vector<SplitExpr>& dims) {
  std::vector<std::string> parts;
  for (const SplitExpr& split : dims) parts.push_back(dim_text(split));
  return "[" + joined(parts, ",") + "]";
}

std::string marks_text(const std::vector<MarkExpr>& marks) {
  std::vector<std::string> parts;
  for (const MarkExpr& mark : marks)
    parts.push_back(std::string(mark.either            ? "?"
                                : mark.mark == Mark::U ? "U"
                                : mark.mark == Mark::I ? "I"
                                                       : "\\text{Max}") +
                    (mark.axis.size() == 1 ? "_" + mark.axis : subscript(escaped(mark.axis))));
  return parts.empty() ? "" : "\\{" + joined(parts, "\\,") + "\\}";
}

std::string operand_text(const OperandExpr& operand) {
  if (operand.type_name.empty()) return shape(operand.dims, operand.marks);
  return word(operand.type_name) + shape(operand.dims, operand.marks);
}

/// How tightly an expression binds, as in the grammar.
enum Level { any, conjunct, negated, compared, summand, factor, signed_, postfix };

struct Sign {
  const char* text;
  Level level;
};

const Sign* sign_of(const std::string& op) {
  static const std::map<std::string, Sign> signs = {
      {"or", {" \\vee ", any}},     {"and", {" \\wedge ", conjunct}},
      {"==", {" = ", compared}},    {"!=", {" \\neq ", compared}},
      {"<", {" < ", compared}},     {">", {" > ", compared}},
      {"<=", {" \\le ", compared}}, {">=", {" \\ge ", compared}},
      {"+", {" + ", summand}},      {"-", {" - ", summand}},
      {"*", {" \\odot ", factor}},  {"/", {" / ", factor}},
      {"%", {" \\bmod ", factor}},  {"@", {" ", factor}}};  // refused, but printed
  const auto found = signs.find(op);
  return found == signs.end() ? nullptr : &found->second;
}

Level level_of(const Expr& expr) {
  if (expr.kind == Expr::Kind::binary) {
    const Sign* sign = sign_of(expr.text);
    return sign ? sign->level : postfix;  // a floor closes itself
  }
  if (expr.kind == Expr::Kind::unary) return expr.text == "not" ? negated : signed_;
  return postfix;
}

std::string at_level(const Expr& expr, Level level) {
  const std::string text = expression(expr);
  return level_of(expr) < level ? "(" + text + ")" : text;
}

bool is_number(const Expr& expr) {
  return expr.kind == Expr::Kind::number || expr.kind == Expr::Kind::size;
}

std::string binary_text(const Expr& expr) {
  const Expr &a = expr.args[0], &b = expr.args[1];
  if (expr.text == "//")
    return "\\lfloor " + at_level(a, factor) + " / " + at_level(b, signed_) + " \\rfloor";
  const Sign& sign = *sign_of(expr.text);
  const auto tighter = static_cast<Level>(sign.level + 1);
  const bool number = expr.text == "*" && (is_number(a) || is_number(b));
  return at_level(a, sign.level == compared ? tighter : sign.level) +
         (number ? " \\cdot " : sign.text) + at_level(b, tighter);
}

/// `1e-6` is 1 times a power of ten, and not a product with e.
std::string number_text(const std::string& text) {
  const size_t at = text.find_first_of("eE");
  if (at == std::string::npos || text.compare(0, 2, "0x") == 0) return text;
  return text.substr(0, at) + "\\times 10^{" + text.substr(at + 1) + "}";
}

/// The names of the operands that the result does not have, in their order.
std::vector<Name> contracted(const PatternExpr& pattern) {
  std::vector<Name> known, result;
  for (const SplitExpr& split : pattern.right->dims)
    known.insert(known.end(), split.names.begin(), split.names.end());
  for (const OperandExpr& operand : pattern.left)
    for (const SplitExpr& split : operand.dims)
      for (const Name& name : split.names) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        known.push_back(name);
        result.push_back(name);
      }
  return result;
}

/// `\sum_{M} x[B,M]\,w[M,F]`, or `\max`: einsum, sum and max where every operand names its indices.
std::optional<std::string> contraction(const Expr& expr, const std::string& stated) {
  const bool is_einsum = expr.text == "einsum";
  if (!is_einsum && expr.text != "sum" && expr.text != "max") return std::nullopt;
  if (expr.each || expr.args.empty() || expr.args[0].kind != Expr::Kind::string)
    return std::nullopt;
  std::vector<Diagnostic> unused;
  const auto pattern = parse_pattern(expr.args[0].text, {}, unused);
  if (!pattern || !pattern->right || pattern->has_working) return std::nullopt;
  size_t operands = expr.args.size() - 1;
  std::string dtype;
  if (operands > 0 && expr.arg_names.back() == "to" && expr.args.back().kind == Expr::Kind::dtype) {
    dtype = word(expr.args.back().text);
    --operands;
  }
  for (size_t i = 0; i <= operands; ++i)
    if (!expr.arg_names[i].empty()) return std::nullopt;
  if (operands != pattern->left.size() || is_einsum != (operands > 1)) return std::nullopt;
  const auto plain = [](const OperandExpr& operand) {
    return operand.type_name.empty() &&
           std::all_of(operand.dims.begin(), operand.dims.end(), [](const SplitExpr& split) {
             return !split.bracketed && split.kind == SplitExpr::Kind::dim;
           });
  };
  if (!std::all_of(pattern->left.begin(), pattern->left.end(), plain) || !plain(*pattern->right))
    return std::nullopt;
  const std::vector<Name> over = contracted(*pattern);
  if (over.empty() && !is_einsum) return std::nullopt;
  std::vector<std::string> factors;
  for (size_t i = 0; i < operands; ++i)
    factors.push_back(at_level(expr.args[i + 1], postfix) +
                      shape(pattern->left[i].dims, pattern->left[i].marks));
  std::string text = joined(factors, "\\,");
  if (!over.empty())
    text = std::string(expr.text == "max" ? "\\max" : "\\sum") + subscript(names(over, ",")) + " " +
           text;
  const std::string result = dtype + shape(pattern->right->dims, pattern->right->marks);
  if (!stated.empty() && result == stated) return text;
  return "\\left[" + text + "\\right]" + subscript(result);
}

std::string function_text(const Expr& expr, bool has_pattern) {
  static const std::map<std::string, std::string> collectives = {{"all_gather", "AllGather"},
                                                                 {"all_reduce", "AllReduce"},
                                                                 {"psum_scatter", "ReduceScatter"},
                                                                 {"all_to_all", "AllToAll"}};
  static const std::map<std::string, std::string> functions = {
      {"exp", "\\exp"},   {"log", "\\log"},     {"sin", "\\sin"},    {"cos", "\\cos"},
      {"tanh", "\\tanh"}, {"maximum", "\\max"}, {"minimum", "\\min"}};
  if (has_pattern) {
    const auto found = collectives.find(expr.text);
    return word(found == collectives.end() ? expr.text : found->second);
  }
  const auto found = functions.find(expr.text);
  return found == functions.end() ? word(expr.text) : found->second;
}

std::string with_text(const Expr& expr) {
  std::vector<std::string> fields;
  for (size_t i = 1; i < expr.args.size(); ++i)
    fields.push_back(escaped(expr.arg_names[i]) + "\\colon " + expression(expr.args[i]));
  return at_level(expr.args[0], postfix) + "\\ \\text{with}\\ \\{" + joined(fields) + "\\}";
}

std::string call_text(const Expr& expr, const std::string& stated) {
  if (expr.text == "with") return with_text(expr);
  if (const auto text = contraction(expr, stated)) return *text;
  const std::string each = expr.each ? "\\text{each}\\ " : "";
  const bool has_pattern = !expr.args.empty() && expr.args[0].kind == Expr::Kind::string;
  if (!has_pattern) return each + function_text(expr, false) + arguments(expr.args, expr.arg_names);
  const std::vector<Name> rest =
      expr.arg_names.empty() ? expr.arg_names
                             : std::vector<Name>(expr.arg_names.begin() + 1, expr.arg_names.end());
  return each + function_text(expr, true) + subscript(pattern_text(expr.args[0].text)) +
         arguments({expr.args.begin() + 1, expr.args.end()}, rest);
}

std::string gradient_text(const Expr& expr) {
  const std::string nabla =
      "\\nabla" + (expr.names.empty() ? " " : subscript(names(expr.names, ","))) + word(expr.text);
  const std::string args = arguments(expr.args, expr.arg_names);
  if (expr.kind == Expr::Kind::grad) return nabla + args;
  return "\\left(" + word(expr.text) + ",\\ " + nabla + "\\right)" + args;
}

}  // namespace

std::string shape(const std::vector<SplitExpr>& dims, const std::vector<MarkExpr>& marks) {
  return dims_text(dims) + marks_text(marks);
}

std::string type(const TypeExpr& type) {
  return word(type.name) + (type.has_dims ? dims_text(type.dims) : "") + marks_text(type.marks);
}

std::string group(const Group& group) {
  return group.names.empty() ? type(group.type)
                             : names(group.names, ",") + "\\colon " + type(group.type);
}

std::string pattern(const PatternExpr& pattern) {
  std::vector<std::string> operands;
  for (const OperandExpr& operand : pattern.left) operands.push_back(operand_text(operand));
  std::string text = joined(operands);
  if (pattern.right) text += " \\to " + operand_text(*pattern.right);
  if (pattern.has_working) text += ";\\ " + dims_text(pattern.working);
  return text;
}

std::string pattern_text(const std::string& text) {
  std::vector<Diagnostic> unused;
  const auto read = parse_pattern(text, {}, unused);
  return read ? pattern(*read) : "\\texttt{" + escaped(text) + "}";
}

std::string expression(const Expr& expr, const std::string& stated) {
  switch (expr.kind) {
    case Expr::Kind::number:
      return number_text(expr.text);
    case Expr::Kind::boolean:
    case Expr::Kind::dtype:
      return word(expr.text);
    case Expr::Kind::name:
      return escaped(expr.text);
    case Expr::Kind::string:
      return "\\texttt{" + escaped(expr.text) + "}";
    case Expr::Kind::size:
      return "|" + escaped(expr.text) + "|";
    case Expr::Kind::call:
      return call_text(expr, stated);
    case Expr::Kind::cast:
      return word(expr.text) + arguments(expr.args, expr.arg_names);
    case Expr::Kind::zeros:
      return "0" + subscript(type(expr.type[0]));
    case Expr::Kind::grad:
    case Expr::Kind::value_and_grad:
      return gradient_text(expr);
    case Expr::Kind::field: {
      const bool number = expr.args[0].kind == Expr::Kind::number;
      const std::string record = at_level(expr.args[0], postfix);
      return (number ? "(" + record + ")" : record) + "." + escaped(expr.text);
    }
    case Expr::Kind::entry:
      return at_level(expr.args[0], postfix) + subscript(names(expr.names, ","));
    case Expr::Kind::unary:
      return expr.text == "not" ? "\\lnot " + at_level(expr.args[0], compared)
                                : "-" + at_level(expr.args[0], postfix);
    case Expr::Kind::binary:
      return binary_text(expr);
  }
  return "";
}

std::string expressions(const std::vector<Expr>& list) {
  std::vector<std::string> parts;
  for (const Expr& expr : list) parts.push_back(expression(expr));
  return joined(parts);
}

std::string arguments(const std::vector<Expr>& args, const std::vector<Name>& arg_names) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool named = i < arg_names.size() && !arg_names[i].empty();
    parts.push_back((named ? escaped(arg_names[i]) + "\\colon " : "") + expression(args[i]));
  }
  return "(" + joined(parts) + ")";
}

}  // namespace shardproof::cli::latex
