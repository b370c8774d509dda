#pragma once
// The tensors of a Hugging Face folder: one safetensors file, or several and an index.
#include <filesystem>
#include <map>
#include <vector>

#include "impl/checkpoint/safetensors.h"

namespace shardproof::interchange {

/// Reads entries of a folder's tensors. Every error is a FileError with the file's name.
class ForeignFiles {
 public:
  explicit ForeignFiles(const std::filesystem::path& folder);

  struct Found {
    const checkpoint::File* file;
    const safetensors::Entry* entry;
  };
  /// File null: no tensor has this name.
  Found find(const std::string& name) const;
  std::vector<std::string> names() const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::vector<checkpoint::File> files_;
  std::vector<safetensors::Header> headers_;
};

/// The output files for tensors of these sizes, with the reference library's file names.
struct Layout {
  struct Place {
    size_t file;
    uint64_t begin;  ///< offset of the tensor's bytes in the file
  };
  std::vector<std::string> files;
  std::vector<std::string> begins;  ///< the start of each file
  std::vector<uint64_t> sizes;      ///< of the files, in bytes
  std::map<std::string, Place> places;

  Layout(const std::vector<safetensors::Item>& items, uint64_t most_bytes);
  /// The text of the index; empty for a single file.
  std::string index() const;
};

const char* index_name();

}  // namespace shardproof::interchange
