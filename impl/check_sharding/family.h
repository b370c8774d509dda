#pragma once
// Maps a Hugging Face config.json to the proved program of its family, and to its sizes.
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "spec/resolve/resolve.h"

namespace shardproof {

// spec/models/*.shard and *.hf.json as (file name, text). The build generates the definitions.
const std::vector<std::pair<std::string, std::string>>& embedded_models();
const std::vector<std::pair<std::string, std::string>>& embedded_mappings();

namespace check_sharding {

/// The contents of a configuration.
struct Family {
  std::string path;               ///< of its program: "<models>/llama_train.shard"
  Name plan;                      ///< the training step to report on
  FileReader reader;              ///< finds the embedded models
  std::map<Name, int64_t> sizes;  ///< from the configuration
  std::map<Name, double> consts;  ///< from the configuration
  std::string name;               ///< "llama"
  /// The program and the step whose vocabulary is stored with padding, if there is one: for meshes
  /// that do not divide it.
  std::string padded_path;
  Name padded_plan;
  std::vector<std::string> notes;  ///< what the configuration has and the program has not
};

/// Whether the file is called config.json, or begins as a JSON object; no program does.
bool is_configuration(const std::string& path, const std::string& text);

/// Throws FileError with the key if no program exists for the family, or if the program lacks a
/// setting. `path` is used in messages.
Family family_of(const std::string& path, const std::string& text);

}  // namespace check_sharding
}  // namespace shardproof
