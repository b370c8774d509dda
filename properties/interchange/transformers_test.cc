// Logits and gradients of models in Hugging Face's format are those of the transformers library: of
// recorded models everywhere, of new ones where Python has the library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <regex>

#include "impl/checkpoint/box.h"
#include "impl/checkpoint/safetensors.h"
#include "impl/comm/threads.h"
#include "impl/compile/compile_plan.h"
#include "impl/interchange/interchange.h"
#include "impl/interchange/parts.h"

namespace shardproof::properties {
namespace {

namespace fs = std::filesystem;
const fs::path models = fs::path(SHARDPROOF_SOURCE_DIR) / "spec/models";
const fs::path here = fs::path(SHARDPROOF_SOURCE_DIR) / "properties/interchange";

/// A model of spec/models, and a program beside it with a plan `gradients`.
struct Foreign {
  std::string folder, mapping, logits, text;
  std::map<Name, double> consts = {};  ///< that no configuration has
  interchange::Pads pads = {};
  DimSizes padded = {};
};

const char* const llama_text = R"(
import Model, Shards, llama_sharded, llama_loss, llama_loss_sharded, eps, theta from "llama3.shard"
mesh d t
dim B L M F Q K D V N
dim kv = 2
plan gradients(w: Shards, ids: i32[B/d L], starts: bool[B/d L], targets: i32[B/d L]) -> (loss: f32[], g: Shards) {
    loss, g = value_and_grad(llama_loss_sharded wrt w)(w, ids, starts, targets)
    return all_reduce("{U_d} -> ", loss), g
}
)";
const char* const gpt2_text = R"(
import Model, ModelT, gpt2_t, gpt2_loss, gpt2_loss_t from "gpt2.shard"
mesh d t
dim B L M F H D V N P
dim qkv = 3
plan gradients(w: ModelT, ids targets: i32[B/d L]) -> (loss: f32[], g: ModelT) {
    loss, g = value_and_grad(gpt2_loss_t wrt w)(w, ids, targets)
    return all_reduce("{U_d} -> ", loss), all_reduce("ModelT{U_d} -> ModelT", g)
}
)";
/// With a vocabulary of 16 stored as 18 rows.
const char* const gpt2_padded_text = R"(
import Model, ModelW, gpt2_w, gpt2_loss_w from "gpt2_padded.shard"
mesh d t
dim B L M F H D V N P
dim W pads V
dim qkv = 3
plan gradients(w: ModelW, ids targets: i32[B/d L]) -> (loss: f32[], g: ModelW) {
    loss, g = value_and_grad(gpt2_loss_w wrt w)(w, ids, targets)
    return all_reduce("{U_d} -> ", loss), all_reduce("ModelW{U_d} -> ModelW", g)
}
)";

/// Of a family's own file: its loss, and whether gradients are sums that its step reduces.
std::string family_text(const std::string& file, bool reduced) {
  return "import Model, Shards, logits_sharded, loss, loss_sharded from \"" + file + R"("
mesh d t
dim B L M F Q K D V N
dim kv = 2
plan gradients(w: Shards, ids: i32[B/d L], starts: bool[B/d L], targets: i32[B/d L]) -> (l: f32[], g: Shards) {
    l, g = value_and_grad(loss_sharded wrt w)(w, ids, starts, targets)
    return all_reduce("{U_d} -> ", l), )" +
         (reduced ? "all_reduce(\"-> Shards\", g)" : "g") + "\n}\n";
}

