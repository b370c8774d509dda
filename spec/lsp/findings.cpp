// Diagnostics, quick fixes and code lenses of one analysis.
#include <algorithm>

#include "spec/cli/report.h"
#include "spec/lsp/document.h"

namespace shardproof::lsp {
namespace {

bool known(const Analysis& analysis, const SourceRange& range) {
  return range.file >= 0 && static_cast<size_t>(range.file) < analysis.sources->size();
}

/// The range in the file that is open; what is elsewhere stands at its first line.
Json range_here(const Analysis& analysis, const SourceRange& range) {
  if (range.file == analysis.file) return range_of(analysis.text(), range);
  return range_of(analysis.text(), {analysis.file, 0, 0});
}

std::string message_of(const Diagnostic& diagnostic) {
  std::string text = diagnostic.message;
  if (!diagnostic.label.empty()) text += "\n" + diagnostic.label;
  for (const std::string& line : diagnostic.details) text += "\n" + line;
  if (diagnostic.counterexample) {
    text +=
        "\non " + diagnostic.counterexample->mesh + ", " + diagnostic.counterexample->sizes + ":";
    for (const std::string& line : diagnostic.counterexample->lines) text += "\n" + line;
  }
  for (const Fix& fix : diagnostic.fixes)
    text += (fix.edits.empty() ? "\nhelp: " : "\nfix: ") + fix.message +
            (fix.cost.empty() ? "" : " (" + fix.cost + ")");
  return text;
}

int severity_of(const Diagnostic& diagnostic) {
  if (diagnostic.severity == Severity::note) return 4;
  if (diagnostic.severity == Severity::warning) return 2;
  return info(diagnostic.code).verdict == Verdict::unknown ? 2 : 1;
}

Json diagnostic_json(const Analysis& analysis, const Diagnostic& diagnostic) {
  Json related = Json::array();
  if (known(analysis, diagnostic.range) && diagnostic.range.file != analysis.file)
    related.push_back({{"location", location(analysis, diagnostic.range)}, {"message", "here"}});
  for (const Label& note : diagnostic.notes)
    if (known(analysis, note.range))
      related.push_back({{"location", location(analysis, note.range)}, {"message", note.text}});
  Json json = {{"range", range_here(analysis, diagnostic.range)},
               {"severity", severity_of(diagnostic)},
               {"code", diagnostic.code},
               {"source", "check-sharding"},
               {"message", message_of(diagnostic)},
               {"relatedInformation", related}};
  if (diagnostic.code == "L0003") json["tags"] = {1};  // unused: shown faded
  return json;
}

/// The fixes that prove the plan, as edits of this file.
void add_fixes(const Analysis& analysis, const Diagnostic& diagnostic, Json& fixes) {
  for (const Fix& fix : diagnostic.fixes) {
    if (!fix.checked || fix.edits.empty()) continue;
    Json edits = Json::array();
    for (const Edit& edit : fix.edits)
      if (edit.range.file == analysis.file)
        edits.push_back({{"range", range_of(analysis.text(), edit.range)}, {"newText", edit.text}});
    if (edits.size() != fix.edits.size()) continue;
    fixes.push_back({{"title", fix.message + (fix.cost.empty() ? "" : " (" + fix.cost + ")")},
                     {"edits", edits},
                     {"diagnostic", diagnostic_json(analysis, diagnostic)}});
  }
}

std::string verdict_text(const Analysis& analysis, const PlanReport& plan) {
  if (plan.verdict != Verdict::proved) {
    const auto first =
        std::find_if(plan.diagnostics.begin(), plan.diagnostics.end(),
                     [](const Diagnostic& each) { return each.severity == Severity::error; });
    const std::string why = first == plan.diagnostics.end() ? "" : ": " + first->message;
    return to_string(plan.verdict) + why;
  }
  std::string text = "proved for every mesh";
  for (size_t i = 0; i < plan.conditions.size(); ++i)
    text += (i ? ", " : " with ") + to_string(plan.conditions[i]);
  if (!plan.trusting.empty()) text += ", trusting " + cli::trusting(plan);
  if (const auto cost = cli::cost_of(*analysis.checked, plan)) {
    text += " · ";
    const auto totals = cost->totals();
    if (totals.empty()) text += "no communication";
    for (size_t i = 0; i < totals.size(); ++i)
      text += (i ? ", " : "") + totals[i].count.text() + " " + totals[i].kind + ": " +
              totals[i].bytes.text() + " bytes";
  }
  constexpr size_t longest = 240;
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

Json lens(const Analysis& analysis, const SourceRange& range, const std::string& title) {
  return {{"range", range_of(analysis.text(), range)},
          {"command", {{"title", title}, {"command", ""}}}};
}

}  // namespace

Json findings(const Analysis& analysis, bool complete) {
  Json diagnostics = Json::array(), fixes = Json::array(), lenses = Json::array();
  const auto add = [&](const Diagnostic& diagnostic) {
    diagnostics.push_back(diagnostic_json(analysis, diagnostic));
    add_fixes(analysis, diagnostic, fixes);
  };
  if (!analysis.checked) {
    Diagnostic failed;
    failed.code = "U0003";
    failed.range = {analysis.file, 0, 0};
    failed.message = "internal error, there is no verdict: " + analysis.failure;
    add(failed);
    return {{"diagnostics", diagnostics}, {"fixes", fixes}, {"lenses", lenses}};
  }
  for (const Diagnostic& each : analysis.checked->diagnostics()) add(each);
  for (const PlanReport& plan : analysis.checked->plans()) {
    for (const Diagnostic& each : plan.diagnostics) add(each);
    const ir::Function& function = analysis.checked->program().functions.at(plan.function);
    if (function.source != analysis.file) continue;
    const bool decided = complete || plan.verdict != Verdict::proved;
    lenses.push_back(lens(analysis, function.name_range,
                          decided ? verdict_text(analysis, plan) : "types are right; proving .."));
  }
  // The others keep their lines, so that the text does not jump while one types.
  if (analysis.rest)
    for (const PlanReport& plan : analysis.rest->plans()) {
      const ir::Function& function = analysis.rest->program().functions.at(plan.function);
      if (function.source == analysis.typed_file)
        lenses.push_back(
            lens(analysis, function.name_range, "not proved: the file has a syntax error"));
    }
  return {{"diagnostics", diagnostics}, {"fixes", fixes}, {"lenses", lenses}};
}

}  // namespace shardproof::lsp
