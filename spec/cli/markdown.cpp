#include <algorithm>

#include "spec/cli/report.h"
#include "spec/diag/render.h"
#include "spec/ir/claim.h"

namespace shardproof::cli {
namespace {

// A table's cell ends at a bar or a new line; a tag would be read as one.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|')
      out += "\\|";
    else if (c == '<')
      out += "&lt;";
    else if (c == '\n' || c == '\r')
      out += ' ';
    else
      out += c;
  }
  return out;
}

const char* sign(Verdict verdict) {
  switch (verdict) {
    case Verdict::proved:
      return "✅";
    case Verdict::refuted:
      return "❌";
    case Verdict::unknown:
      return "❓";
    case Verdict::invalid:
      return "⛔";
  }
  return "";
}

std::string condition_cell(const PlanReport& plan) {
  std::string text;
  for (const std::string& each : conditions_of(plan)) text += (text.empty() ? "" : ", ") + each;
  for (const std::string& each : plan.assumptions)
    text += (text.empty() ? "assuming " : "; assuming ") + each;
  if (const std::string trusted = trusting(plan); !trusted.empty())
    text += (text.empty() ? "trusting " : "; trusting ") + trusted;
  return text;
}

void row(const FileReport& report, const PlanReport& plan, std::ostream& out) {
  const ir::Program& program = report.checked->program();
  const auto& claimed = ir::claimed_model(program, program.functions.at(plan.function));
  const std::string model = claimed ? program.functions.at(*claimed).name : "";
  out << "| " << sign(plan.verdict) << " " << to_string(plan.verdict) << " | " << cell(plan.name)
      << " | " << cell(model) << " | " << cell(report.path) << " | "
      << (plan.verdict == Verdict::proved ? cell(condition_cell(plan)) : "") << " |\n";
}

// The fence has to be longer than any in the text.
std::string fence_for(std::string_view text) {
  size_t longest = 2, length = 0;
  for (const char c : text) {
    length = c == '`' ? length + 1 : 0;
    longest = std::max(longest, length);
  }
  return std::string(longest + 1, '`');
}

void details(const FileReport& report, const Diagnostic& diagnostic, std::ostream& out) {
  const std::string text = render(diagnostic, *report.sources, {});
  const std::string fence = fence_for(text);
  out << "\n<details><summary>" << diagnostic.code << " " << cell(diagnostic.message)
      << "</summary>\n\n"
      << fence << "text\n"
      << text << (text.ends_with("\n") ? "" : "\n") << fence << "\n\n</details>\n";
}

}  // namespace

void print_markdown(const std::vector<FileReport>& reports, std::ostream& out) {
  out << "| verdict | plan | model | file | for every mesh with |\n|---|---|---|---|---|\n";
  for (const FileReport& report : reports) {
    if (!report.checked)
      out << "| " << sign(Verdict::invalid) << " invalid | | | " << cell(report.path) << " | |\n";
    else
      for (const PlanReport& plan : report.checked->plans())
        if (listed(plan)) row(report, plan, out);
  }
  for (const FileReport& report : reports)
    for (const Diagnostic* each : all_diagnostics(report)) details(report, *each, out);
}

}  // namespace shardproof::cli
