#pragma once
// The contents of a checkpoint: its files, and which parts of which tensors each of them holds. As
// manifest.json, whose first line is the checksum (XXH3) of the others:
//   {"xxh3":"<16 digits>",
//    "version":1, "step":100, "values":{"seed":"0"}, "mesh":[["d",2],["t",2]], "dims":{"B":8},
//    "files":[{"name":"rank-00000.safetensors", "bytes":512, "xxh3":["<of each MiB>"]}],
//    "tensors":{"w.up":{"dtype":"F32", "type":"f32[M/t/d F]", "dims":["M","F"], "extents":[8,6],
//                       "pieces":[{"file":0, "first":[0,0], "extents":[2,6]}]}}}
#include <filesystem>

#include "impl/checkpoint/box.h"
#include "impl/checkpoint/checkpoint.h"
#include "impl/checkpoint/file.h"

namespace shardproof::checkpoint {

/// A part of a tensor, stored in this file under the tensor's name.
struct Piece {
  size_t file = 0;
  Box box;
};

/// A tensor as it was saved.
struct StoredTensor {
  Element element = Element::f32;
  std::string type;               ///< `f32[V/t M/d]`
  std::vector<std::string> dims;  ///< `V` `M`
  std::vector<int64_t> extents;   ///< of the whole tensor
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

/// The name of the file that a rank writes.
std::string file_of_rank(int64_t rank);

/// JSON; its first line is the checksum of the other lines.
std::string text_of(const Manifest& manifest);
/// Reads the manifest of a checkpoint. Throws FileError.
Manifest read_manifest(const std::filesystem::path& checkpoint);
std::filesystem::path manifest_path(const std::filesystem::path& checkpoint);

}  // namespace shardproof::checkpoint
