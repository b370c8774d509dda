// Calls of the library are one step each on a device with fused kernels, and compute what their
// instructions do in double: whatever the order of the dims, and whatever is given or left out.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "impl/beside_oracle/close.h"
#include "impl/comm/threads.h"
#include "impl/comm/virtual/virtual_ranks.h"
#include "impl/compile/compile_plan.h"
#include "impl/compile/fuse.h"
#include "impl/compile/masks.h"
#include "impl/plan/steps.h"
#include "kernels/number.h"
#include "properties/fused/emulated_fn.h"

namespace shardproof::properties {
namespace {

const DimSizes sizes = {{"B", 2}, {"L", 5}, {"M", 24}, {"K", 2},
                        {"G", 3}, {"D", 8}, {"V", 37}, {"N", 9}};

const std::string header = "dim B L M K G D V N\ndim S T = L\n";

using Numbers = std::vector<std::vector<double>>;

/// One rank's plan `p` of a text.
class Bound {
 public:
  explicit Bound(const std::string& text) : program_(Program::from_text(header + text)) {}

  Plan plan(const PlanOptions& options) const {
    return compile_plan(program_, "p", Mesh(), sizes, 0, options);
  }

  /// Which functions are one step; chains of pointwise ops are none.
  static std::vector<std::string> fused(const Plan& plan) {
    std::vector<std::string> names;
    for (const plan::Step& step : plan.steps())
      if (step.fused && !is_pointwise(step.fused->op)) names.push_back(step.op);
    return names;
  }
  static bool is_pointwise(const FusedOp& op) {
    const Rowwise* rows = std::get_if<Rowwise>(&op);
    return rows && std::all_of(rows->steps.begin(), rows->steps.end(),
                               [](const RowStep& step) { return step.along == RowFn::none; });
  }

  Numbers on_device(PlanOptions options) const {
    options.device = law_device();
    Plan made = plan(options);
    Numbers numbers;
    run_on_virtual_ranks(*options.device, 1,
                         [&](Communicator& communicator) { numbers = run(made, communicator); });
    return numbers;
  }
  Numbers in_double() const {
    Plan made = plan({.precision = Precision::f64});
    Numbers numbers;
    run_on_threads(1, [&](Communicator& communicator) { numbers = run(made, communicator); });
    return numbers;
  }

  /// Fused as said, and equal to what is not; `unit` is what rounding may do to the largest entry.
  void expect(const std::vector<std::string>& names, double unit = 0x1p-18) const {
    PlanOptions on;
    on.device = law_device();
    EXPECT_EQ(fused(plan(on)), names);
    PlanOptions off = on;
    off.fuse = false;
    EXPECT_EQ(fused(plan(off)), std::vector<std::string>());
    const Numbers got = on_device({}), wanted = in_double();
    for (size_t r = 0; r < wanted.size(); ++r) {
      double most = 0;
      for (double each : wanted[r]) most = std::max(most, std::abs(each));
      EXPECT_EQ(beside::difference(got.at(r), wanted[r], unit * most), "") << "result " << r;
    }
  }

 private:
  /// The same inputs for every precision: what bf16 can hold.
  Numbers run(Plan& plan, Communicator& communicator) const {
    std::mt19937_64 rng(7);
    std::vector<LocalTensor> inputs;
    for (size_t i = 0; i < plan.inputs().size(); ++i) {
      inputs.push_back(plan.input(i));
      LocalTensor& own = inputs.back();
      for (int64_t k = 0; k < own.count(); ++k) {
        const auto drawn = static_cast<double>(rng() % 257);
        const bool real = is_float(own.type.dtype), positive = plan.inputs()[i].name == "v";
        const double x = real ? (positive ? drawn : drawn - 128) / 64 : std::fmod(drawn, 5);
        set_number(own.element, own.buffer.data(), k, own.element == Element::u8 ? x > 1 : x);
      }
    }
    Numbers numbers;
    for (const LocalTensor& each : plan.run(communicator, inputs)) {
      numbers.emplace_back();
      for (int64_t k = 0; k < each.count(); ++k)
        numbers.back().push_back(number_at(each.element, each.buffer.data(), k));
    }
    return numbers;
  }

