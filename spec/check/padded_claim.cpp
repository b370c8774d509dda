#include "spec/check/padded_claim.h"

namespace shardproof {

PlanReport with_claim(const ir::Program& program, std::map<size_t, PlanReport>& reports, size_t f) {
  PlanReport report = std::move(reports.at(f));
  const auto& claim = program.functions[f].claim;
  const auto found = claim ? reports.find(*claim) : reports.end();
  if (found == reports.end()) return report;
  if (report.verdict != Verdict::proved) {
    if (!report.claim.empty()) report.claim = found->second.claim;
    return report;
  }
  for (Diagnostic& each : report.diagnostics) found->second.diagnostics.push_back(std::move(each));
  report = std::move(found->second);
  report.function = f;
  return report;
}

}  // namespace shardproof
