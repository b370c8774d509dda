// A const that is given another value has it wherever it is used.
#include <gtest/gtest.h>

#include "spec/check/check.h"

namespace shardproof {
namespace {

const std::map<std::string, std::string> files = {
    {"model.shard", R"(mesh d
dim B M
const eps = 1e-3
fn loss(x: f32[B M]) -> f32[] { return sum("B M -> ", rms_norm("B M; M", x, eps=eps)) }
plan loss_d implements loss(x: f32[B/d M]) -> f32[]{U_d} {
    return sum("B/d M -> {U_d}", rms_norm("B/d M; M", x, eps=eps))
}
)"},
    {"step.shard", R"(import loss, loss_d from "model.shard"
mesh d
dim B M
fn step(x: f32[B M]) -> f32[B M] {
    _l, g = value_and_grad(loss wrt x)(x)
    return g
}
plan step_d implements step(x: f32[B/d M]) -> f32[B/d M] {
    _l, g = value_and_grad(loss_d wrt x)(x)
    return g
}
)"},
};

TEST(SetConsts, AlsoWhereAnImportedPlanIsDifferentiated) {
  for (const double eps : {1e-3, 1e-1}) {
    Sources sources;
    CheckOptions options;
    options.set["eps"] = eps;
    const CheckedProgram checked = check(
        sources, "step.shard",
        [](const std::string& path) {
          const auto found = files.find(path);
          return found == files.end() ? std::nullopt : std::optional(found->second);
        },
        options);
    ASSERT_EQ(checked.verdict(), Verdict::proved) << eps;
    EXPECT_EQ(checked.program().consts.at("eps"), eps);
  }
}

const char* const dependent = R"(mesh d
dim B F
const half = 2
const all = half * 2
fn f(x: f32[B F]) -> f32[B] { return sum("B F -> B", x) * all }
plan by_name implements f(x: f32[B/d F]) -> f32[B/d] { return half * sum("B/d F -> B/d", x * 2) }
plan by_number implements f(x: f32[B/d F]) -> f32[B/d] { return sum("B/d F -> B/d", x) * 6 }
)";

CheckedProgram with_half(double half) {
  Sources sources;
  CheckOptions options;
  options.set["half"] = half;
  return check(
      sources, "file.shard", [](const std::string&) { return std::optional(dependent); }, options);
}

TEST(SetConsts, AlsoInConstsThatDependOnThem) {
  const CheckedProgram checked = with_half(3);
  EXPECT_EQ(checked.program().consts.at("all"), 6);
  EXPECT_EQ(checked.plans().at(0).verdict, Verdict::proved);
  EXPECT_EQ(checked.plans().at(1).verdict, Verdict::proved);
  EXPECT_EQ(with_half(2).plans().at(1).verdict, Verdict::refuted);
}

// The program reads the shortest decimal that rounds to the given double.
TEST(SetConsts, WithAllTheirDigits) {
  for (const double half : {1.0 / 3, 0.1 + 0.2, 1e-300})
    EXPECT_EQ(with_half(half).program().consts.at("half"), half);
}

}  // namespace
}  // namespace shardproof