  Program program_;
};

TEST(FusedBinding, NormsOfAnyDim) {
  Bound(
      "plan p(x: f32[B L M], y: f32[B M L], e: f32[]) -> (a: f32[B L M], b: f32[B M L]) {\n"
      " a = rms_norm(\"B L M; M\", x * 0.001)\n"
      " b = layer_norm(\"B M L; M\", y, eps=e * e)\n"
      " return a, b }\n")
      .expect({"rms_norm", "layer_norm"});
}

/// A plan that calls this function of the library, and nothing else.
std::string call_of(const Name& function) {
  static const std::string q = "f32[B S G K D]", k = "f32[B K T D]",
                           heads = "\"B S G K D, B K T D, B K T D; S T G D\"",
                           gradient = "\"B S G K D, B S G K D, B K T D, B K T D; S T G D\"";
  static const std::map<Name, std::string> plans = {
      {"rms_norm", "(x: f32[B M]) -> f32[B M] { return rms_norm(\"B M; M\", x) }"},
      {"rms_norm_grad",
       "(g x: f32[B M]) -> f32[B M] { return rms_norm_grad(\"B M, B M; M\", g, x) }"},
      {"layer_norm", "(x: f32[B M]) -> f32[B M] { return layer_norm(\"B M; M\", x) }"},
      {"layer_norm_grad",
       "(g x: f32[B M]) -> f32[B M] { return layer_norm_grad(\"B M, B M; M\", g, x) }"},
      {"softmax", "(x: f32[B V]) -> f32[B V] { return softmax(\"B V; V\", x) }"},
      {"softmax_grad",
       "(g y: f32[B V]) -> f32[B V] { return softmax_grad(\"B V, B V; V\", g, y) }"},
      {"cross_entropy",
       "(x: f32[B V], t: i32[B]) -> f32[B] { return cross_entropy(\"B V, B; V\", x, t) }"},
      {"cross_entropy_grad",
       "(g: f32[B], x: f32[B V], t: i32[B]) -> f32[B V] {\n"
       " return cross_entropy_grad(\"B, B V, B; V\", g, x, t) }"},
      {"rope",
       "(x: f32[B L D], pos: i32[L]) -> f32[B L D] { return rope(\"B L D; L D\", x, pos) }"},
      {"rope_inverse",
       "(x: f32[B L D], pos: i32[L]) -> f32[B L D] {\n"
       " return rope_inverse(\"B L D; L D\", x, pos) }"},
      {"rope_grad",
       "(g: f32[B L D], pos: i32[L]) -> f32[B L D] { return rope_grad(\"B L D; L D\", g, pos) }"},
      {"adamw",
       "(w g m v: f32[N]) -> (w1 m1 v1: f32[N]) {\n"
       " w1, m1, v1 = adamw(w, g, m, v, 3, 0.01, 0.1)\n return w1, m1, v1 }"},
      {"sumsq", "(g: f32[N M]) -> f32[] { return sumsq(g) }"},
      {"attention", "(q: " + q + ", k v: " + k + ", mask: bool[T S]) -> " + q +
                        " { return attention(" + heads + ", q, k, v, mask, 0.3) }"},
      {"attention_grad", "(g q: " + q + ", k v: " + k + ", mask: bool[T S]) -> (a: " + q +
                             ", b c: " + k + ") {\n a, b, c = attention_grad(" + gradient +
                             ", g, q, k, v, mask, 0.3)\n return a, b, c }"},
  };
  return "plan p" + plans.at(function) + "\n";
}

/// The kernel is the function by the law that the table names; here, that a call is the kernel.
TEST(FusedBinding, EachFunctionHasALawAndIsOneStep) {
  std::set<std::string> laws;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i)
    for (int j = 0; j < all.GetTestSuite(i)->total_test_count(); ++j)
      laws.insert(all.GetTestSuite(i)->name() + std::string(".") +
                  all.GetTestSuite(i)->GetTestInfo(j)->name());
  for (const auto& [function, law] : compile::laws_of_fused()) {
    SCOPED_TRACE(function);
    EXPECT_TRUE(laws.count(law)) << law;
    Bound(call_of(function)).expect({function});
  }
}

/// Inputs and outputs of the plan's steps, without scratch.
std::vector<std::pair<size_t, size_t>> operands(const Bound& bound) {
  PlanOptions options;
  options.device = law_device();
  const Plan plan = bound.plan(options);
  std::vector<std::pair<size_t, size_t>> counts;
  for (const plan::Step& step : plan.steps()) {
    const Rowwise* op = step.fused ? std::get_if<Rowwise>(&step.fused->op) : nullptr;
    counts.emplace_back(op ? op->inputs.size() : 0, op ? op->outputs.size() : 0);
  }
  return counts;
}

TEST(FusedBinding, ANormWithAllAroundItIsOnePass) {
  const Bound bound(
      "plan p(x g r: bf16[B L M], w: f32[M]) -> (n d: bf16[B L M], dw: f32[M]) {\n"
      " y = rms_norm(\"B L M; M\", x)\n"
      " n = bf16(y * w)\n"
      " up = f32(g)\n"
      " d = bf16(rms_norm_grad(\"B L M, B L M; M\", up * w, x) + f32(r))\n"
      " dw = sum(\"B L M -> M\", up * y)\n"
      " return n, d, dw }\n");
  bound.expect({"rms_norm + reduce + rms_norm_grad"}, 0x1p-7);
  EXPECT_EQ(operands(bound), (std::vector<std::pair<size_t, size_t>>{{4, 3}}));
}

TEST(FusedBinding, AGatedUnitWithItsGradientsIsOnePass) {
  const Bound bound(
      "plan p(a u g: bf16[B L M]) -> (h da du: bf16[B L M]) {\n"
      " s = bf16(1 / (1 + exp(-a)))\n"
      " h = a * s * u\n"
      " du = g * a * s\n"
      " da = g * u * s * (1 + a * (1 - s))\n"
      " return h, da, du }\n");
  bound.expect({}, 0x1p-5);
  EXPECT_EQ(operands(bound), (std::vector<std::pair<size_t, size_t>>{{3, 3}}));
}

TEST(FusedBinding, GradientsOfNormsInAnotherOrder) {
  Bound(
      "plan p(g: f32[L B M], x: bf16[B L M]) -> (a b: f32[L B M]) {\n"
      " a = rms_norm_grad(\"L B M, B L M; M\", g, x)\n"
      " b = layer_norm_grad(\"L B M, B L M; M\", g, x, 0.5)\n"
      " return a, b }\n")
      .expect({"rms_norm_grad + layer_norm_grad"});
}

TEST(FusedBinding, Losses) {
  Bound(
      "plan p(x: f32[B V L], t: i32[L B], g: f32[B L]) -> (a: f32[B L], b c: f32[B V L]) {\n"
      " a = cross_entropy(\"B V L, L B; V\", x, t)\n"
      " b = cross_entropy_grad(\"B L, B V L, L B; V\", g, x, t)\n"
      " c = softmax(\"B V L; V\", x)\n"
      " return a, b, c }\n")
      .expect({"cross_entropy", "cross_entropy_grad", "softmax"});
}

TEST(FusedBinding, Rope) {
  Bound(
      "plan p(x: f32[B L K D], y: f32[B K D L], pos: i32[L]) -> (a: f32[B L K D], b: f32[B K D L]) "
      "{\n"
      " a = rope(\"B L K D; L D\", x, pos)\n"
      " b = rope_inverse(\"B K D L; L D\", y, iota(\"L\"), base=50)\n"
      " return a, b }\n")
      .expect({"rope", "rope_inverse"});
}

TEST(FusedBinding, TheOptimizer) {
  const Bound bound(
      "plan p(w g m v: f32[N M], lr scale: f32[]) -> (w1 m1 v1: f32[N M], s: f32[]) {\n"
      " w1, m1, v1 = adamw(w, scale_by(g, scale), m, v, 3, lr, 0.1)\n"
      " s = sumsq(g)\n"
      " return w1, m1, v1, s }\n");
  bound.expect({"adamw", "sumsq"});
  const PlanOptions in_place{.in_place = {{0, 0}, {2, 1}, {3, 2}}};
  EXPECT_EQ(bound.on_device(in_place), bound.on_device({}));
  PlanOptions kept = in_place;
  kept.device = law_device();
  const Plan plan = bound.plan(kept);
  for (const plan::Step& step : plan.steps()) EXPECT_TRUE(step.fused) << step.op;
}

std::string attention_text(const std::string& element) {
  const std::string q = element + "[B S G K D]", k = element + "[B K T D]";
  return "plan p(g q: " + q + ", k v: " + k + ", mask: bool[T S]) -> (o a: " + q + ", b c: " + k +
         ") {\n"
         " o = attention(\"B S G K D, B K T D, B K T D; S T G D\", q, k, v, mask, 0.3)\n"
         " a, b, c = attention_grad(\"B S G K D, B S G K D, B K T D, B K T D; S T G D\",\n"
         "  g, q, k, v, mask, 0.3)\n"
         " return o, a, b, c }\n";
}

/// Whether the gradient uses what the attention before it has made.
bool takes_forward(const Bound& bound) {
  PlanOptions options;
  options.device = law_device();
  const Plan plan = bound.plan(options);
  for (const plan::Step& step : plan.steps())
    if (step.op == "attention_grad") return std::get<AttentionGrad>(step.fused->op).after_forward;
  return false;
}

TEST(FusedBinding, AttentionThenItsGradient) {
  for (const auto& [element, unit] : {std::pair("f32", 0x1p-18), std::pair("bf16", 0x1p-6)}) {
    const Bound bound(attention_text(element));
    bound.expect({"attention", "attention_grad"}, unit);
    EXPECT_TRUE(takes_forward(bound));
  }
}

TEST(FusedBinding, TheSameQueriesWithAnotherScale) {
  std::string text = attention_text("f32");
  text.replace(text.rfind("0.3"), 3, "0.4");
  const Bound bound(text);
  bound.expect({"attention", "attention_grad"});
  EXPECT_FALSE(takes_forward(bound));
}

/// Attentions in a loop, and their gradients in another.
const char* const attentions_in_loops =
    "plan p(x g: f32[B S K G D], k v: f32[N B T K D])\n"
    " -> (y: f32[B S K G D], gx: f32[B S K G D], gk gv: f32[N B T K D], os: f32[N B S K G D]) "
    "{\n"
    " m = iota(\"S T; T\") <= iota(\"S T; S\")\n"
    " y, qs, ks, vs, os = scan n in N, h: f32[B S K G D] = x {\n"
    "  kn = k[n] * 1.5\n"
    "  vn = v[n] * 0.5\n"
    "  o = attention(\"B S K G D, B T K D, B T K D; S T G D\", h, kn, vn, m, 0.3)\n"
    "  emit h, kn, vn, o\n"
    "  next o }\n"
    " gx, gk, gv = scan n in N reverse, c: f32[B S K G D] = g {\n"
    "  a, b, d = attention_grad(\"B S K G D, B S K G D, B T K D, B T K D; S T G D\",\n"
    "   c, qs[n], ks[n], vs[n], m, 0.3)\n"
    "  emit b, d\n"
    "  next a }\n"
    " return y, gx, gk, gv, os }\n";

/// Whether the gradients in loops, if any, use what the attentions have made.
bool take_forward(const std::vector<plan::Step>& steps) {
  for (const plan::Step& step : steps) {
    if (step.is_loop && take_forward(step.body)) return true;
    if (step.op == "attention_grad" && std::get<AttentionGrad>(step.fused->op).after_forward)
      return true;
  }
  return false;
}

TEST(FusedBinding, GradientsInALoopTakeWhatALoopOfAttentionsSaves) {
  const struct {
    const char *what, *from, *to;
    bool taken;
  } cases[] = {
      {"as it is", "", "", true},
      {"in the same order", "N reverse", "N", true},
      {"another scale", "vs[n], m, 0.3", "vs[n], m, 0.4", false},
      {"another iteration's keys", "ks[n], vs[n], m",
       "read(\"[N] B T K D -> B T K D\", ks, at=0), vs[n], m", false},
      {"queries that were not attended to", "c, qs[n]", "c, os[n]", false},
      {"another mask", "vs[n], m, 0.3", "vs[n], iota(\"S T; T\") < iota(\"S T; S\"), 0.3", false},
      {"one that is as causal", "vs[n], m, 0.3", "vs[n], iota(\"S T; S\") >= iota(\"S T; T\"), 0.3",
       true},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.what);
    std::string text = attentions_in_loops;
    const std::string from = each.from;
    if (!from.empty()) text.replace(text.rfind(from), from.size(), each.to);
    for (const size_t unroll : {1, 3}) {
      const Bound bound(text);
      PlanOptions options{.unroll = unroll};
      options.device = law_device();
      const Plan plan = bound.plan(options);
      EXPECT_EQ(take_forward(plan.steps()), each.taken);
      const Numbers got = bound.on_device({.unroll = unroll}), wanted = bound.in_double();
      for (size_t r = 0; r < wanted.size(); ++r) {
        double most = 0;
        for (double entry : wanted[r]) most = std::max(most, std::abs(entry));
        EXPECT_EQ(beside::difference(got.at(r), wanted[r], 0x1p-14 * most), "") << "result " << r;
      }
    }
  }
}

