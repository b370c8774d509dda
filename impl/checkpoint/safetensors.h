#pragma once
// The safetensors format: 8 bytes with the length of the header, little-endian, the header as JSON,
// the tensors' bytes.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "impl/checkpoint/file.h"
#include "kernels/element.h"

namespace shardproof::safetensors {

/// A tensor in a file: `begin` is the offset of its first byte in the file.
struct Entry {
  std::string dtype;  ///< "F32", "BF16", ...
  std::vector<int64_t> extents;
  uint64_t begin = 0, bytes = 0;
};

/// Tensors by name.
using Header = std::map<std::string, Entry>;

/// What is to be written.
struct Item {
  std::string name;
  Element element;
  std::vector<int64_t> extents;
};

const char* dtype_of(Element element);
/// Empty for a dtype that no element is.
std::optional<Element> element_of(const std::string& dtype);

/// Where the items' bytes go, one after the other, and what the file begins with.
std::string begin_of(const std::vector<Item>& items);

/// Reads the header of a file of `bytes` bytes through `read(offset, to, count)`. Throws
/// std::runtime_error with what is wrong with it: tensors must fill the file without gaps.
Header read_header(uint64_t bytes, const std::function<void(uint64_t, void*, size_t)>& read);
/// The same for an open file; throws FileError.
Header read_header(const checkpoint::File& file);
Header read_header(checkpoint::BlockReader& reader);

}  // namespace shardproof::safetensors
