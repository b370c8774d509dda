#include "spec/syntax/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>

#include "spec/syntax/other_numbers.h"

namespace shardproof::syntax {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// A set of characters.
class Characters {
 public:
  constexpr explicit Characters(std::string_view all) {
    for (char c : all) has_[static_cast<unsigned char>(c)] = true;
  }
  constexpr bool operator()(char c) const { return has_[static_cast<unsigned char>(c)]; }

 private:
  std::array<bool, 256> has_ = {};
};
constexpr Characters is_in_name("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
bool is_printable(char c) { return c == '\t' || (c >= ' ' && c <= '~'); }

constexpr size_t most_letters = 200;  // of a name

constexpr std::array<std::string_view, 8> long_symbols = {"...", "->", "..", "//",
                                                          "==",  "!=", "<=", ">="};
constexpr std::string_view symbols = "()[]{},;:=<>+-*/%|.";
constexpr Characters is_symbol(symbols), begins_long(".-/=!<>"), ends_long(".>/=");

/// 0 where none begins.
size_t symbol_length(std::string_view text) {
  if (text.size() > 1 && begins_long(text[0]) && ends_long(text[1]))
    for (std::string_view each : long_symbols)
      if (text.starts_with(each)) return each.size();
  return is_symbol(text[0]);
}

struct LookAlike {
  std::string_view bytes, meant;
};
constexpr std::array<LookAlike, 15> look_alikes = {{{"\xe2\x86\x92", "->"},
                                                    {"\xe2\x88\x92", "-"},
                                                    {"\xe2\x80\x93", "-"},
                                                    {"\xc3\x97", "*"},
                                                    {"\xe2\x89\xa4", "<="},
                                                    {"\xe2\x89\xa5", ">="},
                                                    {"\xe2\x89\xa0", "!="},
                                                    {"\xe2\x80\xa6", "..."},
                                                    {"\xe2\x80\x9c", "\""},
                                                    {"\xe2\x80\x9d", "\""},
                                                    {"&&", "and"},
                                                    {"&", "and"},
                                                    {"||", "or"},
                                                    {"!", "not "},
                                                    {"'", "\""}}};

class Lexer {
 public:
  Lexer(std::string_view text, int32_t file, uint32_t base, bool pattern, Report& report)
      : text_(text), file_(file), base_(base), pattern_(pattern), report_(report) {}

  std::vector<Token> run() {
    tokens_.reserve(text_.size() / 4 + 8);
    while (!report_.dropped()) {
      skip_space();
      if (at_ == text_.size()) break;
      const char c = text_[at_];
      if (is_letter(c))
        word();
      else if (is_digit(c) || begins_fraction())
        number();
      else if (c == '"')
        string();
      else
        symbol();
    }
    begin_ = at_ = text_.size();
    push(Token::Kind::end, at_, at_);
    return std::move(tokens_);
  }

 private:
  char look(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  SourceRange range(size_t begin, size_t end) const {
    return {file_, base_ + static_cast<uint32_t>(begin), base_ + static_cast<uint32_t>(end)};
  }

  void push(Token::Kind kind, size_t from, size_t to) {
    const SourceRange place = range(begin_, at_);
    Token& token = tokens_.emplace_back();
    token.kind = kind;
    token.text = {text_.data() + from, to - from};
    token.begin = place.begin;
    token.end = place.end;
    token.column = static_cast<uint32_t>(begin_ - line_begin_);
    token.first_on_line = std::exchange(fresh_line_, false);
    if (kind != Token::Kind::word && kind != Token::Kind::symbol) return;
    const Spelling spelling(token.text);
    token.key = spelling.key;
    if (kind == Token::Kind::word) token.keyword = keyword_of(spelling);
  }

  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == ' ') continue;
      if (text_[at_] == '\n') {
        fresh_line_ = true;
        line_begin_ = at_ + 1;
      } else if (text_[at_] == '#' && !pattern_) {
        comment();
        if (at_ == text_.size()) break;
        --at_;
      } else if (!is_space(text_[at_])) {
        break;
      }
    }
    begin_ = at_;
  }

  void comment() {
    const auto odd = [&] { return !is_printable(text_[at_]) && text_[at_] != '\r'; };
    bool reported = false;
    while (at_ < text_.size() && text_[at_] != '\n') {
      const size_t begin = at_;
      while (at_ < text_.size() && text_[at_] != '\n' && odd()) ++at_;
      if (at_ == begin) {
        ++at_;
      } else if (!reported) {
        reported = true;
        report("E0005", range(begin, at_), "a file is ASCII, its comments included",
               advice("write the comment in ASCII"));
      }
    }
  }

