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

/// The weights, and a bias of the choice of experts.
std::vector<checkpoint::Leaf> weights(Trainer& trainer) {
  std::vector<checkpoint::Leaf> all;
  for (checkpoint::Leaf& leaf : trainer.state()) {
    const bool weight = leaf.name.compare(0, 2, "w.") == 0;
    if (!weight && leaf.name != "bias") continue;
    if (weight) leaf.name = leaf.name.substr(2);
    all.push_back(leaf);
  }
  return all;
}

/// A folder of the library's, the files of its mapping and step, and the file of its cache. With
/// padding it has none.
struct Family {
  std::string folder, mapping, step, plan, decode;
  interchange::Pads pads = {};
  DimSizes padded = {};
};
std::ostream& operator<<(std::ostream& out, const Family& family) {
  return out << family.folder << (family.pads.empty() ? "" : "_padded");
}

/// What the model of a folder adds to the ids, with a cache and without.
struct Texts {
  std::vector<uint32_t> cached, recomputed;
};
class Model {
 public:
  Model(const Family& family, fs::path folder)
      : family_(family),
        folder_(std::move(folder)),
        mapping_(interchange::Mapping::read(source / "spec/models" / family.mapping)
                     .for_padded(family.pads)),
        numbers_(mapping_.numbers(folder_)),
        step_(load(family.step)),
        decode_(load(family.decode.empty() ? family.step : family.decode)) {
    numbers_.sizes.insert(family.padded.begin(), family.padded.end());
    numbers_.sizes["B"] = 2,
    numbers_.sizes["L"] = family.folder == "gpt2" ? numbers_.sizes["P"] : 32;  // learned: no more
  }

  Texts texts(const std::string& mesh_text, size_t count) const;

 private:
  Program load(const std::string& name) const {
    return Program::load(source / "spec/models" / name, disk_reader(), {.set = numbers_.consts});
  }

  const Family& family_;
  const fs::path folder_;
  const interchange::Mapping mapping_;
  interchange::Numbers numbers_;
  const Program step_, decode_;
};

/// Rows of the table that the model does not have: each one's logit, or its neighbour's, is large.
void fill_padding(Trainer& trainer) {
  for (const checkpoint::Leaf& leaf : trainer.state()) {
    if (leaf.name != "w.tokens") continue;
    const Placement& here = trainer.placement();
    const int64_t first = here.first(leaf.type.dims[0]), width = leaf.tensor->extents[1];
    for (int64_t i = 0; i < leaf.tensor->count(); ++i)
      if (const int64_t row = first + i / width; row >= here.size(Dim{{"V"}}))
        leaf.tensor->data<float>()[i] = row % 2 ? 1e3f : -1e3f;
  }
}

Texts Model::texts(const std::string& mesh_text, size_t count) const {
  const Mesh mesh = Mesh::parse(mesh_text);
  Texts result;
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
    Trainer trainer(step_, mesh, numbers_.sizes, communicator,
                    {.step = family_.plan, .precision = Precision::f32});
    interchange::load(mapping_, folder_, communicator, mesh, numbers_.sizes, weights(trainer));
    if (!family_.pads.empty()) fill_padding(trainer);
    SampleOptions how;
    how.count = static_cast<int64_t>(count), how.temperature = 0;
    how.document = 99;  // no token: there is one document
    how.prompt = tokens(folder_ / "generated.safetensors", "ids");
    const Sample recomputed = sample(trainer, *logits_plan(step_, trainer.roles()), how);
    const Sample cached =
        family_.decode.empty() ? recomputed : sample_with_cache(trainer, decode_, how);
    if (communicator.rank() == 0) result = {cached.tokens, recomputed.tokens};
  });
  return result;
}

class Generated : public testing::TestWithParam<Family> {};

TEST_P(Generated, GreedyTextIsTheLibrarys) {
  const fs::path folder = source / "properties/interchange/fixtures" / GetParam().folder;
  const std::vector<uint32_t> wanted = tokens(folder / "generated.safetensors", "generated");
  ASSERT_GE(wanted.size(), 6u);
  const Model model(GetParam(), folder);
  for (const char* mesh : {"", "d=2,t=2"}) {
    const Texts found = model.texts(mesh, wanted.size());
    EXPECT_EQ(found.cached, wanted) << mesh;
    EXPECT_EQ(found.recomputed, wanted) << mesh;
  }
}

const Family families[] = {
    {"llama", "llama3.hf.json", "llama_train.shard", "train_step_sharded", "llama3_decode.shard"},
    {"llama_tied", "llama3.hf.json", "llama_train.shard", "train_step_sharded",
     "llama3_decode.shard"},
    {"llama31", "llama31.hf.json", "llama31.shard", "train_step_sharded", "llama31_decode.shard"},
    {"mistral", "mistral.hf.json", "mistral.shard", "train_step_sharded", "mistral_decode.shard"},
    {"mixtral", "mixtral.hf.json", "mixtral.shard", "train_step_sharded", "mixtral_decode.shard"},
    {"qwen2", "qwen2.hf.json", "qwen2.shard", "train_step_sharded", "qwen2_decode.shard"},
    {"qwen3", "qwen3.hf.json", "qwen3.shard", "train_step_sharded", "qwen3_decode.shard"},
    {"gemma2", "gemma2.hf.json", "gemma2.shard", "train_step_sharded", "gemma2_decode.shard"},
    {"gpt2", "gpt2.hf.json", "gpt2_tensor_parallel.shard", "train_step_t", "gpt2_decode.shard"},
    {"gpt2",
     "gpt2.hf.json",
     "gpt2_padded.shard",
     "train_step_w",
     "gpt2_padded_decode.shard",
     {{"W", "V"}},
     {{"W", 22}}},
    {"deepseek2", "deepseek2.hf.json", "deepseek2.shard", "train_step_sharded",
     "deepseek2_decode.shard"},
    {"deepseek2_236b", "deepseek2_236b.hf.json", "deepseek2_236b.shard", "train_step_sharded",
     "deepseek2_236b_decode.shard"},
    {"deepseek3", "deepseek3.hf.json", "deepseek3.shard", "train_step_sharded",
     "deepseek3_decode.shard"},
    {"deepseek3_yarn", "deepseek3.hf.json", "deepseek3.shard", "train_step_sharded",
     "deepseek3_decode.shard"},
    {"moonlight", "moonlight.hf.json", "moonlight.shard", "train_step_sharded",
     "moonlight_decode.shard"},
};
INSTANTIATE_TEST_SUITE_P(Models, Generated, testing::ValuesIn(families), [](const auto& info) {
  return info.param.folder + (info.param.pads.empty() ? "" : "_padded");
});

}  // namespace
}  // namespace shardproof::properties
