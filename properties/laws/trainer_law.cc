// A run on every mesh is the same run: its first weights have the same bits, its losses are equal
// up to rounding, and the same mesh gives the same bits twice.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iostream>
#include <mutex>

#include "impl/comm/threads.h"
#include "impl/comm/virtual/virtual_ranks.h"
#include "impl/data/corpus.h"
#include "impl/data/loader.h"
#include "impl/device/emulated/emulated.h"
#include "impl/train_step/on_gpu.h"
#include "impl/trainer/learning_rate.h"
#include "impl/trainer/trainer.h"
#include "kernels/number.h"
#include "properties/generators/counting_device.h"
#include "properties/laws/prepared.h"

namespace shardproof {
namespace {

using properties::CountingDevice;

constexpr int steps = 12;

const Program& model(const std::string& file) {
  static std::map<std::string, Program> programs;
  auto found = programs.find(file);
  if (found == programs.end())
    found =
        programs
            .emplace(file, Program::load(SHARDPROOF_SOURCE_DIR "/spec/models/" + file + ".shard"))
            .first;
  return found->second;
}

const DimSizes llama{{"B", 4}, {"L", 16}, {"M", 16},  {"F", 24}, {"Q", 2},
                     {"K", 2}, {"D", 4},  {"V", 256}, {"N", 2},  {"A", 2}};
const DimSizes gpt2{{"B", 4}, {"L", 16}, {"P", 16},  {"M", 16}, {"F", 24},
                    {"H", 2}, {"D", 8},  {"V", 256}, {"N", 2}};

/// Calls `visit(global, local)` for each entry that the rank has, by row-major numbers.
template <class Visit>
void for_each_entry(const Placement& placement, const LocalTensor& tensor, const Visit& visit) {
  const std::vector<int64_t> local = row_major(tensor.extents),
                             global = row_major(placement.global_extents(tensor.type));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < local.size(); ++d)
      at += (placement.first(tensor.type.dims[d]) + i / local[d] % tensor.extents[d]) * global[d];
    visit(at, i);
  }
}

using Whole = std::map<Name, std::map<int64_t, double>>;

/// The whole state, put together from all ranks; copies have the same bits.
void collect(Trainer& trainer, Whole& whole) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (const checkpoint::Leaf& leaf : trainer.state())
    for_each_entry(trainer.placement(), *leaf.tensor, [&](int64_t global, int64_t local) {
      const double own = number_at(leaf.tensor->element, leaf.tensor->buffer.data(), local);
      const auto [entry, first] = whole[leaf.name].emplace(global, own);
      EXPECT_EQ(entry->second, own) << leaf.name << " at " << global;
    });
}

struct Trained {
  std::vector<double> losses;
  Whole first, last;
};

