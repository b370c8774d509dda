#pragma once
// Fixes are tried before they are shown.
#include "spec/check/budget.h"
#include "spec/check/check.h"

namespace shardproof {

/// One file and how it was checked.
struct TriedFile {
  const Sources& sources;
  const std::string& path;
  const FileReader& reader;
  const CheckOptions& options;
  const ir::Program& program;
};

/// Checks the file again with each fix of each error applied. What proves the plan is marked
/// checked and comes first; then what leaves fewer errors. Where no edit works alone, an edit is
/// tried together with those that the error after it offers. A fix that does neither, or that the
/// budget does not reach, loses its edits and so is advice; it is left out where another one works.
void try_fixes(const TriedFile& file, std::vector<PlanReport>& plans,
               std::vector<Diagnostic>& of_file, FileBudget& budget);

}  // namespace shardproof
