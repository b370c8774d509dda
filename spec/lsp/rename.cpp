#include <algorithm>

#include "spec/lsp/answers.h"
#include "spec/syntax/lexer.h"
#include "spec/syntax/words.h"

namespace shardproof::lsp {
namespace {

bool can_be_renamed(const Analysis& analysis, const Occurrence& name) {
  if (name.kind == NameKind::field || name.kind == NameKind::schedule ||
      name.kind == NameKind::config)
    return false;
  const SameName same(analysis.names(), name);
  return std::any_of(analysis.names().begin(), analysis.names().end(),
                     [&](const Occurrence& each) { return each.declares && same(each); });
}

bool is_name(const std::string& text) {
  std::vector<Diagnostic> errors;
  syntax::Report report(errors);
  const auto tokens = syntax::lex(text, 0, 0, false, report);
  return errors.empty() && tokens.size() == 2 && tokens[0].kind == syntax::Token::Kind::word &&
         tokens[0].text == text && !syntax::is_reserved(text) && !syntax::is_mark(text);
}

/// The codes that are reported: a renaming changes none of them.
std::vector<std::string> codes(const Analysis& analysis) {
  std::vector<std::string> all;
  if (!analysis.checked) return {"internal"};
  for (const Diagnostic& each : analysis.checked->diagnostics()) all.push_back(each.code);
  for (const PlanReport& plan : analysis.checked->plans()) {
    all.push_back(to_string(plan.verdict));
    for (const Diagnostic& each : plan.diagnostics) all.push_back(each.code);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

Json prepare_rename(const Analysis& analysis, uint32_t offset) {
  const Occurrence* name = occurrence_at(analysis.names(), offset);
  if (!name || !can_be_renamed(analysis, *name)) return nullptr;
  return range_of(analysis.text(), name->range);
}

Renaming rename(const Analysis& analysis, uint32_t offset, const std::string& name) {
  Renaming result;
  const Occurrence* at = occurrence_at(analysis.names(), offset);
  const auto refuse = [&](const std::string& why) {
    result.refused = why;
    return result;
  };
  if (!at || !can_be_renamed(analysis, *at))
    return refuse(
        "only values, dims, axes, constants, functions and records that this file declares can be "
        "renamed");
  if (!is_name(name)) return refuse("`" + name + "` is no name");
  for (const Occurrence& each : analysis.names())
    if (each.name == name) return refuse("`" + name + "` is in use in this file");
  const std::string& text = analysis.text().text;
  uint32_t done = 0;
  const SameName same(analysis.names(), *at);
  for (const Occurrence& each : analysis.names()) {
    if (!same(each) || each.range.begin < done) continue;
    result.text += text.substr(done, each.range.begin - done) + name;
    done = each.range.end;
    result.edits.push_back({{"range", range_of(analysis.text(), each.range)}, {"newText", name}});
  }
  result.text += text.substr(done);
  const std::string path = analysis.text().path;
  const FileReader reader = [&](const std::string& wanted) -> std::optional<std::string> {
    if (wanted == path) return result.text;
    for (size_t i = 0; i < analysis.sources->size(); ++i)
      if (analysis.sources->file(static_cast<int32_t>(i)).path == wanted)
        return analysis.sources->file(static_cast<int32_t>(i)).text;
    return std::nullopt;
  };
  if (codes(typed(path, reader)) != codes(analysis))
    return refuse(
        "`" + at->name +
        "` is named in a way that the editor cannot follow (a keyword argument, or a name "
        "that another file or the model has too): renaming it would change the program");
  return result;
}

}  // namespace shardproof::lsp
