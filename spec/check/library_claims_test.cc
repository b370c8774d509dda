// Every gradient of the library is proved.
#include "spec/check/library_claims.h"

#include <gtest/gtest.h>

#include "spec/check/check.h"
#include "spec/resolve/resolve.h"

namespace shardproof {
namespace {

PlanReport report_of(const std::string& text) {
  Sources sources;
  CheckedProgram checked =
      check(sources, "claim.shard", [&](const std::string&) { return std::optional(text); });
  for (const Diagnostic& d : checked.diagnostics()) ADD_FAILURE() << d.message << "\n" << text;
  return checked.plans().empty() ? PlanReport{} : checked.plans()[0];
}

std::string why(const PlanReport& report) {
  std::string text;
  for (const Diagnostic& d : report.diagnostics) {
    text += d.code + " " + d.message;
    for (const std::string& detail : d.details) text += "\n" + detail;
  }
  return text;
}

TEST(LibraryClaims, EveryGradientIsProved) {
  const std::vector<LibraryClaim> claims = library_claims();
  EXPECT_GE(claims.size(), 11u);
  for (const LibraryClaim& claim : claims) {
    const PlanReport report = report_of(file_of({claim}));
    EXPECT_EQ(report.verdict, Verdict::proved) << claim.text << why(report);
  }
}

TEST(LibraryClaims, AMistakeIsRefuted) {
  for (LibraryClaim claim : library_claims()) {
    const size_t end = claim.text.rfind("\n    return ");
    claim.text.insert(end + std::string("\n    return ").size(), "2 * ");
    const PlanReport report = report_of(file_of({claim}));
    EXPECT_EQ(report.verdict, Verdict::refuted) << claim.text << why(report);
  }
}

}  // namespace
}  // namespace shardproof
