#pragma once
// Tries fixes before they are shown.
#include "spec/check/budget.h"
#include "spec/check/check.h"

namespace shardproof {

/// A file and the options with which it was checked.
struct TriedFile {
  const Sources& sources;
  const std::string& path;
  const FileReader& reader;
  const CheckOptions& options;
  const ir::Program& program;
};

/// Checks the file again with each fix of each error. A fix that proves the plan is marked
/// "checked" and comes first; then fixes that leave fewer errors. If no edit works alone, tries it
/// with the edits of the next error. A fix that does not help, or that exceeds the time budget,
/// keeps its text as advice without edits; it is dropped if another fix works.
void try_fixes(const TriedFile& file, std::vector<PlanReport>& plans,
               std::vector<Diagnostic>& of_file, FileBudget& budget);

}  // namespace shardproof
