#include <gtest/gtest.h>

#include <algorithm>

#include "spec/diag/diagnostic.h"
#include "spec/diag/explanations.h"

namespace shardproof {
namespace {

TEST(Explanations, EveryCodeHasAPageThatBeginsWithItsTitle) {
  std::vector<std::string> codes;
  for (const auto& [code, text] : embedded_explanations()) codes.push_back(code);
  for (const DiagnosticInfo& row : all_diagnostics()) {
    auto page = std::find(codes.begin(), codes.end(), row.code);
    ASSERT_NE(page, codes.end()) << row.code << " has no page";
    const std::string& text =
        embedded_explanations()[static_cast<size_t>(page - codes.begin())].second;
    EXPECT_EQ(text.substr(0, text.find('\n')), std::string("# ") + row.code + ": " + row.title);
  }
  EXPECT_EQ(codes.size(), all_diagnostics().size()) << "a page without a code";
}

TEST(Explanations, ArePagesOfATerminal) {
  for (const auto& [code, text] : embedded_explanations()) {
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 30) << code;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      EXPECT_LE(end - at, 110u) << code << ": " << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

}  // namespace
}  // namespace shardproof
