#include "impl/check_sharding/family.h"

#include <algorithm>

#include "impl/checkpoint/file.h"
#include "impl/checkpoint/json_text.h"
#include "impl/file_error.h"
#include "impl/interchange/mapping.h"

namespace shardproof::check_sharding {
namespace {

namespace fs = std::filesystem;

const std::string folder = "<models>/";

/// A value of `model_type`, the mapping of its sizes, the program, and its training step. If
/// several rows have the same type, the first one whose mapping fits the configuration is used.
struct Row {
  const char *model_type, *mapping, *program, *plan;
  const char *padded = nullptr, *padded_plan = "";
};
constexpr Row families[] = {
    {"llama", "llama3.hf.json", "llama_train.shard", "train_step_sharded"},
    {"llama", "llama31.hf.json", "llama31.shard", "train_step_sharded"},
    {"mistral", "mistral_without_window.hf.json", "llama_train.shard", "train_step_sharded"},
    {"mistral", "mistral.hf.json", "mistral.shard", "train_step_sharded"},
    {"mixtral", "mixtral.hf.json", "mixtral.shard", "train_step_sharded"},
    {"qwen2", "qwen2.hf.json", "qwen2.shard", "train_step_sharded"},
    {"qwen3", "qwen3.hf.json", "qwen3.shard", "train_step_sharded"},
    {"gemma2", "gemma2.hf.json", "gemma2.shard", "train_step_sharded"},
    {"deepseek_v2", "deepseek2.hf.json", "deepseek2.shard", "train_step_sharded"},
    {"deepseek_v2", "deepseek2_236b.hf.json", "deepseek2_236b.shard", "train_step_sharded"},
    {"deepseek_v3", "deepseek3.hf.json", "deepseek3.shard", "train_step_sharded"},
    {"deepseek_v3", "moonlight.hf.json", "moonlight.shard", "train_step_sharded"},
    {"gpt2", "gpt2.hf.json", "gpt2_tensor_parallel.shard", "train_step_f", "gpt2_padded.shard",
     "train_step_w"}};

const std::string* text_of(const std::vector<std::pair<std::string, std::string>>& files,
                           const std::string& name) {
  for (const auto& [file, text] : files)
    if (file == name) return &text;
  return nullptr;
}

std::string known_families() {
  std::string names;
  for (const Row& row : families)
    if (!names.ends_with(row.model_type))
      names += (names.empty() ? "" : ", ") + std::string(row.model_type);
  return names;
}

std::string type_of(const std::string& path, const std::string& text) {
  try {
    return checkpoint::json_from(text).at("model_type").get<std::string>();
  } catch (const std::exception& error) {
    throw FileError(path + ": no model_type can be read: " + checkpoint::reason_of(error));
  }
}

/// The matching row, and the sizes and consts from the configuration.
std::pair<const Row*, interchange::Numbers> row_of(const std::string& path,
                                                   const std::string& text) {
  const std::string type = type_of(path, text);
  std::string why, unknown;
  const auto add = [](std::string& to, const std::string& said) {
    if (to.find(said) == std::string::npos) to += (to.empty() ? "" : "\n") + said;
  };
  for (const Row& row : families) {
    if (type != row.model_type) continue;
    const auto mapping =
        interchange::Mapping::parse(*text_of(embedded_mappings(), row.mapping), row.mapping);
    try {
      return {&row, mapping.numbers_in(text, path)};
    } catch (const interchange::UnknownKeyError& error) {
      add(unknown, error.what());
    } catch (const FileError& error) {
      add(why, error.what());
    }
  }
  if (!unknown.empty()) throw FileError(unknown);  // the other models are further away
  if (!why.empty()) throw FileError(why);
  throw FileError(path + ": model_type is \"" + type + "\", and no model here is of that family; " +
                  "there are " + known_families());
}

}  // namespace

bool is_configuration(const std::string& path, const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return fs::path(path).filename() == "config.json" || (first != text.npos && text[first] == '{');
}

Family family_of(const std::string& path, const std::string& text) {
  auto [row, numbers] = row_of(path, text);
  const auto reader = [](const std::string& wanted) -> std::optional<std::string> {
    if (!wanted.starts_with(folder)) return std::nullopt;
    const std::string* model = text_of(embedded_models(), wanted.substr(folder.size()));
    return model ? std::optional(*model) : std::nullopt;
  };
  Family family;
  family.path = folder + row->program;
  family.plan = row->plan;
  family.reader = reader;
  family.sizes = std::move(numbers.sizes);
  family.consts = std::move(numbers.consts);
  family.name = row->model_type;
  if (row->padded) family.padded_path = folder + row->padded;
  family.padded_plan = row->padded_plan;
  family.notes = std::move(numbers.notes);
  return family;
}

}  // namespace shardproof::check_sharding
