// group, type, dims, split, marks.
#include <algorithm>

#include "spec/syntax/parser_impl.h"
#include "spec/syntax/words.h"

namespace shardproof::syntax {

Group Parser::group(std::string_view what) {
  Group result;
  const uint32_t begin = peek().begin;
  if (at(",") && what == "a field")
    fail_removing("the name of a field", "fields stand side by side, without commas");
  do {
    result.names.push_back(value_name("the name of " + std::string(what)));
    // `a f32[M]` lacks its colon; `key: key[]` has a dtype's word for a name.
  } while (at_word() && !at_declaration() && !(at_keyword(Keyword::dtype) && at("[", 1)));
  expect(":", "between the name of " + std::string(what) + " and its type");
  result.type = type();
  result.range = since(begin);
  return result;
}

TypeExpr Parser::type(bool before_block) {
  const Form form(form_, "f32[B/d (K D)/t]{U_p}");
  TypeExpr result;
  const uint32_t begin = peek().begin;
  const bool dtype = at_keyword(Keyword::dtype);
  if (at("[") && at_word(1) && at("]", 2)) {
    Diagnostic diagnostic = error("E0002", range(peek()), "expected a type, found `[`");
    diagnostic.fixes.push_back(advice("a stack of records has its dim in brackets, as in `" +
                                      std::string(peek(1).text) + "[N]`"));
    fail(std::move(diagnostic));
  }
  if (at("{")) {
    Diagnostic diagnostic = error("E0002", range(peek()), "expected a type, found `{`");
    diagnostic.fixes.push_back(advice(
        "tensors with names are a `record W { a: f32[M] }`, and a parameter of it is `w: W`"));
    fail(std::move(diagnostic));
  }
  if (!at_word() || (!at_keyword(Keyword::none) && !dtype)) fail("a type");
  if (!dtype && at("(", 1)) {
    Diagnostic diagnostic =
        error("E0002", range(peek()), "expected a type, found `" + std::string(peek().text) + "(`");
    diagnostic.fixes.push_back(
        advice("the type of a tensor is its dtype, its dims and the axes that split them, as in "
               "`f32[B/d M]`"));
    fail(std::move(diagnostic));
  }
  result.name = std::string(take().text);
  result.has_dims = dtype || at("[");
  if (dtype && !at("[")) {
    Diagnostic diagnostic =
        error("E0002", since(begin), "expected the dims of this type in brackets",
              "`" + result.name + "[]` is a scalar");
    const bool touches = peek().begin == tokens_[pos_ - 1].end;
    if (std::optional<Fix> fix = touches && !at_marks() ? dims_in_brackets() : std::nullopt)
      diagnostic.fixes.push_back(*std::move(fix));
    else
      diagnostic.fixes.push_back(
          replace(after_last(), "[]", "if it is a scalar, write `" + result.name + "[]`"));
    fail(std::move(diagnostic));
  }
  if (!dtype && (at("/") || at("."))) {
    Diagnostic diagnostic =
        error("E0002", range(peek()),
              "expected a type, found `" + result.name + std::string(peek().text) + "`");
    diagnostic.fixes.push_back(
        advice(at("/") ? "axes split dims: those of a record are in a `layout` of it"
                       : "the type of a tensor is its dtype and its dims, as in `f32[B M]`"));
    fail(std::move(diagnostic));
  }
  if (accept("[")) {
    result.dims = dims("]");
    expect("]", "after the dims of a type");
  }
  if (at("{") && (!before_block || at_marks())) result.marks = marks();
  result.range = since(begin);
  return result;
}

std::vector<SplitExpr> Parser::dims(Spelling close) {
  std::vector<SplitExpr> result;
  // A field or a statement below: the bracket is not closed.
  const auto next_line = [&] {
    return at_declaration() || (peek().first_on_line && (at(":", 1) || at("=", 1)));
  };
  while (!at_end() && !at(close) && !next_line()) result.push_back(split());
  return result;
}

SplitExpr Parser::split() {
  SplitExpr result;
  const Token first = peek();
  if (accept("...")) {
    result.kind = SplitExpr::Kind::ellipsis;
  } else if (accept("*")) {
    result.kind = SplitExpr::Kind::star;
  } else if (accept("(")) {
    do result.names.push_back(name("a dim of the group"));
    while (at_word());
    expect(")", "after a group of dims");
    split_axes(result);
  } else if (first.kind == Token::Kind::number) {
    result.names.push_back(whole_number("a dim"));
    split_axes(result);
  } else if (first.kind == Token::Kind::word) {
    result.names.push_back(name("a dim"));
    split_axes(result);
  } else {
    if (at(",")) {
      Diagnostic diagnostic = error("E0002", range(peek()), "expected a dim, found `,`",
                                    "dims stand side by side, without commas");
      diagnostic.fixes.push_back(
          at_word(1) && at("(", 2)
              ? advice("a dim has `/` before each axis that splits it, as in `f32[B/d M]`; a value "
                       "is a copy where nothing is written, and a sum over d as `{U_d}`")
              : dims_alone());
      fail(std::move(diagnostic));
    }
    if (at("[") && pos_ > 0 && tokens_[pos_ - 1].kind == Token::Kind::word)
      fail_axes_in("a dim", "/", "]");
    fail("a dim");
  }
  result.range = since(first.begin);
  return result;
}

// `B/(d, t)`, `B[d, t]`: the axes of a tuple, the first of them the major one.
void Parser::fail_axes_in(const std::string& expected, const std::string& slash, Spelling end) {
  Diagnostic diagnostic = error(
      "E0002", range(peek()), "expected " + expected + ", found `" + std::string(peek().text) + "`",
      "a dim has `/` before each axis that splits it, the major one first");
  std::string axes;
  size_t close = pos_ + 1;
  for (; at(",", close - pos_) || at_word(close - pos_); ++close)
    if (at_word(close - pos_))
      axes += (axes.empty() ? "" : "/") + std::string(peek(close - pos_).text);
  if (at(end, close - pos_) && !axes.empty()) {
    Fix fix = replace({file_, peek().begin, peek(close - pos_).end}, slash + axes,
                      "write `/" + axes + "`");
    constexpr size_t near = 2000;
    for (size_t i = close + 1; i < std::min(tokens_.size(), close + near); ++i)
      if (std::optional<Edit> edit = axes_in(i, slash.empty()))
        fix.edits.push_back(*std::move(edit));
    diagnostic.fixes.push_back(std::move(fix));
  }
  fail(std::move(diagnostic));
}

// The same at another place of a type: `F[t]` of a dim, or with `slashed`, `F/(d, t)`.
std::optional<Edit> Parser::axes_in(size_t open, bool slashed) const {
  if (tokens_[open].text != (slashed ? "(" : "[") || tokens_[open].kind != Token::Kind::symbol)
    return std::nullopt;
  const Token& before = tokens_[open - 1];
  if (slashed ? before.text != "/" : before.kind != Token::Kind::word || is_dtype(before.text))
    return std::nullopt;
  std::string axes;
  size_t close = open + 1;
  for (; close < tokens_.size() &&
         (tokens_[close].kind == Token::Kind::word || tokens_[close].text == ",");
       ++close)
    if (tokens_[close].kind == Token::Kind::word)
      axes += (axes.empty() ? "" : "/") + std::string(tokens_[close].text);
  if (axes.empty() || close == tokens_.size() || tokens_[close].text != (slashed ? ")" : "]") ||
      !within_type(open))
    return std::nullopt;
  return Edit{{file_, tokens_[open].begin, tokens_[close].end}, (slashed ? "" : "/") + axes};
}

// Whether a token stands in the brackets of a type's dims.
bool Parser::within_type(size_t at) const {
  constexpr size_t longest = 64;
  for (size_t i = at; i-- > 0 && i + longest > at && tokens_[i].text != "{";)
    if (tokens_[i].text == "[" && i > 0 && is_dtype(tokens_[i - 1].text)) return true;
  return false;
}

void Parser::split_axes(SplitExpr& split) {
  while (accept("/")) {
    if (at("(")) fail_axes_in("an axis", "", ")");
    split.axes.push_back(name("an axis"));
  }
  if (at("//")) fail("`/` and an axis", "`//` is a division; `/` stands before each axis");
}

// After a result's type `{` begins the body, unless what follows is a mark, or nothing and then
// the body.
bool Parser::at_marks() const {
  return at("{") && ((at_word(1) && is_mark(peek(1).text)) || at("?", 1) ||
                     (at("}", 1) && at("{", 2)) || (at_word(1) && at("}", 2)));
}

std::vector<MarkExpr> Parser::marks() {
  std::vector<MarkExpr> result;
  take();
  while (!at("}")) result.push_back(mark());
  take();
  return result;
}

void Parser::leave_marks(Diagnostic diagnostic) {
  if (peek().kind != Token::Kind::bad) tell(std::move(diagnostic));
  while (!at_end() && !at("}") && !at("{") && !peek().first_on_line) take();
  accept("}");
  throw Abandon{};
}

MarkExpr Parser::mark() {
  const uint32_t begin = peek().begin;
  const bool either = at("?") && peek(1).begin == peek().end;  // `?_t`: R or I
  if (either) take();
  const std::string_view text = at_word() ? peek().text : "";
  const size_t prefix = text.find('_') + 1;
  const bool has_axis = (either ? prefix == 1 : is_mark(text)) && prefix < text.size() &&
                        (text[prefix] < '0' || text[prefix] > '9');
  if (!has_axis) {
    Diagnostic diagnostic =
        error("E0002", place(),
              "expected a mark, U_, I_ or Max_ and the name of an axis, found " + found(),
              "expected a mark or `}`");
    diagnostic.fixes.push_back(advice("a mark has its axis in its name: `{U_t}` is a sum over t"));
    // The rest up to the brace is part of the same mistake: its `}` closes no block.
    leave_marks(std::move(diagnostic));
  }
  MarkExpr result;
  result.either = either;
  result.mark = text[0] == 'U' ? Mark::U : text[0] == 'I' || either ? Mark::I : Mark::Max;
  result.axis = std::string(text.substr(prefix));
  take();
  result.range = since(begin);
  return result;
}

}  // namespace shardproof::syntax