/// Of a file with latents: `parameters` and `arguments` are a bias, if there is one.
std::string latent_text(const std::string& file, const std::string& parameters,
                        const std::string& arguments) {
  return "import Shards, logits_sharded, loss_sharded from \"" + file + R"("
mesh d t
dim B L M F V N Z H D P W R C G J I Y
dim E = (G J)
plan gradients(w: Shards, )" +
         parameters + R"(ids: i32[B/d L], starts: bool[B/d L], targets: i32[B/d L])
        -> (l: f32[], g: Shards) {
    l, g = value_and_grad(loss_sharded wrt w)(w, )" +
         arguments + R"(ids, starts, targets)
    return all_reduce("{U_d} -> ", l), all_reduce("-> Shards", g)
}
)";
}
std::string biased_text(const std::string& file) {
  return latent_text(file, "bias: f32[N E], ", "bias, ");
}
/// Without the loss that balances the experts, which the library does not have.
const std::map<Name, double> unbalanced = {{"alpha", 0.0}};

const Foreign all_models[] = {
    {"llama", "llama3.hf.json", "llama_sharded", llama_text},
    {"llama_tied", "llama3.hf.json", "llama_sharded", llama_text},
    {"gpt2", "gpt2.hf.json", "gpt2_t", gpt2_text},
    {"llama31", "llama31.hf.json", "logits_sharded", family_text("llama31.shard", false)},
    {"mistral", "mistral.hf.json", "logits_sharded", family_text("mistral.shard", false)},
    {"mistral_no_window", "mistral_without_window.hf.json", "llama_sharded", llama_text},
    {"mixtral", "mixtral.hf.json", "logits_sharded", family_text("mixtral.shard", true)},
    {"deepseek3", "deepseek3.hf.json", "logits_sharded", biased_text("deepseek3.shard"),
     unbalanced},
    {"deepseek3_yarn", "deepseek3.hf.json", "logits_sharded", biased_text("deepseek3.shard"),
     unbalanced},
    {"moonlight", "moonlight.hf.json", "logits_sharded", biased_text("moonlight.shard"),
     unbalanced},
    {"deepseek2", "deepseek2.hf.json", "logits_sharded", latent_text("deepseek2.shard", "", "")},
    {"deepseek2_236b", "deepseek2_236b.hf.json", "logits_sharded",
     latent_text("deepseek2_236b.shard", "", "")},
    {"gemma2", "gemma2.hf.json", "logits_sharded", family_text("gemma2.shard", false)},
    {"qwen2", "qwen2.hf.json", "logits_sharded", family_text("qwen2.shard", true)},
    {"qwen3", "qwen3.hf.json", "logits_sharded", family_text("qwen3.shard", true)},
    {"gpt2", "gpt2.hf.json", "gpt2_w", gpt2_padded_text, {}, {{"W", "V"}}, {{"W", 22}}},
};

std::ostream& operator<<(std::ostream& out, const Foreign& model) { return out << model.folder; }

/// Differences from the library as parts of the largest number of each tensor.
struct Differences {
  double logits = 0, gradients = 0;
};

/// Tensors of data.safetensors.
class Data {
 public:
  explicit Data(const fs::path& folder)
      : file_(checkpoint::File::open(folder / "data.safetensors")),
        header_(safetensors::read_header(file_)) {}
  const std::vector<int64_t>& extents(const std::string& name) const {
    return header_.at(name).extents;
  }
  std::vector<float> floats(const std::string& name) const {
    std::vector<float> all(header_.at(name).bytes / sizeof(float));
    file_.read(header_.at(name).begin, reinterpret_cast<char*>(all.data()), header_.at(name).bytes);
    return all;
  }
  /// This rank's part of it, as bytes of the same element.
  LocalTensor part(const std::string& name, const Slot& slot, const Mesh& mesh,
                   int64_t rank) const {
    const safetensors::Entry& entry = header_.at(name);
    const Element element = *safetensors::element_of(entry.dtype);
    LocalTensor tensor(slot.type, element, slot.extents);
    const checkpoint::Box whole{std::vector<int64_t>(entry.extents.size()), entry.extents};
    checkpoint::for_each_run(whole, checkpoint::part_of(slot.type, mesh, rank, slot.extents),
                             [&](int64_t from, int64_t to, int64_t count) {
                               const size_t bytes = size_of(element);
                               file_.read(entry.begin + static_cast<size_t>(from) * bytes,
                                          tensor.buffer.data() + static_cast<size_t>(to) * bytes,
                                          static_cast<size_t>(count) * bytes);
                             });
    return tensor;
  }