  void word() {
    while (at_ < text_.size() && is_in_name(text_[at_])) ++at_;
    if (at_ - begin_ > most_letters)
      report_.add(error("E0007", range(begin_, at_),
                        "a name has at most " + std::to_string(most_letters) + " characters"));
    push(Token::Kind::word, begin_, at_);
  }

  // `.5`, unless the point belongs to what it touches: `x.5` is a field with a wrong name.
  bool begins_fraction() const {
    if (look(0) != '.' || !is_digit(look(1))) return false;
    if (tokens_.empty() || tokens_.back().end != base_ + at_) return true;
    const Token& last = tokens_.back();
    return last.kind != Token::Kind::word && last.text != ")" && last.text != "]";
  }

  void digits() {
    while (is_digit(look(0))) ++at_;
  }

  void number() {
    digits();
    const char* problem = nullptr;
    if (look(0) == '.' && look(1) != '.') {
      if (at_ == begin_ || !is_digit(look(1)))
        problem = "a number needs digits on both sides of its point";
      ++at_;
      digits();
    }
    if (look(0) == 'e' || look(0) == 'E') problem = exponent(problem);
    if (is_letter(look(0))) {
      while (is_in_name(look(0))) ++at_;
      if (!problem)
        problem = "a name does not begin with a digit, and a number ends before a letter";
    }
    if (!problem) problem = value_problem(text_.substr(begin_, at_ - begin_));
    if (!problem) return push(Token::Kind::number, begin_, at_);
    bad("E0003", problem, other_number(text_.substr(begin_, at_ - begin_), range(begin_, at_)));
  }

  const char* exponent(const char* problem) {
    const size_t sign = look(1) == '+' || look(1) == '-' ? 1 : 0;
    if (!is_digit(look(1 + sign))) {
      at_ += 1 + sign;
      return !problem ? "an exponent needs digits" : problem;
    }
    at_ += 1 + sign;
    digits();
    return problem;
  }

  /// Also of a zero: exact arithmetic multiplies by each power of ten.
  static bool exponent_fits(std::string_view number) {
    const size_t e = number.find_first_of("eE");
    if (e == std::string_view::npos) return true;
    const bool plus = e + 1 < number.size() && number[e + 1] == '+';
    int exponent = 0;
    const auto read =
        std::from_chars(number.data() + e + 1 + plus, number.data() + number.size(), exponent);
    return read.ec == std::errc() && std::abs(exponent) <= 1000;
  }

  // A value that would be read as another one is refused: too large, or rounded to 0 (0 has a
  // meaning of its own).
  static const char* value_problem(std::string_view number) {
    if (number.size() > 1 && number[0] == '0' && is_digit(number[1]))
      return "a number does not begin with 0";
    if (number.find_first_of(".eE") == std::string_view::npos) {
      int64_t value = 0;
      const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
      return read.ec == std::errc() ? nullptr : "a whole number is at most 9223372036854775807";
    }
    double value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool fits = read.ec == std::errc() && exponent_fits(number);
    return fits ? nullptr : "this number is outside the range of f64";
  }

  void string() {
    ++at_;
    while (at_ < text_.size() && is_printable(text_[at_]) && text_[at_] != '"') ++at_;
    if (look(0) == '"' && at_ < text_.size()) {
      ++at_;
      return push(Token::Kind::string, begin_ + 1, at_ - 1);
    }
    const bool ends = at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r';
    if (ends) return unclosed_string();
    odd_byte_in_string();
  }

  /// The other quote is missing: before this one, where an argument begins, or where one ends.
  void unclosed_string() {
    Diagnostic diagnostic =
        error("E0004", range(begin_, at_), "this string has no closing quote on its line");
    const auto guess = [&](size_t place) {
      diagnostic.fixes.push_back({"insert `\"`", {{range(place, place), "\""}}, false, "", true});
    };
    constexpr size_t most = 6;
    const size_t before = text_.find_last_of("(,\n", begin_);
    if (before != text_.npos && text_[before] != '\n')
      guess(text_.find_first_not_of(' ', before + 1));
    for (size_t end = begin_; diagnostic.fixes.size() < most;) {
      end = text_.find_first_of(",)", end + 1);
      if (end == text_.npos || end >= at_) break;
      guess(end);
    }
    diagnostic.fixes.push_back(advice("a string ends on its line, as in `\"B M -> B\"`"));
    report_.add(std::move(diagnostic));
    push(Token::Kind::bad, begin_, at_);
  }

