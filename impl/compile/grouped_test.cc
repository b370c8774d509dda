// A product with matrices that ids choose reads their table: nothing of the size of what is indexed
// is in memory, neither for the product nor for its gradients.
#include <gtest/gtest.h>

#include "impl/compile/compile_plan.h"

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

std::string compiled(const std::string& text, bool fuse) {
  const Program program = Program::from_text(text);
  PlanOptions options;
  options.fuse = fuse;
  std::string last;
  options.watch = [&](const std::string&, const std::string& at_stage) { last = at_stage; };
  compile_plan(program, "step_d", Mesh::parse("d=2"), {{"B", 8}, {"M", 4}, {"F", 6}, {"E", 3}}, 0,
               options);
  return last;
}

/// Each token goes to two experts.
std::string of_two() {
  std::string two = text;
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = two.find(from); at != two.npos; at = two.find(from, at + to.size()))
      two.replace(at, from.size(), to);
  };
  replace("dim B M F E", "dim B M F E\ndim top = 2");
  replace("e: i32[B]", "e: i32[B top]");
  replace("e: i32[B/d]", "e: i32[B/d top]");
  replace("\"[E] M F, B -> B M F\"", "\"[E] M F, B top -> B top M F\"");
  replace("\"[E] M F, B/d -> B/d M F\"", "\"[E] M F, B/d top -> B/d top M F\"");
  replace("B M, B M F -> B F", "B M, B top M F -> B top F");
  replace("B/d M, B/d M F -> B/d F", "B/d M, B/d top M F -> B/d top F");
  replace("\"B F ->\"", "\"B top F ->\"");
  replace("\"B/d F -> {U_d}\"", "\"B/d top F -> {U_d}\"");
  return two;
}

TEST(GroupedProducts, ReadTheTableAndAddIntoItsGradient) {
  const std::string plan = compiled(text, true);
  EXPECT_EQ(count(plan, "grouped_matmul("), 2u) << plan;  // y, and the gradient of x
  EXPECT_EQ(count(plan, "grouped_sum("), 1u) << plan;
  EXPECT_EQ(count(plan, "index("), 0u) << plan;
}

// The gradient of x is a sum over the experts of a token, of products with their matrices.
TEST(GroupedProducts, AreSummedOverTheIdsOfAToken) {
  const std::string plan = compiled(of_two(), true);
  EXPECT_EQ(count(plan, "grouped_matmul("), 2u) << plan;
  EXPECT_EQ(count(plan, "grouped_sum("), 1u) << plan;
  EXPECT_EQ(count(plan, "index("), 0u) << plan;
}

TEST(GroupedProducts, AreNotMadeWithoutFusion) {
  const std::string plan = compiled(text, false);
  EXPECT_EQ(count(plan, "grouped_"), 0u) << plan;
  EXPECT_GE(count(plan, "index("), 1u) << plan;
}

}  // namespace
}  // namespace shardproof
