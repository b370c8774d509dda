#include "spec/syntax/format.h"

#include <algorithm>
#include <set>
#include <vector>

#include "spec/syntax/lexer.h"
#include "spec/syntax/parser.h"

namespace shardproof::syntax {
namespace {

constexpr int columns_per_level = 4;

/// The offsets at which declarations, statements and steps of schedules begin.
class Starts {
 public:
  explicit Starts(const File& file) {
    for (const Declaration& each : file.declarations)
      std::visit([this](const auto& declaration) { add(declaration); }, each);
  }
  bool contains(uint32_t offset) const { return offsets_.count(offset) > 0; }

 private:
  template <class Other>
  void add(const Other& declaration) {
    offsets_.insert(declaration.range.begin);
  }
  void add(const FunctionDecl& function) {
    offsets_.insert(function.range.begin);
    add_block(function.body);
  }
  void add(const ScheduleDecl& schedule) {
    offsets_.insert(schedule.range.begin);
    add_steps(schedule.steps);
  }
  void add_block(const Block& block) {
    for (const Statement& statement : block) {
      offsets_.insert(statement.range.begin);
      if (const auto* bind = std::get_if<Bind>(&statement.node))
        for (const Loop& loop : bind->loop) add_block(loop.body);
    }
  }
  void add_steps(const std::vector<ScheduleStatement>& steps) {
    for (const ScheduleStatement& step : steps) {
      offsets_.insert(step.range.begin);
      add_steps(step.body);
    }
  }
  std::set<uint32_t> offsets_;
};

struct Line {
  std::string_view text;      ///< without its end, blanks at its end included
  uint32_t begin = 0;         ///< of its first character that is no blank
  int indent = 0;             ///< columns in front of it
  std::optional<int> wanted;  ///< of a line that begins something
  bool blank() const { return text.find_first_not_of(" \t\r") == std::string_view::npos; }
  bool comment() const { return !blank() && text[text.find_first_not_of(" \t\r")] == '#'; }
};

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    Line line{std::string_view(text).substr(at, end - at), static_cast<uint32_t>(at), 0, {}};
    for (char c : line.text) {
      if (c != ' ' && c != '\t') break;
      line.indent += c == '\t' ? columns_per_level : 1;
      ++line.begin;
    }
    lines.push_back(line);
    at = end + 1;
  }
  return lines;
}

/// Gives each line that begins a declaration, a statement or is a closing brace its columns.
void set_wanted(std::vector<Line>& lines, const std::vector<Token>& tokens, const Starts& starts) {
  int depth = 0;
  size_t line = 0;
  for (const Token& token : tokens) {
    if (token.kind == Token::Kind::end) break;
    while (line < lines.size() && lines[line].begin < token.begin) ++line;
    const bool opens = token.kind == Token::Kind::symbol && token.text == "{";
    const bool closes = token.kind == Token::Kind::symbol && token.text == "}";
    if (closes) --depth;
    if (line < lines.size() && lines[line].begin == token.begin &&
        (closes || starts.contains(token.begin)))
      lines[line].wanted = columns_per_level * std::max(depth, 0);
    if (opens) ++depth;
  }
}

/// Lines that continue one move as far as it does; comments move with what stands below them.
void set_others(std::vector<Line>& lines) {
  int moved = 0;
  for (Line& line : lines) {
    if (line.wanted)
      moved = *line.wanted - line.indent;
    else if (!line.comment())
      line.wanted = std::max(line.indent + moved, 0);
  }
  for (size_t i = lines.size(); i-- > 0;) {
    if (!lines[i].comment()) continue;
    size_t below = i + 1;
    while (below < lines.size() && lines[below].blank()) ++below;
    const bool same = below < lines.size() && lines[below].indent == lines[i].indent;
    lines[i].wanted = same ? *lines[below].wanted : lines[i].indent;
  }
}

std::string joined(const std::vector<Line>& lines) {
  std::string text;
  bool blank = true;  // none at the begin
  for (const Line& line : lines) {
    if (line.blank()) {
      if (!blank) text += "\n";
      blank = true;
      continue;
    }
    blank = false;
    const size_t first = line.text.find_first_not_of(" \t");
    const size_t last = line.text.find_last_not_of(" \t\r");
    text += std::string(static_cast<size_t>(*line.wanted), ' ');
    text += line.text.substr(first, last + 1 - first);
    text += "\n";
  }
  while (text.size() > 1 && text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace

std::optional<std::string> formatted(const std::string& text) {
  Sources sources;
  const int32_t source = sources.add("", text);
  std::vector<Diagnostic> errors;
  const File file = parse(sources, source, errors);
  if (!errors.empty()) return std::nullopt;
  Report report(errors);
  const std::string& kept = sources.file(source).text;
  std::vector<Line> lines = lines_of(kept);
  set_wanted(lines, lex(kept, source, 0, false, report), Starts(file));
  set_others(lines);
  std::string result = joined(lines);
  const int32_t again = sources.add("", result);
  if (!same(file, parse(sources, again, errors)) || !errors.empty()) return std::nullopt;
  return result;
}

}  // namespace shardproof::syntax
