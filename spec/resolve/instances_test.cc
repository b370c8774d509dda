// Instances of generic functions at calls, in loops, with locations.
#include <gtest/gtest.h>

#include "spec/resolve/dump.h"
#include "spec/resolve/resolve.h"

namespace shardproof {
namespace instances_test {

struct Fixture {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  Resolved resolved;
  explicit Fixture(const std::string& text) {
    auto reader = [&](const std::string&) { return std::optional(text); };
    resolved = resolve(sources, "a.shard", reader, diagnostics);
    for (const Diagnostic& d : diagnostics) ADD_FAILURE() << d.code << " " << d.message;
  }
  const ir::Function& last() const { return resolved.program.functions.back(); }
  std::string dump() const { return shardproof::dump(resolved.program, last()); }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string head = "mesh d t\ndim B L M D K\ndim S T = L\n";

TEST(Instances, a_pattern_states_the_arguments_type) {
  const Fixture f(
      head + "plan p(x: bf16[B/d L M]) -> f32[B/d L M] { return rms_norm(\"B/d L M; M\", x) }");
  EXPECT_TRUE(has(f.dump(), "= type bf16[B/d L M] (%0)")) << f.dump();
  EXPECT_TRUE(has(f.dump(), "sum inferred \"B L M -> B L\"")) << f.dump();
  for (const ir::Instr& instr : f.last().body.instrs) {
    const ir::Pattern* pattern = ir::pattern_of(instr.op);
    if (!pattern) continue;
    EXPECT_EQ(pattern->whole, std::vector<Dim>{Dim{{"M"}}});
  }
}

TEST(Instances, dims_may_be_renamed_and_their_order_is_the_callers) {
  const Fixture f(head +
                  "fn p(q: f32[K B L D], k: f32[B L D], m: bool[S T]) -> f32[K B S D] {\n"
                  "  return attention(\"K B S D, B T D, B T D; S T K D\", q, k, k, m, 1.0)\n}");
  EXPECT_TRUE(has(f.dump(), "einsum inferred \"K B S D, B T D -> B S T K\"")) << f.dump();
  EXPECT_EQ(to_string(f.last().values[f.last().returned[0]].type), "f32[K B S D]");
}

TEST(Instances, local_dims_have_a_size_and_stay_inside) {
  const Fixture f(
      head +
      "fn p(x: f32[B L D]) -> f32[B L D] { return rope(\"B L D; L D\", x, iota(\"L\")) }\n"
      "fn q(x: f32[B L D]) -> f32[B L D] { return rope(\"B L D; L D\", x, iota(\"L\")) }");
  size_t local = 0;
  for (const auto& [name, info] : f.resolved.program.dims)
    if (info.local) {
      ++local;
      EXPECT_EQ(info.shown, "h");
      EXPECT_EQ(ir::to_string(*info.size), "|D| / 2");
    }
  EXPECT_EQ(local, 1u);
}

TEST(Instances, a_place_is_the_call_in_the_users_file) {
  const Fixture f(head + "fn p(x: f32[B]) -> f32[B] { return silu(x) }");
  for (const ir::Instr& instr : f.last().body.instrs) {
    EXPECT_EQ(f.sources.text(instr.place.range), "silu(x)");
    ASSERT_TRUE(instr.place.inner);
    EXPECT_EQ(f.sources.file(instr.place.inner->file).path, "<library>/basic.shard");
    EXPECT_EQ(instr.place.through.front(), "silu");
  }
}

TEST(Instances, operands_have_the_range_of_their_text) {
  const Fixture f(head + "fn p(x: f32[B]) -> f32[B] { return exp(x) + (x * 2) }");
  const ir::Instr& sum = f.last().body.instrs.back();
  ASSERT_EQ(sum.operand_ranges.size(), 2u);
  EXPECT_EQ(f.sources.text(sum.operand_ranges[0]), "exp(x)");
  EXPECT_EQ(f.sources.text(sum.operand_ranges[1]), "(x * 2)");
}

TEST(Loops, emitted_values_are_stacked) {
  const Fixture f(head +
                  "dim N\nfn p(x: f32[B], w: f32[N B]) -> (f32[B], f32[N B]) {\n"
                  "  y, s = scan n in N, c: f32[B] = x { next c * w[n] emit c }\n  return y, s\n}");
  EXPECT_TRUE(has(f.dump(), "y: f32[B], %7 s: f32[N B] = scan (%0)")) << f.dump();
  EXPECT_TRUE(has(f.dump(), "= entry N (%1, %2)")) << f.dump();
}

TEST(Records, collectives_go_field_by_field_and_pass_on_what_is_the_same) {
  const Fixture f(head +
                  "record R { a: f32[B]  b: f32[M] }\nlayout RT of R { a: f32[B/t]  b: f32[M] }\n"
                  "plan p(r: RT) -> R { return all_gather(\"RT -> R\", r) }");
  EXPECT_TRUE(has(f.dump(), "all_gather \"B/t -> B\" (%0)")) << f.dump();
  EXPECT_TRUE(has(f.dump(), "type f32[M] (%1)")) << f.dump();
}

TEST(Gradients, come_out_with_the_dual_type) {
  const Fixture f(head +
                  "plan loss(w: f32[M], x: f32[B/d M]) -> f32[]{U_d I_t} {\n"
                  "  return sum(\"B/d M {I_t} -> {U_d I_t}\", x * w)\n}\n"
                  "plan p(w: f32[M], x: f32[B/d M]) -> f32[M]{U_d U_t} {\n"
                  "  _l, g = value_and_grad(loss wrt w)(w, x)\n  return g\n}");
  EXPECT_TRUE(has(f.dump(), "g: f32[M]{U_d U_t} = value_and_grad loss")) << f.dump();
  EXPECT_TRUE(f.last().uses_gradients);
}

TEST(Rings, a_block_has_its_own_dim) {
  const Fixture f(
      "mesh c\ndim L\nplan p(k: f32[L/c]) -> f32[] {\n"
      "  s = ring b over L/c as W, s0: f32[] = 0 { next s0 + sum(\"W -> \", k[b]) }\n  return "
      "s\n}");
  EXPECT_TRUE(has(f.dump(), "f32[W] = entry L")) << f.dump();
  EXPECT_EQ(ir::to_string(*f.resolved.program.dims.at("W").size), "|L| / |c|");
  EXPECT_TRUE(f.last().uses_loops_undecided);
}

}  // namespace instances_test
}  // namespace shardproof