 private:
  checkpoint::File file_;
  safetensors::Header header_;
};

/// Checked once for all tests.
const Program& program_of(const Foreign& model, std::map<Name, double> consts) {
  consts.insert(model.consts.begin(), model.consts.end());
  static std::map<std::pair<std::string, std::map<Name, double>>, Program> programs;
  const fs::path path = models / "foreign.shard";
  const auto reader = [&](const std::string& file) {
    return file == path ? std::optional(model.text) : disk_reader()(file);
  };
  const auto found = programs.find({model.text, consts});
  if (found != programs.end()) return found->second;
  return programs
      .emplace(std::pair(model.text, consts), Program::load(path, reader, {.set = consts}))
      .first->second;
}

/// One model on one mesh.
class ModelRun {
 public:
  ModelRun(const Foreign& model, const fs::path& folder, const std::string& mesh)
      : ModelRun(model, folder, mesh, models / model.mapping) {}
  ModelRun(const Foreign& model, const fs::path& folder, const std::string& mesh,
           const fs::path& mapping)
      : model_(model),
        folder_(folder),
        mapping_(interchange::Mapping::read(mapping).for_padded(model.pads)),
        numbers_(mapping_.numbers(folder)),
        program_(program_of(model, numbers_.consts)),
        mesh_(Mesh::parse(mesh)),
        data_(folder) {
    numbers_.sizes["B"] = data_.extents("ids")[0];
    numbers_.sizes["L"] = data_.extents("ids")[1];
    numbers_.sizes.insert(model.padded.begin(), model.padded.end());
  }

  Differences differences() {
    run_on_threads(static_cast<int>(mesh_.ranks()), [&](Communicator& communicator) {
      compare_logits(communicator);
      compare_gradients(communicator);
    });
    Differences worst;
    for (const auto& [name, each] : found_)
      (name == "logits" ? worst.logits : worst.gradients) =
          std::max(name == "logits" ? worst.logits : worst.gradients, each.error / each.largest);
    return worst;
  }

  void copy_to(const fs::path& to, uint64_t most_bytes) {
    run_on_threads(static_cast<int>(mesh_.ranks()), [&](Communicator& communicator) {
      const Plan plan = plan_of(model_.logits, communicator, Precision::as_written);
      std::vector<LocalTensor> inputs = inputs_of(plan, communicator, folder_);
      interchange::save(mapping_, to, communicator, mesh_, numbers_, leaves_of(plan, inputs),
                        most_bytes);
    });
  }

  /// Steps of arithmetic in f32 between a weight and a logit, each sum at its length; as many again
  /// back to a gradient, and the library's own are as wrong.
  double bound() const {
    const auto size = [&](const char* dim) {
      const auto found = numbers_.sizes.find(dim);
      return found == numbers_.sizes.end() ? 1. : static_cast<double>(found->second);
    };
    const double heads = size("H") * size("K") * size("Q") * size("D");
    // of a latent, shared experts, and the choice of experts
    const double experts =
        size("R") + size("C") + size("P") + size("Y") * size("I") + size("G") * size("J");
    const double layer =
        4 * size("M") + size("F") + size("D") + heads + experts + 2 * size("L") + 40;
    return 4 *
           ((size("N") + (numbers_.sizes.contains("Z") ? size("Z") : 0)) * layer + 2 * size("M") +
            size("V") + 20) *
           std::ldexp(1, -24);
  }

 private:
  struct Found {
    double error = 0, largest = 0;
  };

  Plan plan_of(const Name& name, Communicator& communicator, Precision precision) const {
    return compile_plan(program_, name, mesh_, numbers_.sizes, communicator.rank(),
                        {.precision = precision});
  }

