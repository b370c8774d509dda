// What people write who know Python, JAX, PyTorch or C, and what to write instead.
#include "spec/syntax/other_names.h"
#include "spec/syntax/parser_impl.h"
#include "spec/syntax/words.h"

namespace shardproof::syntax {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  for (const std::string_view each : words)
    if (word == each) return true;
  return false;
}

}  // namespace

size_t Cursor::first_of_path(size_t last) const {
  size_t first = last;
  while (first >= 2 && tokens_[first - 1].text == "." &&
         tokens_[first - 2].kind == Token::Kind::word)
    first -= 2;
  return first;
}

// `jnp.tanh(x)`, `x.tanh()`, `x.reshape(..)`.
std::optional<Fix> Cursor::no_method() const {
  if (!at("(") || pos_ < 2 || tokens_[pos_ - 2].text != "." ||
      tokens_[pos_ - 1].kind != Token::Kind::word)
    return std::nullopt;
  const size_t first = first_of_path(pos_ - 1);
  const Token& last = tokens_[pos_ - 1];
  const std::string name(last.text);
  if (is_module(tokens_[first].text)) {
    if (begins_loop(name)) return advice("a loop is `scan n in N, c: f32[B M] = x { next ... }`");
    const std::optional<Fix> other = other_name(name);
    return replace({file_, tokens_[first].begin, last.begin}, "",
                   "there are no modules: " + (other ? other->message : "`" + name + "(...)`"));
  }
  if (std::optional<Fix> other = other_name(name)) return other;
  if (at(")", 1))
    return replace({file_, tokens_[first].begin, peek(1).end},
                   name + "(" + text(tokens_[first].begin, tokens_[pos_ - 3].end) + ")",
                   "there are no methods: call the function by its name");
  return advice("there are no methods and no modules: call a function by its name, `" + name +
                "(...)`");
}

// `jax.grad`, `w.grad`: a reserved word after a dot.
std::optional<Fix> Cursor::no_field() const {
  if (pos_ < 2 || tokens_[pos_ - 1].text != "." || tokens_[pos_ - 2].kind != Token::Kind::word)
    return std::nullopt;
  const std::string word(peek().text);
  if (begins_loop(word)) return advice("a loop is `scan n in N, c: f32[B M] = x { next ... }`");
  if (word != "grad" && word != "value_and_grad") return std::nullopt;
  const size_t first = first_of_path(pos_ - 2);
  if (at("(", 1) && is_module(tokens_[first].text))
    return replace({file_, tokens_[first].begin, peek().begin}, "",
                   "there are no modules: `" + word + "(f wrt w)(w, x)`");
  return advice("a gradient is a result: `_loss, g = value_and_grad(f wrt w)(w, x)`");
}

std::string Cursor::text(uint32_t begin, uint32_t end) const {
  std::string result;
  for (const Token& token : tokens_)
    if (token.begin >= begin && token.end <= end) result += token.text;
  return result;
}

// `mesh (d, t)`, `mesh d:8 t:4`, `dim B, L`: the line as it is written here.
std::optional<Fix> Parser::names_alone(std::string_view word) const {
  size_t first = pos_;
  while (first > 0 && !(tokens_[first].first_on_line && tokens_[first].text == word)) --first;
  std::string line;
  bool sized = false;
  for (size_t i = first + 1; i < stop_; ++i) {
    const Token& token = tokens_[i];
    const std::string text(token.text);
    const bool after_name = i > first + 1 && tokens_[i - 1].kind != Token::Kind::symbol;
    if (token.kind == Token::Kind::word || token.kind == Token::Kind::string) {
      if (text.find_first_of(" ,\"") != text.npos || text.empty()) return std::nullopt;
      line += (line.empty() ? "" : " ") + text;
    } else if (token.kind == Token::Kind::number && sized) {
      line += "=" + text;
    } else if (token.kind != Token::Kind::symbol ||
               !is_one_of(text, {"(", ")", "[", "]", "{", "}", ",", ";", ":", "="})) {
      return std::nullopt;
    }
    sized = after_name && (text == ":" || text == "=");
  }
  if (line.empty()) return std::nullopt;
  const std::string whole = std::string(word) + " " + line;
  return replace({file_, tokens_[first].begin, tokens_[stop_ - 1].end}, whole,
                 "spaces separate the names: `" + whole + "`");
}

