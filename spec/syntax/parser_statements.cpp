// block and bind.
#include <algorithm>
#include <utility>

#include "spec/syntax/parser_impl.h"
#include "spec/syntax/words.h"

namespace shardproof::syntax {

Block Parser::block(std::string_view what) {
  Block result;
  const Deeper deeper(depth_);
  nest();
  const SourceRange open = range(peek());
  expect("{", "before " + std::string(what));
  while (!at("}") && !at_end() && !at_declaration()) statement(result);
  if (accept("}")) return result;
  // Said once, for the innermost block; what follows is read as the next declaration.
  if (unclosed_ != pos_) {
    Diagnostic diagnostic =
        error("E0002", after_last(), "expected `}` after " + std::string(what), "expected `}`");
    diagnostic.notes.push_back({open, "to close this"});
    if (at("dim") || at("require"))
      diagnostic.fixes.push_back(replace({file_, peek().begin, peek().begin}, "    ",
                                         "indent this line: one that begins in the first column is "
                                         "of the file"));
    if (peek().kind != Token::Kind::bad) tell(std::move(diagnostic));
  }
  unclosed_ = pos_;
  return result;
}

void Parser::statement(Block& block) {
  const size_t start = pos_;
  const uint32_t column = peek().column;
  const int depth = depth_;
  try {
    statement_node(block);
  } catch (const Abandon& abandon) {
    if (abandon.until != Abandon::Until::statement) throw;
    stop_ = tokens_.size() - 1;
    depth_ = depth;
    skip_to_statement(start, column);
  }
}

void Parser::statement_node(Block& block) {
  const uint32_t begin = peek().begin;
  const bool named = at("=", 1) || at(":", 1);  // `next = ...`: a reserved word for a name
  const auto push = [&](auto node) { block.push_back({std::move(node), since(begin)}); };
  const bool takes_scans = named || !(at("dim") || at("require") || at("assume"));
  const Restored<Block*> restored(open_block_, takes_scans ? &block : nullptr);
  const Form form(form_, "y = x * w");
  if (!at_word()) not_a_statement();
  if (named) return push(bind());
  if (at("dim")) {
    for (DimDecl& dim : dims_declaration()) {
      const SourceRange range = dim.range;
      block.push_back({std::move(dim), range});
    }
  } else if (at("require")) {
    push(require());
  } else if (at("assume")) {
    push(assume());
  } else if (accept("return")) {
    const Form returned(form_, "return x, y");
    push(Return{expressions()});
  } else if (accept("next")) {
    const Form carried(form_, "next x, y");
    push(Next{expressions()});
  } else if (accept("emit")) {
    const Form emitted(form_, "emit x, y");
    push(Emit{expressions()});
  } else if (at(",", 1) && at_keyword(Keyword::none)) {
    push(bind());
  } else {
    not_a_statement();
  }
}

Assume Parser::assume() {
  const Form form(form_, "assume 0 <= ids < |V|");
  Assume result;
  const uint32_t begin = take().begin;
  result.terms.push_back(sum());
  do {
    if (!at_comparison()) fail("a comparison of a parameter");
    result.comparisons.emplace_back(take().text);
    result.terms.push_back(sum());
  } while (at_comparison() && result.comparisons.size() < 2);
  const auto way = [](const std::string& comparison) { return comparison[0]; };
  const bool chain = result.comparisons.size() > 1;
  if (at_comparison() ||
      (chain && (way(result.comparisons[0]) != way(result.comparisons[1]) ||
                 way(result.comparisons[0]) == '=' || way(result.comparisons[0]) == '!'))) {
    Diagnostic diagnostic = error("E0002", since(begin), "these comparisons do not chain",
                                  "two at most, both of them < or <=, or both > or >=");
    diagnostic.fixes.push_back(advice("write one `assume` for each bound"));
    fail(std::move(diagnostic));
  }
  result.range = since(begin);
  return result;
}

void Parser::not_a_statement() {
  const Token& token = peek();
  const bool fresh = token.first_on_line || at_word() || pos_ == 0 || tokens_[pos_ - 1].text == "{";
  Diagnostic diagnostic =
      fresh ? error("E0002", range(token), "expected a statement, found " + found(),
                    "a statement is `name = ...`, return, next, emit, dim, require or assume")
            : error("E0002", range(token), "expected the end of the statement, found " + found(),
                    "does not continue what stands before it");
  if (at_word() && at("==", 1)) diagnostic.range = range(peek(1));
  if (std::optional<Fix> fix = statement_fix()) diagnostic.fixes.push_back(std::move(*fix));
  fail(std::move(diagnostic));
}

// The token after the statement that begins here: the next line's first, or the block's `}`.
size_t Parser::after_statement() const {
  size_t i = pos_;
  for (int depth = 0; i + 1 < tokens_.size(); ++i) {
    const std::string_view text = tokens_[i].text;
    if (tokens_[i].kind == Token::Kind::string) continue;
    const bool word_below =
        i > pos_ && tokens_[i].first_on_line && tokens_[i].kind == Token::Kind::word;
    if (depth == 0 && (text == "}" || (word_below && tokens_[i - 1].text != ","))) break;
    depth +=
        (text == "(" || text == "[" || text == "{") - (text == ")" || text == "]" || text == "}");
  }
  return i;
}

// `x += y`: a name of its own for the sum, there and where it is read below.
Fix Parser::own_name() const {
  const std::string old(peek().text), sign(peek(1).text);
  std::string name = old + "2";
  while (std::any_of(tokens_.begin(), tokens_.end(),
                     [&](const Token& token) { return token.text == name; }))
    name += "_";
  Fix fix = replace({file_, peek().begin, peek(2).end}, name + " = " + old + " " + sign,
                    "a name is assigned once: give the new value a name of its own");
  const size_t end = after_statement();
  if (sign != "+") {
    fix.edits[0].text += " (";
    fix.edits[0].range.end = peek(3).begin;
    fix.edits.push_back({{file_, tokens_[end - 1].end, tokens_[end - 1].end}, ")"});
  }
  int depth = 0;
  for (size_t i = end; i + 1 < tokens_.size() && depth >= 0; ++i) {
    depth += (tokens_[i].text == "{") - (tokens_[i].text == "}");
    const bool names_other = tokens_[i - 1].text == "." || tokens_[i + 1].text == "=";
    if (tokens_[i].kind == Token::Kind::word && tokens_[i].text == old && !names_other)
      fix.edits.push_back({range(tokens_[i]), name});
  }
  return fix;
}

// What other languages write here.
std::optional<Fix> Parser::statement_fix() const {
  const Token& token = peek();
  const SourceRange front = {file_, token.begin, token.begin};
  if (at(";")) return replace(range(token), "", "remove `;`: a statement ends with its line");
  if (at("//")) return own_comment(pos_);
  if ((at(")") || at("]")) && !token.first_on_line)
    return replace(range(token), "", "remove it: nothing is open that it closes");
  if (at("/") && at("*", 1)) return advice("a comment begins with `#`, and ends with its line");
  if (at("|") && at("|", 1)) {
    return replace({file_, token.begin, peek(1).end}, "or", "write `or`");
  }
  if (std::optional<Fix> fix = no_method()) return fix;
  if (std::optional<Fix> fix = other_choice()) return fix;
  if (at("(") && pos_ > 1 && tokens_[pos_ - 1].text == "]")
    return advice("a record with a dim in front is made from another one: `r with { w = ... }`");
  for (size_t i = pos_; i > 0 && !tokens_[i].first_on_line; --i)
    if (tokens_[i - 1].text == "//") return own_comment(i - 1);
  if (std::optional<Fix> fix = other_statement()) return fix;
  if (!at_word()) return std::nullopt;
  for (Spelling sign : {Spelling("+"), Spelling("-"), Spelling("*"), Spelling("/")})
    if (at(sign, 1) && at("=", 2)) return own_name();
  if (at("<", 1) && at("-", 2) && peek(1).end == peek(2).begin)
    return replace({file_, peek(1).begin, peek(2).end}, "=", "to name a value, write `=`");
  if (token.text == "if" || token.text == "while" || token.text == "for") {
    return advice(token.text == "if"
                      ? "there is no `if`: choose with `where(c, x, y)`, or write two functions"
                      : "a loop is `scan n in N, c: f32[B M] = x { next ... }`");
  }
  if (begins_loop(token.text))
    return replace(front, "result = ", "give the result of the loop a name");
  if (at("==", 1)) return replace(range(peek(1)), "=", "to name a value, write `=`");
  const auto word = token.text == "yield" ? "emit"
                    : token.text == "ret" ? "return"
                                          : nearest_statement(token.text);
  if (word) return replace(range(token), *word, "write `" + *word + "`");
  const bool last = tokens_[after_statement()].text == "}";
  const bool names = !peek(1).first_on_line && (at_word(1) || peek(1).kind == Token::Kind::number);
  if (names && at_word(1) && (at("=", 2) || at(",", 2)))
    return replace({file_, token.end, token.end}, ",", "a comma separates the names");
  if (names) return replace({file_, token.end, token.end}, " =", "to name a value, write `=`");
  if (last)
    return loops_ > 0 ? replace(front, "next ", "the carry of the next step is its value")
                      : replace(front, "return ", "return the value");
  if (at("(", 1)) return replace(front, "_unused = ", "give the value a name");
  return std::nullopt;
}

Target Parser::target() {
  Target result;
  const uint32_t begin = peek().begin;
  result.name = value_name("the name of a value");
  if (at(":") && at("=", 1)) {
    Diagnostic diagnostic = error("E0002", range(peek()), "expected `=`, found `:=`");
    diagnostic.fixes.push_back(
        replace({file_, peek().begin, peek(1).end}, "=", "to name a value, write `=`"));
    fail(std::move(diagnostic));
  }
  if (accept(":")) result.type = type();
  result.range = since(begin);
  return result;
}

// A loop's word alone is read as a value: it is reserved, and that will be said.
bool Parser::at_loop() const {
  const Token& next = peek(1);
  if (!at_keyword(Keyword::loop)) return false;
  if (next.kind == Token::Kind::number) return true;
  return at_word(1) && !(next.first_on_line && next.keyword == Keyword::statement);
}

Bind Parser::bind() {
  Bind result;
  const Form form(form_, at(",", 1) ? "v, i = top_k(\"B X -> B A\", x)" : "y = x * w");
  do result.targets.push_back(target());
  while (accept(","));
  if (at_word() && !peek().first_on_line && (at("=", 1) || at(",", 1))) {
    Diagnostic diagnostic = error("E0002", range(peek()), "expected `,` or `=`, found " + found());
    diagnostic.fixes.push_back(replace(after_last(), ",", "a comma separates the names"));
    fail(std::move(diagnostic));
  }
  expect("=", "after the names of a statement");
  if (at_loop())
    result.loop.push_back(loop());
  else
    result.value.push_back(expression());
  return result;
}

}  // namespace shardproof::syntax
