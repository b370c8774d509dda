// State that one plan makes where another keeps it is what came through the host before, and state
// that a step overwrites is what it returns otherwise.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "impl/comm/threads.h"
#include "impl/comm/virtual/virtual_ranks.h"
#include "impl/compile/compile_plan.h"
#include "impl/device/emulated/emulated.h"
#include "impl/train_step/on_gpu.h"
#include "impl/train_step/state_in_place.h"
#include "kernels/number.h"

namespace shardproof {
namespace {

DimSizes sizes_of(const Program& program, const Name& config) {
  DimSizes sizes;
  for (const auto& [name, number] : program.checked().program().configs.at(config).numbers)
    sizes[name] = std::stoll(number);
  return sizes;
}

bool same_bytes(const LocalTensor& a, const LocalTensor& b) {
  return a.extents == b.extents && a.buffer.bytes() == b.buffer.bytes() &&
         std::memcmp(a.buffer.data(), b.buffer.data(), a.buffer.bytes()) == 0;
}

TEST(KeptState, IsMadeWhereItIsKept) {
  const Program program =
      Program::load(std::string(SHARDPROOF_SOURCE_DIR) + "/spec/models/llama_train.shard");
  const StepRoles roles = roles_of(program);
  const InitRoles init = init_of(program, roles);
  const DimSizes sizes = sizes_of(program, "tiny");
  const auto name_of = [&](size_t function) {
    return program.checked().program().functions.at(function).name;
  };
  const std::shared_ptr<Device> device = emulated_device(3);
  run_on_virtual_ranks(*device, 1, [&](Communicator& communicator) {
    const PlanOptions options{.device = device};
    Plan step =
        compile_plan(program, name_of(roles.step), Mesh(), sizes, 0, on_gpu(options, &roles));
    Plan other = compile_plan(program, name_of(init.plan), Mesh(), sizes, 0, options);
    Plan plain = compile_plan(program, name_of(init.plan), Mesh(), sizes, 0, options);
    LocalTensor key = plain.input(0);
    *key.data<uint64_t>() = 17;
    const std::vector<LocalTensor> wanted =
        plain.run(communicator, std::vector<const LocalTensor*>{&key});
    const StateGroup& weights = roles.state.at(init.groups.at(0));
    for (size_t i = 0; i < weights.count; ++i) other.make_kept(i, step, weights.param + i);
    other.keep(0, key);
    other.run_kept(communicator);
    other.finish();
    for (size_t i = 0; i < weights.count; ++i) {
      LocalTensor kept = step.input(weights.param + i);
      step.fetch_kept(weights.param + i, kept);
      EXPECT_TRUE(same_bytes(kept, wanted.at(i))) << step.inputs()[weights.param + i].name;
    }
    const size_t moment = roles.state.at(1).param;
    step.keep_zeros(moment);
    LocalTensor zeros = step.input(moment), kept = step.input(moment);
    std::memset(zeros.buffer.data(), 0, zeros.buffer.bytes());
    step.fetch_kept(moment, kept);
    EXPECT_TRUE(same_bytes(kept, zeros));
    EXPECT_THROW(plain.make_kept(0, step, weights.param), PlanError) << "it has run";
    EXPECT_THROW(other.make_kept(1, step, weights.param), PlanError);
  });
}

/// Numbers that are a function of the seed; ids are small, and second moments are not negative.
std::vector<LocalTensor> drawn(const Plan& plan) {
  std::vector<LocalTensor> tensors;
  uint32_t word = 1;
  for (size_t i = 0; i < plan.inputs().size(); ++i) {
    LocalTensor& to = tensors.emplace_back(plan.input(i));
    for (int64_t k = 0; k < to.count(); ++k) {
      word = word * 1664525 + 1013904223;
      const double at = static_cast<double>(word >> 8) / 0x1p24;
      const bool positive = plan.inputs()[i].name.starts_with("v") || to.extents.empty();
      if (is_float(to.type.dtype))
        set_number(to.element, to.buffer.data(), k, positive ? at : at - 0.5);
      else
        set_number(to.element, to.buffer.data(), k, to.element == Element::i32 ? word >> 30 : 0);
    }
  }
  return tensors;
}

// Red if a step reads state that it has overwritten, or a result gets the memory of another one.
TEST(KeptState, IsUpdatedInPlaceOnTheHost) {
  const struct {
    const char *file, *step, *mesh;
    bool overlap;
  } cases[] = {{"llama_train", "train_step_sharded", "", false},
               {"llama_train", "train_step_sharded", "d=2,t=2", true},
               {"gpt2_data_parallel", "train_step_ddp", "d=2", false},
               {"gpt2_data_parallel", "train_step_zero1", "d=2", true},
               {"gpt2_data_parallel", "train_step_fsdp", "d=2", true}};
  for (const auto& [file, step, mesh_text, overlap] : cases) {
    const Program program =
        Program::load(std::string(SHARDPROOF_SOURCE_DIR) + "/spec/models/" + file + ".shard");
    const StepRoles roles = roles_of(program, step);
    const DimSizes sizes = sizes_of(program, "tiny");
    const Mesh mesh = Mesh::parse(mesh_text);
    for (const Precision precision : {Precision::f32, Precision::as_written})
      run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& ranks) {
        const std::string what = std::string(step) + " on " + mesh_text;
        const PlanOptions options{.precision = precision, .overlap = overlap};
        Plan plain = compile_plan(program, step, mesh, sizes, ranks.rank(), options);
        Plan place =
            compile_plan(program, step, mesh, sizes, ranks.rank(), state_in_place(options, roles));
        std::vector<LocalTensor> wanted = drawn(plain), tensors = drawn(place);
        std::vector<const std::byte*> memory;
        for (const LocalTensor& each : tensors) memory.push_back(each.buffer.data());
        size_t state_bytes = 0;
        for (int run = 0; run < 2; ++run) {
          std::vector<LocalTensor> results = plain.run(ranks, wanted);
          const std::vector<LocalTensor> made = place.update(ranks, tensors);
          for (size_t leaf : roles.metrics)
            EXPECT_TRUE(same_bytes(made.at(leaf), results.at(leaf))) << what;
          for (const StateGroup& group : roles.state)
            for (size_t i = 0; i < group.count; ++i) {
              LocalTensor& to = wanted[group.param + i];
              EXPECT_FALSE(same_bytes(results.at(group.result + i), to)) << what << ": no step";
              to.buffer = std::move(results[group.result + i].buffer);
              EXPECT_TRUE(same_bytes(tensors[group.param + i], to))
                  << what << ": " << plain.inputs()[group.param + i].name;
              EXPECT_EQ(made.at(group.result + i).buffer.bytes(), 0u);
              if (run == 0) state_bytes += to.buffer.bytes();
            }
        }
        for (size_t i = 0; i < tensors.size(); ++i)
          EXPECT_EQ(tensors[i].buffer.data(), memory[i]) << what;
        // A result that some step cannot write in place costs a copy in the arena.
        EXPECT_LE(place.bytes() + state_bytes, plain.bytes() + state_bytes / 4) << what;
      });
  }
}

