// A plan runs only at sizes that its verdict assumes, whoever states them: its own body, a loop's,
// a callee in a loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "impl/compile/compile_plan.h"

namespace shardproof {
namespace {

using testing::HasSubstr;

/// f_d, with this in its own body, in its loop's and in the body of what the loop calls.
Program program(const std::string& own, const std::string& loop, const std::string& callee) {
  return Program::from_text(R"(mesh d
dim B N
fn twice(x: f32[B]) -> f32[B] { return x + x }
plan twice_d implements twice(x: f32[B/d]) -> f32[B/d] {
)" + callee + R"(
    return x + x
}
fn f(x: f32[N B]) -> f32[B] {
    last = scan n in N, c: f32[B] = zeros(f32[B]) { next twice(c) + x[n] }
    return last
}
plan f_d implements f(x: f32[N B/d]) -> f32[B/d] {
)" + own + R"(
    last = scan n in N, c: f32[B/d] = zeros(f32[B/d]) {
)" + loop + R"(
        next twice_d(c) + x[n]
    }
    return last
}
)");
}

std::string refusal(const Program& of, int64_t n) {
  try {
    compile_plan(of, "f_d", Mesh::parse("d=2"), {{"B", 4}, {"N", n}}, 0, {});
  } catch (const PlanError& error) {
    return error.what();
  }
  return "";
}

TEST(Requires, OfAnyBodyHoldWhereAPlanRuns) {
  const std::string three = "    require |N| == 3";
  for (const Program& each :
       {program(three, "", ""), program("", three, ""), program("", "", three)}) {
    EXPECT_THAT(refusal(each, 2), HasSubstr("f_d requires |N| == 3"));
    EXPECT_EQ(refusal(each, 3), "");
  }
}

}  // namespace
}  // namespace shardproof