  void odd_byte_in_string() {
    const size_t odd = at_;
    while (at_ < text_.size() && !is_printable(text_[at_]) && text_[at_] != '\n') ++at_;
    const std::string meant = meant_by(text_.substr(odd, at_ - odd));
    report("E0005", range(odd, at_), "a string is printable ASCII on one line",
           meant.empty() ? advice("a pattern has names, numbers and `->`, as in `\"B M -> B\"`")
                         : replace(range(odd, at_), meant, "write `" + meant + "`"));
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') ++at_;
    if (look(0) == '"') ++at_;
    push(Token::Kind::bad, begin_, at_);
  }

  void symbol() {
    const std::string_view rest = text_.substr(at_);
    if (const size_t length = symbol_length(rest)) {
      at_ += length;
      return push(Token::Kind::symbol, begin_, at_);
    }
    const bool either = rest.starts_with("?_");  // of a mark: `{?_t}`
    if (either || (rest[0] == '@' && !fresh_line_ && !pattern_)) {
      ++at_;  // `x @ w`: resolution names the dims
      return push(Token::Kind::symbol, begin_, at_);
    }
    foreign();
  }

  bool is_foreign(size_t i) const {
    const char c = text_[i];
    if (is_space(c) || is_letter(c) || is_digit(c) || c == '"' || (c == '#' && !pattern_))
      return false;
    if (c == '!') return i + 1 == text_.size() || text_[i + 1] != '=';
    return symbols.find(c) == symbols.npos;
  }

  void foreign() {
    while (at_ < text_.size() && is_foreign(at_)) ++at_;
    const std::string_view run = text_.substr(begin_, at_ - begin_);
    const bool shown = run.size() == 1 && is_printable(run[0]);
    Diagnostic diagnostic =
        error("E0005", range(begin_, at_),
              shown ? "`" + std::string(run) + "` is not part of the notation"
                    : "these bytes are not part of the notation, which is written in ASCII");
    if (const std::string meant = meant_by(run); !meant.empty())
      diagnostic.fixes.push_back(replace(diagnostic.range, meant, "write `" + meant + "`"));
    if (run == "'") in_single_quotes(diagnostic);
    if (run == "@" && fresh_line_) diagnostic.fixes.push_back(advice("there are no decorators"));
    if (run == "?") diagnostic.fixes.push_back(advice("a choice is `where(c, x, y)`"));
    if (run == "^") diagnostic.fixes.push_back(advice("a power is `pow(x, y)`"));
    if (diagnostic.fixes.empty())
      diagnostic.fixes.push_back(
          advice("names have letters, digits and `_`; operators are + - * / "
                 "// % == != < > <= >= and or not"));
    report_.add(std::move(diagnostic));
    push(Token::Kind::bad, begin_, at_);
  }

  static std::string meant_by(std::string_view bytes) {
    const auto* found = std::find_if(look_alikes.begin(), look_alikes.end(),
                                     [&](const LookAlike& each) { return each.bytes == bytes; });
    return found == look_alikes.end() ? "" : std::string(found->meant);
  }

  // A string in single quotes: one error, and one fix for both of them.
  void in_single_quotes(Diagnostic& diagnostic) {
    const size_t end = text_.find_first_of("'\n", at_);
    if (end == text_.npos || text_[end] != '\'') return;
    diagnostic.fixes = {{"a string has double quotes",
                         {{diagnostic.range, "\""}, {range(end, end + 1), "\""}},
                         false,
                         ""}};
    at_ = end + 1;
  }

  void bad(const char* code, const std::string& problem, Fix fix) {
    report(code, range(begin_, at_), problem, std::move(fix));
    push(Token::Kind::bad, begin_, at_);
  }

  void report(const char* code, SourceRange range, const std::string& problem, Fix fix) {
    Diagnostic diagnostic = error(code, range, problem);
    diagnostic.fixes.push_back(std::move(fix));
    report_.add(std::move(diagnostic));
  }

  std::string_view text_;
  int32_t file_;
  uint32_t base_;
  bool pattern_;
  Report& report_;
  std::vector<Token> tokens_;
  size_t at_ = 0, begin_ = 0, line_begin_ = 0;
  bool fresh_line_ = true;
};

}  // namespace

std::vector<Token> lex(std::string_view text, int32_t file, uint32_t base, bool pattern,
                       Report& report) {
  return Lexer(text, file, base, pattern, report).run();
}

}  // namespace shardproof::syntax