  /// The weights, and other inputs of a name in the mapping.
  std::vector<checkpoint::Leaf> leaves_of(const Plan& plan,
                                          std::vector<LocalTensor>& inputs) const {
    std::vector<checkpoint::Leaf> leaves;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (const Slot& slot = plan.inputs()[i]; slot.name.starts_with("w."))
        leaves.push_back({slot.name.substr(2), slot.type, &inputs[i]});
      else if (mapping_.has(slot.name))
        leaves.push_back({slot.name, slot.type, &inputs[i]});
    return leaves;
  }

  /// Weights of a folder, data, and a document that begins with each sequence.
  std::vector<LocalTensor> inputs_of(const Plan& plan, Communicator& communicator,
                                     const fs::path& weights) const {
    std::vector<LocalTensor> inputs;
    for (size_t i = 0; i < plan.inputs().size(); ++i) {
      const Slot& slot = plan.inputs()[i];
      inputs.push_back(slot.name == "ids" || slot.name == "targets"
                           ? data_.part(slot.name, slot, mesh_, communicator.rank())
                           : plan.input(i));
      if (slot.name == "starts")
        for (int64_t entry = 0; entry < inputs[i].count(); ++entry)
          inputs[i].data<uint8_t>()[entry] = entry % slot.extents[1] == 0;
    }
    interchange::load(mapping_, weights, communicator, mesh_, numbers_.sizes,
                      leaves_of(plan, inputs));
    return inputs;
  }

  void compare_logits(Communicator& communicator) {
    Plan plan = plan_of(model_.logits, communicator, Precision::f64);
    const std::vector<LocalTensor> results =
        plan.run(communicator, inputs_of(plan, communicator, folder_));
    const Slot& slot = plan.outputs()[0];
    const checkpoint::Box own =
        checkpoint::part_of(slot.type, mesh_, communicator.rank(), slot.extents);
    const std::vector<float> wanted = data_.floats("logits");
    const std::vector<int64_t>& all = data_.extents("logits");
    for (int64_t i = 0; i < results[0].count(); ++i) {
      const int64_t v = own.first[2] + i % own.extents[2];
      const int64_t l = own.first[1] + i / own.extents[2] % own.extents[1];
      const int64_t b = own.first[0] + i / own.extents[2] / own.extents[1];
      if (v < all[2])  // not padding
        note("logits", results[0].data<double>()[i],
             static_cast<double>(wanted.at(static_cast<size_t>((b * all[1] + l) * all[2] + v))));
    }
  }

  /// The library's gradients are read as the weights are, which multiplies them where it should
  /// divide. A tied tensor's is the sum of those of both of its uses.
  void compare_gradients(Communicator& communicator) {
    Plan plan = plan_of("gradients", communicator, Precision::f64);
    const std::vector<LocalTensor> results =
        plan.run(communicator, inputs_of(plan, communicator, folder_));
    std::map<Name, std::vector<double>> got;
    for (size_t i = 0; i < results.size(); ++i)
      if (const Name name = plan.outputs()[i].name; name.starts_with("g."))
        got[name.substr(2)].assign(results[i].data<double>(),
                                   results[i].data<double>() + results[i].count());
    if (mapping_.tied(folder_)) tie(got);
    std::vector<LocalTensor> inputs = inputs_of(plan, communicator, folder_ / "gradients");
    for (const checkpoint::Leaf& leaf : leaves_of(plan, inputs)) {
      if (!got.contains(leaf.name)) continue;  // no weight: its gradient is not taken
      const double scale = scale_of_leaf(leaf, communicator.rank());
      for (size_t i = 0; i < got.at(leaf.name).size(); ++i)
        note(leaf.name, got[leaf.name][i],
             (leaf.tensor->data<double>()[i] - plus_of(leaf)) / (scale * scale));
    }
  }

