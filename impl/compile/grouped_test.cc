// A product with matrices that ids choose reads their table: nothing of the size of what is indexed
// is in memory, neither for the product nor for its gradients.
#include <gtest/gtest.h>

#include "impl/compile/compile_plan.h"
#include "impl/device/planned.h"

namespace shardproof {
namespace {

constexpr char text[] = R"(mesh d
dim B M F E
fn loss(w: f32[E M F], x: f32[B M], e: i32[B]) -> f32[] {
    y = einsum("B M, B M F -> B F", x, index("[E] M F, B -> B M F", w, e))
    return sum("B F ->", y * y)
}
fn step(w: f32[E M F], x: f32[B M], e: i32[B]) -> (l: f32[], g: f32[E M F], h: f32[B M]) {
    l, g, h = value_and_grad(loss wrt w, x)(w, x, e)
    return l, g, h
}
plan loss_d implements loss(w: f32[E M F], x: f32[B/d M], e: i32[B/d]) -> f32[]{U_d} {
    y = einsum("B/d M, B/d M F -> B/d F", x, index("[E] M F, B/d -> B/d M F", w, e))
    return sum("B/d F -> {U_d}", y * y)
}
plan step_d implements step(w: f32[E M F], x: f32[B/d M], e: i32[B/d])
        -> (l: f32[]{U_d}, g: f32[E M F]{U_d}, h: f32[B/d M]) {
    l, g, h = value_and_grad(loss_d wrt w, x)(w, x, e)
    return l, g, h
}
)";

size_t count(const std::string& in, const std::string& what) {
  size_t found = 0;
  for (size_t at = in.find(what); at != in.npos; at = in.find(what, at + 1)) ++found;
  return found;
}

std::string compiled(const std::string& text, PlanOptions options = {}) {
  const Program program = Program::from_text(text);
  std::string last;
  options.watch = [&](const std::string&, const std::string& at_stage) { last = at_stage; };
  compile_plan(program, "step_d", Mesh::parse("d=2"), {{"B", 8}, {"M", 4}, {"F", 6}, {"E", 3}}, 0,
               options);
  return last;
}

std::string with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string changed = text;
  for (const auto& [from, to] : changes)
    for (size_t at = changed.find(from); at != changed.npos;
         at = changed.find(from, at + to.size()))
      changed.replace(at, from.size(), to);
  return changed;
}

/// Each token goes to two experts.
std::string of_two() {
  return with({{"dim B M F E", "dim B M F E\ndim top = 2"},
               {"e: i32[B]", "e: i32[B top]"},
               {"e: i32[B/d]", "e: i32[B/d top]"},
               {"\"[E] M F, B -> B M F\"", "\"[E] M F, B top -> B top M F\""},
               {"\"[E] M F, B/d -> B/d M F\"", "\"[E] M F, B/d top -> B/d top M F\""},
               {"B M, B M F -> B F", "B M, B top M F -> B top F"},
               {"B/d M, B/d M F -> B/d F", "B/d M, B/d top M F -> B/d top F"},
               {"\"B F ->\"", "\"B top F ->\""},
               {"\"B/d F -> {U_d}\"", "\"B/d top F -> {U_d}\""}});
}

std::string in_bf16() {
  return with({{"B/d F\", x, index(", "B/d F\", bf16(x), index("},
               {"B/d M F\", w, e))", "B/d M F\", bf16(w), e), to=f32)"}});
}

void expect_grouped(const std::string& plan) {
  EXPECT_EQ(count(plan, "grouped_matmul("), 2u) << plan;  // y, and the gradient of x
  EXPECT_EQ(count(plan, "grouped_sum("), 1u) << plan;
  EXPECT_EQ(count(plan, "index("), 0u) << plan;
}

TEST(GroupedProducts, ReadTheTableAndAddIntoItsGradient) { expect_grouped(compiled(text)); }

TEST(GroupedProducts, AreAGpusToo) {
  expect_grouped(compiled(text, {.device = planned_device()}));
  expect_grouped(compiled(in_bf16(), {.device = planned_device()}));
}

// The gradient of x is a sum over the experts of a token, of products with their matrices.
TEST(GroupedProducts, AreSummedOverTheIdsOfAToken) { expect_grouped(compiled(of_two())); }

TEST(GroupedProducts, AreNotMadeWithoutFusion) {
  const std::string plan = compiled(text, {.fuse = false});
  EXPECT_EQ(count(plan, "grouped_"), 0u) << plan;
  EXPECT_GE(count(plan, "index("), 1u) << plan;
}

}  // namespace
}  // namespace shardproof