/// A plan whose attention is under `mask`.
std::string masked_text(const std::string& mask) {
  return "plan p(g q: bf16[B S K G D], k v: bf16[B T K D], seen: bool[S T], i: i32[],\n"
         " doc other: i32[B L], seen2: bool[B S T])\n"
         " -> (o a: bf16[B S K G D], b c: bf16[B T K D]) {\n m = " +
         mask +
         "\n o = attention(\"B S K G D, B T K D, B T K D; S T G D\", q, k, v, m, 0.3)\n"
         " a, b, c = attention_grad(\"B S K G D, B S K G D, B T K D, B T K D; S T G D\",\n"
         "  g, q, k, v, m, 0.3)\n return o, a, b, c }\n";
}

std::set<MaskKind> mask_kinds(const Plan& plan) {
  std::set<MaskKind> kinds;
  for (const plan::Step& step : plan.steps()) {
    if (!step.fused) continue;
    if (const auto* forward = std::get_if<Attention>(&step.fused->op))
      kinds.insert(forward->mask_kind);
    if (const auto* grad = std::get_if<AttentionGrad>(&step.fused->op))
      kinds.insert(grad->mask_kind);
  }
  return kinds;
}

std::set<MaskKind> mask_kinds(const Bound& bound) {
  PlanOptions options;
  options.device = law_device();
  return mask_kinds(bound.plan(options));
}

