// Expressions, from `or` down to what binds tightest but for the atoms.
#include <algorithm>
#include <cstdlib>

#include "spec/syntax/parser_impl.h"

namespace shardproof::syntax {

Expr Parser::expression() {
  const Deeper deeper(depth_);
  nest();
  return disjunction();
}

std::vector<Expr> Parser::expressions() {
  std::vector<Expr> result;
  do result.push_back(expression());
  while (accept(","));
  return result;
}

Expr Parser::disjunction() { return operation(Level::disjunction); }
Expr Parser::comparison() { return operation(Level::comparison); }
Expr Parser::sum() { return operation(Level::sum); }
Expr Parser::unary() { return prefixed("-", &Parser::postfix); }

Parser::Level Parser::level() const {
  switch (peek().key) {
    case key_of("or"):
      return Level::disjunction;
    case key_of("and"):
      return Level::conjunction;
    case key_of("="):  // meant as `==`, or of the next statement
    case key_of("=="):
    case key_of("!="):
    case key_of("<"):
    case key_of(">"):
    case key_of("<="):
    case key_of(">="):
      return Level::comparison;
    case key_of("+"):
    case key_of("-"):
      return Level::sum;
    case key_of("*"):
    case key_of("/"):
    case key_of("//"):
    case key_of("%"):
    case key_of("@"):
      return Level::term;
    default:
      return Level::none;
  }
}

namespace {

/// `a + b` for `+`.
const char* form_of(std::string_view sign) {
  static constexpr std::string_view forms[] = {"a or b", "a and b", "a + b",  "a - b",  "a * b",
                                               "a / b",  "a // b",  "a % b",  "a == b", "a != b",
                                               "a < b",  "a > b",   "a <= b", "a >= b"};
  for (std::string_view form : forms)
    if (form.substr(2, form.size() - 4) == sign) return form.data();
  return "a * b";
}

}  // namespace

/// An operand, and what follows it of the operators that bind at least as tightly as `lowest`.
Expr Parser::operation(Level lowest) {
  const bool negated = lowest <= Level::negation && at("not");
  Expr left = negated ? prefixed("not", &Parser::comparison) : unary();
  for (Level before = negated ? Level::negation : Level::unary;;) {
    const Level next = level();
    const bool compares = next == Level::comparison;
    if (next < lowest || next == Level::none || (compares && before <= next)) return left;
    if (compares && at("=")) not_a_comparison();
    const int left_height = height_;
    const std::string text(take().text);
    const Form form(form_, form_of(text));
    const auto tighter = static_cast<Level>(static_cast<int>(next) + 1);
    left = binary(text, std::move(left), left_height, operation(tighter));
    if (compares && at_comparison()) {
      Diagnostic diagnostic =
          error("E0002", range(peek()), "comparisons do not chain", "a second comparison");
      diagnostic.fixes.push_back(advice("write `a < b and b < c`, or parentheses"));
      fail(std::move(diagnostic));
    }
    before = next;
  }
}

bool Parser::at_comparison() const { return level() == Level::comparison && !at("="); }

void Parser::not_a_comparison() {
  if (at(">", 1)) fail("`>=`");
  if (pos_ >= 2 && (tokens_[pos_ - 2].text == "next" || tokens_[pos_ - 2].text == "emit"))
    not_named(tokens_[pos_ - 2], tokens_[pos_ - 1]);
  Diagnostic diagnostic = error("E0002", range(peek()), "`=` names a value, it does not compare");
  diagnostic.fixes.push_back(replace(range(peek()), "==", "to compare, write `==`"));
  fail(std::move(diagnostic));
}

/// `next a = x`: the values belong to the carries in their order.
void Parser::not_named(const Token& word, const Token& name) {
  const std::string own(word.text);
  Diagnostic diagnostic =
      error("E0002", since(name.begin), "`" + own + "` takes values without names");
  const std::string why = own == "next" ? "the values are those of the carries, in their order"
                                        : "the results get names before `= scan`";
  diagnostic.fixes.push_back(replace({file_, name.begin, peek(1).begin}, "", why));
  fail(std::move(diagnostic));
}

Expr Parser::binary(const std::string& text, Expr left, int left_height, Expr right) {
  Expr result;
  result.kind = Expr::Kind::binary;
  result.text = text;
  result.range = {file_, left.range.begin, right.range.end};
  grow(std::max(left_height, height_));
  result.args.push_back(std::move(left));
  result.args.push_back(std::move(right));
  return result;
}

// `-x`, `not x`. The operand binds tighter, so that neither is written twice without parentheses.
Expr Parser::prefixed(Spelling word, Rule operand) {
  if (!at(word)) return (this->*operand)();
  const Form form(form_, word.text == "-" ? "-x`, `-(-x)" : "not a`, `not (not a)");
  Expr result;
  result.kind = Expr::Kind::unary;
  const uint32_t begin = peek().begin;
  result.text = take().text;
  if (at(word)) {
    const std::string text(word.text);
    fail(error("E0002", range(peek()), "`" + text + "` twice in a row",
               "the inner one needs parentheses"));
  }
  result.args.push_back((this->*operand)());
  result.range = since(begin);
  grow(height_);
  return result;
}

/// `Layer[N](w = w)` is no constructor.
void Parser::refuse_stacked_record(const Expr& record, const std::vector<Name>& dims) {
  const std::string name = record.text, dim = dims.empty() ? "N" : dims[0];
  Diagnostic diagnostic =
      error("E0002", range(peek()), "`" + name + "[" + dim + "]` makes no record",
            "a stack of records is what a loop emits");
  diagnostic.fixes.push_back(
      advice("emit one for each entry: `scan n in " + dim + " { emit " + name + "(w = w[n]) }`"));
  fail(std::move(diagnostic));
}

// `x ** 2`.
void Parser::refuse_power(const Expr& base) {
  Diagnostic diagnostic =
      error("E0002", {file_, peek().begin, peek(1).end}, "`**` is not an operator");
  take();
  take();
  const Expr exponent = prefixed("-", &Parser::atom);
  const std::string power = "pow(" + print(base) + ", " + print(exponent) + ")";
  diagnostic.fixes.push_back(replace({file_, base.range.begin, exponent.range.end}, power,
                                     "a power is `pow(x, y)`: `" + power + "`"));
  fail(std::move(diagnostic));
}

/// Of the parameter of that name above: the names of its dims. Empty if it has none, or groups.
std::vector<Name> Parser::dims_of_parameter(std::string_view name) const {
  std::vector<Name> dims;
  for (size_t i = pos_; i-- > 0 && dims.empty();) {
    if (tokens_[i].text != name || tokens_[i].kind != Token::Kind::word) continue;
    size_t next = i + 1;
    while (tokens_[next].kind == Token::Kind::word) ++next;
    if (tokens_[next].text != ":" || tokens_[next + 1].kind != Token::Kind::word ||
        tokens_[next + 2].text != "[")
      continue;
    for (next += 3; tokens_[next].text != "]"; ++next) {
      if (tokens_[next].kind == Token::Kind::word)
        dims.emplace_back(tokens_[next].text);
      else if (tokens_[next].text == "/" && tokens_[next + 1].kind == Token::Kind::word)
        ++next;
      else
        return {};
    }
  }
  return dims;
}

// `x.shape[0]`, `x.size(0)`: at the bracket. The type of a parameter names the dim.
Fix Parser::size_of_dim(const Expr& tensor) const {
  Fix fix = advice("the size of the dim B is `|B|`");
  const bool last = at("-", 1);
  const Token& number = peek(last ? 2 : 1);
  const Token& close = peek(last ? 3 : 2);
  if (tensor.kind != Expr::Kind::name || number.kind != Token::Kind::number ||
      (close.text != "]" && close.text != ")"))
    return fix;
  std::vector<Name> dims = dims_of_parameter(tensor.text);
  if (last) std::reverse(dims.begin(), dims.end());
  const size_t at = static_cast<size_t>(std::atoi(std::string(number.text).c_str())) - last;
  if (at >= dims.size()) return fix;
  return replace({file_, tensor.range.begin, close.end}, "|" + dims[at] + "|",
                 "the size of a dim: `|" + dims[at] + "|`");
}

/// A name between the brackets; or `0`, `-1`, `1:`, `:`, `...` of Python, which resolution refuses.
std::string Parser::entry() {
  if (at_word() && !at(":", 1)) return name("the variable of a loop");
  std::optional<Fix> other = no_entry();
  std::string text;
  const auto bound = [&] {
    if (at("-") && peek(1).kind == Token::Kind::number) text += take().text;
    if (at_word() || peek().kind == Token::Kind::number) text += take().text;
  };
  if (!other && accept("...")) return "...";
  if (!other) bound();
  for (int colons = 0; !other && colons < 2 && accept(":"); ++colons) {
    text += ":";
    bound();
  }
  if (!text.empty()) return text;
  Diagnostic diagnostic =
      error("E0002", range(peek()), "expected the variable of a loop, found " + found(),
            "`x[n]` is the entry of the loop over n");
  diagnostic.fixes.push_back(other ? *std::move(other)
                                   : advice("one entry is `read(\"[B] M -> M\", x, at=0)`"));
  fail(std::move(diagnostic));
}

Expr Parser::postfix() {
  Expr result = atom();
  for (;;) {
    if (at("*") && at("*", 1) && peek().end == peek(1).begin) refuse_power(result);
    if (at("with") && !in_schedule_) {
      result = with(std::move(result));
      continue;
    }
    if (!at(".") && !at("[")) return result;
    Expr outer;
    outer.range.begin = result.range.begin;
    if (accept(".")) {
      const Form form(form_, "w.gain");
      if (at_foreign_call()) {
        result = foreign_call(std::move(result));
        continue;
      }
      outer.kind = Expr::Kind::field;
      if (at_next_bind()) fail("the name of a field");
      outer.text = name("the name of a field");
      if (outer.text == "size" && at("(")) {
        Diagnostic diagnostic = error("E0002", range(peek()), "a tensor has no `size`",
                                      "the sizes of dims are known by their names");
        diagnostic.fixes.push_back(size_of_dim(result));
        fail(std::move(diagnostic));
      }
    } else {
      take();
      outer.kind = Expr::Kind::entry;
      if (result.kind == Expr::Kind::field && result.text == "shape" && !at_word()) {
        Diagnostic diagnostic = error("E0002", range(peek()), "a tensor has no `shape`",
                                      "the sizes of dims are known by their names");
        --pos_;
        diagnostic.fixes.push_back(size_of_dim(result.args[0]));
        fail(std::move(diagnostic));
      }
      const Form form(form_, "x[n]");
      do outer.names.push_back(entry());
      while (accept(","));
      expect("]", "after the variable of a loop");
      if (at("(") && result.kind == Expr::Kind::name) refuse_stacked_record(result, outer.names);
    }
    outer.range = since(outer.range.begin);
    outer.args.push_back(std::move(result));
    result = std::move(outer);
    grow(height_);
  }
}

// `r with { attn.qn = e, ln = f }` is a call of the reserved word: the record, then each value,
// whose argument name is the path of its field.
Expr Parser::with(Expr record) {
  const Form form(form_, "r with { w = x, norm.gain = y }");
  const Deeper deeper(depth_);
  nest();
  Expr result;
  result.kind = Expr::Kind::call;
  result.range.begin = record.range.begin;
  int height = height_;
  result.text = std::string(take().text);
  result.args.push_back(std::move(record));
  result.arg_names.emplace_back();
  expect("{", "before the fields that `with` replaces");
  do {
    Name path = name("the name of a field");
    while (accept(".")) path += "." + name("the name of a field");
    expect("=", "between a field and its new value");
    result.args.push_back(expression());
    result.arg_names.push_back(std::move(path));
    height = std::max(height, height_);
  } while (accept(","));
  expect("}", "after the fields that `with` replaces");
  result.range = since(result.range.begin);
  grow(height);
  return result;
}

void Parser::grow(int height) {
  height_ = height + 1;
  if (height_ <= max_depth) return;
  Diagnostic diagnostic = error("E0007", range(peek()), "this expression has more than 200 levels");
  diagnostic.fixes.push_back(advice("give a part of it a name of its own"));
  fail(std::move(diagnostic), Abandon::Until::declaration);
}

}  // namespace shardproof::syntax
