// What stands in the text without being written: types beside names, and colors.
#include "spec/lsp/answers.h"

namespace shardproof::lsp {
namespace {

/// Targets of statements without a stated type.
void targets(const syntax::Block& block, std::vector<const syntax::Target*>& all) {
  for (const syntax::Statement& each : block)
    if (const auto* bind = std::get_if<syntax::Bind>(&each.node)) {
      for (const syntax::Loop& loop : bind->loop) targets(loop.body, all);
      for (const syntax::Target& target : bind->targets)
        if (!target.type) all.push_back(&target);
    }
}

int semantic_kind(NameKind kind) {
  switch (kind) {
    case NameKind::dim:
      return 0;
    case NameKind::axis:
      return 1;
    case NameKind::value:
    case NameKind::constant:
    case NameKind::config:
      return 2;
    case NameKind::parameter:
      return 3;
    case NameKind::function:
    case NameKind::schedule:
      return 4;
    case NameKind::record:
      return 5;
    case NameKind::field:
      return 6;
  }
  return 2;
}

}  // namespace

const std::vector<std::string> semantic_kinds = {
    "typeParameter", "enumMember", "variable", "parameter", "function", "struct", "property"};

namespace {

/// The type of a tensor, or the first fields of a record.
std::string label_of(const std::vector<Leaf>& leaves, const Name& name) {
  constexpr size_t most = 3;
  if (leaves.size() == 1 && leaves[0].name == name) return ": " + to_string(leaves[0].type);
  std::string text;
  for (size_t i = 0; i < std::min(leaves.size(), most); ++i)
    text +=
        (i ? "  " : "") + leaves[i].name.substr(name.size() + 1) + ": " + to_string(leaves[i].type);
  if (leaves.size() > most) text += "  and " + std::to_string(leaves.size() - most) + " more";
  return ": {" + text + "}";
}

}  // namespace

Json inlay_hints(const Analysis& analysis, uint32_t begin, uint32_t end) {
  Json hints = Json::array();
  for (size_t i = 0; i < analysis.tree().declarations.size(); ++i) {
    const auto* function = std::get_if<syntax::FunctionDecl>(&analysis.tree().declarations[i]);
    if (!function) continue;
    std::vector<const syntax::Target*> all;
    targets(function->body, all);
    for (const syntax::Target* target : all) {
      const SourceRange& range = target->range;
      if (range.end < begin || range.begin > end) continue;
      const auto leaves =
          leaves_of(analysis, {NameKind::value, target->name, range, true, static_cast<int>(i)});
      if (leaves.empty()) continue;
      Json hint = {{"position", position_of(analysis.text(), range.end)},
                   {"label", label_of(leaves, target->name)},
                   {"kind", 1},
                   {"paddingLeft", false},
                   {"paddingRight", true}};
      if (leaves.size() > 1)
        hint["tooltip"] = {{"kind", "markdown"}, {"value", fields_text(leaves)}};
      hints.push_back(std::move(hint));
    }
  }
  return hints;
}

Json semantic_tokens(const Analysis& analysis) {
  Json data = Json::array();
  size_t line = 0, column = 0;
  uint32_t last = 0;
  PositionsInOrder positions(analysis.text());
  for (const Occurrence& each : analysis.names()) {
    if (each.range.begin < last) continue;  // one color for each character
    last = each.range.end;
    const auto [row, start] = positions.at(each.range.begin);
    data.push_back(row - line);
    data.push_back(row == line ? start - column : start);
    data.push_back(utf16_length(analysis.sources->text(each.range)));
    data.push_back(semantic_kind(each.kind));
    data.push_back(each.declares ? 1 : 0);
    line = row;
    column = start;
  }
  return {{"data", data}};
}

}  // namespace shardproof::lsp
