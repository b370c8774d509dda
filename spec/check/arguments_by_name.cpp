#include "spec/check/arguments_by_name.h"

#include <algorithm>
#include <map>
#include <optional>

#include "spec/check/shown_names.h"

namespace shardproof {
namespace {

/// The arguments of the call that opens at `open`, without those after `name=`; empty: a pattern
/// stands first, or it is not closed.
std::vector<std::pair<size_t, size_t>> positional(std::string_view text, size_t open) {
  std::vector<std::pair<size_t, size_t>> ranges;
  int depth = 0;
  for (size_t at = open, begin = open + 1; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') return {};
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth == 1 && c == '=') return ranges;
    if (depth > 1 || (depth == 1 && c != ',')) continue;
    while (begin < at && (text[begin] == ' ' || text[begin] == '\n')) ++begin;
    ranges.push_back({begin, at});
    begin = at + 1;
    if (depth == 0) return ranges;
  }
  return {};
}

/// The arguments with each that has the name of a parameter in its place; none: they are so.
std::optional<std::vector<std::string>> in_order_of_names(const std::vector<std::string>& given,
                                                          const std::vector<Name>& params) {
  const size_t count = std::min(given.size(), params.size());
  std::vector<std::string> ordered(given.size());
  std::vector<bool> placed(given.size(), false);
  bool moved = false;
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j)
      if (given[i] == params[j] && ordered[j].empty()) {
        ordered[j] = given[i];
        placed[i] = true;
        moved = moved || i != j;
      }
  if (!moved) return std::nullopt;
  size_t next = 0;
  for (std::string& place : ordered) {
    if (!place.empty()) continue;
    while (placed[next]) ++next;
    place = given[next++];
  }
  return ordered;
}

}  // namespace

std::vector<Fix> fixes_of_argument_names(const Sources& sources, const ir::Function& plan) {
  std::map<Name, std::vector<Name>> called;
  for (const ir::LibraryCall& call : plan.library_calls) {
    if (!call.of_library || call.left.size() > 0) continue;
    std::vector<Name>& params = called[call.function];
    if (!params.empty()) continue;
    for (const auto& argument : call.arguments) params.push_back(argument.param);
  }
  std::vector<Fix> fixes;
  if (plan.range.file < 0) return fixes;
  const std::string_view text = sources.text(plan.range);
  for (const auto& [name, params] : called)
    for (size_t at = 0; (at = text.find(name + "(", at)) != text.npos; ++at) {
      if (at > 0 && in_word(text[at - 1])) continue;
      const auto ranges = positional(text, at + name.size());
      std::vector<std::string> given;
      for (const auto& [begin, end] : ranges) given.emplace_back(text.substr(begin, end - begin));
      const auto ordered = in_order_of_names(given, params);
      if (!ordered) continue;
      std::vector<Edit> edits;
      for (size_t i = 0; i < given.size(); ++i)
        if (given[i] != (*ordered)[i])
          edits.push_back(
              {{plan.range.file, plan.range.begin + static_cast<uint32_t>(ranges[i].first),
                plan.range.begin + static_cast<uint32_t>(ranges[i].second)},
               (*ordered)[i]});
      fixes.push_back({"give `" + name + "` its arguments in the order of its parameters",
                       std::move(edits), false, "", true});
    }
  return fixes;
}

}  // namespace shardproof
