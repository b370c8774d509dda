// Integers that never index a table are drawn beyond its rows; those that may, are not.
#include "spec/check/params_of_ids.h"

#include <gtest/gtest.h>

#include "spec/check/check.h"

namespace shardproof {
namespace {

std::vector<bool> ids_of(const std::string& name, const std::string& text) {
  Sources sources;
  const FileReader reader = [&](const std::string&) { return std::optional(text); };
  const CheckedProgram checked = check(sources, "a.shard", reader);
  const ir::Program& program = checked.program();
  for (const ir::Function& function : program.functions)
    if (function.name == name) return params_of_ids(program, function);
  throw std::logic_error("no " + name);
}

const std::string head = "dim B V M N\n";

TEST(ParamsOfIds, OfALookupThroughArithmeticAndCalls) {
  const std::string text =
      head +
      "fn look(e: f32[V M], i: i32[B], n: i32[B]) -> f32[B M] {\n"
      "    seen = expand(\"B -> B M\", f32(n > 0))\n"
      "    return seen * index(\"[V] M, B -> B M\", e, where(i > 0, i - 1, i))\n"
      "}\n"
      "fn twice(e: f32[V M], n i: i32[B]) -> f32[B M] { return look(e, i, n) + look(e, i + 0, n) "
      "}\n";
  EXPECT_EQ(ids_of("look", text), (std::vector{false, true, false}));
  EXPECT_EQ(ids_of("twice", text), (std::vector{false, false, true}));
}

TEST(ParamsOfIds, OfACarryAndOfAModel) {
  const std::string text =
      "mesh d\n" + head +
      "fn f(e: f32[V M], i j n: i32[B]) -> f32[B M] {\n"
      "    _a, _b, x = scan k in N, a: i32[B] = i, b: i32[B] = j, s: f32[B M] = zeros(f32[B M]) {\n"
      "        next b, a, s + index(\"[V] M, B -> B M\", e, a)\n"
      "    }\n"
      "    return x + expand(\"B -> B M\", f32(n))\n"
      "}\n"
      "fn own(e: f32[V M], i: i32[B]) -> f32[B M] { return index(\"[V] M, B -> B M\", e, i) }\n"
      "plan by_hand implements own(e: f32[V M], i: i32[B/d]) -> f32[B/d M] {\n"
      "    hit = f32(iota(\"B/d V; V\") == expand(\"B/d -> B/d V\", i))\n"
      "    return einsum(\"B/d V, V M -> B/d M\", hit, e)\n"
      "}\n";
  EXPECT_EQ(ids_of("f", text), (std::vector{false, true, true, false}));
  EXPECT_EQ(ids_of("by_hand", text), (std::vector{false, true}));
}

}  // namespace
}  // namespace shardproof
