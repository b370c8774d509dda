#include "spec/check/jumps.h"

#include <gtest/gtest.h>

#include "spec/check/check.h"

namespace shardproof {
namespace {

/// Of a model that computes a value like x from x y: f32[B L] and i: i32[B L].
bool jumps(const std::string& value) {
  const std::string params = "(x y: f32[B L], i: i32[B L]) -> f32[B L] { return ";
  const std::string text =
      "dim B L\nfn f" + params + value + " }\nplan p implements f" + params + "x }\n";
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const FileReader reader = [&](const std::string&) { return std::optional(text); };
  const Resolved resolved = resolve(sources, "jumps.shard", reader, diagnostics);
  for (const Diagnostic& each : diagnostics)
    if (each.severity == Severity::error) ADD_FAILURE() << each.message;
  return may_jump(resolved.program, resolved.program.functions.size() - 1);
}

TEST(MayJump, WhereRealsAreComparedOrRounded) {
  for (const char* value :
       {"where(x > y, x, y)", "where(x == 0, x, y)", "floor(x)", "round(x)", "sign(x)", "pow(x, y)",
        "f32(i32(x))", "f32(argsort(\"B L; L\", x))", "x * f32(1 < 2)"})
    EXPECT_TRUE(jumps(value)) << value;
}

TEST(MayJump, NotWhereIntegersAreAndMaximaAreTaken) {
  for (const char* value :
       {"where(i > 3, x, y)", "where(iota(\"B L; L\") <= iota(\"B L; B\") + 128, x, -1e30)",
        "maximum(x, y)", "abs(x)", "softmax(\"B L; L\", x)", "x / sqrt(1 + y * y)", "f32(i // 3)"})
    EXPECT_FALSE(jumps(value)) << value;
}

}  // namespace
}  // namespace shardproof