// Results that are made while their parameter is still read: all of them, some, and a ring of them.
// Red if such a result is not copied, if one is copied over a parameter that the next one reads, or
// if run() overwrites its inputs.
TEST(KeptState, IsCopiedWhereItIsStillRead) {
  const char* const returned[] = {"rev(\"[M]\", a), rev(\"[M]\", b), rev(\"[M]\", c)",
                                  "b, c, a",
                                  "b, a, c",
                                  "b + c, a + c, a + b",
                                  "a + rev(\"[M]\", a), b, a * c",
                                  "a * b, b * c, rev(\"[M]\", a + b)"};
  for (const std::string results : returned) {
    const std::string types = "(a b c: f32[M]) -> (f32[M], f32[M], f32[M]) { return " + results;
    const Program program = Program::from_text(
        "dim M\nfn moved" + types + " }\nplan moved_one implements moved" + types + " }\n");
    const DimSizes sizes{{"M", 5}};
    PlanOptions options;
    Plan plain = compile_plan(program, "moved_one", Mesh(), sizes, 0, options);
    options.in_place = {{0, 0}, {1, 1}, {2, 2}};
    Plan place = compile_plan(program, "moved_one", Mesh(), sizes, 0, options);
    run_on_threads(1, [&](Communicator& ranks) {
      std::vector<LocalTensor> tensors = drawn(place);
      const std::vector<LocalTensor> before = drawn(place);
      const std::vector<LocalTensor> wanted = plain.run(ranks, before);
      const std::vector<LocalTensor> made = place.run(ranks, tensors);
      for (size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_TRUE(same_bytes(made.at(i), wanted[i])) << results << ", result " << i;
        EXPECT_TRUE(same_bytes(tensors[i], before[i])) << results << ", parameter " << i;
      }
      place.update(ranks, tensors);
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_TRUE(same_bytes(tensors[i], wanted[i])) << results << ", in place " << i;
    });
  }
}

