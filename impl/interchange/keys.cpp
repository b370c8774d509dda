#include "impl/interchange/keys.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace shardproof::interchange {
namespace {

/// Keys without influence on what a model computes from its weights and its tokens.
const std::set<std::string_view> unread = {
    // names, versions, the format of the weights, and code that computes the same
    "_name_or_path", "_commit_hash", "_attn_implementation", "_attn_implementation_autoset",
    "_flash_attn_2_enabled", "_experts_implementation", "attn_implementation", "auto_map",
    "transformers_version", "transformers.js_config", "torch_dtype", "dtype", "unsloth_fixed",
    "unsloth_version", "is_llama_config", "torchscript", "use_bfloat16", "pretraining_tp",
    "chunk_size_feed_forward", "tokenizer_class", "max_position_embeddings", "max_sequence_length",
    "model_max_length", "gradient_checkpointing",
    // the numbers of tokens
    "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "cls_token_id", "unk_token_id",
    "mask_token_id", "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id",
    // the values before training
    "initializer_range", "initializer_factor",
    // heads for other tasks, and what is returned
    "architectures", "model_type", "is_decoder", "finetuning_task", "task_specific_params",
    "problem_type", "id2label", "label2id", "num_labels", "classifier_dropout", "return_dict",
    "output_attentions", "output_hidden_states", "output_scores", "return_dict_in_generate",
    "tf_legacy_loss",
    // how tokens are chosen
    "use_cache", "cache_implementation", "max_length", "min_length", "do_sample", "early_stopping",
    "num_beams", "num_beam_groups", "num_return_sequences", "diversity_penalty", "temperature",
    "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size", "bad_words_ids", "exponential_decay_length_penalty",
    "remove_invalid_values", "suppress_tokens", "begin_suppress_tokens", "prefix"};

const std::set<std::string_view> dropouts = {
    "attention_dropout", "hidden_dropout",   "resid_pdrop",  "embd_pdrop",        "attn_pdrop",
    "resid_dropout",     "residual_dropout", "embd_dropout", "embedding_dropout", "dropout"};

/// Keys with the value at which they do nothing.
const std::vector<std::pair<std::string_view, Json>> off = {{"attention_bias", false},
                                                            {"mlp_bias", false},
                                                            {"partial_rotary_factor", 1},
                                                            {"rope_interleaved", false},
                                                            {"use_mrope", false},
                                                            {"use_qk_norm", false},
                                                            {"is_encoder_decoder", false},
                                                            {"add_cross_attention", false},
                                                            {"tie_encoder_decoder", false},
                                                            {"use_sliding_window", false},
                                                            {"output_router_logits", false},
                                                            {"pruned_heads", Json::object()}};

bool is_space(char each) { return each == ' ' || each == '\t' || each == '\r' || each == '\n'; }

}  // namespace

/// Null is how a configuration leaves a part out.
Effect effect_of(const std::string& key, const Json& value) {
  if (value.is_null() || unread.contains(key)) return Effect::none;
  if (dropouts.contains(key) && value.is_number())
    return value == 0 ? Effect::none : Effect::training;
  const bool does_nothing = std::any_of(off.begin(), off.end(), [&](const auto& each) {
    return each.first == key && each.second == value;
  });
  return does_nothing ? Effect::none : Effect::unknown;
}

std::string shown(const Json& value) {
  constexpr size_t most = 80;
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

int line_of(const std::string& text, const std::string& key) {
  std::vector<std::string> open;  // of each bracket, the key that it is the value of
  std::string last;               // the key before the next value, with those around it
  int line = 1, found = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') ++line;
    if (text[i] == '{' || text[i] == '[') open.push_back(last);
    if ((text[i] == '}' || text[i] == ']') && !open.empty()) open.pop_back();
    if (text[i] != '"') continue;
    const size_t from = i + 1;
    while (++i < text.size() && text[i] != '"') i += text[i] == '\\';
    size_t next = std::min(i + 1, text.size());
    while (next < text.size() && is_space(text[next])) ++next;
    if (next == text.size() || text[next] != ':') continue;
    const std::string around = open.empty() ? "" : open.back();
    last = (around.empty() ? "" : around + ".") + text.substr(from, i - from);
    if (last == key) found = line;
  }
  return found;
}

}  // namespace shardproof::interchange
