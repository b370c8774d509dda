#include "properties/near_miss/pair.h"

#include <cctype>
#include <set>

#include "properties/near_miss/source.h"

namespace shardproof::near_miss {
namespace {

struct Family {
  const char* name;
  Draft (*draw)(Source&);
};
constexpr Family all[] = {
    {"pointwise", pointwise},  {"slices", slices}, {"contractions", contractions},
    {"aliases", aliases},      {"scans", scans},   {"collectives", collectives},
    {"optimizers", optimizers}};

/// A piece of a body that a change may exchange.
struct Token {
  enum class Kind { number, name, op, dim } kind;
  size_t begin, end;
};

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Dims are names within quotes; of the other names only values, not what is called or bound.
std::vector<Token> tokens(const std::string& text, const std::set<std::string>& dims) {
  std::vector<Token> result;
  bool quoted = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') quoted = !quoted;
    if (!is_letter(text[i])) {
      const bool spaced = i > 0 && text[i - 1] == ' ' && i + 1 < text.size() && text[i + 1] == ' ';
      if (!quoted && spaced && std::string("+-*/<").find(text[i]) != std::string::npos)
        result.push_back({Token::Kind::op, i, i + 1});
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && (is_letter(text[end]) || text[end] == '.')) ++end;
    const std::string word = text.substr(i, end - i);
    const bool called = end < text.size() && text[end] == '(';
    const bool bound = text.compare(end, 2, " =") == 0 && text.compare(end, 3, " ==") != 0;
    const bool state = i > 0 && text[i - 1] == '/';
    if (std::isdigit(static_cast<unsigned char>(word[0])))
      result.push_back({Token::Kind::number, i, end});
    else if (quoted && dims.count(word) && !state)
      result.push_back({Token::Kind::dim, i, end});
    else if (!quoted && !called && !bound && text[i ? i - 1 : 0] != '|')
      result.push_back({Token::Kind::name, i, end});
    i = end;
  }
  return result;
}

/// The words that are no values.
bool reserved(const std::string& word) {
  static const std::set<std::string> words{"return", "scan",    "in",  "next", "emit", "reverse",
                                           "f32",    "require", "at",  "by",   "N",    "n",
                                           "k",      "e",       "ids", "mesh"};
  return words.count(word) > 0;
}

std::string exchanged(Source& source, const Token& token, const std::string& word,
                      const std::vector<std::string>& names, const std::vector<std::string>& dims) {
  switch (token.kind) {
    case Token::Kind::number: {
      static const std::vector<std::string> numbers{"0", "1", "2", "3", "4", "5", "0.5", "0.25"};
      return source.of(numbers);
    }
    case Token::Kind::op: {
      static const std::vector<std::string> ops{"+", "-", "*", "/"};
      return word == "<" ? (source.one_in(2) ? "<=" : ">") : source.of(ops);
    }
    case Token::Kind::dim:
      return source.of(dims);
    case Token::Kind::name:
      break;
  }
  return source.of(names);
}

/// One token of the body becomes another one of its kind.
std::string changed(Source& source, std::string body, const std::vector<std::string>& dims) {
  std::vector<Token> some = tokens(body, {dims.begin(), dims.end()});
  std::erase_if(some, [&](const Token& token) {
    return token.kind == Token::Kind::name &&
           reserved(body.substr(token.begin, token.end - token.begin));
  });
  if (some.empty()) return body;
  std::vector<std::string> names;
  for (const Token& token : some)
    if (token.kind == Token::Kind::name)
      names.push_back(body.substr(token.begin, token.end - token.begin));
  const Token& token = some[source.below(some.size())];
  const std::string word = body.substr(token.begin, token.end - token.begin);
  return body.replace(token.begin, token.end - token.begin,
                      exchanged(source, token, word, names, dims));
}

}  // namespace

const std::vector<std::string>& families() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const Family& family : all) result.push_back(family.name);
    return result;
  }();
  return names;
}

Pair draw(laws::Dice dice) {
  Source source(std::move(dice));
  const Family& family = all[source.below(std::size(all))];
  const Draft draft = family.draw(source);
  Pair pair{family.name, {}, 0};
  std::string body = draft.plan_body;
  const int wanted = source.one_in(8) ? 0 : source.number(1, 2);
  for (int i = 0; i < wanted; ++i) body = changed(source, body, draft.dims);
  pair.changed = body == draft.plan_body ? 0 : wanted;
  pair.text = draft.declarations + "fn f(" + draft.params + ") -> " + draft.result + " {\n" +
              draft.body + "}\nplan p implements f(" + draft.plan_params + ") -> " +
              draft.plan_result + " {\n" + body + "}\n";
  return pair;
}

}  // namespace shardproof::near_miss
