#include "spec/cli/latex_reader_test.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace shardproof::cli {
namespace {

struct Token {
  enum class Kind { end, name, number, command, text, texttt, symbol } kind = Kind::end;
  std::string text;
};

/// Without its backslashes.
std::string unescaped(const std::string& text) {
  static const std::vector<std::pair<std::string, std::string>> spelled = {
      {"\\textbackslash{}", "\\"}, {"\\textasciicircum{}", "^"}, {"\\textasciitilde{}", "~"}};
  std::string result;
  for (size_t i = 0; i < text.size();) {
    bool found = false;
    for (const auto& [from, to] : spelled)
      if (text.compare(i, from.size(), from) == 0) {
        result += to;
        i += from.size();
        found = true;
        break;
      }
    if (found) continue;
    if (text[i] == '\\') ++i;
    result += text[i++];
  }
  return result;
}

std::vector<Token> tokens_of(const std::string& text) {
  using Kind = Token::Kind;
  std::vector<Token> tokens;
  size_t i = 0;
  const auto letter = [&](size_t at) { return at < text.size() && std::isalpha(text[at]); };
  const auto digit = [&](size_t at) { return at < text.size() && std::isdigit(text[at]); };
  const auto underscore = [&](size_t at) { return text.compare(at, 2, "\\_") == 0; };
  while (i < text.size()) {
    if (text[i] == ' ' || text.compare(i, 2, "\\ ") == 0) {
      i += text[i] == ' ' ? 1 : 2;
    } else if (letter(i) || underscore(i)) {
      std::string name;
      while (letter(i) || digit(i) || underscore(i)) {
        if (underscore(i)) ++i;
        name += text[i++];
      }
      tokens.push_back({Kind::name, name});
    } else if (digit(i)) {
      std::string number;
      while (digit(i) || (text[i] == '.' && digit(i + 1))) number += text[i++];
      static const std::string power = "\\times 10^{";
      if (text.compare(i, power.size(), power) == 0) {
        number += "e";
        for (i += power.size(); text[i] != '}'; ++i) number += text[i];
        ++i;
      }
      tokens.push_back({Kind::number, number});
    } else if (text[i] == '\\' && letter(i + 1)) {
      std::string command;
      for (++i; letter(i); ++i) command += text[i];
      if (command == "text" || command == "texttt") {
        std::string inside;
        for (++i; text.at(i) != '}'; ++i) {
          inside += text[i];
          if (text[i] == '\\') {
            if (text.compare(i, 5, "\\text") == 0)
              for (++i; text[i] != '{'; ++i) inside += text[i];
            else
              ++i;
            inside += text[i];
            if (text[i] == '{' && text[i + 1] == '}') inside += text[++i];
          }
        }
        ++i;
        tokens.push_back({command == "text" ? Kind::text : Kind::texttt, unescaped(inside)});
      } else if ((command == "left" || command == "right")) {
        tokens.push_back({Kind::command, command + text[i++]});
      } else {
        tokens.push_back({Kind::command, command});
      }
    } else if (text[i] == '\\') {
      tokens.push_back({Kind::symbol, text.substr(i, 2)});  // \, \{ \}
      i += 2;
    } else {
      tokens.push_back({Kind::symbol, text.substr(i++, 1)});
    }
  }
  tokens.push_back({});
  return tokens;
}

/// One operand's or result's shape: what the notation writes, and its indices.
struct Shape {
  std::string type_name, dims, marks;
  std::vector<std::string> names;
  std::string pattern() const {
    if (!type_name.empty()) return type_name + "[" + dims + "]" + marks;
    return dims + (dims.empty() || marks.empty() ? "" : " ") + marks;
  }
};

class Reader {
 public:
  explicit Reader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  bool at_end() const { return peek().kind == Token::Kind::end; }
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token take() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  bool is(const std::string& text, size_t ahead = 0) const {
    const Token& token = peek(ahead);
    return (token.kind == Token::Kind::symbol || token.kind == Token::Kind::command) &&
           token.text == text;
  }
  bool accept(const std::string& text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  bool accept_text(const std::string& text) {
    if (peek().kind != Token::Kind::text || peek().text != text) return false;
    ++at_;
    return true;
  }
  void expect(const std::string& text) {
    if (!accept(text)) fail("`" + text + "`");
  }
  [[noreturn]] void fail(const std::string& what) const {
    std::string rest;
    for (size_t i = at_; i < tokens_.size() && i < at_ + 8; ++i) rest += " " + tokens_[i].text;
    throw std::runtime_error("expected " + what + ", found" + rest);
  }
  std::string name() {
    if (peek().kind != Token::Kind::name && peek().kind != Token::Kind::number) fail("a name");
    return take().text;
  }
  std::string names(const std::string& between) {
    std::string text = name();
    while (accept(",")) text += between + name();
    return text;
  }
  std::string text() {
    if (peek().kind != Token::Kind::text) fail("a word");
    return take().text;
  }

  // --- types ---

  std::string dim(std::vector<std::string>& indices) {
    if (accept("ldots")) return "...";
    if (accept("ast")) return "*";
    if (accept("underline")) {
      expect("{");
      const std::string inside = dim(indices);
      expect("}");
      return "[" + inside + "]";
    }
    std::string result;
    if (accept("(")) {
      do {
        indices.push_back(name());
        result += (result.empty() ? "(" : " ") + indices.back();
      } while (accept("\\,"));
      expect(")");
      result += ")";
    } else {
      indices.push_back(name());
      result = indices.back();
    }
    if (!accept("_")) return result;
    if (!accept("{")) return result + "/" + name();
    do result += "/" + name();
    while (accept(","));
    expect("}");
    return result;
  }
  std::string marks() {
    if (!accept("\\{")) return "";
    std::string result;
    do {
      const std::string mark = peek().kind == Token::Kind::text ? text() : name();
      expect("_");
      const bool braces = accept("{");
      result += (result.empty() ? "{" : " ") + mark + "_" + name();
      if (braces) expect("}");
    } while (accept("\\,"));
    expect("\\}");
    return result + "}";
  }
  Shape shape() {
    Shape result;
    expect("[");
    while (!accept("]")) {
      result.dims += (result.dims.empty() ? "" : " ") + dim(result.names);
      accept(",");
    }
    result.marks = marks();
    return result;
  }
  std::string type() {
    std::string result = text();
    if (is("[")) {
      const Shape of = shape();
      return result + "[" + of.dims + "]" + of.marks;
    }
    return result + marks();
  }
  std::string group() {
    if (peek().kind == Token::Kind::text) return type();
    std::string result;
    do result += (result.empty() ? "" : " ") + name();
    while (accept(","));
    expect("colon");
    return result + ": " + type();
  }
  std::string pattern() {
    if (peek().kind == Token::Kind::texttt) return take().text;
    std::string result;
    const auto operand = [&] {
      const std::string named = peek().kind == Token::Kind::text ? text() : "";
      Shape of = shape();
      of.type_name = named;
      return of.pattern();
    };
    if (!is("to") && !is(";")) {
      result = operand();
      while (accept(",")) result += ", " + operand();
    }
    if (accept("to")) result += " -> " + operand();
    if (accept(";")) result += "; " + shape().dims;
    return result;
  }

  // --- expressions, fully in parentheses ---

  std::string expression(const Shape* stated = nullptr) { return chain(0, stated); }
  std::string term() { return chain(4, nullptr); }
  std::string expressions() {
    std::string result = expression();
    while (accept(",")) result += ", " + expression();
    return result;
  }

 private:
  using Signs = std::vector<std::pair<std::string, std::string>>;

  std::string chain(size_t level, const Shape* stated) {
    static const std::vector<Signs> levels = {
        {{"vee", "or"}},
        {{"wedge", "and"}},
        {},
        {{"=", "=="}, {"neq", "!="}, {"<", "<"}, {">", ">"}, {"le", "<="}, {"ge", ">="}},
        {{"+", "+"}, {"-", "-"}},
        {{"odot", "*"}, {"cdot", "*"}, {"/", "/"}, {"bmod", "%"}}};
    if (level == 2) {
      if (!accept("lnot")) return chain(3, stated);
      return "(not " + chain(3, nullptr) + ")";
    }
    if (level == levels.size()) {
      if (!accept("-")) return postfix(stated);
      return "(-" + postfix(nullptr) + ")";
    }
    std::string left = chain(level + 1, stated);
    for (;;) {
      const auto found = std::find_if(levels[level].begin(), levels[level].end(),
                                      [&](const auto& sign) { return is(sign.first); });
      if (found == levels[level].end()) return left;
      take();
      const std::string right = chain(level + 1, nullptr);
      last_ = {left, right};
      last_is_division_ = found->second == "/";
      left = "(" + left + " " + found->second + " " + right + ")";
    }
  }

  /// What stands between a sum sign and its end: operands with their indices.
  std::string contraction(const std::string& fn, const std::vector<std::string>& over,
                          std::vector<std::pair<std::string, Shape>> factors, const Shape& result,
                          const std::string& dtype) {
    std::vector<std::string> lacking;
    const auto has = [](const std::vector<std::string>& list, const std::string& name) {
      return std::find(list.begin(), list.end(), name) != list.end();
    };
    std::string patterns, values;
    for (const auto& [value, of] : factors) {
      patterns += (patterns.empty() ? "" : ", ") + of.pattern();
      values += ", " + value;
      for (const std::string& each : of.names)
        if (!has(result.names, each) && !has(lacking, each)) lacking.push_back(each);
    }
    if (lacking != over) throw std::runtime_error("a sum over other indices than its factors have");
    return (fn == "max"           ? "max"
            : factors.size() == 1 ? "sum"
                                  : "einsum") +
           std::string("(\"") + patterns + " -> " + result.pattern() + "\"" + values +
           (dtype.empty() ? "" : ", to=" + dtype) + ")";
  }

  std::string summed(const Shape* stated) {
    std::string fn = "sum";
    std::vector<std::string> over;
    if (is("sum") || is("max")) {
      fn = take().text;
      expect("_");
      expect("{");
      do over.push_back(name());
      while (accept(","));
      expect("}");
    }
    std::vector<std::pair<std::string, Shape>> factors;
    do {
      const std::string value = postfix(nullptr, true);
      factors.emplace_back(value, shape());
    } while (accept("\\,"));
    if (stated) return contraction(fn, over, factors, *stated, "");
    expect("right]");
    expect("_");
    expect("{");
    const std::string dtype = peek().kind == Token::Kind::text ? text() : "";
    const Shape result = shape();
    expect("}");
    return contraction(fn, over, factors, result, dtype);
  }

  /// Whether a whole right side is a contraction without brackets: its first operand has a shape.
  bool bare_contraction() const {
    if (is("sum") || (is("max") && is("_", 1))) return true;
    int depth = 0;
    for (size_t i = 0; peek(i).kind != Token::Kind::end; ++i) {
      const std::string& here = peek(i).text;
      if (is("(", i) || is("{", i) || is("left[", i) || is("\\{", i) || is("left(", i) ||
          is("[", i)) {
        if (depth == 0 && is("[", i)) return true;
        ++depth;
      }
      if (is(")", i) || is("}", i) || is("right]", i) || is("\\}", i) || is("right)", i) ||
          is("]", i))
        --depth;
      if (here.empty()) break;
    }
    return false;
  }

  std::string postfix(const Shape* stated, bool operand = false) {
    if (stated && bare_contraction()) return summed(stated);
    std::string result = atom();
    for (;;) {
      if (accept(".")) {
        result += "." + name();
      } else if (accept("_")) {
        expect("{");
        result += "[" + names(", ") + "]";
        expect("}");
      } else if (peek().kind == Token::Kind::text && peek().text == "with") {
        take();
        expect("\\{");
        result = "(" + result + " with { " + fields() + " })";
        expect("\\}");
      } else {
        if (is("[") && !operand) fail("no shape here");
        return result;
      }
    }
  }

  std::string fields() {
    std::string result;
    do {
      std::string path = name();
      while (accept(".")) path += "." + name();
      expect("colon");
      result += (result.empty() ? "" : ", ") + path + " = " + expression();
    } while (accept(","));
    return result;
  }

  std::string atom() {
    if (is("left[")) {
      take();
      return summed(nullptr);
    }
    if (accept("(")) {
      const std::string inside = expression();
      expect(")");
      return "(" + inside + ")";
    }
    if (accept("|")) {
      const std::string size = name();
      expect("|");
      return "|" + size + "|";
    }
    if (accept("lfloor")) {
      expression();
      if (!last_is_division_) fail("a division");
      const std::string result = "(" + last_.first + " // " + last_.second + ")";
      expect("rfloor");
      return result;
    }
    if (is("nabla")) return gradient("grad");
    if (accept("left(")) {
      const std::string named = text();
      expect(",");
      return gradient("value_and_grad");
    }
    if (peek().kind == Token::Kind::number) {
      const std::string number = take().text;
      if (number != "0" || !is("_")) return number;
      take();
      expect("{");
      const std::string of = type();
      expect("}");
      return "zeros(" + of + ")";
    }
    if (peek().kind == Token::Kind::name) return take().text;
    if (peek().kind == Token::Kind::texttt) return "\"" + take().text + "\"";
    static const std::map<std::string, std::string> functions = {
        {"exp", "exp"},   {"log", "log"},     {"sin", "sin"},    {"cos", "cos"},
        {"tanh", "tanh"}, {"max", "maximum"}, {"min", "minimum"}};
    if (peek().kind == Token::Kind::command) {
      const auto found = functions.find(peek().text);
      if (found == functions.end()) fail("a function");
      take();
      return found->second + arguments("");
    }
    return word();
  }

  std::string word() {
    static const std::map<std::string, std::string> collectives = {
        {"AllGather", "all_gather"},
        {"AllReduce", "all_reduce"},
        {"ReduceScatter", "psum_scatter"},
        {"AllToAll", "all_to_all"}};
    const std::string each = accept_text("each") ? "each " : "";
    std::string called = peek().kind == Token::Kind::command ? "" : text();
    if (called.empty()) return each + atom();
    if (accept("_")) {
      expect("{");
      const std::string of = pattern();
      expect("}");
      const auto found = collectives.find(called);
      return each + (found == collectives.end() ? called : found->second) +
             arguments("\"" + of + "\"");
    }
    return is("(") ? each + called + arguments("") : called;
  }

  std::string gradient(const std::string& kind) {
    expect("nabla");
    std::string wrt;
    if (accept("_")) {
      expect("{");
      wrt = " wrt " + names(", ");
      expect("}");
    }
    const std::string called = text();
    if (kind == "value_and_grad") expect("right)");
    return kind + "(" + called + wrt + ")" + arguments("");
  }

  std::string arguments(std::string first) {
    expect("(");
    while (!accept(")")) {
      if (!first.empty()) first += ", ";
      if (peek().kind == Token::Kind::name && is("colon", 1)) {
        first += name() + "=";
        take();
      }
      first += expression();
      accept(",");
    }
    return "(" + first + ")";
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::pair<std::string, std::string> last_;
  bool last_is_division_ = false;
};

// --- lines ---

/// The mathematics and the words of a line: `scan $n \in N$, $...$` is words and math in turn.
struct Parts {
  std::vector<std::string> words, math;
};

Parts parts_of(const std::string& line) {
  Parts result;
  result.words.emplace_back();
  bool inside = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '$' && (i == 0 || line[i - 1] != '\\')) {
      inside = !inside;
      (inside ? result.math : result.words).emplace_back();
    } else {
      (inside ? result.math : result.words).back() += line[i];
    }
  }
  return result;
}

bool begins(const std::string& text, const std::string& with) {
  return text.compare(0, with.size(), with) == 0;
}

std::string dim_declaration(const std::string& math) {
  Reader reader(tokens_of(math));
  std::string text = "dim " + reader.names(" ");
  if (reader.accept_text(" of ")) {
    // `(K D)` is a group: a size has no parentheses around it.
    const std::string size = reader.expression();
    return text + " = " + (size[0] == '(' ? size.substr(1, size.size() - 2) : size);
  }
  if (reader.accept_text(" pads ")) return text + " pads " + reader.names(" ");
  if (!reader.accept("=")) return text;
  if (reader.accept("(")) {
    text += " = (" + reader.name();
    while (reader.accept("\\,")) text += " " + reader.name();
    reader.expect(")");
    return text + ")";
  }
  return text + " = " + reader.names(" ");
}

class Lines {
 public:
  explicit Lines(const std::string& equations) {
    std::istringstream in(equations);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  ReadBack read() {
    while (at_ < lines_.size()) {
      const std::string line = lines_[at_++];
      if (!line.empty()) declaration(line);
    }
    return std::move(result_);
  }

 private:
  void put(const std::string& line) {
    result_.text += std::string(inside_ ? 4 : 0, ' ') + line + "\n";
  }

  void declaration(const std::string& line) {
    const Parts parts = parts_of(line);
    const std::string& head = parts.words.at(0);
    const std::string math = parts.math.empty() ? "" : parts.math.at(0);
    if (begins(head, "**mesh**")) {
      Reader reader(tokens_of(math));
      std::string text = "mesh";
      while (!reader.at_end()) {
        text += " " + reader.name();
        if (reader.accept("=")) text += "=" + reader.name();
        reader.accept(",");
      }
      put(text);
    } else if (begins(head, "**dim**")) {
      put(dim_declaration(math));
    } else if (begins(head, "**const**")) {
      Reader reader(tokens_of(math));
      const std::string named = reader.name();
      reader.expect("=");
      put("const " + named + " = " + reader.expression());
    } else if (begins(head, "**require**")) {
      put("require " + Reader(tokens_of(math)).expression());
    } else if (begins(head, "**record ") || begins(head, "**layout ")) {
      std::string text = head;
      text.erase(std::remove(text.begin(), text.end(), '*'), text.end());
      put(text + "{ " + groups(math, "\n") + " }");
    } else {
      function(parts);
    }
  }

  static std::string groups(const std::string& math, const std::string& between) {
    Reader reader(tokens_of(math));
    std::string text;
    while (!reader.at_end()) {
      text += (text.empty() ? "" : between) + reader.group();
      reader.accept(",");
    }
    return text;
  }

  void function(const Parts& parts) {
    std::string head, body;
    size_t math = 0;
    std::string implements, trusted, pattern;
    for (size_t i = 0; i < parts.words.size(); ++i) {
      std::istringstream words(parts.words[i]);
      std::string last;
      for (std::string word; words >> word; last = word) {
        if (begins(word, "(") || word == ":" || word == "trusted" || word == "at") continue;
        word.erase(std::remove(word.begin(), word.end(), '*'), word.end());
        if (word.back() == ':') word.pop_back();
        if (!word.empty()) head += word + " ";
      }
      if (math + 1 >= parts.math.size()) continue;
      Reader reader(tokens_of(parts.math.at(math++)));
      if (last.rfind("implements", 0) == 0) {
        reader.expect("nabla");
        std::string wrt;
        if (reader.accept("_")) {
          reader.expect("{");
          wrt = " wrt " + reader.names(", ");
          reader.expect("}");
        }
        head += "grad(" + reader.text() + wrt + ") ";
      } else if (last == "trusted") {
        head = "trusted \"" + reader.take().text + "\" " + head;
      } else if (last == "at") {
        pattern = "\"" + reader.pattern() + "\", ";
      }
    }
    head.pop_back();
    Reader reader(tokens_of(parts.math.back()));
    std::string text = head + "(" + pattern;
    const auto params = [&] {
      bool first = true;
      while (!reader.is("mapsto") && !reader.is("mid")) {
        text += (first ? "" : ", ") + reader.group();
        if (reader.accept("=")) text += " = " + reader.expression();
        reader.accept(",");
        first = false;
      }
    };
    params();
    if (reader.accept("mid")) {
      text += "; ";
      params();
    }
    reader.expect("mapsto");
    text += ") -> ";
    const bool several = reader.accept("(");
    std::string results;
    while (!reader.at_end() && !reader.is(")")) {
      results += (results.empty() ? "" : ", ") + reader.group();
      reader.accept(",");
    }
    text += several ? "(" + results + ")" : results;
    while (at_ < lines_.size() && lines_[at_].empty()) ++at_;
    if (begins(head, "trusted")) return put(text);
    put(text + " {");
    inside_ = true;  // at the left edge `require` and `dim` would be the file's
    block("");
    inside_ = false;
    put("}");
  }

  void block(const std::string& indent) {
    while (at_ < lines_.size() && begins(lines_[at_], indent + "- ")) {
      const std::string line = lines_[at_++].substr(indent.size() + 2);
      statement(line, indent);
    }
  }

  void statement(const std::string& line, const std::string& indent) {
    const Parts parts = parts_of(line);
    const std::string& head = parts.words.at(0);
    const std::string& math = parts.math.at(0);
    if (head == "dim ") return put(dim_declaration(math));
    if (head == "require ") return put(head + Reader(tokens_of(math)).expression());
    if (head == "assume ") return assume(math);
    if (!head.empty()) return put(head + Reader(tokens_of(math)).expressions());
    Reader reader(tokens_of(math));
    std::string targets;
    Shape stated;
    bool shaped = false;
    size_t count = 0;
    while (!reader.is("=") && !reader.at_end()) {
      const std::string name = reader.name();
      targets += (targets.empty() ? "" : ", ") + name;
      shaped = false;
      if (reader.accept("colon")) {
        targets += ": " + reader.type();
      } else if (reader.is("[") || reader.is("\\{")) {
        stated = Shape();
        if (reader.is("[")) stated = reader.shape();
        shaped = true;
        result_.shapes.insert(name + "[" + stated.dims + "]" + stated.marks);
      }
      reader.accept(",");
      ++count;
    }
    if (parts.words.at(1).find("=") != std::string::npos) return loop(targets, parts, indent);
    reader.expect("=");
    put(targets + " = " + reader.expression(shaped && count == 1 ? &stated : nullptr));
    if (!reader.at_end()) reader.fail("the end of the line");
  }

  void assume(const std::string& math) {
    // A chain of sums and comparisons; each term in parentheses is what it was.
    Reader reader(tokens_of(math));
    std::string text = "assume " + reader.term();
    static const std::map<std::string, std::string> signs = {
        {"=", "=="}, {"neq", "!="}, {"<", "<"}, {">", ">"}, {"le", "<="}, {"ge", ">="}};
    while (!reader.at_end()) {
      const auto sign = signs.find(reader.take().text);
      if (sign == signs.end()) reader.fail("a comparison");
      text += " " + sign->second + " " + reader.term();
    }
    put(text);
  }

  void loop(const std::string& targets, const Parts& parts, const std::string& indent) {
    const std::string kind = parts.words.at(1);
    Reader reader(tokens_of(parts.math.at(1)));
    std::string text = targets;
    if (kind.find("scan") != std::string::npos || kind.find("stages") != std::string::npos) {
      const std::string variables = reader.names(", ");
      reader.expect("in");
      text += kind.find("scan") != std::string::npos ? " = scan " : " = stages ";
      text += variables + " in " + reader.names(", ");
      if (parts.words.at(2).find("reverse") != std::string::npos) text += " reverse";
    } else if (kind.find("ring") != std::string::npos) {
      text += " = ring " + reader.name();
      if (!reader.accept_text(" over ")) reader.fail("over");
      text += " over " + reader.name();
      reader.expect("_");
      reader.expect("{");
      text += "/" + reader.name();
      reader.expect("}");
      if (!reader.accept_text(" as ")) reader.fail("as");
      text += " as " + reader.name();
    } else {
      text += " = pipeline " + reader.name();
      reader.expect("in");
      text += " in " + reader.name();
      if (!reader.accept_text(" over ")) reader.fail("over");
      text += " over " + reader.name();
      if (!reader.accept_text(" by ")) reader.fail("by");
      text += " by " + reader.expression();
    }
    for (size_t i = 2; i < parts.math.size(); ++i) {
      Reader carry(tokens_of(parts.math[i]));
      text += ", " + carry.name() + ": ";
      carry.expect("colon");
      text += carry.type() + " = ";
      carry.expect("leftarrow");
      text += carry.expression();
    }
    put(text + " {");
    block(indent + "  ");
    put("}");
  }

  std::vector<std::string> lines_;
  size_t at_ = 0;
  bool inside_ = false;
  ReadBack result_;
};

}  // namespace

ReadBack read_latex(const std::string& equations) { return Lines(equations).read(); }

}  // namespace shardproof::cli
