// Atoms: numbers, names, calls, casts, gradients.
#include <algorithm>

#include "spec/syntax/other_names.h"
#include "spec/syntax/parser_impl.h"
#include "spec/syntax/words.h"

namespace shardproof::syntax {
namespace {

// Words between things: none of them is meant as a name.
bool joins(std::string_view word) {
  for (const char* one :
       {"or", "and", "not", "in", "of", "as", "over", "from", "wrt", "for", "with"})
    if (word == one) return true;
  return false;
}

}  // namespace

Expr Parser::leaf(Expr::Kind kind) {
  Expr result;
  result.kind = kind;
  result.range = range(peek());
  result.text = take().text;
  height_ = 1;
  return result;
}

Expr Parser::atom() {
  switch (peek().kind) {
    case Token::Kind::number:
      return leaf(Expr::Kind::number);
    case Token::Kind::string:
      return leaf(Expr::Kind::string);
    case Token::Kind::word:
      return word_atom();
    case Token::Kind::symbol:
    case Token::Kind::bad:
    case Token::Kind::end:
      break;
  }
  if (at("(")) return parenthesized();
  if (at("|")) return size();
  if (at("*") && pos_ > 0 && tokens_[pos_ - 1].text == "*") {
    Diagnostic diagnostic = error("E0002", range(peek()), "expected an expression, found `*`");
    diagnostic.fixes.push_back(advice("a power is `pow(x, y)`"));
    fail(std::move(diagnostic));
  }
  if (at("[")) {
    Diagnostic diagnostic = error("E0002", range(peek()), "expected an expression, found `[`");
    diagnostic.fixes.push_back(
        advice("there are no lists: operands stand one after the other, as in `concat(\"B M, B M "
               "-> [two] B M\", x, y)`"));
    fail(std::move(diagnostic));
  }
  fail("an expression");
}

/// `reshape(x, (2, 3))`: help for the function around the tuple whose `(` is the token `open`.
std::optional<Fix> Parser::tuple_of(size_t open) const {
  int depth = 0;
  for (size_t i = open; i-- > 1;) {
    depth += (tokens_[i].text == ")") - (tokens_[i].text == "(");
    if (depth < 0) return other_name(Name(tokens_[i - 1].text));
    if (tokens_[i].first_on_line && depth == 0) break;
  }
  return std::nullopt;
}

Expr Parser::parenthesized() {
  const size_t open = pos_;
  const uint32_t begin = take().begin;
  Expr result = expression();
  if (at(",")) {
    const auto help = tuple_of(open);
    if (!help) fail("`)`", "several values are given without parentheses");
    Diagnostic diagnostic = error("E0002", range(peek()), "expected `)`, found `,`",
                                  "there are no tuples: sizes are those of dims, which have names");
    diagnostic.fixes.push_back(*help);
    fail(std::move(diagnostic));
  }
  expect(")", "to close a parenthesis");
  result.range = since(begin);
  return result;
}

// `=` follows no expression: this is the next statement, and something is missing above it.
bool Parser::at_next_bind() const { return at_word() && peek().first_on_line && at("=", 1); }

Expr Parser::size() {
  const Form form(form_, "|M|");
  Expr result;
  result.kind = Expr::Kind::size;
  const uint32_t begin = take().begin;
  if (at_next_bind()) fail("the name of a dim or an axis");
  result.text = name("the name of a dim or an axis");
  expect("|", "after the name of a size");
  result.range = since(begin);
  height_ = 1;
  return result;
}

Expr Parser::word_atom() {
  if (at_keyword(Keyword::dtype) && at("(", 1)) return call(Expr::Kind::cast, false);
  if (!at_keyword(Keyword::none)) return reserved_atom();
  if (at("lambda") && at_word(1) && !peek(1).first_on_line) {
    Diagnostic diagnostic = error("E0002", range(peek()), "functions have names");
    diagnostic.fixes.push_back(advice("declare a `fn` at the top of the file"));
    fail(std::move(diagnostic));
  }
  if (at_next_bind()) fail("an expression");
  if (at("(", 1)) return call(Expr::Kind::call, false);
  if (!in_schedule_) return leaf(Expr::Kind::name);
  name("a value");  // a step is no value
  --pos_;
  return leaf(Expr::Kind::name);
}

// `tanh(scan ...)` is `scan_1 = scan ...` before the statement, and `tanh(scan_1)`.
Expr Parser::named_scan() {
  const uint32_t begin = peek().begin;
  Bind bind;
  bind.loop.push_back(loop());
  Expr result;
  result.kind = Expr::Kind::name;
  result.text = fresh_name("scan_");
  result.range = since(begin);
  bind.targets.push_back({result.text, {}, result.range});
  open_block_->push_back({std::move(bind), result.range});
  height_ = 1;
  return result;
}

Name Parser::fresh_name(const std::string& stem) {
  if (words_.empty())
    for (const Token& token : tokens_) words_.emplace(token.text);
  for (size_t i = 1;; ++i)
    if (const auto [name, fresh] = words_.insert(stem + std::to_string(i)); fresh) return *name;
}

Expr Parser::reserved_atom() {
  if (at("true") || at("false")) return leaf(Expr::Kind::boolean);
  if (at("each")) return each();
  if (at("grad") || at("value_and_grad")) return gradient();
  if (at("zeros") && at("(", 1)) return zeros();
  const std::string word(peek().text);
  if (peek().first_on_line && at_next_line()) fail("an expression");
  if (at_loop()) {
    if (word == "scan" && open_block_) return named_scan();
    const Form form(form_, word == "ring"
                               ? "y = ring b over T/c as W, s: f32[S] = x { next s + k[b] }"
                               : "y = scan n in N, h: f32[B M] = x { next h * w[n] }");
    fail(error("E0002", range(peek()), "this loop cannot be part of an expression",
               "give its result a name first"));
  }
  if (joins(word)) {
    Diagnostic diagnostic =
        error("E0002", range(peek()), "expected an expression, found `" + word + "`");
    if (word == "not")
      diagnostic.fixes.push_back(advice("put `not` and its operand in parentheses"));
    if (word == "for") {
      Fix fix = advice("a loop is `scan n in N { ... }`");
      if (at_word(1) && at("in", 2)) fix.edits.push_back({range(peek()), "scan"});
      if (std::optional<Fix> dim = fix.edits.empty() ? std::nullopt : dim_of_range(pos_ + 3))
        fix.edits.push_back(dim->edits[0]);
      diagnostic.fixes.push_back(std::move(fix));
    }
    fail(std::move(diagnostic));
  }
  name("a value");  // tells that it is reserved
  --pos_;
  return leaf(Expr::Kind::name);
}

Expr Parser::call(Expr::Kind kind, bool each) {
  Expr result = leaf(kind);
  result.each = each;
  arguments(result);
  result.range = since(result.range.begin);
  return result;
}

Expr Parser::each() {
  const Form form(form_, "each sgd(w, g, lr)");
  const uint32_t begin = take().begin;
  const bool applies = at_word() && at_keyword(Keyword::none) && at("(", 1);
  if (!applies) fail("the function that `each` applies, and its arguments");
  Expr result = call(Expr::Kind::call, true);
  result.range.begin = begin;
  return result;
}

Expr Parser::gradient() {
  const Form form(form_,
                  at("grad") ? "grad(f wrt x, w)(x, w, g)" : "value_and_grad(loss wrt w)(w, x)");
  Expr result;
  const Token word = take();
  result.kind = word.text == "grad" ? Expr::Kind::grad : Expr::Kind::value_and_grad;
  expect("(", "after `" + std::string(word.text) + "`");
  result.text = name("the name of a function");
  result.names = wrt();
  expect(")", "after the function");
  if (!at("(")) fail("the arguments at which the gradient is taken");
  arguments(result);
  result.range = since(word.begin);
  return result;
}

Expr Parser::zeros() {
  const Form form(form_, "zeros(f32[B M])");
  Expr result;
  result.kind = Expr::Kind::zeros;
  const uint32_t begin = take().begin;
  take();
  result.type.push_back(type());
  expect(")", "after the type of `zeros`");
  result.range = since(begin);
  height_ = 1;
  return result;
}

void Parser::arguments(Expr& call) {
  const Form form(form_, "f(x, w, eps=1e-5)");
  int height = 0;
  expect("(", "before the arguments");
  if (!at(")")) {
    constexpr size_t most = 4;  // as a rule
    call.args.reserve(most);
    call.arg_names.reserve(most);
    do {
      argument(call);
      height = std::max(height, height_);
    } while (accept(","));
  }
  expect(")", "after the arguments");
  grow(height);
}

void Parser::argument(Expr& call) {
  const Deeper deeper(depth_);
  nest();
  Name label;
  if (at_word() && at("=", 1)) {
    // `grad=f32` of a cast is the one argument named by a reserved word.
    label = at("grad") || at("dim") ? Name(take().text) : name("the name of an argument");
    take();
  }
  const bool dtype = at_keyword(Keyword::dtype) && !at("(", 1);
  call.args.push_back(dtype ? leaf(Expr::Kind::dtype) : disjunction());
  call.arg_names.push_back(std::move(label));
}

}  // namespace shardproof::syntax