/// Runs on tensors that the caller has, or on resident ones.
struct Runs {
  Plan& plan;
  Communicator& ranks;
  bool kept;
  std::vector<const LocalTensor*> known = {};

  std::vector<LocalTensor> results(const std::vector<LocalTensor>& tensors) {
    if (!kept) return plan.run(ranks, tensors);
    known.resize(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i)
      if (std::exchange(known[i], &tensors[i]) != &tensors[i] || i == 0) plan.keep(i, tensors[i]);
    plan.run_kept(ranks);
    std::vector<LocalTensor> made;
    for (size_t i = 0; i < plan.outputs().size(); ++i) made.push_back(plan.kept_output(i));
    return made;
  }
};

constexpr const char* of_weights = R"(
mesh d
dim B N K M
dim I J = M
plan p(x: f32[B/d M], w: f32[N K M I], u: f32[M I/d], b: f32[M I], v: f32[N M I]) -> (r: f32[B/d M], z: f32[B/d I]) {
    a = all_gather("M I/d -> M I", u)
    k0 = einsum("M I, I J -> M J", b, b)
    c = scan n in N, t: f32[M I] = b { 
        next rearrange("M J -> M I", einsum("M I, I J -> M J", t, v[n]))
    }
    r = scan n in N, o: f32[B/d M] = x {
        e = einsum("M I, I J -> M J", einsum("M I, I J -> M J", v[n], k0), v[n])
        h = einsum("M I, I J -> M J", einsum("M I, I J -> M J", b, v[n]), k0)
        f = bf16(v[n])
        q = scan k in K, i: f32[B/d M] = o {
            g = einsum("M I, I J -> M J", w[n, k], e)
            s = einsum("M I, I J -> M J", einsum("M I, I J -> M J", g, w[n, k]), h)
            next rearrange("B/d J -> B/d M", tanh(einsum("B/d M, M J -> B/d J", i, s)))
        }
        p = einsum("B/d M, M I -> B/d I", q, a) + f32(einsum("B/d M, M I -> B/d I", bf16(q), f))
        next rearrange("B/d I -> B/d M", tanh(p))
    }
    return r, einsum("B/d M, M I -> B/d I", x, c)
}
)";

// Values of weights alone: before loops, in them, in loops in them, chains of products, what a loop
// carries, and what is gathered. Red if a value is kept that is not the same in each run or
// iteration, if two that are kept share memory, or if other weights are not seen.
TEST(KeptState, OfConstantInputsIsWhatIsComputedAgain) {
  const Program program = Program::from_text(of_weights);
  const DimSizes sizes{{"B", 4}, {"N", 3}, {"K", 2}, {"M", 6}};
  for (const bool kept : {false, true})
    for (const bool emulated : {false, true}) {
      const std::shared_ptr<Device> device = emulated ? emulated_device(3) : cpu_device();
      const auto run = [&](Communicator& ranks) {
        PlanOptions options{.overlap = true, .device = device};
        Plan plain = compile_plan(program, "p", Mesh::parse("d=2"), sizes, ranks.rank(), options);
        options.constant = {1, 2, 3, 4};
        Plan plan = compile_plan(program, "p", Mesh::parse("d=2"), sizes, ranks.rank(), options);
        EXPECT_LT(plan.steps().size(), plain.steps().size());
        std::vector<LocalTensor> old = drawn(plan), other = drawn(plan);
        for (LocalTensor& each : other)
          for (int64_t k = 0; k < each.count(); ++k) each.data<float>()[k] *= -0.75f;
        Runs runs{plan, ranks, kept}, wanted{plain, ranks, kept};
        const auto same = [&](const std::vector<LocalTensor>& tensors, const char* what) {
          const auto own = runs.results(tensors), of_plain = wanted.results(tensors);
          for (size_t i = 0; i < own.size(); ++i)
            EXPECT_TRUE(same_bytes(own[i], of_plain[i]))
                << what << ", result " << i << (kept ? ", kept on " : " on ") << device->name();
        };
        same(old, "first");
        for (int i = 0; i < 3; ++i) {
          old[0].data<float>()[i] += 0.5f;
          same(old, "other x");
        }
        same(other, "other tensors");
        same(old, "the first tensors again");
        for (int64_t k = 0; k < old[1].count(); ++k) old[1].data<float>()[k] += 0.25f;
        plan.reread_constant();
        runs.known.clear(), wanted.known.clear();
        same(old, "other entries");
      };
      device->is_host() ? run_on_threads(2, run) : run_on_virtual_ranks(*device, 2, run);
    }
}

}  // namespace
}  // namespace shardproof
