#include "spec/check/record_argument.h"

#include <algorithm>
#include <cctype>

namespace shardproof {
namespace {

using Groups = std::vector<std::pair<Name, size_t>>;

/// The parameter that has leaf `leaf`, and its first leaf.
std::optional<std::pair<size_t, size_t>> group_of(const Groups& groups, size_t leaf) {
  size_t first = 0;
  for (size_t g = 0; g < groups.size(); first += groups[g++].second)
    if (leaf < first + groups[g].second) return std::pair(g, first);
  return std::nullopt;
}

const ir::WrittenType* written(const ir::Function& function, size_t group) {
  if (group >= function.param_types.size()) return nullptr;
  const ir::WrittenType& type = function.param_types[group];
  return type.name.empty() ? nullptr : &type;
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

std::optional<Layouts> layouts_of_argument(const ir::Function& plan, const ir::Function& callee,
                                           const ir::Instr& call, size_t operand) {
  const auto wanted = group_of(callee.param_groups, operand);
  const ir::WrittenType* type = wanted ? written(callee, wanted->first) : nullptr;
  if (!type) return std::nullopt;
  Layouts layouts{
      .record = {}, .have = {}, .want = type->visible && type->dims.empty() ? type->name : ""};
  const ir::ValueId first = call.operands.at(wanted->second);
  const auto own = std::find(plan.params.begin(), plan.params.end(), first);
  const auto group = group_of(plan.param_groups, static_cast<size_t>(own - plan.params.begin()));
  if (own != plan.params.end() && group)
    if (const ir::WrittenType* have = written(plan, group->first); have && have->dims.empty()) {
      layouts.record = plan.param_groups[group->first].first;
      layouts.have = have->name;
    }
  return layouts;
}

FixHint for_the_record(FixHint hint, const Layouts& layouts) {
  const size_t open = hint.text.find("(\""), close = hint.text.find("\", $)");
  const bool one = open != hint.text.npos && close != hint.text.npos &&
                   hint.text.find("(\"", open + 1) == hint.text.npos;
  const std::string call = hint.text.substr(0, open);
  const bool reduces = call == "all_reduce";
  if (!one || layouts.want.empty() || (layouts.have.empty() && !reduces)) {
    hint.kind = FixHint::Kind::advice;
    return hint;
  }
  const std::string left = reduces ? "" : layouts.have + " ";
  hint.text = call + "(\"" + left + "-> " + layouts.want + hint.text.substr(close);
  return hint;
}

std::vector<Fix> fixes_of_record_argument(const Sources& sources, const ir::Function& plan,
                                          const RefusedOp& refused) {
  if (!refused.layouts || refused.layouts->have.empty() || refused.layouts->want.empty()) return {};
  const auto& [record, have, want] = *refused.layouts;
  if (have == want || plan.range.file < 0) return {};
  Fix fix{"give `" + record + "` the layout that the call expects, `" + want + "`", {}, false, ""};
  fix.guess = true;
  const SourceRange rest{plan.range.file, plan.name_range.end, plan.range.end};
  const std::string_view text = sources.text(rest);
  for (size_t at = 0; (at = text.find(have, at)) != text.npos; at += have.size()) {
    const size_t end = at + have.size();
    const bool alone = !in_name(text[at - 1]) && (end == text.size() || !in_name(text[end]));
    const auto begin = rest.begin + static_cast<uint32_t>(at);
    if (alone)
      fix.edits.push_back({{rest.file, begin, begin + static_cast<uint32_t>(have.size())}, want});
  }
  if (fix.edits.empty()) return {};
  return {fix};
}

}  // namespace shardproof
