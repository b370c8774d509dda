#include <algorithm>
#include <cstdio>
#include <map>

#include "spec/cli/report.h"
#include "spec/cli/sizes.h"
#include "spec/diag/render.h"
#include "spec/diag/snippet.h"

namespace shardproof::cli {
namespace {

constexpr char no_model[] = "same on every mesh, no model stated";

std::string conditions(const PlanReport& plan) {
  std::string text;
  for (const std::string& each : conditions_of(plan))
    text += (text.empty() ? " with  " : ",  ") + each;
  return "for every mesh" + text;
}

/// A row of the table: the verdict, what was claimed, for which meshes, and lines below it.
struct Row {
  Verdict verdict;
  std::string word, claim, meshes;
  std::vector<std::string> below;
};

Row row_of(const FileReport& report, const PlanReport& plan) {
  const bool proved = plan.verdict == Verdict::proved, modelled = plan.claim != no_model;
  Row row{plan.verdict, to_string(plan.verdict), plan.name, "", {}};
  // Without a model only sameness is claimed, and the word says so.
  if (proved && !modelled) row.word = "same";
  if (modelled && !plan.claim.empty()) row.claim += " " + plan.claim;
  if (!modelled) row.claim += ": " + plan.claim;
  if (plan.imported) row.claim += " (imported)";
  if (!proved) return row;
  if (!plan.trusting.empty()) row.word += ", trusting " + trusting(plan);
  row.meshes = conditions(plan);
  const ir::Function& function = report.checked->program().functions.at(plan.function);
  if (auto cost = cost_of(*report.checked, plan))
    row.below.push_back((function.implements_grad ? "backward: "
                         : cost->with_backward    ? "forward and backward: "
                                                  : "forward: ") +
                        cost->summary());
  if (const BackwardReport* backward = backward_of(report, plan)) {
    const auto cost = cost_of(*backward);
    row.below.push_back(std::string("backward ") +
                        (backward->backward.refused             ? "refused"
                         : backward->verdict == Verdict::proved ? "derived and proved"
                                                                : "derived, not proved") +
                        (cost ? ": " + cost->summary() : ""));
  }
  const auto assuming = [&](const char* what, const std::vector<std::string>& assumptions) {
    std::string all;
    for (const std::string& each : assumptions) all += (all.empty() ? "" : ",  ") + each;
    if (!all.empty()) row.below.push_back(what + all);
  };
  if (const BackwardReport* backward = backward_of(report, plan))
    if (const PlanReport* derived = backward->backward.report())
      assuming("backward assuming  ", derived->assumptions);
  assuming("assuming  ", plan.assumptions);
  return row;
}

bool same_verdicts(const std::vector<const PlanReport*>& plans) {
  return std::all_of(plans.begin(), plans.end(),
                     [&](const PlanReport* each) { return each->verdict == plans[0]->verdict; });
}

/// The plans of each row: an ordinary one, or the instances of a plan with `{?_t}`.
std::vector<std::vector<const PlanReport*>> plans_of_rows(const FileReport& report) {
  std::vector<std::vector<const PlanReport*>> rows;
  for (const PlanReport& plan : report.checked->plans()) {
    if (!listed(plan)) continue;
    const auto& functions = report.checked->program().functions;
    const std::vector<size_t>& instances = functions.at(plan.function).instances;
    const bool same_row = !instances.empty() && !rows.empty() &&
                          functions.at(rows.back()[0]->function).instances == instances;
    if (!same_row) rows.emplace_back();
    rows.back().push_back(&plan);
  }
  return rows;
}

/// One row for all instances, if they have one verdict.
void add_rows(const FileReport& report, const std::vector<const PlanReport*>& plans,
              std::vector<Row>& rows) {
  const Name& name = report.checked->program().functions.at(plans[0]->function).instance_of;
  if (name.empty() || !same_verdicts(plans)) {
    for (const PlanReport* each : plans) rows.push_back(row_of(report, *each));
    return;
  }
  Row row = row_of(report, *plans[0]);
  row.below.clear();
  row.claim = name + row.claim.substr(plans[0]->name.size()) + ", " + std::to_string(plans.size()) +
              " instances";
  if (row.verdict == Verdict::proved) row.claim += " with their backwards";
  for (const PlanReport* each : plans) {
    const std::string states = each->name.substr(name.size());
    for (const std::string& line : row_of(report, *each).below)
      row.below.push_back(states + " " + line);
  }
  rows.push_back(std::move(row));
}

size_t shown_width(const std::string& text) { return text.size(); }

std::string pad(const std::string& text, size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

std::string paint(Verdict verdict, const std::string& text, const Palette& palette) {
  return verdict == Verdict::proved    ? palette.good(text)
         : verdict == Verdict::unknown ? palette.warning(text)
                                       : palette.error(text);
}

void print_rows(const std::vector<Row>& rows, const Palette& palette, std::ostream& out) {
  constexpr size_t widest_claim = 60;
  size_t word = 8, claim = 0;
  for (const Row& row : rows) {
    word = std::max(word, row.word.size());
    if (!row.meshes.empty())
      claim = std::max(claim, std::min(shown_width(row.claim), widest_claim));
  }
  for (const Row& row : rows) {
    out << paint(row.verdict, row.word, palette) << std::string(word - row.word.size() + 1, ' ')
        << (row.meshes.empty() ? row.claim : pad(row.claim, claim) + "     " + row.meshes) << "\n";
    for (const std::string& line : row.below) out << std::string(word + 1, ' ') << line << "\n";
  }
}

void print_summary(const FileReport& report, const Palette& palette, std::ostream& out) {
  std::map<Verdict, int> counts;
  bool own = false;
  if (report.checked)
    for (const PlanReport& plan : report.checked->plans()) {
      own |= !plan.imported;
      counts[plan.verdict] += listed(plan);
    }
  std::string text;
  for (Verdict verdict : {Verdict::proved, Verdict::refuted, Verdict::unknown, Verdict::invalid})
    if (counts[verdict])
      text +=
          (text.empty() ? "" : ", ") + std::to_string(counts[verdict]) + " " + to_string(verdict);
  if (!own && report.verdict == Verdict::proved) text = "nothing to prove: no plan in the file";
  if (text.empty())
    text = to_string(report.verdict);
  else if (report.verdict == Verdict::invalid && !counts[Verdict::invalid])
    text += ", but this run is invalid";
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, " (%.2f s)", report.seconds);
  out << palette.bold(text) << seconds << "\n";
}

void print_sizes(const FileReport& report, std::ostream& out) {
  if (!report.sized || !report.checked || report.verdict == Verdict::invalid) return;
  const std::string mesh = mesh_text(report.checked->program(), report.sizes);
  const bool part = std::any_of(report.diagnostics.begin(), report.diagnostics.end(),
                                [](const Diagnostic& d) { return d.code == "E0501"; });
  out << "sizes: " << (mesh.empty() ? "no mesh" : mesh)
      << (part ? ": the given sizes divide\n" : ": every dim splits evenly\n");
}

}  // namespace

void print_text(const FileReport& report, const Options& options, bool colour, bool name_file,
                std::ostream& out) {
  const Palette palette(colour);
  RenderOptions render_options;
  render_options.colour = colour;
  if (name_file) out << palette.bold(report.path + ":") << "\n";
  if (!report.origin.empty()) out << report.origin << "\n\n";
  for (const Diagnostic* each : all_diagnostics(report))
    out << render(*each, *report.sources, render_options) << "\n";
  std::vector<Row> rows;
  if (report.checked)
    for (const auto& plans : plans_of_rows(report)) add_rows(report, plans, rows);
  print_rows(rows, palette, out);
  for (const std::string& claim : report.claims) out << "a new claim: " << claim << "\n";
  print_sizes(report, out);
  print_summary(report, palette, out);
  const bool proved = std::any_of(rows.begin(), rows.end(),
                                  [](const Row& row) { return row.verdict == Verdict::proved; });
  if (proved)
    out << "tested, not proved: the plan compiler, kernels, and fused kernels that replace "
           "library functions\n"
           "outside every proof: rounding, overflow, the order of sums, timing, communication "
           "and vendor libraries\n";
  if (options.stats && report.checked) print_stats(report, out);
  print_backwards(report, false, out);
}

}  // namespace shardproof::cli