TEST(FusedBinding, AMaskIsKnownToBeCausal) {
  const char* const causal[] = {
      "iota(\"S T; T\") <= iota(\"S T; S\")",
      "iota(\"S T; S\") >= iota(\"S T; T\")",
      "iota(\"T S; T\") <= iota(\"T S; S\")",
      "iota(\"B S T; T\") <= iota(\"B S T; S\")",
      "expand(\"T -> S T\", iota(\"T\")) <= expand(\"S -> S T\", iota(\"S\"))",
      "expand(\"S T -> S B T\", iota(\"S T; T\") <= iota(\"S T; S\"))"};
  for (const char* mask : causal) {
    SCOPED_TRACE(mask);
    const Bound bound(masked_text(mask));
    EXPECT_EQ(mask_kinds(bound), std::set{MaskKind::causal});
    bound.expect({"attention", "attention_grad"}, 0x1p-6);
  }
}

TEST(FusedBinding, AMaskIsKnownToBeOfSegments) {
  const std::string same = "expand(\"B S -> B S T\", doc) == expand(\"B T -> B S T\", doc)",
                    turned = "expand(\"B T -> B S T\", doc) == expand(\"B S -> B S T\", doc)",
                    order = "iota(\"B S T; T\") <= iota(\"B S T; S\")";
  for (const std::string& mask : {same + " and " + order, order + " and " + turned}) {
    SCOPED_TRACE(mask);
    const Bound bound(masked_text(mask));
    EXPECT_EQ(mask_kinds(bound), std::set{MaskKind::segments});
    bound.expect({"attention", "attention_grad"}, 0x1p-6);
  }
  for (const std::string& mask :
       {same, same + " or " + order, order + " and seen2",
        order + " and expand(\"B S -> B S T\", doc) != expand(\"B T -> B S T\", doc)",
        order + " and expand(\"B S -> B S T\", doc) == expand(\"B T -> B S T\", other)",
        order + " and expand(\"B S -> B S T\", doc) == expand(\"B S -> B S T\", doc)",
        order + " and expand(\"B S -> B S T\", doc) <= expand(\"B T -> B S T\", doc)",
        same + " and iota(\"B S T; T\") < iota(\"B S T; S\")"}) {
    SCOPED_TRACE(mask);
    EXPECT_EQ(mask_kinds(Bound(masked_text(mask))), std::set{MaskKind::any});
  }
}

