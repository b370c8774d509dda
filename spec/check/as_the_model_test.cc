// A plan with one slip of the pen: the fix writes what the model writes, and proves the plan.
#include "spec/check/expect_fix.h"

namespace shardproof {
namespace {

const std::string ffn =
    "mesh d t\ndim B M F\n"
    "record W { ln: f32[M] up gate: f32[M F] down: f32[F M] }\n"
    "fn ffn(x: f32[B M], w: W) -> f32[B M] {\n"
    "    nx = rms_norm(\"B M; M\", x, eps=1e-5) * w.ln\n"
    "    up = einsum(\"B M, M F -> B F\", nx, w.up)\n"
    "    gate = einsum(\"B M, M F -> B F\", nx, w.gate)\n"
    "    return x + einsum(\"B F, F M -> B M\", silu(gate) * up, w.down) / (|F| * |M|)\n}\n"
    "plan p implements ffn(x: f32[B/d M], w: W) -> f32[B/d M] {\n"
    "    ln = w.ln\n"
    "    nx = rms_norm(\"B/d M; M\", x, eps=1e-5) * ln\n"
    "    up = einsum(\"B/d M, M F -> B/d F\", nx, w.up)\n"
    "    gate = einsum(\"B/d M, M F -> B/d F\", nx, w.gate)\n"
    "    o = einsum(\"B/d F, F M -> B/d M\", silu(gate) * up, w.down) / (|F| * |M|)\n"
    "    return x + o\n}\n";

/// The program with one place of the plan changed.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = ffn;
  const size_t at = text.rfind(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(AsTheModel, OneSlipIsPutRight) {
  const std::pair<const char*, const char*> slips[] = {
      {" * ln\n", "\n"},                       // a factor is missing
      {"return x + o", "return o"},            // a term is missing
      {"return x + o", "return x - o"},        // another operator
      {"w.gate", "w.up"},                      // another weight
      {"silu(gate) * up", "gate * up"},        // no activation
      {"silu(gate) * up", "silu(up) * gate"},  // operands swapped
      {"silu(gate) * up", "silu(gate * up)"},  // parentheses
      {"silu", "sigmoid"},                     // another function
      {"eps=1e-5", "eps=1e-6"},                // another number
      {"(|F| * |M|)", "|F|"},                  // a size is missing
      {"|M|)", "|B|)"},                        // another size
      {"return x + o", "return x + o + o"},    // a term too many
  };
  for (const auto& [from, to] : slips)
    for (const Diagnostic& error : errors_of(changed(from, to))) {
      ASSERT_TRUE(error.code.starts_with("E040")) << from << " -> " << to << error.message;
      ASSERT_FALSE(error.fixes.empty()) << from << " -> " << to;
      EXPECT_EQ(error.fixes[0].message, "compute it as `ffn` does") << from << " -> " << to;
      EXPECT_TRUE(error.fixes[0].checked) << from << " -> " << to;
    }
  for (const Diagnostic& error : errors_of(changed("(|F| * |M|)", "(|F| * |M| * |d|)")))
    EXPECT_EQ(error.fixes.at(0).message, "leave out `* |d|`");
}

TEST(AsTheModel, OperandsOfACallAreSwappedBack) {
  expect_fix(
      "mesh d\ndim B\nfn g(a b: f32[B]) -> f32[B] { return a - 2 * b }\n"
      "plan q implements g(a b: f32[B/d]) -> f32[B/d] { return a - 2 * b }\n"
      "fn f(x y: f32[B]) -> f32[B] { return g(x, y) }\n"
      "plan p implements f(x y: f32[B/d]) -> f32[B/d] { return q(y, x) }\n",
      "E0401", "compute it as `f` does");
}

TEST(AsTheModel, EntriesAreRolledWhereBlocksArePassedOn) {
  expect_fix(
      "mesh d t\ndim H M\nfn f(x: f32[H M]) -> f32[H M] { return x * roll(\"[H] M\", x, by=1) }\n"
      "plan p implements f(x: f32[H/t M]) -> f32[H/t M] {\n"
      "    return x * ppermute(\"[H/t] M -> [H/t] M\", x, by=1)\n}\n",
      "E0401", "ppermute moves whole blocks");
  expect_fix(
      "mesh d t\ndim H M\nfn f(x: f32[M H]) -> f32[M H] { return roll(\"M [H]\", x, by=-2) }\n"
      "plan p implements f(x: f32[M/d H/t]) -> f32[M/d H/t] {\n"
      "    return ppermute(\"M/d [H/t] -> M/d [H/t]\", x, by=-2)\n}\n",
      "E0401", "ppermute moves whole blocks");
}

TEST(AsTheModel, WhatTheModelWritesIsSaidWhereNoEditProvesThePlan) {
  expect_help(
      "mesh d\ndim B M\nfn f(x: f32[B M]) -> f32[B] { return sum(\"B M -> B\", x * x) }\n"
      "plan p implements f(x: f32[B/d M]) -> f32[B/d] {\n"
      "    return max(\"B/d M -> B/d\", x) * cos(|M|)\n}\n",
      "E0401", "`f` ");
}

}  // namespace
}  // namespace shardproof
