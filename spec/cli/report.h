#pragma once
// The results of checking one file, and their output formats.
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "spec/check/derived.h"
#include "spec/cli/options.h"
#include "spec/cost/cost.h"
#include "spec/schedule/schedule.h"

namespace shardproof::cli {

/// The derived backward of one plan.
struct BackwardReport {
  size_t function = 0;  ///< of the plan: a name may be another file's too
  Name plan;
  CheckedBackward backward;
  Verdict verdict = Verdict::unknown;  ///< proved: the plan is, and its backward
};

/// Bytes of one rank on a GPU, by what they hold.
struct MemoryBytes {
  size_t inputs = 0;
  size_t results = 0;  ///< those that do not replace a parameter
  size_t between = 0;  ///< the peak of all else
  size_t sum() const { return inputs + results + between; }
};

/// The memory that a plan needs on a GPU, or the reason why it is not known.
struct PlanMemory {
  std::optional<MemoryBytes> bytes;
  size_t with_overlap = 0;  ///< total bytes if collectives overlap with computation
  std::string why;
};

struct FileReport {
  std::string path;
  std::shared_ptr<Sources> sources = std::make_shared<Sources>();
  std::optional<CheckedProgram> checked;  ///< none: the file could not be read
  std::vector<Diagnostic> diagnostics;    ///< of reading the file, and of the run's sizes
  cost::Sizes sizes;                      ///< of the run; empty: none
  bool sized = false;                     ///< the user gave sizes
  std::string origin;                     ///< the configuration that it stands for, in words
  std::vector<std::string> claims;        ///< "eps = 1e-05: the file says 1e-06"
  bool undecided_claim = false;           ///< one of them could not be checked
  Verdict verdict = Verdict::invalid;
  std::vector<BackwardReport> backwards;  ///< where they are asked for
  std::map<Name, PlanMemory> memory;      ///< where statistics are asked for, and sizes given
  double seconds = 0;
};

int exit_code(Verdict verdict);  ///< 0, 1, 2, 3
/// The file of the report among all that were read; -1: none.
int32_t main_file(const FileReport& report);
/// Every diagnostic of a report, the errors before the notes: the file's, the sizes', then each
/// plan's.
std::vector<const Diagnostic*> all_diagnostics(const FileReport& report);
/// The plan is in the report: the file's own, or an imported one that is not proved.
bool listed(const PlanReport& plan);
/// What it asks of a mesh and sizes: what divides, and how far its schedules were run.
std::vector<std::string> conditions_of(const PlanReport& plan);
/// The plans that a proof trusts, as "a, b".
std::string trusting(const PlanReport& plan);

/// The cost of a plan whose types are complete; none for a refused or a trusted one.
std::optional<cost::Cost> cost_of(const CheckedProgram& checked, const PlanReport& plan);

/// The backward of a plan; null where none was asked for, or the plan has none.
const BackwardReport* backward_of(const FileReport& report, const PlanReport& plan);
/// Its cost; none where it was not derived.
std::optional<cost::Cost> cost_of(const BackwardReport& backward);
/// Bytes of what it takes after `;`.
cost::Amount saved_for(const BackwardReport& backward);

void print_text(const FileReport& report, const Options& options, bool colour, bool name_file,
                std::ostream& out);
void print_stats(const FileReport& report, std::ostream& out);
/// One pipeline of a plan, as its schedule runs at the sizes of the report.
struct PipelineRun {
  Name schedule;
  schedule::Sizes sizes;
  schedule::Run run;
};
/// The pipelines in the plan's own text whose sizes are all given.
std::vector<PipelineRun> pipeline_runs(const FileReport& report, const PlanReport& plan);
/// A schedule that a plan needs and that is not right at all sizes, run at given ones.
struct ScheduleProblem {
  std::vector<std::string> missing;      ///< "|A|": it was not run for want of a size
  std::optional<Diagnostic> diagnostic;  ///< E0502, E0503, E0504; E0106 where there is too much
};
std::vector<ScheduleProblem> schedule_problems(const CheckedProgram& checked,
                                               const PlanReport& plan, const cost::Sizes& sizes);
/// Idle time, and the activations that each stage keeps.
void print_pipelines(const FileReport& report, const PlanReport& plan, std::ostream& out);
void print_annotated(const FileReport& report, std::ostream& out);
/// The declarations of the file as equations; so a derived backward.
void print_latex(const FileReport& report, std::ostream& out);
void print_latex(const CheckedBackward& backward, std::ostream& out);
/// The derived backwards: text or equations, then what they communicate, compute again and need.
void print_backwards(const FileReport& report, bool latex, std::ostream& out);
/// One object, or an array of objects for several files.
void print_json(const std::vector<FileReport>& reports, std::ostream& out);
/// SARIF 2.1.0.
void print_sarif(const std::vector<FileReport>& reports, std::ostream& out);
/// Markdown for a pull request: a table of the plans, and each finding folded below it.
void print_markdown(const std::vector<FileReport>& reports, std::ostream& out);

}  // namespace shardproof::cli