TEST(FusedBinding, WhatIsAlmostACausalMask) {
  const char* const others[] = {
      "iota(\"S T; T\") < iota(\"S T; S\")",
      "iota(\"S T; T\") >= iota(\"S T; S\")",
      "iota(\"S T; S\") <= iota(\"S T; T\")",
      "iota(\"S T; T\") <= iota(\"S T; T\")",
      "iota(\"S T; T\") <= iota(\"S T; S\") + 1",
      "iota(\"S T; T\") != iota(\"S T; S\")",
      "iota(\"S T; T\") <= expand(\" -> S T\", i)",
      "iota(\"B S T; T\") <= iota(\"B S T; B\")",
      "seen",
      "seen and iota(\"S T; T\") <= iota(\"S T; S\")",
      "roll(\"S [T] -> S [T]\", iota(\"S T; T\"), by=1) <= iota(\"S T; S\")"};
  for (const char* mask : others) {
    SCOPED_TRACE(mask);
    const Bound bound(masked_text(mask));
    EXPECT_EQ(mask_kinds(bound), std::set{MaskKind::any});
  }
}

// What moves along a batch and along the queries or keys at once sees another mask in each of it.
TEST(FusedBinding, ADiagonalOfACausalMaskIsNone) {
  const compile::Ids queries_and_keys{0, 1};
  const auto counting = [&](plan::BufferId buffer) {
    plan::Ref ref;
    ref.buffer = buffer;
    ref.element = Element::i32;
    ref.extents = {4, 4};
    ref.strides = {4, 1};
    return compile::leaf_of({ref, queries_and_keys});
  };
  compile::Masks masks;
  masks.count(0, Iota{{4, 4}, 1, 0, Element::i32});
  masks.count(1, Iota{{4, 4}, 0, 0, Element::i32});
  masks.compute(2,
                *compile::apply_to(PointwiseFn::le, false, Element::u8, {counting(0), counting(1)}),
                {4, 4});
  plan::Ref mask;
  mask.buffer = 2;
  EXPECT_EQ(masks.kind(mask, {{0, 0, 0}, 4, 0, 1}), MaskKind::causal);
  EXPECT_EQ(masks.kind(mask, {{0, 0, 4}, 4, 0, 1}), MaskKind::any);
  EXPECT_EQ(masks.kind(mask, {{0, 0, 0}, 4, 1, 1}), MaskKind::any);
  EXPECT_EQ(masks.kind(mask, {{0, 0, 0}, 1, 0, 4}), MaskKind::any);
  mask.offset = 1;
  EXPECT_EQ(masks.kind(mask, {{0, 0, 0}, 4, 0, 1}), MaskKind::any);
  mask.offset = 0;
  masks.forget(2);
  EXPECT_EQ(masks.kind(mask, {{0, 0, 0}, 4, 0, 1}), MaskKind::any);
}

