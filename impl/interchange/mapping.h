#pragma once
// The names and layouts of a model's leaves in Hugging Face's format, and the meaning of its
// config.json: data, from a file next to the model.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "impl/file_error.h"
#include "impl/tensor/placement.h"
#include "kernels/element.h"

namespace shardproof::interchange {

/// Sizes and constants of a program.
struct Numbers {
  DimSizes sizes;
  std::map<Name, double> consts;
  std::vector<std::string> notes = {};  ///< what the configuration has and the model has not
};

/// The configuration is the model's, but for a key that may change what is computed.
struct UnknownKeyError : FileError {
  using FileError::FileError;
};

/// `C+P`: a dim of a foreign tensor that holds the entries of several leaves, one after the other.
struct ForeignDim {
  std::vector<Name> parts;  ///< C and P
  Name own;                 ///< P: the leaf's
};

/// A foreign tensor, or one per layer, and the part of a leaf that it holds.
struct ForeignTensor {
  Name leaf;  ///< "layers.attn.w_q"
  /// "layers.{Z+N}.experts.{E}.w": one for each entry of N, counted from |Z| on, and of E.
  std::string name;
  std::vector<std::vector<ForeignDim>> foreign;  ///< `(K Q D) M`: its dims, groups row-major
  std::vector<Name> local;       ///< `M Q K D`: the leaf's dims, without those and `at`
  std::map<Name, int64_t> at;    ///< it is entry 1 of the leaf's dim kv
  std::map<Name, double> scale;  ///< leaf = foreign * |D|^-0.5
  double plus;                   ///< and this is added: 1 for gains stored as w of 1 + w
  Name pairs;                    ///< its entries 2i and 2i+1 are the leaf's i and i+|P|/2
  std::string tied_to;           ///< if the config ties them, this tensor instead
};

/// V of each `dim W pads V`, by W: the model's dim, by the leaves' dim.
using Pads = std::map<Name, Name>;

/// A model's mapping to the other format.
class Mapping {
 public:
  /// Throws FileError.
  static Mapping read(const std::filesystem::path& path);
  /// The same from text; `name` is used in messages.
  static Mapping parse(const std::string& text, const std::string& name);

  /// The same for leaves with more entries than the model's.
  Mapping for_padded(Pads pads) const;
  const Pads& pads() const { return pads_; }

  /// The sizes and consts in `folder`'s config.json. Throws FileError, with the line, if it is of
  /// another architecture or has a value that the model does not support; UnknownKeyError if it has
  /// a key that is not known to leave the function as it is.
  Numbers numbers(const std::filesystem::path& folder) const;
  /// The same from a config's text; `name` is used in messages.
  Numbers numbers_in(const std::string& config, const std::string& name) const;
  /// Whether the config ties those tensors that can be tied.
  bool tied(const std::filesystem::path& folder) const;
  /// A config.json for these numbers; nothing is tied that the model does not tie. Throws PlanError
  /// if a size is missing.
  std::string config(const Numbers& numbers, Element element) const;

  const std::vector<ForeignTensor>& tensors() const;
  /// Whether a foreign tensor has entries of this leaf.
  bool has(const Name& leaf) const;
  /// The possible prefixes of names; the first one is written.
  const std::vector<std::string>& prefixes() const;
  /// Whether a foreign tensor with this name (without prefix) is known to hold no weight of the
  /// model. A pattern may end in *.
  bool ignored(const std::string& name) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
  Pads pads_;
};

}  // namespace shardproof::interchange