// `x * x  // squares`: `#` for this `//`, and for each other one that cannot be a division.
Fix Parser::own_comment(size_t slashes) const {
  Fix fix{"a comment begins with `#`", {}, false, ""};
  const auto in_line = [&](size_t i) { return !tokens_[i].first_on_line; };
  const auto word = [&](size_t i) { return in_line(i) && tokens_[i].kind == Token::Kind::word; };
  size_t first = 0;  // of the line
  for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
    if (tokens_[i].first_on_line) first = i;
    if (tokens_[i].text != "//" || tokens_[i].kind != Token::Kind::symbol) continue;
    const bool names = is_one_of(tokens_[first].text, {"mesh", "dim"});
    const bool opens = i > 0 && is_one_of(tokens_[i - 1].text, {"{", "}", ","});
    const bool prose =
        !in_line(i + 1) || opens || (word(i + 1) && i + 2 < tokens_.size() && word(i + 2));
    if (i == slashes || i == first || names || prose) fix.edits.push_back({range(tokens_[i]), "#"});
  }
  return fix;
}

// `f32[B, M]`: without the commas of all types from here on.
Fix Parser::dims_alone() const {
  Fix fix = replace(range(peek()), "", "remove " + found());
  int depth = 1;  // of brackets
  bool of_type = true;
  for (size_t i = pos_ + 1; i < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    if (token.kind == Token::Kind::string) continue;
    if (token.text == "[") {
      if (depth++ == 0) of_type = is_dtype(tokens_[i - 1].text);
    } else if (token.text == "]") {
      depth = depth > 0 ? depth - 1 : 0;
    } else if (token.text == "," && depth == 1 && of_type) {
      fix.edits.push_back({range(token), ""});
    }
  }
  return fix;
}

// `f32(B M)`, `f32<B M>`, `f32{B M}`: brackets in all types from here on.
std::optional<Fix> Parser::dims_in_brackets() const {
  const std::string open(peek().text);
  const char* const close_text = open == "("   ? ")"
                                 : open == "<" ? ">"
                                 : open == "{" ? "}"
                                               : nullptr;
  if (close_text == nullptr) return std::nullopt;
  Fix fix{"the dims of a type stand in brackets", {}, false, ""};
  for (size_t i = pos_; i + 1 < tokens_.size(); ++i) {
    const Token& before = tokens_[i - 1];
    if (tokens_[i].text != open || !is_dtype(before.text) || before.end != tokens_[i].begin)
      continue;
    size_t close = i + 1;
    while (close < tokens_.size() &&
           (tokens_[close].kind == Token::Kind::word || is_one_of(tokens_[close].text, {"/", ","})))
      ++close;
    if (close == tokens_.size() || tokens_[close].text != close_text) {
      if (i == pos_) return std::nullopt;
      continue;
    }
    // In a body it is a cast.
    if (i > pos_ && !is_one_of(tokens_[i - 2].text, {":", "->"})) continue;
    fix.edits.push_back({range(tokens_[i]), "["});
    for (size_t at = i; at < close; ++at)
      if (tokens_[at].text == ",") fix.edits.push_back({range(tokens_[at]), ""});
    fix.edits.push_back({range(tokens_[close]), "]"});
  }
  return fix;
}

// `range(N)`, `0 .. |N|`, `0..N` for the dim of a scan: the one name in it.
std::optional<Fix> Parser::dim_of_range(size_t first) const {
  std::string_view dim;
  size_t end = first;
  for (int depth = 0; end + 1 < tokens_.size(); ++end) {
    const Token& token = tokens_[end];
    if ((end > first && token.first_on_line) || token.text == "{") break;
    if (depth == 0 && token.text == ",") break;
    depth += (token.text == "(") - (token.text == ")");
    if (token.kind != Token::Kind::word ||
        is_one_of(token.text, {"range", "len", "arange", "jnp", "np", "torch"}))
      continue;
    if (!dim.empty()) return std::nullopt;
    dim = token.text;
  }
  if (dim.empty()) return std::nullopt;
  return replace({file_, tokens_[first].begin, tokens_[end - 1].end}, std::string(dim),
                 "a scan goes over a dim from its first entry on: `in " + std::string(dim) + "`");
}

