#pragma once
// How a model's leaves are called and laid out in Hugging Face's format, and what its config.json
// means: data, read from a file that lies beside the model.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "impl/tensor/placement.h"
#include "kernels/element.h"

namespace shardproof::interchange {

/// Sizes and constants of a program.
struct Numbers {
  DimSizes sizes;
  std::map<Name, double> consts;
};

/// A foreign tensor, or one for each layer, and the leaf that it is a part of.
struct ForeignTensor {
  Name leaf;         ///< "layers.attn.w_q"
  std::string name;  ///< "layers.{N}.experts.{E}.w": one for each entry of both
  std::vector<std::vector<Name>> foreign;  ///< `(K Q D) M`: its dims, groups row-major
  std::vector<Name> local;                 ///< `M Q K D`: the leaf's dims, without those and `at`
  std::map<Name, int64_t> at;              ///< it is entry 1 of the leaf's dim kv
  std::map<Name, double> scale;            ///< leaf = foreign * |D|^-0.5
  double plus;                             ///< and this is added: 1 for gains stored as w of 1 + w
  std::string tied_to;                     ///< where the config says so, this tensor instead
};

/// What is to be known of a model's form in the other format.
class Mapping {
 public:
  /// Throws FileError.
  static Mapping read(const std::filesystem::path& path);
  /// The same of a text; `name` stands in what is thrown.
  static Mapping parse(const std::string& text, const std::string& name);

  /// What the config.json of `folder` says. Throws FileError where it is of another architecture,
  /// or of one that the model does not have.
  Numbers numbers(const std::filesystem::path& folder) const;
  /// Whether it says that tensors that can be tied are.
  bool tied(const std::filesystem::path& folder) const;
  /// A config.json for these, nothing tied that the model does not tie. Throws PlanError where a
  /// size is missing.
  std::string config(const Numbers& numbers, Element element) const;

  const std::vector<ForeignTensor>& tensors() const;
  /// What names may begin with, first what is written.
  const std::vector<std::string>& prefixes() const;
  /// Whether a foreign tensor of this name (without a prefix) is known to hold no weight.
  bool ignored(const std::string& name) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace shardproof::interchange
