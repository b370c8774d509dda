#include "spec/check/arguments_by_name.h"

#include <optional>
#include <set>

namespace shardproof {
namespace {

/// The arguments with each that has the name of a parameter in its place; none: they are so.
std::optional<std::vector<std::string>> in_order_of_names(const std::vector<std::string>& given,
                                                          const std::vector<Name>& params) {
  std::vector<std::string> ordered(given.size());
  std::vector<bool> placed(given.size(), false);
  bool moved = false;
  for (size_t i = 0; i < given.size(); ++i)
    for (size_t j = 0; j < given.size(); ++j)
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
  std::vector<Fix> fixes;
  std::set<uint32_t> seen;  // `each f(..)` is a call for each field
  for (const ir::LibraryCall& call : plan.library_calls) {
    if (!call.of_library || !call.left.empty()) continue;
    std::vector<Name> params;
    std::vector<SourceRange> ranges;
    std::vector<std::string> given;
    for (const ir::LibraryCall::Argument& each : call.arguments) {
      if (each.range.file < 0) continue;
      params.push_back(each.param);
      ranges.push_back(each.range);
      given.emplace_back(sources.text(each.range));
    }
    const auto ordered = in_order_of_names(given, params);
    if (!ordered || !seen.insert(ranges[0].begin).second) continue;
    std::vector<Edit> edits;
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i] != (*ordered)[i]) edits.push_back({ranges[i], (*ordered)[i]});
    fixes.push_back({"give `" + call.function + "` its arguments in the order of its parameters",
                     std::move(edits), false, "", true});
  }
  return fixes;
}

}  // namespace shardproof
