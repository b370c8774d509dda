// config.json of Hugging Face: the family's proof, and what its sizes make of it.
#include "impl/check_sharding/family.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
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
       {"config.json: llama D=128 F=14336 K=8 M=4096 N=32 Q=4 V=128256; proved in "
        "spec/models/llama_train.shard\n",
        "proved   train_step_sharded implements train_step     for every mesh with  t | V,  ",
        "sizes: d=8 t=4, 32 devices: every dim splits evenly\n", "1 proved (0.00 s)\n",
        "  state                    2.80 GiB", "  memory  26.07 GiB on a GPU: 2.80 GiB parameters"})
    EXPECT_TRUE(result.says(text)) << text << "\n" << result.out;
}

TEST_F(Configurations, ThatDoNotDivideGetTheNearestSizes) {
  const Result result = check(llama, {"--mesh", "d=8,t=3"});
  EXPECT_EQ(result.code, 3);
  EXPECT_TRUE(result.says("|t| = 3 does not divide |K| = 8")) << result.out;
  EXPECT_TRUE(result.says("the nearest sizes that divide: K=6, K=9")) << result.out;
  EXPECT_TRUE(result.says("meshes that do divide: d=8,t=4; d=8,t=2\n")) << result.out;
  EXPECT_FALSE(result.says("per device")) << "without B there are no numbers: " << result.out;
  const Result large = check(llama, {"--mesh", "d=2048,t=3"});
  EXPECT_TRUE(large.says("meshes that do divide: d=2048,t=2; d=1024,t=4\n")) << large.out;
  const Result copies = check(llama, {"--mesh", "d=8,t=16"});
  EXPECT_TRUE(
      copies.says("help: 16 devices for 8 of K: write `K` without `/t`, and each device of "
                  "t holds a copy; or split the axis, t=8 and another of size 2 that `K` "
                  "does not name\n"))
      << copies.out;
  EXPECT_FALSE(result.says("devices for 8 of K")) << result.out;
  std::string other = llama;
  other.replace(other.find("128256"), 6, "128257");
  const Result vocabulary = check(other, {"--mesh", "d=8,t=4"});
  EXPECT_EQ(vocabulary.code, 3);
  EXPECT_TRUE(vocabulary.says("the nearest sizes that divide: V=128256, V=128260"))
      << vocabulary.out;
}

/// Where there is a program that stores the vocabulary with padding, and only there.
TEST_F(Configurations, WhoseVocabularyDoesNotDivideArePadded) {
  const Result padded = check(gpt2, {"--mesh", "d=8,t=4", "--set", "B=8,L=64"});
  EXPECT_EQ(padded.code, 0) << padded.out;
  for (const char* text : {"V=50257; proved in spec/models/gpt2_padded.shard\n",
                           "proved   train_step_w implements train_step ", "  memory  ",
                           "note: V does not divide, and is stored with W=50260\n"})
    EXPECT_TRUE(padded.says(text)) << text << "\n" << padded.out;
  const Result heads = check(gpt2, {"--mesh", "d=8,t=5"});
  EXPECT_EQ(heads.code, 3);
  EXPECT_TRUE(heads.says("|t| = 5 does not divide |H| = 12")) << heads.out;
  EXPECT_FALSE(heads.says("does not divide |V|")) << heads.out;
}

/// The configuration of Llama with another architecture, type and entries.
std::string like_llama(const std::string& architecture, const std::string& type,
                       const std::string& more) {
  std::string text = llama;
  text.replace(text.find("Llama"), 5, architecture);
  text.replace(text.find("\"llama\""), 7, '"' + type + '"');
  return text + more;
}

/// The library takes a window of 4096 where the key is missing; null has none.
TEST_F(Configurations, OfMistralHaveAWindowOrNone) {
  const auto of = [&](const std::string& more) {
    return check(like_llama("Mistral", "mistral", more), {"--mesh", "d=8,t=4"});
  };
  const Result none = of(R"(, "sliding_window": null)");
  EXPECT_EQ(none.code, 0) << none.out;
  EXPECT_TRUE(none.says("config.json: mistral D=128 F=14336 K=8 ")) << none.out;
  EXPECT_TRUE(none.says("proved in spec/models/llama_train.shard")) << none.out;
  const Result window = of(R"(, "sliding_window": 4096)");
  EXPECT_EQ(window.code, 0) << window.out;
  EXPECT_TRUE(window.says("proved in spec/models/mistral.shard")) << window.out;
  EXPECT_TRUE(window.says("a new claim: window = 4096 instead of the file's 4")) << window.out;
  for (const auto& [more, why] : std::map<std::string, std::string>{
           {"", "sliding_window is missing"},
           {R"(, "sliding_window": "wide")", "sliding_window is not a number: \"wide\""}}) {
    const Result refused = of(more);
    EXPECT_EQ(refused.code, 3) << refused.out;
    EXPECT_TRUE(refused.says(why)) << refused.out;
  }
}

