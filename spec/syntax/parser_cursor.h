#pragma once
// The position in the tokens, and how an error is reported.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/syntax/ast.h"
#include "spec/syntax/lexer.h"
#include "spec/syntax/report.h"

namespace shardproof::syntax {

inline constexpr int max_depth = 200;

/// Thrown inside the parser only: what was being read is given up, up to the next thing of that
/// kind.
struct Abandon {
  enum class Until { statement, declaration, file } until = Until::statement;
};

/// Another value for as long as this lives.
template <class T>
class Restored {
 public:
  Restored(T& at, T value) : at_(at), before_(std::exchange(at, value)) {}
  ~Restored() { at_ = before_; }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& at_;
  const T before_;
};
using Form = Restored<const char*>;

class Cursor {
 protected:
  Cursor(std::vector<Token> tokens, int32_t file, Report& report)
      : tokens_(std::move(tokens)), file_(file), report_(report), stop_(tokens_.size() - 1) {}

  const Token& peek(size_t ahead = 0) const {
    return pos_ + ahead < stop_ ? tokens_[pos_ + ahead] : beyond();
  }
  bool at_end() const { return peek().kind == Token::Kind::end; }
  bool at_word(size_t ahead = 0) const { return peek(ahead).kind == Token::Kind::word; }
  bool at_string() const { return peek().kind == Token::Kind::string; }
  /// That word or symbol, never a string.
  bool at(Spelling text, size_t ahead = 0) const {
    const Token& token = peek(ahead);
    return text.is(token.text, token.key);
  }
  bool at_keyword(Keyword keyword) const { return peek().keyword == keyword; }
  bool accept(Spelling text) {
    if (!at(text)) return false;
    ++pos_;  // no text is that of the end
    return true;
  }
  const Token& take();

  /// Takes the word or symbol, or fails: "expected `:` after the names of a parameter, found ...".
  void expect(Spelling text, std::string_view where) {
    if (!accept(text)) fail(missing(text.text, where));
  }
  /// Takes a name. A reserved word is reported (E0008) and taken as the name that it was meant to
  /// be.
  Name name(std::string_view what);
  Name value_name(std::string_view what);          ///< nor one that reads as a mark
  std::vector<Name> names(std::string_view what);  ///< NAME { "," NAME }

  SourceRange range(const Token& token) const { return {file_, token.begin, token.end}; }
  SourceRange since(uint32_t begin) const;  ///< up to the last token taken
  SourceRange after_last() const;           ///< the empty range after it
  SourceRange place() const;                ///< where something else was expected
  std::string found() const;

  void tell(Diagnostic diagnostic);
  [[noreturn]] void fail(Diagnostic diagnostic, Abandon::Until until = Abandon::Until::statement);
  /// "expected ..., found ...", and beside the carets `why`, or what was expected.
  [[noreturn]] void fail(const std::string& expected, const std::string& why = "");
  /// The same, with the fix to take away what stands here.
  [[noreturn]] void fail_removing(const std::string& expected, const std::string& why);

  std::vector<Token> tokens_;
  int32_t file_;
  Report& report_;
  size_t pos_ = 0;
  size_t stop_;               ///< the token that reads as the end: of the file, or of a line
  bool in_schedule_ = false;  ///< F, B and W are steps
  int depth_ = 0;
  const char* form_ = nullptr;  ///< an example of what is being read, for an error without a fix

  // other_languages.cpp
  std::optional<Fix> no_method() const;     ///< after `np.sum`, where `(` follows
  std::optional<Fix> no_field() const;      ///< at a reserved word, after `w.`
  size_t first_of_path(size_t last) const;  ///< the token of `a` in `a.b.c`, where `last` is c
  std::string text(uint32_t begin, uint32_t end) const;  ///< that of the tokens

 private:
  Diagnostic missing(std::string_view text, std::string_view where) const;
  const Token& beyond() const;  ///< the end: of the file, or of a line
  mutable Token end_;           ///< that of a line
};

/// One level of nesting, for as long as it lives.
class Deeper {
 public:
  explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& depth_;
};

}  // namespace shardproof::syntax
