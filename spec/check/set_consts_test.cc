// A const that is given another value has it wherever it is used.
#include "spec/check/set_consts.h"

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

}  // namespace
}  // namespace shardproof