TEST_F(Configurations, OfQwenHaveNoWindow) {
  for (const auto& [architecture, type] :
       std::map<std::string, std::string>{{"Qwen2", "qwen2"}, {"Qwen3", "qwen3"}}) {
    const std::string full = R"(, "head_dim": 128, "layer_types": ["full_attention"])";
    const Result result =
        check(like_llama(architecture, type, full), {"--mesh", "d=8,t=4", "--set", "B=8,L=64"});
    EXPECT_EQ(result.code, 0) << result.out;
    EXPECT_TRUE(result.says("proved in spec/models/" + type + ".shard")) << result.out;
    EXPECT_TRUE(result.says("proved   train_step_sharded implements train_step ")) << result.out;
    const std::string mixed =
        R"(, "head_dim": 128, "layer_types": ["full_attention", "sliding_attention"])";
    const Result refused = check(like_llama(architecture, type, mixed), {"--mesh", "d=8,t=4"});
    EXPECT_EQ(refused.code, 3);
    EXPECT_TRUE(refused.says("layer_types is [")) << refused.out;
  }
}

/// Every second layer has a window, and no other pattern is proved.
TEST_F(Configurations, OfGemma2HaveAWindowInEverySecondLayer) {
  const auto of = [&](const std::string& types) {
    return check(
        like_llama("Gemma2", "gemma2",
                   R"(, "head_dim": 128, "query_pre_attn_scalar": 144, "layer_types": )" + types),
        {"--mesh", "d=8,t=4"});
  };
  const Result result = of(R"(["sliding_attention", "full_attention", "sliding_attention"])");
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(result.says("proved in spec/models/gemma2.shard")) << result.out;
  EXPECT_TRUE(result.says("proved   train_step_sharded implements train_step ")) << result.out;
  EXPECT_TRUE(result.says("a new claim: q_width = 144 instead of the file's 256")) << result.out;
  for (const char* types :
       {R"(["full_attention"])", R"(["full_attention", "sliding_attention"])"}) {
    const Result refused = of(types);
    EXPECT_EQ(refused.code, 3) << refused.out;
    EXPECT_TRUE(refused.says("layer_types is [")) << refused.out;
  }
}

/// Each of the two places of the settings, and each of them that is not there.
TEST_F(Configurations, OfLlama31ScaleTheirAngles) {
  const std::string scaling = R"("rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192)";
  for (const std::string place : {"rope_scaling", "rope_parameters"}) {
    const auto of = [&](const std::string& entries) {
      return check(std::string(llama) + ", \"" + place + "\": {" + entries + "}",
                   {"--mesh", "d=8,t=4"});
    };
    const Result result = of(scaling);
    EXPECT_EQ(result.code, 0) << result.out;
    EXPECT_TRUE(result.says("proved in spec/models/llama31.shard")) << result.out;
    EXPECT_TRUE(result.says("proved   train_step_sharded implements train_step ")) << result.out;
    const Result missing = of(R"("rope_type": "llama3", "factor": 8.0)");
    EXPECT_EQ(missing.code, 3);
    EXPECT_TRUE(missing.says(" is missing")) << missing.out;
    const Result linear = of(R"("rope_type": "linear", "factor": 8.0)");
    EXPECT_EQ(linear.code, 3);
    EXPECT_TRUE(linear.says(place + ".rope_type is \"linear\"")) << linear.out;
  }
}

/// As the model's own file has it, without the mark that its numbers are of 8 bits.
const char deepseek3[] = R"("architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3",
  "attention_bias": false, "first_k_dense_replace": 3, "hidden_act": "silu", "hidden_size": 7168,
  "intermediate_size": 18432, "kv_lora_rank": 512, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
  "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true,
  "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61,
  "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_theta": 10000,
  "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": false,
  "topk_group": 4, "topk_method": "noaux_tc", "v_head_dim": 128, "vocab_size": 129280)";

