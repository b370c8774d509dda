// block and bind.
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
  if (!at_word()) not_a_statement();
  if (named) return push(bind());
  if (at("dim")) {
    for (DimDecl& dim : dims_declaration()) {
      const SourceRange range = dim.range;
      block.push_back({std::move(dim), range});
    }
  } else if (at("require")) {
    push(require());
  } else if (accept("return")) {
    push(Return{expressions()});
  } else if (accept("next")) {
    push(Next{expressions()});
  } else if (accept("emit")) {
    push(Emit{expressions()});
  } else if (at(",", 1) && !is_reserved(peek().text)) {
    push(bind());
  } else {
    not_a_statement();
  }
}

void Parser::not_a_statement() {
  Diagnostic diagnostic = error("E0002", range(peek()), "expected a statement, found " + found(),
                                "a statement is `name = ...`, return, next, emit, dim or require");
  const std::string_view word = at_word() ? peek().text : "";
  if (word == "if" || word == "while" || word == "for")
    diagnostic.fixes.push_back(
        advice("there is no `" + std::string(word) +
               "`: choose with `where`, repeat with `scan`, or write two functions"));
  else if (begins_loop(word))
    diagnostic.fixes.push_back(replace({file_, peek().begin, peek().begin},
                                       "result = ", "a loop gives its carries a name"));
  else if (at("(", 1))
    diagnostic.fixes.push_back(
        replace({file_, peek().begin, peek().begin}, "_unused = ", "every value has a name"));
  else if (at_word() && at("==", 1)) {
    diagnostic.range = range(peek(1));
    diagnostic.fixes.push_back(replace(range(peek(1)), "=", "a value is given its name by `=`"));
  }
  fail(std::move(diagnostic));
}

Target Parser::target() {
  Target result;
  const uint32_t begin = peek().begin;
  result.name = value_name("the name of a value");
  if (accept(":")) result.type = type();
  result.range = since(begin);
  return result;
}

Bind Parser::bind() {
  Bind result;
  do result.targets.push_back(target());
  while (accept(","));
  expect("=", "after the names of a statement");
  if (at_word() && begins_loop(peek().text) && at_word(1))
    result.loop.push_back(loop());
  else
    result.value.push_back(expression());
  return result;
}

}  // namespace shardproof::syntax
