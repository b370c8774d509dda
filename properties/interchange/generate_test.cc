// Greedy text of models in Hugging Face's format is what `generate` of the transformers library
// adds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "impl/checkpoint/safetensors.h"
#include "impl/comm/threads.h"
#include "impl/interchange/interchange.h"
#include "impl/trainer/cache.h"

namespace shardproof::properties {
namespace {

namespace fs = std::filesystem;
const fs::path source = SHARDPROOF_SOURCE_DIR;

/// A whole tensor of tokens.
std::vector<uint32_t> tokens(const fs::path& path, const std::string& name) {
  const checkpoint::File file = checkpoint::File::open(path);
  const safetensors::Entry entry = safetensors::read_header(file).at(name);
  std::vector<int32_t> read(entry.bytes / sizeof(int32_t));
  file.read(entry.begin, reinterpret_cast<uint8_t*>(read.data()), entry.bytes);
  return {read.begin(), read.end()};
}

std::vector<checkpoint::Leaf> weights(Trainer& trainer) {
  std::vector<checkpoint::Leaf> all = trainer.state();
  all.resize(trainer.roles().state.at(0).count);
  for (checkpoint::Leaf& leaf : all) leaf.name = leaf.name.substr(2);
  return all;
}

/// What the model of a folder adds to the ids, with a cache and without.
struct Texts {
  std::vector<uint32_t> cached, recomputed;
};
Texts texts(const fs::path& folder, const std::string& mesh_text, size_t count) {
  const auto mapping = interchange::Mapping::read(source / "spec/models/llama3.hf.json");
  interchange::Numbers numbers = mapping.numbers(folder);
  numbers.sizes["B"] = 2, numbers.sizes["L"] = 32;
  const auto load = [&](const char* name) {
    return Program::load(source / "spec/models" / name, disk_reader(), {.set = numbers.consts});
  };
  const Program step = load("llama_train.shard"), decode = load("llama3_decode.shard");
  const Mesh mesh = Mesh::parse(mesh_text);
  Texts result;
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
    Trainer trainer(step, mesh, numbers.sizes, communicator,
                    {.step = "train_step_sharded", .precision = Precision::f32});
    interchange::load(mapping, folder, communicator, mesh, numbers.sizes, weights(trainer));
    SampleOptions how;
    how.count = static_cast<int64_t>(count), how.temperature = 0;
    how.document = 99;  // no token: there is one document
    how.prompt = tokens(folder / "generated.safetensors", "ids");
    const Sample cached = sample_with_cache(trainer, decode, how);
    const Sample recomputed = sample(trainer, *logits_plan(step, trainer.roles()), how);
    if (communicator.rank() == 0) result = {cached.tokens, recomputed.tokens};
  });
  return result;
}

class Generated : public testing::TestWithParam<const char*> {};

TEST_P(Generated, GreedyTextIsTheLibrarys) {
  const fs::path folder = source / "properties/interchange/fixtures" / GetParam();
  const std::vector<uint32_t> wanted = tokens(folder / "generated.safetensors", "generated");
  ASSERT_EQ(wanted.size(), 16u);
  for (const char* mesh : {"", "d=2,t=2"}) {
    const Texts found = texts(folder, mesh, wanted.size());
    EXPECT_EQ(found.cached, wanted) << mesh;
    EXPECT_EQ(found.recomputed, wanted) << mesh;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Generated, testing::Values("llama", "llama_tied"));

}  // namespace
}  // namespace shardproof::properties
