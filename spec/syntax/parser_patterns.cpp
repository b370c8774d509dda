// The text inside a string: pattern and operand.
#include "spec/syntax/parser_impl.h"

namespace shardproof::syntax {

PatternExpr Parser::pattern() {
  const Form form(form_, "B/d M, M F/t -> B/d F/t`, `B/d M {U_t} -> B/d M`, `[V] M, B -> B M");
  PatternExpr result;
  // Nothing before `->` is one scalar; nothing at all, or before `;`, is no operand.
  if (!at_end() && !at(";")) {
    do result.left.push_back(operand());
    while (accept(","));
  }
  if (accept("->")) result.right = operand();
  if (accept(";")) {
    result.has_working = true;
    result.working = dims(Spelling(""));
  }
  if (!result.right && at("=") && at(">", 1)) {
    Diagnostic diagnostic = error("E0006", range(peek()), "expected `->`, found `=>`");
    const SourceRange arrow{range(peek()).file, peek().begin, peek(1).end};
    diagnostic.fixes.push_back({"the result stands after `->`", {{arrow, "->"}}, false, ""});
    fail(std::move(diagnostic));
  }
  if (!result.right && at("*")) {
    Diagnostic diagnostic = error("E0006", range(peek()), "expected `,` or `->`, found `*`");
    diagnostic.fixes.push_back(replace(range(peek()), ",", "a comma separates the operands"));
    fail(std::move(diagnostic));
  }
  if (!result.right && at_split() && !result.left.empty() && !result.left.back().marks.empty()) {
    // The marks end an operand: another one follows where an arrow does, or else the result.
    size_t next = pos_;
    while (next < stop_ && tokens_[next].text != "->") ++next;
    const bool another = next < stop_;
    Diagnostic diagnostic =
        error("E0006", range(peek()),
              "expected " + std::string(another ? "`,`" : "`->`") + ", found " + found());
    diagnostic.fixes.push_back(another
                                   ? replace(after_last(), ",", "a comma separates the operands")
                                   : replace(after_last(), " ->", "the result stands after `->`"));
    fail(std::move(diagnostic));
  }
  if (!at_end()) {
    fail(result.right ? "a dim, marks, `;` or the end of the pattern"
                      : "a dim, `,`, `->`, `;` or the end of the pattern");
  }
  return result;
}

bool Parser::at_split() const {
  const Token::Kind kind = peek().kind;
  return kind == Token::Kind::word || kind == Token::Kind::number || at("(");
}

// A name that touches its bracket, with nothing but marks after it, is the type of a record:
// `Layer[N/p]{U_d}`.
bool Parser::at_type() const {
  if (!at_word() || !at("[", 1) || peek().end != peek(1).begin) return false;
  const auto skip_to = [&](size_t from, Spelling close) {
    while (peek(from).kind != Token::Kind::end && !at(close, from)) ++from;
    return from + 1;
  };
  size_t next = skip_to(2, "]");
  if (at("{", next)) next = skip_to(next, "}");
  return peek(next).kind == Token::Kind::end || at("->", next) || at(";", next) || at(",", next);
}

OperandExpr Parser::operand() {
  OperandExpr result;
  const uint32_t begin = peek().begin;
  if (at_type()) {
    TypeExpr named = type();
    result.type_name = std::move(named.name);
    result.dims = std::move(named.dims);
    result.marks = std::move(named.marks);
  } else {
    while (at_split() || at("[") || at("...")) result.dims.push_back(operand_dim());
    if (at("{")) result.marks = marks();
  }
  result.range = since(begin);
  return result;
}

SplitExpr Parser::operand_dim() {
  const uint32_t begin = peek().begin;
  if (!accept("[")) return split();
  if (!at_split()) fail("the dim that is indexed");
  SplitExpr result = split();
  expect("]", "after the dim that is indexed");
  result.bracketed = true;
  result.range = since(begin);
  return result;
}

std::optional<PatternExpr> parse_pattern(const std::string& text, SourceRange range,
                                         std::vector<Diagnostic>& diagnostics) {
  Report report(diagnostics, 1, "E0006");
  std::vector<Token> tokens = lex(text, range.file, range.begin, true, report);
  if (report.any()) return std::nullopt;
  try {
    PatternExpr result = Parser(std::move(tokens), range.file, report).pattern();
    if (report.any()) return std::nullopt;
    result.range = range;
    return result;
  } catch (const Abandon&) {
    return std::nullopt;
  }
}

}  // namespace shardproof::syntax