TEST_F(Configurations, OfDeepSeekHaveLatentsGroupsAndLongContexts) {
  const std::string yarn = R"(, "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40,
      "mscale": 1.0, "original_max_position_embeddings": 4096, "type": "yarn")";
  const std::vector<std::string> mesh = {"--mesh", "d=128,t=8"};
  const Result result = check(deepseek3 + yarn + R"(, "mscale_all_dim": 1.0})", mesh);
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(result.says(" G=8 H=128 I=2048 J=32 M=7168 N=58 P=64 R=1536 V=129280 W=128 Y=1 Z=3 "))
      << result.out;
  EXPECT_TRUE(result.says("proved in spec/models/deepseek3.shard")) << result.out;
  EXPECT_TRUE(result.says("a new claim: factor = 40 instead of the file's 1")) << result.out;
  for (const auto& [more, why] : std::map<std::string, std::string>{
           {yarn + "}", "rope_scaling.mscale_all_dim is missing"},
           {R"(, "rope_scaling": {"type": "linear", "factor": 4})",
            "rope_scaling.type is \"linear\""},
           {R"(, "quantization_config": {"quant_method": "fp8"})", "quantization_config is {"},
           {R"(, "rope_interleave": false)", "rope_interleave is false"}}) {
    const Result refused = check(deepseek3 + more, mesh);
    EXPECT_EQ(refused.code, 3) << refused.out;
    EXPECT_TRUE(refused.says(why)) << refused.out;
  }
}

/// As the model's own file has it.
const char deepseek2_lite[] =
    R"("architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2",
  "attention_bias": false, "aux_loss_alpha": 0.001, "first_k_dense_replace": 1, "hidden_act": "silu",
  "hidden_size": 2048, "intermediate_size": 10944, "kv_lora_rank": 512, "moe_intermediate_size": 1408,
  "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 64, "n_shared_experts": 2,
  "norm_topk_prob": false, "num_attention_heads": 16, "num_experts_per_tok": 6,
  "num_hidden_layers": 27, "num_key_value_heads": 16, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_theta": 10000, "routed_scaling_factor": 1.0,
  "scoring_func": "softmax", "seq_aux": true, "tie_word_embeddings": false, "topk_group": 1,
  "v_head_dim": 128, "vocab_size": 102400, "rope_scaling": {"beta_fast": 32, "beta_slow": 1,
  "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707, "original_max_position_embeddings": 4096,
  "type": "yarn"})";

/// Where the key of the latent is missing, the library takes one of 1536 features.
TEST_F(Configurations, OfDeepSeekV2HaveALatentOfQueriesAndGroupsOrNeither) {
  const std::vector<std::string> mesh = {"--mesh", "d=8,t=4"};
  const std::string greedy = R"(, "topk_method": "greedy")", none = R"(, "q_lora_rank": null)";
  const std::string grouped = R"(, "topk_method": "group_limited_greedy")",
                    latent = R"(, "q_lora_rank": 1536)";
  for (const auto& [more, file] : std::map<std::string, std::string>{
           {greedy + none, "deepseek2.shard"}, {grouped + latent, "deepseek2_236b.shard"}}) {
    const Result result = check(deepseek2_lite + more, mesh);
    EXPECT_EQ(result.code, 0) << result.out;
    EXPECT_TRUE(result.says("proved in spec/models/" + file)) << result.out;
    EXPECT_TRUE(result.says("proved   train_step_sharded implements train_step ")) << result.out;
    EXPECT_TRUE(result.says("a new claim: factor = 40 instead of the file's 1")) << result.out;
  }
  for (const auto& [more, why] : std::map<std::string, std::string>{
           {greedy, "q_lora_rank is missing"},
           {greedy + latent, "q_lora_rank is 1536"},
           {grouped + none, "topk_method is \"group_limited_greedy\""}}) {
    const Result refused = check(deepseek2_lite + more, mesh);
    EXPECT_EQ(refused.code, 3) << refused.out;
    EXPECT_TRUE(refused.says(why)) << refused.out;
    EXPECT_FALSE(refused.says("proved ")) << refused.out;
  }
}

/// Red if it says why the configuration is not that of another model of the family.
TEST_F(Configurations, NameTheKeyThatNoModelKnows) {
  const std::string published =
      std::string(deepseek3) + R"(, "quantization_config": {"quant_method": "fp8"})";
  const Result refused = check(published, {"--mesh", "d=128,t=8"});
  EXPECT_EQ(refused.code, 3) << refused.out;
  EXPECT_TRUE(refused.says("quantization_config is")) << refused.out;
  EXPECT_FALSE(refused.says("q_lora_rank is")) << refused.out;
}