  void tie(std::map<Name, std::vector<double>>& got) const {
    for (const interchange::ForeignTensor& tensor : mapping_.tensors())
      for (const interchange::ForeignTensor& other : mapping_.tensors())
        if (other.name == tensor.tied_to) {
          std::vector<double>& sum = got.at(other.leaf);
          for (size_t i = 0; i < sum.size(); ++i) sum[i] += got.at(tensor.leaf)[i];
          got[tensor.leaf] = sum;
        }
  }

  double scale_of_leaf(const checkpoint::Leaf& leaf, int64_t rank) const {
    for (const interchange::ForeignTensor& tensor : mapping_.tensors())
      if (tensor.leaf == leaf.name)
        return scale_of(
            tensor, interchange::factors_of(leaf, mesh_, rank, numbers_.sizes, mapping_.pads()));
    throw std::logic_error(leaf.name + " is in no mapping");
  }

  double plus_of(const checkpoint::Leaf& leaf) const {
    for (const interchange::ForeignTensor& tensor : mapping_.tensors())
      if (tensor.leaf == leaf.name) return tensor.plus;
    return 0;
  }

  void note(const Name& name, double got, double wanted) {
    const std::lock_guard lock(mutex_);
    Found& found = found_[name];
    found.error = std::max(found.error, std::isnan(got) ? INFINITY : std::abs(got - wanted));
    found.largest = std::max(found.largest, std::abs(wanted));
  }

  const Foreign& model_;
  const fs::path folder_;
  const interchange::Mapping mapping_;
  interchange::Numbers numbers_;
  const Program& program_;
  const Mesh mesh_;
  const Data data_;
  std::mutex mutex_;
  std::map<Name, Found> found_;
};

class TestFolder {
 public:
  TestFolder() {
    std::string name = (fs::temp_directory_path() / "shardproof-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path = name;
  }
  ~TestFolder() { fs::remove_all(path); }
  fs::path path;
};

void expect_equal_to_the_library(const Foreign& model, const fs::path& folder) {
  for (const char* mesh : {"", "d=2,t=2"}) {
    ModelRun run(model, folder, mesh);
    const Differences found = run.differences();
    std::cout << model << " [" << mesh << "]: logits " << found.logits << ", gradients "
              << found.gradients << ", bound " << run.bound() << "\n";
    EXPECT_LE(found.logits, run.bound());
    EXPECT_LE(found.gradients, run.bound());
    EXPECT_LT(run.bound(), 1e-3);  // a factor of 1.001 would be seen
  }
}

class Recorded : public testing::TestWithParam<Foreign> {};

TEST_P(Recorded, LogitsAndGradientsAreTheLibrarys) {
  expect_equal_to_the_library(GetParam(), here / "fixtures" / GetParam().folder);
}

/// Lets a mapping ignore the key in `text`, if that is one: it would refuse what it does not read.
void ignore(const std::string& text, std::string& mapping) {
  if (text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.\"[]") != std::string::npos) return;
  std::string key = text;
  std::erase_if(key, [](char each) { return each == '"' || each == '[' || each == ']'; });
  const std::string unread = "\"unread\": {";
  if (const size_t at = mapping.find(unread); at != std::string::npos)
    mapping.insert(at + unread.size(), "\"" + key + "\": \"planted\",");
  else
    mapping.insert(1, unread + "\"" + key + "\": \"planted\"},");
}

/// The differences with a text of the mapping replaced by another one.
Differences with_mapping(const Foreign& model, const std::string& from, const std::string& to) {
  const TestFolder folder;
  std::string text = checkpoint::read_text(models / model.mapping);
  const size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the mapping has no " + from);
  ignore(from, text.replace(at, from.size(), to));
  checkpoint::write_text(folder.path / "edited.json", text);
  return ModelRun(model, here / "fixtures" / model.folder, "", folder.path / "edited.json")
      .differences();
}

const Foreign& recorded(const std::string& folder) {
  return *std::find_if(std::begin(all_models), std::end(all_models),
                       [&](const Foreign& each) { return each.folder == folder; });
}

