// Mistakes that show at or beyond a number of the program alone are refuted; what differs there by
// rounding alone is not.
#include "spec/check/literals.h"

#include <gtest/gtest.h>

#include <sstream>

#include "spec/check/check.h"
#include "spec/check/refute.h"

namespace shardproof {
namespace literals_test {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// x + z and the like of f32[L], ids and other ids i32[L], numbers step and s.
std::string file_of(const std::string& model, const std::string& plan, const std::string& head) {
  const std::string params =
      "(x: f32[L], z: f32[L], ids: i32[L], more: i32[L], step: i32[], s: f32[]) -> f32[L] ";
  const auto sharded = [](const std::string& text) { return replaced(text, "L]", "L/d]"); };
  return "mesh d\ndim L K\n" + head + "\nfn f" + params + "{ return " + model + " }\n" +
         "plan p implements f" + sharded(params) + "{ return " +
         replaced(plan, "\"L\"", "\"L/d\"") + " }\n";
}

struct Found {
  std::optional<Refutation> refutation;
  std::string failure;
};

Found found(const std::string& model, const std::string& plan, const std::string& head = "") {
  const std::string text = file_of(model, plan, head);
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const FileReader reader = [&](const std::string&) { return std::optional(text); };
  const Resolved resolved = resolve(sources, "claim.shard", reader, diagnostics);
  for (const Diagnostic& each : diagnostics)
    if (each.severity == Severity::error) return {{}, each.message + "\n" + text};
  std::string why;
  Found result{refute(resolved.program, resolved.program.functions.size() - 1, &why), ""};
  return result;
}

struct Pair {
  std::string model, plan, head = "";
};

std::ostream& operator<<(std::ostream& out, const Pair& pair) {
  return out << pair.model << "  |  " << pair.plan << "  |  " << pair.head;
}

const std::vector<Pair> wrong = {
    {"where(x > 100.0, x, z)", "where(x >= 100.0, x, z)"},
    {"where(x > 0.1, x, z)", "where(x >= 0.1, x, z)"},
    {"where(x > 0.125, exp(x), z)", "where(x >= 0.125, exp(x), z)"},
    {"where(x > 1e6, x, z)", "z"},
    {"where(3 * x > 100, x, z)", "where(3 * x > 101, x, z)"},
    {"where(x * x >= 49, x, z)", "where(x * x > 49, x, z)"},
    {"where(x > 2.0 and x <= 2.5, x, z)", "where(x > 2.0 and x < 2.5, x, z)"},
    {"where(round(x) == 12, x, z)", "where(floor(x) == 12, x, z)"},
    {"maximum(-30.0, x)", "maximum(-31.0, x)"},
    {"maximum(-4.0, minimum(x, 25.0))", "maximum(-4.0, minimum(x, 26.0))"},
    {"where(s > 65504, x / s, x)", "where(s >= 65504, x / s, x)"},
    {"where(ids == 151643, z, x)", "x"},
    {"where(ids == -100, z, x)", "where(ids == 100, z, x)"},
    {"where(ids >= 32000 and ids < 32064, z, x)", "where(ids >= 32000 and ids <= 32064, z, x)"},
    {"where(ids == 7 and more == 23, z, x)", "x"},
    {"where(ids - more == 77, z, x)", "x"},
    {"where(ids // 1000 == 31, z, x)", "where(ids // 1000 == 32, z, x)"},
    {"where(2 * ids > 301, z, x)", "where(2 * ids > 303, z, x)"},
    {"x * f32(minimum(ids, 255))", "x * f32(minimum(ids, 256))"},
    {"x * minimum(1.0, f32(step) / 2000)", "x * f32(step) / 2000"},
    {"x * where(step < 1000, f32(1), f32(0.1))", "x * where(step <= 1000, f32(1), f32(0.1))"},
    {"x * maximum(0.1, 1 - f32(step) / 10000)", "x * maximum(0.0, 1 - f32(step) / 10000)"},
    {"x * where(step < 100, f32(step) / 100, where(step < 5000, f32(1), f32(0.1)))",
     "x * where(step < 100, f32(step) / 100, where(step <= 5000, f32(1), f32(0.1)))"},
    {"x * where(step < 2000, f32(step) / 2000, cos(f32(step - 2000) / 98000))",
     "x * where(step < 2000, f32(step) / 2000, cos(f32(step - 2000) / 97000))"},
    {"where(step % 1000 == 999, z, x)", "x"},
    {"where(iota(\"L\") < 128, x, z)", "where(iota(\"L\") < 129, x, z)"},
    {"where(iota(\"L\") < 2048, x, z)", "x"},
    {"where(iota(\"L\") % 12 == 11, x, z)", "where(iota(\"L\") % 13 == 11, x, z)"},
    {"where(iota(\"L\") // 16 == 2, x, z)", "where(iota(\"L\") // 16 == 3, x, z)"},
    {"x * minimum(|L|, 512)", "x * minimum(|L|, 513)"},
    {"x * where(|L| >= 256, f32(2), f32(1))", "x * where(|L| > 256, f32(2), f32(1))"},
    {"where(|L| > 3 * |K|, x, z)", "z"},
    {"where(|L| > |K|, x, z)", "z"},
    {"log(x * z)", "log(x) + log(z)"},
    {"minimum(x, 1e30)", "x"},
    {"x", "x * where(|d| > 8, f32(2), f32(1))"},
    {"x * f32(|L| <= 50256)", "x"},
    {"exp(x) / (sum(\"L ->\", exp(x)) + 1e-9)", "exp(x) / sum(\"L ->\", exp(x))"},
    {"index(\"[K], L -> L\", f32(iota(\"K\")), where(ids == 50000, ids - 1, ids))",
     "index(\"[K], L -> L\", f32(iota(\"K\")), ids)"},
    {"where(iota(\"L\") == 39, x, z)", "z", "require |L| >= 40"},
    {"where(iota(\"L\") >= |L| - 8, x, z)", "where(iota(\"L\") >= |L| - 9, x, z)",
     "require |L| % 64 == 0"},
    {"where(iota(\"L\") < window, x, z)", "where(iota(\"L\") <= window, x, z)",
     "const window = 96\nrequire |L| >= 128"},
};

// Each has a jump at which doubles fall on another side than fractions, or a difference between
// what fractions know to be equal.
const std::vector<Pair> right = {
    {"where(x > 3, x, z)", "where(x * 0.1 > 0.3, x, z)"},
    {"where(x >= 3, x, z)", "where(x * 0.1 >= 0.3, x, z)"},
    {"where(x >= 0.3, x, z)", "where(x >= 0.1 + 0.2, x, z)"},
    {"where(x > 0.7, x, z)", "where(x * 10 > 7, x, z)"},
    {"where(x < 100, exp(x), z)", "where(x * 0.1 < 10, exp(x), z)"},
    {"where(x <= 0.3, exp(z), z)", "where(x + 0.1 <= 0.4, exp(z), z)"},
    {"where(x >= 1.1, exp(z), z)", "where(x * 3 >= 3.3, exp(z), z)"},
    {"x * f32(floor(s / 7))", "x * f32(floor(s * 3 / 21))"},
    {"x * floor(x / 0.1)", "x * floor(x * 10)"},
    {"x * round(x * 0.3)", "x * round(x * 3 / 10)"},
    {"where(f32(step) / 49 >= 1, x, z)", "where(f32(step) * (1 / 49) >= 1, x, z)"},
    {"x * minimum(1.0, f32(step) / 2000)",
     "minimum(x * f32(1), x) * minimum(1.0, f32(step) / 2000)"},
    {"where(ids >= 3 and ids < 8, x, z)", "where(ids > 2 and ids <= 7, x, z)"},
    {"where(iota(\"L\") // 4 == 3, x, z)", "where(iota(\"L\") >= 12 and iota(\"L\") <= 15, x, z)"},
};

class AtLiterals : public testing::TestWithParam<Pair> {};
class BesideLiterals : public testing::TestWithParam<Pair> {};

TEST_P(AtLiterals, TheMistakeIsSeen) {
  const Found result = found(GetParam().model, GetParam().plan, GetParam().head);
  EXPECT_EQ(result.failure, "");
  EXPECT_TRUE(result.refutation);
  if (!result.refutation) return;
  const std::string line = result.refutation->numbers.lines.at(0);
  const size_t model = line.find(" gives ") + 7, plan = line.find(", the plan ");
  EXPECT_NE(line.substr(model, plan - model), line.substr(plan + 11)) << line;
  EXPECT_EQ(line.find("-0,"), std::string::npos) << line;
  const bool of_k = (GetParam().model + GetParam().plan).find('K') != std::string::npos;
  EXPECT_EQ(result.refutation->numbers.sizes.find("K=") != std::string::npos, of_k)
      << result.refutation->numbers.sizes;
}
INSTANTIATE_TEST_SUITE_P(Wrong, AtLiterals, testing::ValuesIn(wrong));

TEST_P(BesideLiterals, NothingIsSeen) {
  const Found result = found(GetParam().model, GetParam().plan, GetParam().head);
  EXPECT_EQ(result.failure, "");
  EXPECT_FALSE(result.refutation) << result.refutation->numbers.lines.at(0);
}
INSTANTIATE_TEST_SUITE_P(Right, BesideLiterals, testing::ValuesIn(right));

}  // namespace literals_test
}  // namespace shardproof