TEST_F(Configurations, OfDeepSeekV3MayHaveNoLatentOfQueries) {
  std::string moonlight = deepseek3;
  moonlight.replace(moonlight.find("1536"), 4, "null");
  const Result result = check(moonlight, {"--mesh", "d=128,t=8"});
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(result.says("proved in spec/models/moonlight.shard")) << result.out;
  EXPECT_TRUE(result.says("proved   train_step_sharded implements train_step ")) << result.out;
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
  refused(R"("model_type": "bert")",
          "model_type is \"bert\", and no model here is of that family; there are llama, mistral, "
          "mixtral, qwen2, qwen3, gemma2, deepseek_v2, deepseek_v3, gpt2");
  refused(R"("vocab_size": 4)", "no model_type can be read");
  refused(std::string(llama) + R"(, "rope_scaling": {"factor": 8.0})",
          "config.json:4: rope_scaling.factor is 8.0, which the model does not have");
  refused(std::string(llama) + ",\n\"attention_bias\": true", "json:5: attention_bias is true");
  refused(std::string(llama) + R"(, "rope_parameters": {"rope_theta": 10000.0})",
          "rope_parameters.rope_theta is 10000.0, and rope_theta is 500000.0");
  refused(std::string(llama) + R"(, "rope_scaling": {"rope_type": "default"},
          "rope_parameters": {"rope_type": "linear"})",
          "json:5: rope_parameters.rope_type is \"linear\"");
  refused(like_llama("Llama", "mistral", ""), "of model_type \"mistral\"; the model's is");
  refused(like_llama("Gemma2", "gemma2", R"(, "head_dim": 128, "attn_logit_softcapping": null)"),
          "attn_logit_softcapping is not a number: null");
  std::string heads = llama;
  heads.replace(heads.find("\"num_key_value_heads\": 8"), 24, "\"num_key_value_heads\": 6");
  refused(heads, "num_attention_heads=32 is not a multiple of K = 6");
}

/// A key that is not read is refused unless it cannot change what the model computes.
TEST_F(Configurations, KeysThatAreNotReadAreRefusedUnlessTheyChangeNothing) {
  const Result passes =
      check(std::string(llama) + R"(, "pad_token_id": 0, "use_cache": false, "pretraining_tp": 2,
                "attention_dropout": 0.0, "mlp_bias": false, "partial_rotary_factor": 1.0,
                "sliding_window": null, "rope_scaling": {"type": "default"},
                "id2label": {"0": "a"}, "quantization_config": null)",
            {"--mesh", "d=8,t=4"});
  EXPECT_EQ(passes.code, 0) << passes.out;
  EXPECT_FALSE(passes.says("note: ")) << passes.out;
  for (const char* more :
       {R"("partial_rotary_factor": 0.5)", R"("sliding_window": 4096)", R"("qkv_clip": 8)",
        R"("logit_scale": 0.5)", R"("no_rope_layers": [1])", R"("pruned_heads": {"0": [1]})",
        R"("quantization_config": {"bits": 4})", R"("attention_dropout": "x")"}) {
    const Result refused = check(std::string(llama) + ",\n" + more, {"--mesh", "d=8,t=4"});
    const std::string key = std::string(more).substr(1, std::string(more).find(':') - 2);
    EXPECT_EQ(refused.code, 3) << more << refused.out;
    EXPECT_TRUE(refused.says("config.json:5: " + key + " is ")) << refused.out;
  }
}

TEST_F(Configurations, WhatTrainingHasBesidesIsNoted) {
  std::string config = std::string(llama) + R"(, "attention_dropout": 0.1)";
  config.replace(config.rfind("false"), 5, "true");
  const Result noted = check(config, {"--mesh", "d=8,t=4"});
  EXPECT_EQ(noted.code, 0) << noted.out;
  for (const char* text :
       {"config.json:4: attention_dropout is 0.1: the model has no dropout",
        "config.json:4: tie_word_embeddings: lm_head.weight is model.embed_tokens."})
    EXPECT_TRUE(noted.says(text)) << noted.out;
}

TEST_F(Configurations, AreKnownByWhatTheyHoldWhateverTheirName) {
  const std::string path = (folder_ / "llama8b.json").string();
  std::string config = llama;
  config.replace(config.find("EPS"), 3, "1e-5");
  std::ofstream(path) << "\n{" << config << "}";
  for (const bool piped : {false, true}) {
    std::istringstream in("{" + config + "}");
    std::ostringstream out, err;
    EXPECT_EQ(run({piped ? "-" : path, "--mesh", "d=8,t=4"}, in, out, err, {}), 0) << err.str();
    EXPECT_NE(out.str().find("proved in spec/models/llama_train.shard"), std::string::npos);
  }
  std::ofstream(path) << "{\"vocab_size\": 4}";
  std::istringstream in;
  std::ostringstream out, err;
  EXPECT_EQ(run({path}, in, out, err, {}), 3);
  EXPECT_NE((out.str() + err.str()).find("llama8b.json: no model_type can be read"),
            std::string::npos);
}

/// Every file that a row names is in the program.
TEST(Embedded, EveryMappingHasAFamily) {
  EXPECT_GE(embedded_models().size(), 38u);
  EXPECT_EQ(embedded_mappings().size(), 13u);
  EXPECT_TRUE(is_configuration("config.json", ""));
  EXPECT_TRUE(is_configuration("a/config.json", "x"));
  EXPECT_FALSE(is_configuration("a/config.json.shard", "mesh t"));
}

}  // namespace
}  // namespace shardproof::check_sharding
