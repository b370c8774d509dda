#include "spec/syntax/parser.h"

#include "spec/syntax/parser_impl.h"
#include "spec/syntax/words.h"

namespace shardproof::syntax {
namespace {

constexpr size_t max_bytes = size_t{8} << 20;

}  // namespace

std::vector<Declaration> Parser::file() {
  std::vector<Declaration> result;
  while (!at_end()) {
    const size_t start = pos_;
    try {
      declaration(result);
    } catch (const Abandon& abandon) {
      stop_ = tokens_.size() - 1;
      in_schedule_ = false;
      depth_ = 0;
      if (abandon.until == Abandon::Until::file) break;
      skip_to_declaration(start);
    }
  }
  return result;
}

void Parser::declaration(std::vector<Declaration>& out) {
  if (at("dim")) {
    for (DimDecl& dim : dims_declaration()) out.emplace_back(std::move(dim));
  } else if (at("import"))
    out.emplace_back(import());
  else if (at("mesh"))
    out.emplace_back(mesh());
  else if (at("const"))
    out.emplace_back(constant());
  else if (at("require"))
    out.emplace_back(require());
  else if (at("config"))
    out.emplace_back(config());
  else if (at("record"))
    out.emplace_back(record());
  else if (at("layout"))
    out.emplace_back(layout());
  else if (at("schedule"))
    out.emplace_back(schedule());
  else if (at("fn") || at("plan") || at("trusted"))
    out.emplace_back(function());
  else
    not_a_declaration();
}

void Parser::not_a_declaration() {
  const Form form(form_, "fn f(x: f32[B M]) -> f32[B M] { return x * 2 }");
  Diagnostic diagnostic = error("E0002", range(peek()), "expected a declaration, found " + found(),
                                "a file holds import, mesh, dim, const, require, config, record, "
                                "layout, fn, plan and schedule");
  static const struct {
    Spelling word;
    const char *ours, *words;
  } others[] = {{"def", "fn", "write `fn`, or `plan`"},
                {"func", "fn", "write `fn`, or `plan`"},
                {"function", "fn", "write `fn`, or `plan`"},
                {"dims", "dim", "write `dim`"},
                {"axis", "mesh", "the axes are those of a `mesh`"},
                {"axes", "mesh", "the axes are those of a `mesh`"},
                {"class", "record", "values with names are a `record`"},
                {"struct", "record", "values with names are a `record`"},
                {"size", "dim", "a size is that of a `dim`"},
                {"proof", "plan", "write `plan`"},
                {"theorem", "plan", "write `plan`"},
                {"let", "const", "a number with a name is a `const`"}};
  for (const auto& [word, ours, words] : others)
    if (at(word)) diagnostic.fixes.push_back(replace(range(peek()), ours, words));
  if (at("//")) diagnostic.fixes.push_back(own_comment(pos_));
  if (diagnostic.fixes.empty() && at_word())
    if (const auto word = nearest_declaration(peek().text))
      diagnostic.fixes.push_back(replace(range(peek()), *word, "write `" + *word + "`"));
  if (at_word() && (begins_statement(peek().text) || at("=", 1)))
    diagnostic.fixes.push_back(
        advice("a statement stands in the braces of a fn or a plan, further in than `fn`"));
  if (at_string() || (at("/") && at("*", 1)))
    diagnostic.fixes.push_back(advice("a comment begins with `#`, and ends with its line"));
  if (at("from"))
    diagnostic.fixes.push_back(advice(
        "the library needs no import; a file is imported by `import f, g from \"other.shard\"`"));
  fail(std::move(diagnostic));
}

bool Parser::at_declaration() const {
  const Token& token = peek();
  if (!token.first_on_line) return false;
  // Inside a body dim and require are statements, and stand further in.
  return token.keyword == Keyword::declaration ||
         (token.column == 0 && (at("dim") || at("require")));
}

void Parser::skip_to_declaration(size_t start) {
  if (pos_ == start) take();
  while (!at_end() && !at_declaration()) take();
}

// The next statement begins a line and stands no further in than the one with the error; or is a
// word that begins nothing else.
void Parser::skip_to_statement(size_t start, uint32_t column) {
  int braces = 0;
  for (; !at_end(); take()) {
    const Token& token = peek();
    if (at_declaration()) return;
    if (braces == 0 && at("}")) return;
    if (pos_ > start) {
      if (token.first_on_line && token.column <= column && !at("}")) return;
      if (braces == 0 && token.keyword == Keyword::statement) return;
    }
    if (at("{")) ++braces;
    if (at("}")) --braces;
  }
}

void Parser::skip_to_group() {
  int braces = 0;
  for (size_t start = pos_; !at_end(); take()) {
    if (at_declaration() || (braces == 0 && at("}"))) return;
    if (pos_ > start && braces == 0 && at_word() && peek().first_on_line) return;
    if (at("{")) ++braces;
    if (at("}")) --braces;
  }
}

void Parser::nest() {
  if (depth_ <= max_depth) return;
  Diagnostic diagnostic = error("E0007", range(peek()), "this is nested more than 200 deep");
  diagnostic.fixes.push_back(advice("give an inner part a name of its own"));
  fail(std::move(diagnostic), Abandon::Until::declaration);
}

File parse(const Sources& sources, int32_t source, std::vector<Diagnostic>& diagnostics) {
  File result;
  result.source = source;
  const std::string& text = sources.file(source).text;
  Report report(diagnostics);
  if (text.size() > max_bytes) {
    report.add(error("E0001", {source, 0, 0}, "the file is larger than 8 MiB"));
    return result;
  }
  std::vector<Token> tokens = lex(text, source, 0, false, report);
  if (!report.dropped()) result.declarations = Parser(std::move(tokens), source, report).file();
  report.finish(source);
  return result;
}

}  // namespace shardproof::syntax
