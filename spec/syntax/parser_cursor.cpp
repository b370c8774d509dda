#include "spec/syntax/parser_cursor.h"

#include "spec/syntax/words.h"

namespace shardproof::syntax {
namespace {

std::string quoted(std::string_view text) { return "`" + std::string(text) + "`"; }

bool is_step(std::string_view word) { return word == "F" || word == "B" || word == "W"; }

// `import f, from "a.shard"`, `scan in N`: between a link and what it links to, the name is
// missing.
bool is_link(std::string_view word) {
  for (std::string_view link : {"in", "of", "as", "over", "from", "wrt"})
    if (word == link) return true;
  return false;
}
bool follows_link(const Token& next) {
  return !next.first_on_line &&
         (next.kind == Token::Kind::word || next.kind == Token::Kind::number ||
          next.kind == Token::Kind::string);
}

}  // namespace

const Token& Cursor::beyond() const {
  if (stop_ + 1 == tokens_.size()) return tokens_.back();
  end_ = Token();
  end_.first_on_line = true;
  end_.begin = end_.end = stop_ > 0 ? tokens_[stop_ - 1].end : 0;
  return end_;
}

const Token& Cursor::take() {
  const Token& token = peek();
  if (pos_ < stop_) ++pos_;
  return token;
}

SourceRange Cursor::since(uint32_t begin) const {
  const uint32_t end = pos_ > 0 ? tokens_[pos_ - 1].end : begin;
  return {file_, begin, end < begin ? begin : end};
}

SourceRange Cursor::after_last() const {
  const uint32_t end = pos_ > 0 ? tokens_[pos_ - 1].end : peek().begin;
  return {file_, end, end};
}

// What is missing at the end of a line is shown there, not on the line below.
SourceRange Cursor::place() const {
  const Token& token = peek();
  const bool on_next_line =
      token.first_on_line && (token.kind == Token::Kind::word || token.text == "}");
  return pos_ > 0 && (at_end() || on_next_line) ? after_last() : range(token);
}

std::string Cursor::found() const {
  const Token& token = peek();
  switch (token.kind) {
    case Token::Kind::end:
      return stop_ + 1 == tokens_.size() ? "the end" : "the end of the line";
    case Token::Kind::string:
      return "a string";
    case Token::Kind::number:
      return "the number " + std::string(token.text);
    case Token::Kind::word:
    case Token::Kind::symbol:
    case Token::Kind::bad:
      break;
  }
  return quoted(token.text);
}

void Cursor::tell(Diagnostic diagnostic) {
  if (form_ && diagnostic.fixes.empty())
    diagnostic.fixes.push_back(advice("write it as in `" + std::string(form_) + "`"));
  if (!report_.add(std::move(diagnostic))) throw Abandon{Abandon::Until::file};
}

void Cursor::fail(Diagnostic diagnostic, Abandon::Until until) {
  // The lexer has spoken about a bad token.
  if (peek().kind != Token::Kind::bad) tell(std::move(diagnostic));
  throw Abandon{until};
}

void Cursor::fail(const std::string& expected, const std::string& why) {
  fail(error("E0002", place(), "expected " + expected + ", found " + found(),
             why.empty() ? "expected " + expected : why));
}

void Cursor::fail_removing(const std::string& expected, const std::string& why) {
  Diagnostic diagnostic =
      error("E0002", range(peek()), "expected " + expected + ", found " + found(), why);
  diagnostic.fixes.push_back(replace(range(peek()), "", "remove " + found()));
  fail(std::move(diagnostic));
}

// A fix is given only where what follows would go on well.
Diagnostic Cursor::missing(std::string_view text, std::string_view where) const {
  const std::string expected = "expected " + quoted(text);
  std::string message = expected;
  if (!where.empty()) message += " " + std::string(where);
  Diagnostic diagnostic = error("E0002", place(), message + ", found " + found(), expected);
  const Token& next = peek();
  const bool closes = text == ")" || text == "]" || text == "}";
  const bool ends = at_end() || next.first_on_line || next.text == "{" || next.text == "}";
  const bool opens = text == "(" || text == "{";
  const bool begins = next.kind == Token::Kind::word || next.kind == Token::Kind::number;
  const bool another_argument = where == "after the arguments" && !next.first_on_line &&
                                (begins || next.kind == Token::Kind::string || next.text == "|");
  if ((text == "=" && at("==")) || (text == ":" && at("=")) ||
      (text == "->" && (at(":") || at("="))))
    diagnostic.fixes.push_back(replace(range(next), std::string(text), "write " + quoted(text)));
  else if (another_argument)
    diagnostic.fixes.push_back(replace(after_last(), ",", "a comma separates the arguments"));
  else if (closes ? ends : begins && !opens && !next.first_on_line)
    diagnostic.fixes.push_back(
        replace(after_last(),
                closes || text == "," || text == ":" ? std::string(text) : " " + std::string(text),
                "insert " + quoted(text)));
  else if (std::optional<Fix> fix = no_method())
    diagnostic.fixes.push_back(*std::move(fix));
  return diagnostic;
}

Name Cursor::name(std::string_view what) {
  if (!at_word()) fail(std::string(what));
  const Token& token = peek();
  // A declaration that begins a line is no name of what stands above it.
  if (token.keyword == Keyword::declaration && token.first_on_line && token.column == 0)
    fail(std::string(what));
  const bool step = in_schedule_ && is_step(token.text);
  if (token.keyword != Keyword::none || step) {
    const bool of_a_list = peek(1).kind == Token::Kind::word && at(":", 2);  // `from to: f32[B]`
    if (is_link(token.text) && follows_link(peek(1)) && !of_a_list) fail(std::string(what));
    const std::string word(token.text);
    if (std::optional<Fix> fix = no_field()) {
      Diagnostic diagnostic = error("E0002", range(token), "no value has a " + quoted(word));
      diagnostic.fixes.push_back(*std::move(fix));
      fail(std::move(diagnostic));
    }
    Diagnostic diagnostic =
        error("E0008", range(token),
              quoted(word) + (step ? " is a step of a schedule" : " is a reserved word") +
                  " and cannot be " + std::string(what),
              "not a name");
    diagnostic.fixes.push_back(advice("choose another name, for instance `" + word + "_`"));
    tell(std::move(diagnostic));
  }
  return Name(take().text);
}

Name Cursor::value_name(std::string_view what) {
  if (at_word() && is_mark(peek().text)) {
    Diagnostic diagnostic =
        error("E0008", range(peek()),
              quoted(peek().text) +
                  " reads as a mark: the name of a value does not begin with U_, I_ or Max_",
              "not a name");
    diagnostic.fixes.push_back(
        advice("choose another name, for instance `v" + std::string(peek().text) + "`"));
    tell(std::move(diagnostic));
    return Name(take().text);
  }
  return name(what);
}

std::vector<Name> Cursor::names(std::string_view what) {
  std::vector<Name> result;
  do result.push_back(name(what));
  while (accept(","));
  return result;
}

}  // namespace shardproof::syntax
