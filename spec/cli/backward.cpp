// --backward: the derived backward of a plan, and what it costs.
#include <sstream>
#include <stdexcept>

#include "spec/cli/report.h"
#include "spec/diag/render.h"

namespace shardproof::cli {

const BackwardReport* backward_of(const FileReport& report, const PlanReport& plan) {
  for (const BackwardReport& each : report.backwards)
    if (each.function == plan.function) return &each;
  return nullptr;
}

std::optional<cost::Cost> cost_of(const BackwardReport& backward) {
  const PlanReport* report = backward.backward.report();
  if (!report) return std::nullopt;
  return cost_of(*backward.backward.checked, *report);
}

cost::Amount saved_for(const BackwardReport& backward) {
  cost::Amount bytes;
  const PlanReport* report = backward.backward.report();
  if (!report) return bytes;
  const CheckedProgram& checked = *backward.backward.checked;
  for (ir::ValueId v : checked.program().functions.at(report->function).saved_params)
    bytes += cost::local_bytes(checked.program(), checked.types(report->function).at(v));
  return bytes;
}

namespace {

/// `2*|B|*|M| bytes`, and the number where the run has sizes.
std::string bytes_text(const cost::Amount& amount, const FileReport& report) {
  std::string text = amount.text() + " bytes";
  if (report.sized) try {
      text += " = " + cost::human_bytes(amount.evaluate(report.sizes));
    } catch (const std::domain_error&) {
      // A size is missing: the symbolic amount stands alone.
    }
  return text;
}

void print_costs(const FileReport& report, const BackwardReport& backward, std::ostream& out) {
  const auto cost = cost_of(backward);
  if (!cost) return;
  out << "# " << cost->summary() << "\n";
  for (const auto& row : cost->totals())
    out << "#   " << row.kind << ": " << bytes_text(row.bytes, report) << "\n";
  if (report.checked->written().count(backward.function))
    out << "# the value of a pipeline: every stage has all layers here, which no run exchanges\n";
  out << "# all_gathers of the forward pass that are repeated: " << backward.backward.gathers_again
      << "; saved for it: " << bytes_text(saved_for(backward), report) << "\n";
}

/// As a comment: what is printed can be pasted into the plan's file.
void print_commented(const std::string& text, std::ostream& out) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    out << (line.empty() ? "#" : "# ") << line << "\n";
}

/// The reason why a derived text is not proved is given in its own words and locations.
void print_doubts(const BackwardReport& backward, std::ostream& out) {
  const CheckedBackward& derived = backward.backward;
  if (derived.refused)
    return print_commented(derived.refused->code + ": " + derived.refused->message, out);
  const PlanReport* report = derived.report();
  for (const Diagnostic& each : report ? report->diagnostics : derived.checked->diagnostics())
    print_commented(render(each, *derived.sources), out);
}

}  // namespace

void print_backwards(const FileReport& report, bool latex, std::ostream& out) {
  for (const BackwardReport& each : report.backwards) {
    out << "\n# the backward of " << each.plan << ", "
        << (each.backward.refused ? "refused" : "derived: " + std::string(to_string(each.verdict)))
        << "\n";
    if (const PlanReport* derived = each.backward.report())
      for (const std::string& assumption : derived->assumptions)
        print_commented("assuming " + assumption, out);
    print_costs(report, each, out);
    print_doubts(each, out);
    if (latex && each.backward.checked)
      print_latex(each.backward, out);
    else
      out << each.backward.needs << each.backward.text;
  }
}

}  // namespace shardproof::cli