// Rows and columns of one table are no segments: query i and key i need not have the same number.
TEST(FusedBinding, ATableIsNoSegment) {
  const compile::Ids queries_and_keys{0, 1};
  const auto leaf = [&](plan::BufferId buffer, int64_t of_query, int64_t of_key) {
    plan::Ref ref{buffer, Element::i32, 0, {4, 4}, {of_query, of_key}, {}};
    return compile::leaf_of({ref, queries_and_keys});
  };
  const auto apply = [](PointwiseFn fn, compile::ExpressionPtr a, compile::ExpressionPtr b) {
    return compile::apply_to(fn, false, Element::u8, {std::move(a), std::move(b)});
  };
  const auto kind = [&](int64_t of_query, int64_t of_key) {
    compile::Masks masks;
    masks.count(0, Iota{{4, 4}, 1, 0, Element::i32});
    masks.count(1, Iota{{4, 4}, 0, 0, Element::i32});
    const auto order = apply(PointwiseFn::le, leaf(0, 4, 1), leaf(1, 4, 1));
    const auto same = apply(PointwiseFn::eq, leaf(2, of_query, 0), leaf(2, 0, of_key));
    masks.compute(3, *apply(PointwiseFn::logical_and, same, order), {4, 4});
    plan::Ref mask;
    mask.buffer = 3;
    return masks.kind(mask, {{0, 0, 0}, 4, 0, 1});
  };
  EXPECT_EQ(kind(1, 1), MaskKind::segments);
  EXPECT_EQ(kind(4, 1), MaskKind::any);
  EXPECT_EQ(kind(1, 0), MaskKind::any);
}

// The first rank's queries begin where the keys do, the second one's later.
TEST(FusedBinding, APartOfACausalMaskIsAnother) {
  const Program program = Program::from_text(
      "mesh d\n" + header +
      "plan p(q: bf16[B S/d K G D], k v: bf16[B T K D]) -> bf16[B S/d K G D] {\n"
      " m = iota(\"S/d T; T\") <= iota(\"S/d T; S\")\n"
      " return attention(\"B S/d K G D, B T K D, B T K D; S T G D\", q, k, v, m, 0.3) }\n");
  DimSizes even = sizes;
  even["L"] = 6;
  for (const auto& [rank, kind] : {std::pair(0, MaskKind::causal), std::pair(1, MaskKind::any)}) {
    PlanOptions options;
    options.device = law_device();
    const Plan plan = compile_plan(program, "p", Mesh::parse("d=2"), even, rank, options);
    EXPECT_EQ(mask_kinds(plan), std::set{kind}) << rank;
  }
}

