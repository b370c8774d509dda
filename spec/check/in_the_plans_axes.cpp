#include "spec/check/in_the_plans_axes.h"

#include <map>

#include "spec/check/shown_names.h"

namespace shardproof {
namespace {

/// `B/d` for each B that a pattern or a type of the text splits; the first one counts.
void add_splits(std::string_view text, std::map<std::string, std::string>& splits) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && in_word(text[end])) ++end;
    const size_t name = end;
    while (end > at && end + 1 < text.size() && text[end] == '/' && in_word(text[end + 1]))
      for (++end; end < text.size() && in_word(text[end]);) ++end;
    if (name > at && end > name)
      splits.try_emplace(std::string(text.substr(at, name - at)), text.substr(at, end - at));
    at = end == at ? at + 1 : end;
  }
}

/// The words of an expression's patterns, split; those after `;` have no axes.
std::string with_splits(std::string_view text, const std::map<std::string, std::string>& splits) {
  std::string result;
  bool pattern = false, working = false;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && in_word(text[end])) ++end;
    if (end == at) {
      if (text[at] == '"') pattern = !pattern, working = false;
      working = working || text[at] == ';';
      result += text[at++];
      continue;
    }
    const std::string word(text.substr(at, end - at));
    const auto split = splits.find(word);
    result += pattern && !working && split != splits.end() ? split->second : word;
    at = end;
  }
  return result;
}

/// The end of the call that a text begins with.
size_t end_of_call(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    depth += (text[at] == '(') - (text[at] == ')');
    if (depth == 0) return at;
  }
  return text.npos;
}

/// `f(` of a text that is one call, with its closing parenthesis at the end.
std::string_view called(std::string_view text) {
  size_t name = 0;
  while (name < text.size() && in_word(text[name])) ++name;
  if (name == 0 || name == text.size() || text[name] != '(') return {};
  return end_of_call(text, name) + 1 == text.size() ? text.substr(0, name + 1) : std::string_view();
}

/// The comma or the parenthesis that ends the argument which begins at `at`.
size_t end_of_argument(std::string_view text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    depth += (text[at] == '(' || text[at] == '[') - (text[at] == ')' || text[at] == ']');
    if (depth < 0 || (depth == 0 && text[at] == ',')) break;
  }
  return at;
}

/// `f("B/d L; L", own, ..)` for `f("B L; L", x, ..)`, by the result of own's pattern.
std::string around(std::string_view meant, std::string_view call, std::string_view own) {
  const std::string f(call);
  if (!meant.substr(call.size()).starts_with("\"")) {
    const bool one_argument = end_of_argument(meant, call.size()) + 1 == meant.size();
    return one_argument ? f + std::string(own) + ")" : "";
  }
  const size_t close = meant.find('"', call.size() + 1), work = meant.find(';', call.size());
  const size_t arrow = own.find("->"), end = own.find('"', arrow);
  if (close == meant.npos || work > close || arrow == own.npos || end == own.npos) return "";
  const size_t rest = end_of_argument(meant, close + 2);
  const size_t begin = own.find_first_not_of(' ', arrow + 2);
  return f + "\"" + std::string(own.substr(begin, end - begin)) +
         std::string(meant.substr(work, close + 1 - work)) + ", " + std::string(own) +
         std::string(meant.substr(rest));
}

}  // namespace

std::vector<Edit> edits_in_the_plans_axes(const Sources& sources, const SourceRange& plan,
                                          const SourceRange& own, const SourceRange& meant) {
  if (plan.file < 0 || own.file != plan.file || meant.file < 0) return {};
  std::map<std::string, std::string> splits;
  const std::string text(sources.text(own));
  add_splits(text, splits);
  add_splits(sources.text(plan), splits);
  const std::string same = with_splits(sources.text(meant), splits);
  std::vector<Edit> edits;
  if (const std::string_view call = called(same); !call.empty()) {
    const size_t end = end_of_call(text, call.size() - 1);
    if (!text.starts_with(call)) {
      if (const std::string wrapped = around(same, call, text); !wrapped.empty())
        edits.push_back({own, wrapped});
    } else if (end != text.npos && end + 1 < text.size()) {
      edits.push_back({own, text.substr(0, end) + text.substr(end + 1) + ")"});
    }
  }
  edits.push_back({own, same});
  return edits;
}

std::optional<Edit> roll_for_ppermute(const Sources& sources, const SourceRange& own) {
  constexpr std::string_view name = "ppermute(\"";
  if (own.file < 0) return std::nullopt;
  const std::string_view text = sources.text(own);
  const size_t close = text.find('"', name.size()), arrow = text.find(" -> ");
  const size_t end = end_of_argument(text, std::min(close, text.size() - 1) + 3);
  if (!text.starts_with(name) || arrow > close || end >= text.size()) return std::nullopt;
  std::string split(text.substr(name.size(), arrow - name.size()));
  const size_t open = split.find('['), shut = split.find(']'), axes = split.find('/', open);
  if (open == split.npos || shut == split.npos || axes > shut) return std::nullopt;
  const auto without = [](std::string whole, size_t from, size_t to) {
    return whole.erase(from, to - from);
  };
  const std::string rolled = without(split, axes, shut);
  const auto plain = [](std::string pattern) {
    std::erase_if(pattern, [](char c) { return c == '[' || c == ']'; });
    return pattern;
  };
  const std::string whole = plain(rolled), own_blocks = plain(split);
  const std::string x(text.substr(close + 3, end - close - 3));
  return Edit{own, "slice(\"" + whole + " -> " + own_blocks + "\", roll(\"" + rolled +
                       "\", all_gather(\"" + own_blocks + " -> " + whole + "\", " + x + ")" +
                       std::string(text.substr(end)) + ")"};
}

}  // namespace shardproof
