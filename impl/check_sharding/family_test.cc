// config.json of Hugging Face: the family's proof, and what its sizes make of it.
#include "impl/check_sharding/family.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "impl/check_sharding/run.h"

namespace shardproof::check_sharding {
namespace {

namespace fs = std::filesystem;

const char llama[] =
    R"("architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 128256,
  "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_act": "silu",
  "rms_norm_eps": EPS, "rope_theta": 500000.0, "tie_word_embeddings": false)";
const char gpt2[] =
    R"("architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 50257,
  "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12,
  "activation_function": "gelu_new")";

class Configurations : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  struct Result {
    int code;
    std::string out;
    bool says(const std::string& text) const { return out.find(text) != std::string::npos; }
  };
  Result check(std::string config, std::vector<std::string> args) {
    if (const size_t at = config.find("EPS"); at != std::string::npos)
      config.replace(at, 3, "1e-5");
    std::ofstream(folder_ / "config.json") << "{" << config << "}";
    args.insert(args.begin(), {"--hf", folder_.string()});
    std::istringstream in;
    std::ostringstream out, err;
    Environment environment;
    environment.seconds = [] { return 0.0; };
    const int code = run(args, in, out, err, environment);
    return {code, out.str() + err.str()};
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) /
      (std::string("hf_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Configurations, OfLlamaHaveSizesMemoryAndAProof) {
  const Result result = check(llama, {"--mesh", "d=8,t=4", "--set", "B=16,L=8192"});
  EXPECT_EQ(result.code, 0) << result.out;
  for (const char* text :
       {"config.json: llama D=128 F=14336 K=8 M=4096 N=32 Q=4 V=128256; its proof is of "
        "spec/models/llama_train.shard\n",
        "proved   train_step_sharded implements train_step     for every mesh with  t | V,  ",
        "sizes: d=8 t=4, 32 devices: every local size is whole\n", "1 proved (0.00 s)\n",
        "  state                    2.80 GiB", "  memory  26.07 GiB on a GPU: 2.80 GiB parameters"})
    EXPECT_TRUE(result.says(text)) << text << "\n" << result.out;
}

TEST_F(Configurations, ThatDoNotDivideGetTheNearestSizes) {
  const Result result = check(llama, {"--mesh", "d=8,t=3"});
  EXPECT_EQ(result.code, 3);
  EXPECT_TRUE(result.says("|t| = 3 does not divide |K| = 8")) << result.out;
  EXPECT_TRUE(result.says("the nearest sizes that divide: K=6, K=9")) << result.out;
  EXPECT_FALSE(result.says("per device")) << "without B there are no numbers: " << result.out;
  const Result vocabulary = check(gpt2, {"--mesh", "d=8,t=4"});
  EXPECT_EQ(vocabulary.code, 3);
  EXPECT_TRUE(vocabulary.says("the nearest sizes that divide: V=50256, V=50260")) << vocabulary.out;
}

/// The library takes a window of 4096 where the key is missing; null has none.
TEST_F(Configurations, OfMistralSayThatTheyHaveNoWindow) {
  std::string mistral = llama;
  mistral.replace(mistral.find("LlamaFor"), 8, "MistralFor");
  mistral.replace(mistral.find("\"llama\""), 7, "\"mistral\"");
  const Result result = check(mistral + R"(, "sliding_window": null)", {"--mesh", "d=8,t=4"});
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(result.says("config.json: mistral D=128 F=14336 K=8 ")) << result.out;
  EXPECT_TRUE(result.says("proved   train_step_sharded implements train_step ")) << result.out;
  const auto refused = [&](const std::string& config, const std::string& why) {
    const Result other = check(config, {"--mesh", "d=8,t=4"});
    EXPECT_EQ(other.code, 3);
    EXPECT_TRUE(other.says(why)) << other.out;
  };
  refused(mistral, "sliding_window is missing");
  refused(mistral + R"(, "sliding_window": 4096)", "sliding_window is 4096");
  mistral.replace(mistral.find("num_key_value_heads"), 19, "other");
  refused(mistral + R"(, "sliding_window": null)", "num_key_value_heads is no size: null");
}

/// Another eps is another claim.
TEST_F(Configurations, HaveConstantsOfTheirOwn) {
  std::string other = llama;
  other.replace(other.find("EPS"), 3, "1e-3");
  const Result result = check(other, {"--mesh", "d=8,t=4"});
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(result.says("a new claim: eps = 0.001 instead of the file's 1e-06")) << result.out;
}

TEST_F(Configurations, ThatNoModelHasAreNamedByKey) {
  const auto refused = [&](const std::string& config, const std::string& why) {
    const Result result = check(config, {"--mesh", "d=8,t=4"});
    EXPECT_EQ(result.code, 3);
    EXPECT_TRUE(result.says(why)) << result.out;
    EXPECT_FALSE(result.says("proved ")) << result.out;
  };
  refused(R"("model_type": "qwen3")",
          "model_type is \"qwen3\", and no model here is of that family; there are llama, mistral, "
          "gpt2");
  refused(R"("vocab_size": 4)", "no model_type can be read");
  refused(std::string(llama) + R"(, "rope_scaling": {"factor": 8.0})", "rope_scaling is ");
  refused(std::string(llama) + R"(, "attention_bias": true)", "attention_bias is true");
}

/// Every file that a row names is in the program.
TEST(Embedded, EveryMappingHasAFamily) {
  EXPECT_GE(embedded_models().size(), 38u);
  EXPECT_EQ(embedded_mappings().size(), 3u);
  EXPECT_TRUE(is_configuration("config.json"));
  EXPECT_TRUE(is_configuration("a/config.json"));
  EXPECT_FALSE(is_configuration("a/config.json.shard"));
}

}  // namespace
}  // namespace shardproof::check_sharding