/// A product of x and w, and what is done with it.
Bound biased(const std::string& element, const std::string& result, const std::string& body) {
  return Bound("plan p(x: " + element + "[B L M], w: " + element + "[M V], c: f32[V], h: " +
               element + "[V], r: f32[B L V], s: f32[]) -> (y: " + result +
               "[B L V], z: f32[B L V]) {\n" + body + " return y, r }\n");
}

TEST(FusedBinding, AProductWithItsBias) {
  biased("f32", "f32", " y = einsum(\"B L M, M V -> B L V\", x, w) + c\n").expect({"einsum+bias"});
  biased("bf16", "f32", " y = c + einsum(\"B L M, M V -> B L V\", x, w, to=f32)\n")
      .expect({"einsum+bias"});
  biased("bf16", "bf16", " y = bf16(einsum(\"B L M, M V -> B L V\", x, w, to=f32) + f32(h))\n")
      .expect({"einsum+bias"}, 0x1p-8);
}

TEST(FusedBinding, AProductWithAlmostABias) {
  const std::string product = " p = einsum(\"B L M, M V -> B L V\", x, w, to=f32)\n";
  for (const char* rest :
       {" y = p + r\n", " y = p - c\n", " y = p * c\n", " y = p + c + r\n", " y = p + (p + c)\n",
        " q = p + c\n y = q + p\n", " q = p + c\n y = q * q + p\n", " y = p + s\n",
        " y = f32(bf16(p)) + c\n", " y = p + p\n", " y = (p + c) * s\n"})
    biased("bf16", "f32", product + rest).expect({}, 0x1p-7);
  biased("bf16", "f32", " y = f32(einsum(\"B L M, M V -> B L V\", x, w)) + c\n").expect({}, 0x1p-7);
  biased("bf16", "bf16", " y = einsum(\"B L M, M V -> B L V\", x, w) + h\n").expect({}, 0x1p-7);
}

/// How many entries are copied for the products.
int64_t packed(const Plan& plan) {
  int64_t count = 0;
  for (const plan::Step& step : plan.steps())
    if (step.op == "pack") count += step.kernel->out.count();
  return count;
}

TEST(FusedBinding, ProductsCopyTheLeast) {
  struct Product {
    const char *a, *b, *c;
    int64_t copied;
  };
  const Product products[] = {
      {"B L M", "M V", "B L V", 0},
      {"B L M", "V M", "V B L", 0},
      {"B L M", "B L V", "M V", 0},
      {"B L M", "K M D", "K B L D", 0},               // two products, each in its place
      {"B L M", "M G D", "G B L D", 0},               // three
      {"B L M", "G B L D", "G M D", 0},               // their gradient
      {"K M D", "B L M", "K D B L", 0},               // of rows
      {"V N", "N K G", "V G K", 9 * 2 * 3},           // the weight
      {"V G K", "N K G", "V N", 9 * 2 * 3},           // in the sum
      {"V G K", "V N", "N K G", 9 * 2 * 3},           // the result
      {"V N", "V G K", "N K G", 9 * 2 * 3},           // of columns
      {"K B L D", "K M D", "B L M", 16 * (10 + 24)},  // both, in the sum
      {"V M", "N M D", "N V D", 9 * 8 * (24 + 37)},   // nine would be many
  };
  for (const std::string element : {"f32", "bf16"})
    for (const Product& each : products) {
      SCOPED_TRACE(each.c);
      const Bound bound("plan p(x: " + element + "[" + each.a + "], y: " + element + "[" + each.b +
                        "]) -> " + element + "[" + each.c + "] {\n return einsum(\"" + each.a +
                        ", " + each.b + " -> " + each.c + "\", x, y) }\n");
      bound.expect({}, element == "f32" ? 0x1p-18 : 0x1p-7);
      EXPECT_EQ(packed(bound.plan({.elide = false, .device = law_device()})), each.copied);
    }
}

}  // namespace
}  // namespace shardproof::properties
