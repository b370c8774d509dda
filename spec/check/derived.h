#pragma once
// The derived backward of a plan: written, then checked in the plan's own file like any other plan.
#include <memory>

#include "spec/check/check.h"

namespace shardproof {

struct CheckedBackward {
  Name name;                              ///< of the derived plan
  std::string text;                       ///< its declarations
  std::string gathers_again;              ///< all_gathers of the forward pass that are done again
  std::optional<Diagnostic> refused;      ///< why there is none
  std::unique_ptr<Sources> sources;       ///< with the text at the end of the plan's file
  std::optional<CheckedProgram> checked;  ///< its only plan is the derived one

  /// Proved: the text has the dual types and computes the derivative of the model.
  Verdict verdict() const;
  const PlanReport* report() const;  ///< null where nothing could be derived or read
};

/// A resolved file with the types of every value.
struct TypedProgram {
  const ir::Program& program;
  const std::vector<std::vector<Type>>& types;
};

/// Derives and checks the backward of `plan` with respect to leaf parameters `wrt` (empty: all
/// floats). `root` is the file that `typed` is of.
CheckedBackward check_backward(const Sources& sources, const std::string& root,
                               const TypedProgram& typed, size_t plan,
                               const std::vector<size_t>& wrt, const FileReader& reader,
                               const CheckOptions& options = {});

}  // namespace shardproof
