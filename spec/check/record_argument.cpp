#include "spec/check/record_argument.h"

#include <algorithm>

#include "spec/check/shown_names.h"
#include "spec/ir/walk.h"
#include "spec/syntax/parser.h"

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

}  // namespace

std::optional<Layouts> layouts_of_argument(const ir::Function& plan, const ir::Function& callee,
                                           const ir::Instr& call, size_t operand) {
  const auto wanted = group_of(callee.param_groups, operand);
  const ir::WrittenType* type = wanted ? written(callee, wanted->first) : nullptr;
  if (!type) return std::nullopt;
  Layouts layouts{
      .record = {}, .have = {}, .want = type->visible && type->dims.empty() ? type->name : ""};
  ir::ValueId first = call.operands.at(wanted->second);
  const ir::Instr* entry = defining_instr(plan.body, first);  // `w[n]` of a `w: Shards[N]`
  const bool of_array = entry && std::holds_alternative<ir::Entry>(entry->op);
  if (of_array) first = entry->operands.at(0);
  const auto own = std::find(plan.params.begin(), plan.params.end(), first);
  const auto group = group_of(plan.param_groups, static_cast<size_t>(own - plan.params.begin()));
  if (own != plan.params.end() && group)
    if (const ir::WrittenType* have = written(plan, group->first);
        have && have->dims.size() == (of_array ? 1 : 0)) {
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

namespace {

/// Where the plan's text after its name says `have`: `want`.
std::vector<Edit> named_instead(const Sources& sources, const ir::Function& plan, const Name& have,
                                const Name& want) {
  std::vector<Edit> edits;
  const SourceRange rest{plan.range.file, plan.name_range.end, plan.range.end};
  const std::string_view text = sources.text(rest);
  for (size_t at = 0; (at = text.find(have, at)) != text.npos; at += have.size()) {
    const size_t end = at + have.size();
    const bool alone = !in_word(text[at - 1]) && (end == text.size() || !in_word(text[end]));
    const auto begin = rest.begin + static_cast<uint32_t>(at);
    if (alone)
      edits.push_back({{rest.file, begin, begin + static_cast<uint32_t>(have.size())}, want});
  }
  return edits;
}

/// The layouts that a file declares of a record, without those that store copies as it does.
std::vector<Name> layouts_of(const std::string& text, const Name& record) {
  Sources sources;
  std::vector<Diagnostic> ignored;
  std::vector<Name> names;
  for (const auto& each : syntax::parse(sources, sources.add("", text), ignored).declarations)
    if (const auto* layout = std::get_if<syntax::LayoutDecl>(&each);
        layout && layout->record == record &&
        sources.text(layout->range)
                .find_first_of("/{", sources.text(layout->range).find('{') + 1) !=
            std::string_view::npos)
      names.push_back(layout->name);
  return names;
}

}  // namespace

std::vector<Fix> fixes_of_record_argument(const Sources& sources, const ir::Function& plan,
                                          const RefusedOp& refused) {
  if (!refused.layouts || refused.layouts->have.empty() || refused.layouts->want.empty()) return {};
  const auto& [record, have, want] = *refused.layouts;
  if (have == want || plan.range.file < 0) return {};
  Fix fix{"give `" + record + "` the layout that the call expects, `" + want + "`", {}, false, ""};
  fix.guess = true;
  fix.edits = named_instead(sources, plan, have, want);
  if (fix.edits.empty()) return {};
  return {fix};
}

std::vector<Fix> fixes_of_record_parameter(const Sources& sources, const ir::Function& plan,
                                           const RefusedOp& refused) {
  if (!refused.instr || plan.range.file < 0) return {};
  std::vector<Fix> fixes;
  size_t leaf = 0;
  for (size_t p = 0; p < plan.param_groups.size(); ++p) {
    const auto& [name, count] = plan.param_groups[p];
    const ir::WrittenType& type = plan.param_types[p];
    const auto first = plan.params.begin() + static_cast<std::ptrdiff_t>(leaf);
    const auto last = first + static_cast<std::ptrdiff_t>(count);
    leaf += count;
    const auto is_field = [&](ir::ValueId v) { return std::find(first, last, v) != last; };
    const auto& operands = refused.instr->operands;
    if (type.name.empty() || type.name != type.record ||
        std::none_of(operands.begin(), operands.end(), is_field))
      continue;
    for (const Name& layout : layouts_of(sources.file(plan.range.file).text, type.record)) {
      Fix fix{"`" + name + "` is stored as `" + layout + "`: state that as its type",
              named_instead(sources, plan, type.name, layout), false, ""};
      fix.guess = true;
      if (!fix.edits.empty()) fixes.push_back(std::move(fix));
    }
  }
  return fixes;
}

}  // namespace shardproof
