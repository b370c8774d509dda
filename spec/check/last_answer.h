// For tests: what a user is told of a text's last plan.
#pragma once

#include "spec/check/check.h"

namespace shardproof {

/// The code of the first error, or the verdict of the last plan.
inline std::string last_answer(const std::string& text) {
  Sources sources;
  CheckOptions options;
  options.fixes = false;
  const FileReader reader = [&](const std::string&) { return std::optional(text); };
  const CheckedProgram checked = check(sources, "plan.shard", reader, options);
  for (const Diagnostic& each : checked.diagnostics())
    if (each.severity == Severity::error) return each.code;
  for (const Diagnostic& each : checked.plans().back().diagnostics)
    if (each.severity == Severity::error) return each.code;
  return to_string(checked.plans().back().verdict);
}

}  // namespace shardproof
