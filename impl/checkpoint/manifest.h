#pragma once
// What a checkpoint consists of: its files, and of which parts of which tensors they are made.
#include <filesystem>

#include "impl/checkpoint/box.h"
#include "impl/checkpoint/checkpoint.h"
#include "impl/checkpoint/file.h"

namespace shardproof::checkpoint {

/// A part of a tensor: it lies in this file, by the tensor's name.
struct Piece {
  size_t file = 0;
  Box box;
};

/// A tensor as it was when it was saved.
struct StoredTensor {
  Element element = Element::f32;
  std::string type;               ///< `f32[V/t M/d]`
  std::vector<std::string> dims;  ///< `V` `M`
  std::vector<int64_t> extents;   ///< of the whole
  std::vector<Piece> pieces;
};

struct StoredFile {
  std::string name;
  Sums sums;
};

struct Manifest {
  Position position;
  std::vector<std::pair<Axis, int64_t>> mesh;
  DimSizes dims;
  std::vector<StoredFile> files;
  std::map<Name, StoredTensor> tensors;
};

/// `V` `M`: the dims of a type without their axes.
std::vector<std::string> dims_of(const Type& type);

/// The file that a rank writes.
std::string file_of_rank(int64_t rank);

/// JSON whose first line holds the checksum of the others.
std::string text_of(const Manifest& manifest);
/// The manifest of a checkpoint; throws FileError.
Manifest read_manifest(const std::filesystem::path& checkpoint);
std::filesystem::path manifest_path(const std::filesystem::path& checkpoint);

}  // namespace shardproof::checkpoint