TEST(Mapping, AWrongMappingIsNoticed) {
  const double seen = 1e-3;
  EXPECT_GT(with_mapping(all_models[0], "(K Q D) M", "(Q K D) M").logits, seen);
  EXPECT_GT(with_mapping(all_models[0], "M (K Q D)", "M (Q K D)").logits, seen);
  EXPECT_GT(with_mapping(all_models[0], R"("scale": { "D": -0.5 })", R"("scale": {})").logits,
            seen);
  EXPECT_GT(with_mapping(all_models[2], "(H D) M", "(D H) M").logits, seen);
  EXPECT_GT(with_mapping(recorded("qwen2"), "(K Q D) -> Q K D", "(Q K D) -> Q K D").logits, seen);
  EXPECT_GT(
      with_mapping(recorded("mixtral"), "E M -> M E\"", "E M -> M E\", \"scale\": { \"E\": -1 }")
          .logits,
      seen);
  EXPECT_GT(with_mapping(recorded("gemma2"), R"("plus": 1)", R"("plus": 0)").logits, seen);
  EXPECT_GT(with_mapping(recorded("gemma2"), "query_pre_attn_scalar", "head_dim").logits, seen);
  EXPECT_GT(
      with_mapping(recorded("gemma2"), "attn_logit_softcapping", "final_logit_softcapping").logits,
      seen);
  EXPECT_GT(with_mapping(recorded("qwen3"), R"("scale": { "D": -0.5 })", R"("scale": {})").logits,
            seen);
  EXPECT_GT(
      with_mapping(recorded("mistral"), R"(["sliding_window"])", R"(["num_hidden_layers"])").logits,
      seen);
  EXPECT_GT(
      with_mapping(recorded("llama31"), "rope_parameters.factor", "rope_parameters.low_freq_factor")
          .logits,
      seen);
}

TEST(Mapping, AWrongMappingOfALatentOrExpertsIsNoticed) {
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {R"(, "pairs": "P")", ""},
           {"M (H W)", "M (W H)"},
           {R"("topk_group")", R"("num_experts_per_tok")"},
           {"gate.e_score_correction_bias\"",
            "gate.e_score_correction_bias\", \"scale\": { \"N\": 1 }"},
           {"rope_parameters.mscale\"", "rope_parameters.mscale_all_dim\""}})
    EXPECT_GT(with_mapping(recorded("deepseek3_yarn"), from, to).logits, 1e-3) << from;
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {"(H D+P) M -> M H P\", \"pairs\": \"P\"", "(H D+P) M -> M H P\""},
           {R"("routed_scaling_factor")", R"("no_factor")"}})
    EXPECT_GT(with_mapping(recorded("deepseek2"), from, to).logits, 1e-3) << from;
  EXPECT_GT(with_mapping(recorded("deepseek2_236b"), "topk_group", "num_experts_per_tok").logits,
            1e-3);
}

/// The tensors of a folder, by name.
std::map<std::string, std::string> bytes_in(const fs::path& folder) {
  std::map<std::string, std::string> tensors;
  for (const auto& each : fs::directory_iterator(folder)) {
    const std::string file_name = each.path().filename().string();
    if (!file_name.starts_with("model") || !file_name.ends_with(".safetensors")) continue;
    const checkpoint::File file = checkpoint::File::open(each.path());
    for (const auto& [name, entry] : safetensors::read_header(file)) {
      tensors[name].resize(entry.bytes);
      file.read(entry.begin, tensors[name].data(), entry.bytes);
    }
  }
  return tensors;
}

