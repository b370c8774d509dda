#pragma once
// From a Hugging Face config.json to the program that is proved for its family, and its sizes.
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

/// A configuration, read.
struct Family {
  std::string path;               ///< of its program: "<models>/llama_train.shard"
  Name plan;                      ///< the training step that the report is about
  FileReader reader;              ///< has the models
  std::map<Name, int64_t> sizes;  ///< that the configuration gives
  std::map<Name, double> consts;  ///< likewise
  std::string name;               ///< "llama"
};

/// "config.json", "DIR/config.json".
bool is_configuration(const std::string& path);

/// Throws FileError naming the key: of a family that no program is for, or a setting that the
/// program does not have.
Family family_of(const std::string& path);

}  // namespace check_sharding
}  // namespace shardproof
