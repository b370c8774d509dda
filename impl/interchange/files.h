#pragma once
// The tensors of a folder in Hugging Face's format: one safetensors file, or several and an index.
#include <filesystem>
#include <map>
#include <vector>

#include "impl/checkpoint/safetensors.h"

namespace shardproof::interchange {

/// Reads entries of the tensors of a folder. Every error is a FileError that names the file.
class ForeignFiles {
 public:
  explicit ForeignFiles(const std::filesystem::path& folder);

  struct Found {
    const checkpoint::File* file;
    const safetensors::Entry* entry;
  };
  /// File null: there is none of this name.
  Found find(const std::string& name) const;
  std::vector<std::string> names() const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::vector<checkpoint::File> files_;
  std::vector<safetensors::Header> headers_;
};

/// The files that tensors of these sizes are written to, as the reference library calls them.
struct Layout {
  struct Place {
    size_t file;
    uint64_t begin;  ///< of the tensor's bytes in the file
  };
  std::vector<std::string> files;
  std::vector<std::string> begins;  ///< what each file begins with
  std::vector<uint64_t> sizes;      ///< of the files
  std::map<std::string, Place> places;

  Layout(const std::vector<safetensors::Item>& items, uint64_t most_bytes);
  /// The text of the index; empty where one file needs none.
  std::string index() const;
};

const char* index_name();

}  // namespace shardproof::interchange