/// Bit by bit, but for what the mapping adds: of w and 1 + w in f32 one is rounded.
void expect_near(const std::map<std::string, std::string>& found,
                 const std::map<std::string, std::string>& wanted,
                 const interchange::Mapping& mapping) {
  const bool adds = std::any_of(mapping.tensors().begin(), mapping.tensors().end(),
                                [](const auto& each) { return each.plus != 0; });
  if (!adds) {
    EXPECT_EQ(found, wanted);
    return;
  }
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, bytes] : wanted) {
    const std::string& other = found.at(name);
    ASSERT_EQ(other.size(), bytes.size()) << name;
    for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      float one = 0, two = 0;
      std::memcpy(&one, bytes.data() + at, sizeof one);
      std::memcpy(&two, other.data() + at, sizeof two);
      EXPECT_NEAR(one, two, std::ldexp(1, -22)) << name;
    }
  }
}

/// The keys of a configuration with a number, and whether it is written as a whole one: the library
/// refuses 6.0 where it wants 6.
std::map<std::string, bool> whole_numbers(const fs::path& folder) {
  std::map<std::string, bool> whole;
  const std::regex number(R"re("(\w+)": (-?[0-9][^,\s]*))re");
  std::ifstream file(folder / "config.json");
  for (std::string line; std::getline(file, line);)
    if (std::smatch found; std::regex_search(line, found, number))
      whole[found[1]] = found[2].str().find_first_of(".e") == std::string::npos;
  return whole;
}

TEST_P(Recorded, WhatIsWrittenIsWhatWasRead) {
  const fs::path folder = here / "fixtures" / GetParam().folder;
  const TestFolder out;
  for (const auto& [name, most] :
       std::map<std::string, uint64_t>{{"one", interchange::largest_file}, {"many", 2000}}) {
    ModelRun(GetParam(), folder, "d=2,t=2").copy_to(out.path / name, most);
    auto wanted = bytes_in(folder);
    const auto mapping = interchange::Mapping::read(models / GetParam().mapping);
    if (mapping.tied(folder)) wanted["lm_head.weight"] = wanted["model.embed_tokens.weight"];
    expect_near(bytes_in(out.path / name), wanted, mapping);
    EXPECT_EQ(fs::exists(out.path / name / "model.safetensors.index.json"), name == "many");
    EXPECT_EQ(mapping.numbers(out.path / name).sizes, mapping.numbers(folder).sizes);
    EXPECT_EQ(mapping.numbers(out.path / name).consts, mapping.numbers(folder).consts);
    const auto is_whole = whole_numbers(folder);
    for (const auto& [key, whole] : whole_numbers(out.path / name))
      EXPECT_TRUE(!is_whole.contains(key) || whole == is_whole.at(key)) << key;
    ModelRun(GetParam(), folder, "").copy_to(out.path / (name + "_again"), most);
    expect_near(bytes_in(out.path / (name + "_again")), wanted, mapping);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Recorded, testing::ValuesIn(all_models), [](const auto& info) {
  return info.param.folder + (info.param.pads.empty() ? "" : "_padded");
});

TEST(Transformers, NewModelsAreTheLibrarys) {
  const std::string find =
      "python3 -c 'import importlib.util as u, sys; sys.exit(not (u.find_spec("
      "\"torch\") and u.find_spec(\"transformers\")))' 2>/dev/null";
  if (std::system(find.c_str()) != 0)
    GTEST_SKIP() << "python3 has no torch and transformers: only the recorded models were compared";
  const TestFolder out;
  const std::string script = "python3 " + (here / "make_fixtures.py").string() + " ";
  ASSERT_EQ(std::system((script + "write " + out.path.string() + " 7 2>/dev/null").c_str()), 0);
  for (const Foreign& model : all_models) {
    const fs::path folder = out.path / model.folder,
                   copy = out.path / (model.folder + (model.pads.empty() ? "_copy" : "_padded"));
    expect_equal_to_the_library(model, folder);
    ModelRun(model, folder, "d=2,t=2").copy_to(copy, 2000);
    EXPECT_EQ(std::system((script + "equal " + folder.string() + " " + copy.string()).c_str()), 0);
  }
}

}  // namespace
}  // namespace shardproof::properties