/// On threads, or on virtual ranks of a device.
Trained train(const std::string& file, const Name& step, const DimSizes& dims,
              const char* mesh_text, Precision precision,
              const std::shared_ptr<Device>& device = {}) {
  const Program& program = model(file);
  const Mesh mesh = Mesh::parse(mesh_text);
  Trained run;
  std::vector<std::vector<Prepared::Groups>> groups(static_cast<size_t>(mesh.ranks()));
  const auto on_rank = [&](Communicator& all) {
    Prepared ranks(all);
    ranks.in_stages = mesh.size("p") > 1;
    Trainer trainer(program, mesh, dims, ranks,
                    {.step = step,
                     .seed = 7,
                     .precision = precision,
                     .overlap = device != nullptr,
                     .device = device});
    data::Loader loader(std::make_shared<const data::Tokens>(
                            data::Tokens::of_text(data::made_up_corpus(20'000, 1), "made up")),
                        {.seed = 7, .below = 256});
    if (ranks.rank() == 0)
      trainer.on_step(
          [&](const StepReport& report) { run.losses.push_back(report.metrics.at(0).value); });
    trainer.init();
    collect(trainer, run.first);
    const LearningRate rate{Schedule::cosine, 1e-2, 4, steps};
    for (int i = 1; i <= steps; ++i) {
      ranks.in_step = true;
      trainer.step(loader, rate.at(i));
      ranks.in_step = false;
      if (i == steps / 2) trainer.state();  // looked at, and taken back
    }
    collect(trainer, run.last);
    groups[static_cast<size_t>(ranks.rank())] = ranks.said;
  };
  const int world = static_cast<int>(mesh.ranks());
  if (device)
    run_on_virtual_ranks(*device, world, on_rank);
  else
    run_on_threads(world, on_rank);
  for (const auto& said : groups) EXPECT_EQ(said, groups[0]);
  return run;
}

double farthest(const Trained& run, const Trained& from) {
  double most = 0;
  for (size_t i = 0; i < from.losses.size(); ++i)
    most = std::max(most, std::abs(run.losses.at(i) - from.losses[i]) / from.losses[i]);
  return most;
}

struct Case {
  const char *file, *step;
  DimSizes dims;
  std::vector<const char*> meshes;
};

DimSizes with(DimSizes sizes, const DimSizes& more) {
  for (const auto& [dim, size] : more) sizes[dim] = size;
  return sizes;
}

const std::vector<Case> cases = {
    {"llama_train", "train_step_sharded", llama, {"d=2", "t=2", "d=2,t=2"}},
    {"llama_accumulated", "accumulated_step_sharded", llama, {"d=2,t=2"}},
    {"gpt2_data_parallel", "train_step_zero1", gpt2, {"d=4"}},
    {"gpt2_tensor_parallel", "train_step_t", gpt2, {"t=2,d=2"}},
    {"gpt2_tensor_parallel", "train_step_f", gpt2, {"d=2", "d=2,t=2"}},
    {"gpt2_pipeline", "train_step_p", with(gpt2, {{"A", 2}}), {"p=2", "d=2,p=2,t=2"}},
    {"llama3_pipeline", "train_step_p", with(llama, {{"X", 2}}), {"p=2", "d=2,p=2,t=2"}},
};

TEST(TrainerLaw, EveryMeshRunsTheSameRun) {
  for (const Case& one : cases) {
    const std::string what = std::string(one.file) + " " + one.step;
    const Trained alone = train(one.file, one.step, one.dims, "", Precision::f64);
    ASSERT_EQ(alone.losses.size(), static_cast<size_t>(steps)) << what;
    EXPECT_NEAR(alone.losses[0], std::log(256), 0.05) << what;  // nothing is known at first
    EXPECT_LT(alone.losses.back(), 0.9 * alone.losses[0]) << what;
    double most = 0;
    for (const char* mesh : one.meshes) {
      const Trained run = train(one.file, one.step, one.dims, mesh, Precision::f64);
      EXPECT_EQ(run.first, alone.first) << what << " on " << mesh;
      most = std::max(most, farthest(run, alone));
    }
    EXPECT_LT(most, 1e-9) << what;
    std::cout << "    " << what << ": loss " << alone.losses[0] << " to " << alone.losses.back()
              << ", in f64 apart by " << most << "\n";
  }
}

// No entry is a sum of more than 2^8 terms (V): its rounding in f32, of which there are 2^-24, is
// at most 2^-16 of them all, and each step adds its own. A factor of 1.001 would be seen.
TEST(TrainerLaw, EveryMeshRunsTheSameRunInSinglePrecision) {
  constexpr double bound = steps * 0x1p-16;
  static_assert(bound < 1e-3);
  const Trained alone = train("llama_train", "", llama, "", Precision::f32);
  for (const char* mesh : {"d=2", "t=2", "d=2,t=2"}) {
    const Trained run = train("llama_train", "", llama, mesh, Precision::f32);
    EXPECT_EQ(run.first, alone.first) << mesh;
    EXPECT_LT(farthest(run, alone), bound) << mesh;
    std::cout << "    " << mesh << ": in f32 apart by " << farthest(run, alone) << "\n";
  }
}

/// The device has given each rank what memory_on_gpu() says: one rank to the byte; of several some
/// may at that moment hand each other a metric. For a pipeline it is the stage with most.
void expect_as_said(const CountingDevice& device, const std::string& file, const Name& step,
                    const DimSizes& dims, const char* mesh, Precision precision) {
  const Mesh ranks = Mesh::parse(mesh);
  const size_t said =
      memory_on_gpu(model(file), step, ranks, dims, {.precision = precision, .overlap = true})
          .bytes() *
      static_cast<size_t>(ranks.ranks());
  const auto stages = static_cast<size_t>(ranks.size("p"));
  EXPECT_GE(device.most(), said / stages) << file << " " << step << " on " << mesh;
  EXPECT_LE(device.most(), ranks.ranks() == 1 ? said : said + said / 100)
      << file << " " << step << " on " << mesh;
}

// Fused kernels have scratch memory, and the library's attention most of all.
TEST(TrainerLaw, MemoryIsAsSaidOfFusedKernels) {
  DimSizes dims = llama;
  dims["D"] = 8;
  for (const char* mesh : {"", "d=2,t=2"}) {
    const auto device = std::make_shared<CountingDevice>(emulated_device(4));  // ordered
    const Trained run =
        train("llama_causal", "causal_step_fused", dims, mesh, Precision::as_written, device);
    EXPECT_LT(run.losses.back(), run.losses[0]);
    expect_as_said(*device, "llama_causal", "causal_step_fused", dims, mesh, Precision::as_written);
  }
}

// State stays on the device, results take its place, and nothing is done in the order in which it
// is given.
TEST(TrainerLaw, ADeviceRunsTheSameRun) {
  for (const Case& one : cases) {
    const std::string what = std::string(one.file) + " " + one.step;
    const Trained alone = train(one.file, one.step, one.dims, "", Precision::f64);
    for (const char* mesh : {"", one.meshes.back()}) {
      const auto device = std::make_shared<CountingDevice>(emulated_device(3));
      const Trained run = train(one.file, one.step, one.dims, mesh, Precision::f64, device);
      EXPECT_EQ(run.first, alone.first) << what << " on " << mesh;
      EXPECT_LT(farthest(run, alone), 1e-9) << what << " on " << mesh;
      expect_as_said(*device, one.file, one.step, one.dims, mesh, Precision::f64);
    }
  }
}

TEST(TrainerLaw, OneMeshGivesTheSameBitsTwice) {
  for (Precision precision : {Precision::f32, Precision::as_written}) {
    const Trained one = train("llama_train", "", llama, "d=2,t=2", precision);
    const Trained two = train("llama_train", "", llama, "d=2,t=2", precision);
    EXPECT_EQ(one.losses, two.losses);
    EXPECT_EQ(one.last, two.last);
    EXPECT_NE(one.last, one.first);
  }
}

}  // namespace
}  // namespace shardproof
