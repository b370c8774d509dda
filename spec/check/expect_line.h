#pragma once
// For tests of the line at which a wrong plan is reported.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spec/check/expect_fix.h"

namespace shardproof {

/// The lines of the errors, as text.
inline std::vector<std::string> lines_of_errors(const std::string& text) {
  std::vector<std::string> lines;
  for (const Diagnostic& each : errors_of(text)) {
    if (each.range.file < 0) continue;
    const size_t begin = text.rfind('\n', each.range.begin) + 1;
    lines.push_back(text.substr(begin, text.find('\n', begin) - begin));
  }
  return lines;
}

struct Change {
  std::string from, to;  ///< the last occurrence of `from`
};

/// The changed line is the one that is reported.
inline void expect_own_line(std::string text, const Change& change) {
  const size_t at = text.rfind(change.from);
  ASSERT_NE(at, std::string::npos) << change.from;
  text.replace(at, change.from.size(), change.to);
  const size_t begin = text.rfind('\n', at) + 1;
  const std::string own = text.substr(begin, text.find('\n', begin) - begin);
  EXPECT_EQ(lines_of_errors(text), std::vector<std::string>{own}) << change.from;
}

}  // namespace shardproof
