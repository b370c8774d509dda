// import, mesh, dim, const, require, config, record, layout.
#include "spec/syntax/parser_impl.h"
#include "spec/syntax/printer.h"
#include "spec/syntax/words.h"

namespace shardproof::syntax {

ImportDecl Parser::import() {
  const Form form(form_, "import f, p from \"other.shard\"");
  ImportDecl result;
  const uint32_t begin = take().begin;
  result.names = names("a name to import");
  if (!at("from")) {
    Diagnostic diagnostic =
        error("E0002", place(), "expected `from` after the names of an import, found " + found(),
              "expected `from`");
    diagnostic.fixes.push_back(advice(
        "the library needs no import; a file is imported by `import f, g from \"other.shard\"`"));
    fail(std::move(diagnostic));
  }
  take();
  if (!at_string()) fail("the file to import from, in quotes");
  result.path = std::string(take().text);
  result.range = since(begin);
  return result;
}

// mesh and dim end with their line: until close_line the next line reads as the end.
void Parser::open_line() {
  size_t last = pos_;
  while (last + 1 < tokens_.size() && !tokens_[last].first_on_line) ++last;
  stop_ = last;
}

void Parser::close_line(std::string_view word) {
  if (!at_end()) {
    const std::string what(word);
    Diagnostic diagnostic =
        error("E0002", range(peek()), "expected a name or the end of the line, found " + found(),
              "`" + what + "` ends with its line");
    if (at("//")) diagnostic.fixes.push_back(own_comment(pos_));
    if (std::optional<Fix> fix = names_alone(word)) diagnostic.fixes.push_back(*std::move(fix));
    fail(std::move(diagnostic));
  }
  stop_ = tokens_.size() - 1;
}

// What has to stand on a line of its own.
bool Parser::at_next_line() const {
  return at_keyword(Keyword::statement) || at_keyword(Keyword::declaration);
}

std::string Parser::whole_number(std::string_view what) {
  const Token& token = peek();
  const bool whole = token.kind == Token::Kind::number &&
                     token.text.find_first_of(".eE") == std::string_view::npos;
  if (!whole) fail(std::string(what) + ", a whole number");
  return std::string(take().text);
}

MeshDecl Parser::mesh() {
  const Form form(form_, "mesh d t=4");
  MeshDecl result;
  const uint32_t begin = take().begin;
  open_line();
  while (at_word() && (result.axes.empty() || !at_next_line())) {
    MeshDecl::Entry entry;
    const uint32_t first = peek().begin;
    entry.axis = name("the name of an axis");
    if (accept("=")) entry.size = whole_number("the size of the axis");
    entry.range = since(first);
    result.axes.push_back(std::move(entry));
  }
  result.range = since(begin);
  close_line("mesh");
  return result;
}

std::vector<DimDecl> Parser::dims_declaration() {
  const Form form(form_, "dim B M`, `dim H = (K D)`, `dim F = 4*|M|");
  std::vector<DimDecl> result;
  const size_t column = take().column;
  open_line();
  while (at_word() && (result.empty() || !at_next_line())) {
    result.push_back(dim_declaration());
    const DimDecl& dim = result.back();
    if (dim.kind == DimDecl::Kind::size && dim.names.size() > 1) shared_size(dim, column);
  }
  close_line("dim");
  return result;
}

// `dim H = (K D)` is a group and `dim X = (k + 1) * 2` a size; a single name in parentheses is that
// name.
bool Parser::at_dim_group() const {
  if (!at("(") || !at_word(1) || peek(1).keyword != Keyword::none) return false;
  size_t close = 2;
  while (at_word(close) && peek(close).keyword == Keyword::none) ++close;
  if (!at(")", close)) return false;
  return close > 2 || peek(close + 1).kind != Token::Kind::symbol;
}

DimDecl Parser::dim_declaration() {
  DimDecl result;
  const uint32_t begin = peek().begin;
  do result.names.push_back(name("the name of a dim"));
  while (at_word() && !at("pads") && !at_next_line());
  if (accept("pads")) {
    result.kind = DimDecl::Kind::pads;
    result.of.push_back(name("the dim that is padded"));
  }
  if (result.kind == DimDecl::Kind::plain && accept("=")) {
    const bool alone =
        at_word() && at_keyword(Keyword::none) && peek(1).kind != Token::Kind::symbol;
    if (alone) {
      result.kind = DimDecl::Kind::alias;
      result.of.push_back(name("a dim"));
    } else if (at_dim_group()) {
      take();
      while (at_word()) result.of.push_back(name("a dim of the group"));
      expect(")", "after a group of dims");
      result.kind = result.of.size() > 1 ? DimDecl::Kind::group : DimDecl::Kind::alias;
    } else {
      result.kind = DimDecl::Kind::size;
      result.size = sum();
    }
  }
  result.range = since(begin);
  return result;
}

// `dim B L D=8`: of D alone, as in `mesh d t=4`, or of each, as in `dim S T = L`?
void Parser::shared_size(const DimDecl& dim, size_t column) {
  const std::string line = "\n" + std::string(column, ' ') + "dim ", &last = dim.names.back();
  const std::string size = " = " + print_sum(*dim.size);
  const std::string first =
      join(std::vector<std::string>(dim.names.begin(), dim.names.end() - 1), " ");
  Diagnostic diagnostic =
      error("E0002", dim.range, "one size for several dims", "of " + last + " alone, or of each?");
  // What follows on the line, as in `dim N A=102 B M`, begins a line too.
  const std::string rest = at_word() && !at_next_line() ? line : "";
  const auto of_each =
      "of each: write `dim " + dim.names[0] + size + "`, and so for the others, each on its line";
  SourceRange range = dim.range;
  if (!rest.empty()) range.end = peek().begin;
  diagnostic.fixes.push_back(
      replace(range, first + line + last + size + rest,
              "of " + last + " alone: write `dim " + first + "` and `dim " + last + size + "`"));
  diagnostic.fixes.push_back(replace(range, join(dim.names, size + line) + size + rest, of_each));
  tell(std::move(diagnostic));
}

ConstDecl Parser::constant() {
  const Form form(form_, "const eps = 1e-5");
  ConstDecl result;
  const uint32_t begin = take().begin;
  result.name = value_name("the name of a const");
  expect("=", "after the name of a const");
  result.value = expression();
  result.range = since(begin);
  return result;
}

Require Parser::require() {
  const Form form(form_, "require |K| >= |t|");
  Require result;
  const uint32_t begin = take().begin;
  result.condition = expression();
  result.range = since(begin);
  return result;
}

ConfigDecl Parser::config() {
  const Form form(form_, "config tiny { B=8 M=64 d=2 }");
  ConfigDecl result;
  const uint32_t begin = take().begin;
  result.name = name("the name of a config");
  expect("{", "after the name of a config");
  while (at_word() && !at_declaration()) {
    ConfigDecl::Entry entry;
    const uint32_t first = peek().begin;
    entry.name = name("the name of a dim, an axis or a const");
    expect("=", "after a name in a config");
    if (peek().kind != Token::Kind::number) fail("a number");
    entry.number = std::string(take().text);
    entry.range = since(first);
    result.entries.push_back(std::move(entry));
  }
  expect("}", "at the end of a config");
  result.range = since(begin);
  return result;
}

RecordDecl Parser::record() {
  const Form form(form_, "record W { a b: f32[M F]  n: f32[M] }");
  RecordDecl result;
  const uint32_t begin = take().begin;
  result.name = name("the name of a record");
  result.fields = fields();
  result.range = since(begin);
  return result;
}

LayoutDecl Parser::layout() {
  const Form form(form_, "layout Wt of W { a b: f32[M F/t]  n: f32[M] }");
  LayoutDecl result;
  const uint32_t begin = take().begin;
  result.name = name("the name of a layout");
  if ((at("for") || at(":") || at("=") || at("implements")) && at_word(1)) {
    Diagnostic diagnostic =
        error("E0002", range(peek()), "expected `of` after the name of a layout, found " + found());
    const bool close = tokens_[pos_ - 1].end == peek().begin;
    diagnostic.fixes.push_back(replace(range(peek()), close ? " of" : "of", "write `of`"));
    fail(std::move(diagnostic));
  }
  expect("of", "after the name of a layout");
  result.record = name("the name of a record");
  result.fields = fields();
  result.range = since(begin);
  return result;
}

std::vector<Group> Parser::fields() {
  std::vector<Group> result;
  expect("{", "before the fields");
  while (!at("}") && !at_end() && !at_declaration()) {
    try {
      result.push_back(group("a field"));
    } catch (const Abandon& abandon) {
      if (abandon.until != Abandon::Until::statement) throw;
      skip_to_group();
    }
  }
  expect("}", "after the fields");
  return result;
}

}  // namespace shardproof::syntax
