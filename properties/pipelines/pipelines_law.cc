// What a schedule does is what its loops mean: losses and gradients of random pipelines, on random
// meshes, sizes and schedules, are the oracle's; and the order of the schedule changes no bit where
// a stage adds up its gradients in the same order.
#include <gtest/gtest.h>

#include "impl/compile/planted.h"
#include "impl/device/emulated/emulated.h"
#include "properties/generators/plan_run.h"
#include "spec/laws/holds.h"

namespace shardproof {
namespace {

using laws::holds;
using properties::PlanCase;

struct Piped {
  int64_t p = 1, d = 1, t = 1, layers = 1, A = 1, chunks = 1;
  bool copies = false, batched = false;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// A parameter of each layer, split over t as Megatron does, and over p; of each chunk; of all
/// layers; and one that is used before, in and after them.
constexpr const char* program_text = R"(
mesh d p t
dim A B M F N CHUNKS
LOSS
fn layer(h: f32[B M], w: f32[M F], v: f32[F M], s: f32[], k: f32[M]) -> f32[B M] {
    u = tanh(einsum("B M, M F -> B F", h, w))
    return h * s + einsum("B F, F M -> B M", u, v) * expand("M -> B M", k)
}
fn grads(x: f32[A B M], w: f32[XN M F], v: f32[XN F M], s: f32[CHUNKS], k: f32[M])
        -> (l: f32[], gx: f32[A B M], gw: f32[XN M F], gv: f32[XN F M], gs: f32[CHUNKS], gk: f32[M]) {
    l, gx, gw, gv, gs, gk = value_and_grad(loss wrt x, w, v, s, k)(x, w, v, s, k)
    return l, gx, gw, gv, gs, gk
}
plan layer_t implements layer(h: f32[B/d M]{I_t}, w: f32[M F/t], v: f32[F/t M], s: f32[]{I_t}, k: f32[M]{I_t})
        -> f32[B/d M]{I_t} {
    u = tanh(einsum("B/d M, M F/t -> B/d F/t", fan_out("B/d M {I_t} -> B/d M", h), w))
    o = all_reduce("B/d M {U_t} -> B/d M {I_t}", einsum("B/d F/t, F/t M -> B/d M {U_t}", u, v))
    return h * s + o * expand("M {I_t} -> B/d M {I_t}", k)
}
plan loss_p implements loss(x: f32[A B/d M]{I_t}, w: f32[XS M F/t], v: f32[XS F/t M], s: f32[CHUNKS]{I_t}, k: f32[M]{I_t})
        -> f32[]{U_d U_p I_t} {
    per = pipeline a in A over p by SCHEDULE {
        x0 = x[a] * expand("M {I_t} -> B/d M {I_t}", k)
        xN = stages INDEX in LOOPS, h: f32[B/d M]{I_t} = x0 { next layer_t(h, w[INDEX], v[INDEX], s AT, k) }
        emit sum("B/d M {I_t} -> {U_d I_t}", xN * x[a] * expand("M {I_t} -> B/d M {I_t}", k))
    }
    return sum("A {U_d U_p I_t} -> {U_d U_p I_t}", per) / |A|
}
plan grads_p implements grads(x: f32[A B/d M]{I_t}, w: f32[XS M F/t], v: f32[XS F/t M], s: f32[CHUNKS]{I_t}, k: f32[M]{I_t})
        -> (l: f32[]{U_d U_p I_t}, gx: f32[A B/d M]{U_p}, gw: f32[XS M F/t]{U_d COPIED}, gv: f32[XS F/t M]{U_d COPIED},
            gs: f32[CHUNKS]{U_d U_p}, gk: f32[M]{U_d U_p}) {
    l, gx, gw, gv, gs, gk = value_and_grad(loss_p wrt x, w, v, s, k)(x, w, v, s, k)
    return l, gx, gw, gv, gs, gk
}
)";

std::string loss_of(const Piped& of) {
  const std::string batch = of.batched ? "A B M" : "B M";
  const std::string rows = of.batched ? "A B" : "B";
  const std::string start =
      std::string(of.batched ? "x" : "x[a]") + " * expand(\"M -> " + batch + "\", k)";
  const std::string layer =
      "{ next h * s AT + einsum(\"" + rows + " F, F M -> " + batch + "\", tanh(einsum(\"" + batch +
      ", M F -> " + rows + " F\", h, w[INDEX])), v[INDEX]) * expand(\"M -> " + batch + "\", k) }\n";
  const std::string loops =
      of.chunks > 1
          ? "xN = scan c in X, g: f32[" + batch + "] = " + start + " {\ngN = scan n in N, h: f32[" +
                batch + "] = g " + layer + "next gN\n}\n"
          : "xN = scan n in N, h: f32[" + batch + "] = " + start + " " + layer;
  const std::string head =
      "fn loss(x: f32[A B M], w: f32[XN M F], v: f32[XN F M], s: f32[CHUNKS], k: f32[M]) -> f32[] "
      "{\n";
  const std::string term = "sum(\"" + batch + " -> \", xN * x" + (of.batched ? "" : "[a]") +
                           " * expand(\"M -> " + batch + "\", k))";
  if (of.batched) return head + loops + "return " + term + " / |A|\n}";
  return head + "l = scan a in A, l0: f32[] = 0 {\n" + loops + "next l0 + " + term +
         "\n}\nreturn l / |A|\n}";
}

std::string text_of(const Piped& of, const std::string& schedule) {
  const bool chunks = of.chunks > 1;
  std::string text = replaced(program_text, "LOSS", loss_of(of));
  text = replaced(text, "XS", std::string(chunks ? "X " : "") + (of.copies ? "N" : "N/p"));
  text = replaced(text, "XN", chunks ? "X N" : "N");
  text = replaced(text, "CHUNKS", chunks ? "X" : "");
  text = replaced(text, "INDEX in LOOPS", chunks ? "c, n in X, N" : "n in N");
  text = replaced(text, "INDEX", chunks ? "c, n" : "n");
  text = replaced(text, " AT", chunks ? "[c]" : "");
  text = replaced(text, "COPIED", of.copies ? "U_p" : "");
  return replaced(text, "SCHEDULE", schedule);
}

Piped arbitrary(bool chunks) {
  Piped of;
  of.p = *rc::gen::inRange<int64_t>(1, 5);
  of.d = *rc::gen::inRange<int64_t>(1, 3);
  of.t = of.p * of.d > 4 ? 1 : *rc::gen::inRange<int64_t>(1, 3);
  of.layers = *rc::gen::inRange<int64_t>(1, 3);
  of.A = *rc::gen::inRange<int64_t>(1, 7);
  if (chunks) {
    of.chunks = *rc::gen::inRange<int64_t>(2, 4);
    of.A = of.p * *rc::gen::inRange<int64_t>(1, 3);
  }
  of.copies = *rc::gen::inRange(0, 4) == 0;
  of.batched = *rc::gen::inRange(0, 3) == 0;
  return of;
}

PlanCase case_at(const Program& program, const std::string& plan, const Piped& of) {
  PlanCase one = properties::case_of(program, program.plan(plan));
  one.sizes = {{{"d", of.d}, {"p", of.p}, {"t", of.t}},
               {{"A", of.A},
                {"B", 2 * of.d},
                {"M", 2},
                {"F", 2 * of.t},
                {"N", of.p * of.layers},
                {"X", of.chunks}}};
  return one;
}

void runs_as_proved(const Program& program, const std::string& plan, const Piped& of,
                    unsigned seed) {
  PlanCase one = case_at(program, plan, of);
  const auto wanted = properties::draw_inputs(one, seed, false);
  RC_ASSERT(wanted.has_value());
  const properties::RoundingBounds bounds = properties::rounding_bounds(one, *wanted);
  const auto got = properties::run_on_ranks(one, {.precision = Precision::f64});
  RC_ASSERT(properties::difference(got, *wanted, bounds.f64) == "");
  RC_ASSERT(got ==
            properties::run_on_ranks(one, {.precision = Precision::f64, .reuse_memory = false}));
  RC_ASSERT(got == properties::run_on_ranks(one, {.precision = Precision::f64, .overlap = true}));
  const auto emulated = properties::run_on_ranks(
      one, {.precision = Precision::f64, .overlap = true, .device = emulated_device(seed)});
  RC_ASSERT(properties::difference(emulated, *wanted, bounds.f64) == "");
}

/// A schedule of the file's own: each stage keeps `ahead` more than 1F1B does, and a W comes `late`
/// backwards after its B.
std::string own_schedule() {
  const std::string ahead = std::to_string(*rc::gen::inRange(0, 4));
  const std::string late = std::to_string(*rc::gen::inRange(0, 4));
  const std::string last = *rc::gen::element<std::string>("p - 1 - s", "2 * (p - 1 - s)", "A");
  if (*rc::gen::arbitrary<bool>())
    return "schedule own {\n let w = min(" + last + " + " + ahead +
           ", A)\n for m in 0 .. w { F(m) }\n for m in 0 .. A - w { F(m + w) B(m) }\n"
           " for m in A - w .. A { B(m) }\n}\n";
  return "schedule own {\n let w = min(" + last + " + " + ahead + ", A)\n let v = min(" + late +
         ", A)\n for m in 0 .. w { F(m) }\n"
         " for m in 0 .. A {\n  for k in 0 .. min(1, max(A - w - m, 0)) { F(m + w) }\n  B(m)\n"
         "  for k in 0 .. min(1, max(m + 1 - v, 0)) { W(m - v) }\n }\n"
         " for m in A - v .. A { W(m) }\n}\n";
}

void any_runs(bool chunks) {
  const Piped of = arbitrary(chunks);
  const std::string schedule =
      chunks ? "interleaved(C = |X|)"
             : *rc::gen::element<std::string>("gpipe", "one_f_one_b", "zero_bubble", "own", "own");
  const std::string text =
      text_of(of, schedule) + (schedule == "own" ? own_schedule() : std::string());
  RC_LOG() << text;
  const Program program = Program::from_text(text);
  RC_LOG() << program.report();
  RC_ASSERT(program.plan("grads_p").verdict == Verdict::proved);
  const auto seed = *rc::gen::inRange<unsigned>(1, 1000);
  runs_as_proved(program, "loss_p", of, seed);
  runs_as_proved(program, "grads_p", of, seed);
}

TEST(Pipelines, RunAsProved) {
  EXPECT_TRUE(holds("Pipelines.RunAsProved", 12, 1000, [] { any_runs(false); }));
}

TEST(Pipelines, OfChunksRunAsProved) {
  EXPECT_TRUE(holds("Pipelines.OfChunksRunAsProved", 6, 500, [] { any_runs(true); }));
}

TEST(Pipelines, SchedulesThatAddInTheSameOrderGiveTheSameBits) {
  EXPECT_TRUE(holds("Pipelines.SameBits", 4, 200, [] {
    const Piped of = arbitrary(false);
    RC_LOG() << text_of(of, "gpipe");
    std::vector<std::vector<std::optional<oracle::Tensor>>> all;
    for (const char* schedule : {"gpipe", "one_f_one_b", "zero_bubble"}) {
      const Program program = Program::from_text(text_of(of, schedule));
      PlanCase one = case_at(program, "grads_p", of);
      RC_ASSERT(properties::draw_inputs(one, 7, false).has_value());
      all.push_back(properties::run_on_ranks(one, {.precision = Precision::f32}));
    }
    RC_ASSERT(all[0] == all[1]);
    RC_ASSERT(all[0] == all[2]);
  }));
}

using compile::PlantedRunFault;
using compile::RunFault;

/// That the plan runs as proved, and with each of the faults otherwise.
void notices(PlanCase one, const std::vector<RunFault>& faults) {
  const auto wanted = properties::draw_inputs(one, 5, false);
  ASSERT_TRUE(wanted);
  const properties::RoundingBounds bounds = properties::rounding_bounds(one, *wanted);
  const auto differs = [&](RunFault fault) {
    const PlantedRunFault planted(fault);
    return properties::difference(properties::run_on_ranks(one, {.precision = Precision::f64}),
                                  *wanted, bounds.f64);
  };
  EXPECT_EQ(differs(RunFault::none), "");
  for (const RunFault fault : faults)
    EXPECT_NE(differs(fault), "") << "fault " << static_cast<int>(fault);
}

TEST(Pipelines, PlantedFaultsAreNoticed) {
  for (const char* schedule : {"one_f_one_b", "zero_bubble", "interleaved(C = |X|)"}) {
    SCOPED_TRACE(schedule);
    const bool chunks = std::string(schedule).starts_with("interleaved");
    const Piped of{.p = 2, .d = 2, .A = 4, .chunks = chunks ? 2 : 1};
    const Program program = Program::from_text(text_of(of, schedule));
    notices(case_at(program, "grads_p", of),
            {RunFault::microbatch_twice, RunFault::stale_activation, RunFault::overwritten,
             RunFault::other_replica, RunFault::loss_on_every_stage});
  }
}

/// Calls `use` with each proved plan of the file that has a ring, or the gradient of one, over this
/// many ranks; or with those of these names alone.
template <class Use>
void for_each_ring(const std::string& path, int64_t ranks, const Use& use,
                   const std::set<Name>& names = {}) {
  const Program program = Program::load(path);
  for (const PlanReport& report : program.checked().plans()) {
    const ir::Function& function = program.checked().program().functions.at(report.function);
    const bool has_ring = function.uses_loops_undecided || function.uses_gradients;
    if (report.verdict != Verdict::proved || function.imported || !has_ring) continue;
    if (!names.empty() && !names.contains(function.name)) continue;
    SCOPED_TRACE(path + " " + function.name + " on " + std::to_string(ranks));
    PlanCase one = properties::case_of(program, report);
    const Axis axis = function.axes.at(function.axes.size() == 1 ? 0 : 1);
    one.sizes.mesh = {};
    for (const Axis& each : function.axes)
      one.sizes.mesh.emplace_back(each, each == axis ? ranks : 1);
    for (const auto& [name, info] : program.checked().program().dims)
      if (info.kind == ir::DimInfo::Kind::plain) one.sizes.dims[name] = 2 * ranks;
    use(one);
  }
}

/// On rings of 1 to 5 ranks: that each rank meets each block once, and as that block.
void rings_run(const std::string& path, int64_t ranks) {
  for_each_ring(path, ranks, [](PlanCase& one) {
    const auto wanted = properties::draw_inputs(one, 3, false);
    ASSERT_TRUE(wanted);
    const properties::RoundingBounds bounds = properties::rounding_bounds(one, *wanted);
    const auto got = properties::run_on_ranks(one, {.precision = Precision::f64});
    EXPECT_EQ(properties::difference(got, *wanted, bounds.f64), "");
    EXPECT_EQ(got, properties::run_on_ranks(one, {.precision = Precision::f64, .overlap = true}));
    const auto emulated = properties::run_on_ranks(
        one, {.precision = Precision::f64, .overlap = true, .device = emulated_device(7)});
    EXPECT_EQ(properties::difference(emulated, *wanted, bounds.f64), "");
  });
}

TEST(Rings, RunAsProved) {
  const std::string root = SHARDPROOF_SOURCE_DIR;
  for (const char* file :
       {"sum", "extremum", "gather_matmul", "softmax", "causal", "zigzag", "packed", "sink",
        "nested", "vocabulary", "scatter_matmul", "emit", "backward_travels", "derived"})
    for (const int64_t ranks : {1, 2, 3, 5})
      rings_run(root + "/spec/tests/rings/" + file + ".shard", ranks);
  for (const int64_t ranks : {2, 3}) rings_run(root + "/spec/models/llama3_ring.shard", ranks);
}

TEST(Rings, PlantedFaultsAreNoticed) {
  const auto ring = [](const std::string& file, const std::vector<RunFault>& faults,
                       const std::set<Name>& names = {}) {
    for_each_ring(
        SHARDPROOF_SOURCE_DIR "/spec/tests/rings/" + file + ".shard", 3,
        [&](const PlanCase& one) { notices(one, faults); }, names);
  };
  for (const char* file : {"causal", "packed", "gather_matmul"})
    ring(file, {RunFault::block_missed, RunFault::block_twice, RunFault::local_position});
  ring("emit", {RunFault::term_missed}, {"back_gathered", "scattered", "transposed", "rooted"});
  ring("emit", {RunFault::block_missed, RunFault::local_position},
       {"gathered", "back_gathered", "scattered", "back_scattered"});
  ring("backward_travels",
       {RunFault::term_missed, RunFault::block_missed, RunFault::block_twice,
        RunFault::local_position},
       {"packed_backward"});
  for (const char* file :
       {"softmax", "zigzag"})  // no position counts: any order of blocks is right
    ring(file, {RunFault::block_missed, RunFault::block_twice});
}

}  // namespace
}  // namespace shardproof
