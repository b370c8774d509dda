#pragma once
// The safetensors format: the length of the header (8 bytes, little-endian), the header as JSON,
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

/// A tensor to write.
struct Item {
  std::string name;
  Element element;
  std::vector<int64_t> extents;
};

const char* dtype_of(Element element);
/// Empty if the dtype has no Element.
std::optional<Element> element_of(const std::string& dtype);

/// Assigns offsets to the items, in order; returns the start of the file.
std::string begin_of(const std::vector<Item>& items);

/// Reads the header of a file of `bytes` bytes through `read(offset, to, count)`. Throws
/// std::runtime_error if the header is invalid; tensors must fill the file without gaps.
Header read_header(uint64_t bytes, const std::function<void(uint64_t, void*, size_t)>& read);
/// The same for an open file; throws FileError.
Header read_header(const checkpoint::File& file);
Header read_header(checkpoint::BlockReader& reader);

}  // namespace shardproof::safetensors
