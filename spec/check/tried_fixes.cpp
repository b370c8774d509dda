#include "spec/check/tried_fixes.h"

#include <algorithm>

#include "spec/check/fixes.h"

namespace shardproof {
namespace {

enum class AfterEdit { proved, fewer_errors, no_help };

bool told_as_error(const Diagnostic& diagnostic) { return diagnostic.severity == Severity::error; }

/// ErrorCount of the text alone: it has to be read before the others show.
bool of_syntax(const Diagnostic& diagnostic) { return diagnostic.code.starts_with("E00"); }

struct ErrorCount {
  size_t all = 0, syntax = 0;

  void add(const std::vector<Diagnostic>& diagnostics) {
    for (const Diagnostic& each : diagnostics) {
      if (!told_as_error(each)) continue;
      ++all;
      if (of_syntax(each)) ++syntax;
    }
  }
};

ErrorCount count_errors(const std::vector<PlanReport>& plans,
                        const std::vector<Diagnostic>& of_file) {
  ErrorCount errors;
  errors.add(of_file);
  for (const PlanReport& plan : plans) errors.add(plan.diagnostics);
  return errors;
}

class FixTrial {
 public:
  FixTrial(const TriedFile& file, const std::vector<PlanReport>& plans,
           const std::vector<Diagnostic>& of_file, FileBudget& budget)
      : file_(file), plans_(plans), of_file_(of_file), budget_(budget), once_(budget.spent()) {}

  /// `plan` is null for an error of the file.
  AfterEdit run(const Diagnostic& diagnostic, const PlanReport* plan,
                const std::vector<Edit>& edits) {
    if (edits[0].range.file < 0 || budget_.fixes + once_ > FileBudget::of_fixes)
      return AfterEdit::no_help;
    const FileBudget::Part part(budget_.fixes);
    const SourceFile& file = file_.sources.file(edits[0].range.file);
    const std::string edited = apply_edits(file.text, edits[0].range.file, edits);
    const FileReader reader = [&](const std::string& path) -> std::optional<std::string> {
      return path == file.path ? edited : file_.reader(path);
    };
    CheckOptions options = file_.options;
    options.fixes = false;
    const bool alone = plan && stays_inside(*plan, edits);
    if (alone) options.only = plan->name;
    Sources sources;
    const CheckedProgram checked = check(sources, file_.path, reader, options);
    const PlanReport* same = plan ? find(sources, checked, *plan) : nullptr;
    if (same ? same->verdict == Verdict::proved : checked.verdict() == Verdict::proved)
      return AfterEdit::proved;
    if (plan && !same) return AfterEdit::no_help;
    ErrorCount before = count_errors(plans_, of_file_);
    if (alone) {
      before = count_errors({}, of_file_);
      before.add(plan->diagnostics);
    }
    const ErrorCount after = count_errors(checked.plans(), checked.diagnostics());
    const bool fewer = after.all < before.all;
    const bool read = of_syntax(diagnostic) && after.syntax < before.syntax;
    return fewer || read ? AfterEdit::fewer_errors : AfterEdit::no_help;
  }

 private:
  /// The plan alone is checked then: the others are as they were.
  bool stays_inside(const PlanReport& plan, const std::vector<Edit>& edits) const {
    const SourceRange& own = file_.program.functions[plan.function].range;
    return own.file >= 0 && file_.sources.file(own.file).path == file_.path &&
           std::all_of(edits.begin(), edits.end(), [&](const Edit& edit) {
             return edit.range.file == own.file && edit.range.begin >= own.begin &&
                    edit.range.end <= own.end;
           });
  }

  /// A name means one function in each file.
  const PlanReport* find(const Sources& sources, const CheckedProgram& checked,
                         const PlanReport& plan) const {
    const ir::Function& own = file_.program.functions[plan.function];
    for (const PlanReport& report : checked.plans()) {
      const ir::Function& other = checked.program().functions[report.function];
      if (other.name == own.name &&
          sources.file(other.source).path == file_.sources.file(own.source).path)
        return &report;
    }
    return nullptr;
  }

  const TriedFile& file_;
  const std::vector<PlanReport>& plans_;
  const std::vector<Diagnostic>& of_file_;
  FileBudget& budget_;
  double once_;  ///< seconds that the check of the whole file took
};

/// The fixes that work, those that prove the plan first; then advice.
std::vector<Fix> tried_fixes(FixTrial& trial, const Diagnostic& diagnostic,
                             const PlanReport* plan) {
  std::vector<Fix> proved, fewer, failed, advice;
  for (const Fix& fix : diagnostic.fixes) {
    if (fix.edits.empty()) {
      advice.push_back(fix);
      continue;
    }
    const AfterEdit outcome = trial.run(diagnostic, plan, fix.edits);
    std::vector<Fix>& list = outcome == AfterEdit::proved         ? proved
                             : outcome == AfterEdit::fewer_errors ? fewer
                                                                  : failed;
    list.push_back(fix);
    list.back().checked = outcome == AfterEdit::proved;
    if (outcome == AfterEdit::no_help) list.back() = {fix.message, {}, false, ""};
  }
  if (proved.empty() && fewer.empty()) advice.insert(advice.begin(), failed.begin(), failed.end());
  for (const auto* list : {&fewer, &advice})
    proved.insert(proved.end(), list->begin(), list->end());
  return proved;
}

}  // namespace

void try_fixes(const TriedFile& file, std::vector<PlanReport>& plans,
               std::vector<Diagnostic>& of_file, FileBudget& budget) {
  FixTrial trial(file, plans, of_file, budget);
  for (Diagnostic& each : of_file)
    if (told_as_error(each)) each.fixes = tried_fixes(trial, each, nullptr);
  for (PlanReport& plan : plans)
    for (Diagnostic& each : plan.diagnostics)
      if (told_as_error(each)) each.fixes = tried_fixes(trial, each, &plan);
}

}  // namespace shardproof