// After the point of `x.sum(0)` or `jnp.sum(x, axis=0)`, with arguments that could stand here.
bool Parser::at_foreign_call() const {
  const bool other = !is_reserved(peek().text) || is_dtype(peek().text);
  if (!at_word() || !other || at("size") || !at("(", 1)) return false;
  size_t depth = 0;
  for (size_t i = pos_ + 1; i + 1 < tokens_.size(); ++i) {
    const std::string_view text = tokens_[i].text;
    if (tokens_[i].kind == Token::Kind::string) continue;
    if (is_one_of(text, {"[", "{", "lambda", "for", "**"})) return false;
    if (text == "(" && i > pos_ + 1 && tokens_[i - 1].kind == Token::Kind::symbol &&
        is_one_of(tokens_[i - 1].text, {"(", ",", "="}))
      return false;  // a tuple
    depth += text == "(";
    if (text == ")" && --depth == 0) return true;
  }
  return false;
}

Expr Parser::foreign_call(Expr before) {
  Expr result;
  result.kind = Expr::Kind::call;
  result.range.begin = before.range.begin;
  const Expr* root = &before;
  while (root->kind == Expr::Kind::field) root = &root->args[0];
  const bool module = root->kind == Expr::Kind::name && is_module(root->text);
  result.names = {module ? print(before) : ""};
  result.text = std::string(take().text);
  const int height = height_;
  if (!module) {
    result.args.push_back(std::move(before));
    result.arg_names.emplace_back();
  }
  arguments(result);
  result.range = since(result.range.begin);
  grow(std::max(height, height_));
  return result;
}

// `x[:, None]`, `w["a"]`.
std::optional<Fix> Parser::no_entry() const {
  const uint32_t open = tokens_[pos_ - 1].begin;
  if (at_string() && at("]", 1))
    return replace({file_, open, peek(1).end}, "." + std::string(peek().text),
                   "a field stands after a point");
  size_t close = pos_;
  bool added = false;
  while (close < tokens_.size() &&
         is_one_of(tokens_[close].text, {":", ",", "...", "None", "newaxis"}))
    added = tokens_[close++].text.size() > 3 || added;
  if (added && close < tokens_.size() && tokens_[close].text == "]")
    return replace({file_, open, tokens_[close].end}, "",
                   "dims are matched by name: no dim of size 1 is needed");
  return std::nullopt;
}

// `let y = ..`, `assert c`, `dist.all_reduce(x)`, `"""text"""`.
std::optional<Fix> Parser::other_statement() const {
  const Token& token = peek();
  const std::string word(token.text);
  if (at_string()) return advice("a comment begins with `#`");
  if (!at_word()) return std::nullopt;
  if (is_one_of(word, {"let", "var", "auto", "val"}) && at_word(1))
    return replace({file_, token.begin, peek(1).begin}, "", "a value is named by `name = ...`");
  if (word == "assert") return replace(range(token), "require", "what is assumed is a `require`");
  if (word == "yield") return replace(range(token), "emit", "a loop emits");
  if (word == "pass" || word == "break" || word == "continue")
    return advice("a body has one path, and ends with `return`; a loop with `next` or `emit`");
  if (is_one_of(word, {"def", "fn", "lambda"}))
    return advice("functions stand at the top of a file, and not in another one");
  if (at(".", 1) && at_word(2)) {
    size_t last = 2;
    while (at(".", last + 1) && at_word(last + 2)) last += 2;
    const std::string name(peek(last).text);
    if (name == "backward")
      return advice("a gradient is a result: `_loss, g = value_and_grad(f wrt w)(w, x)`");
    if (std::optional<Fix> other = other_name(name)) return other;
    return advice("no call changes a value: name its result, `y = " + name + "(...)`");
  }
  if (at("(", 1)) return other_name(word);
  return std::nullopt;
}

// `x if c else y` after a value.
std::optional<Fix> Parser::other_choice() const {
  if (!at("if") || peek().first_on_line) return std::nullopt;
  return advice("a choice is `where(c, x, y)`");
}

// `plan p of f`, `plan p: f`, `plan p implement f`.
std::optional<Fix> Parser::other_implements() const {
  if (!is_one_of(peek().text, {"of", "for", "implement", "is", "as", ":", "="}) || !at_word(1))
    return std::nullopt;
  const bool spaced = pos_ > 0 && tokens_[pos_ - 1].end == peek().begin;
  return replace(range(peek()), spaced ? " implements" : "implements",
                 "a plan `implements` its model");
}

}  // namespace shardproof::syntax
