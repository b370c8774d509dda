#include "impl/checkpoint/safetensors.h"

#include <algorithm>
#include <set>

#include "impl/checkpoint/json_text.h"

namespace shardproof::safetensors {
namespace {

using nlohmann::json;

constexpr uint64_t length_bytes = 8;
constexpr uint64_t longest_header = 100'000'000;  // as in the reference implementation

/// Indexed by Element.
constexpr const char* dtypes[] = {"F64", "F32", "BF16", "I32", "U32", "BOOL", "U64"};
static_assert(std::size(dtypes) == static_cast<size_t>(Element::u64) + 1);

/// Also for dtypes without an Element; 0 for an unknown one.
uint64_t dtype_bytes(const std::string& dtype) {
  if (const auto element = element_of(dtype)) return size_of(*element);
  static const std::map<std::string, uint64_t> others = {{"I64", 8},     {"F16", 2},    {"I16", 2},
                                                         {"U16", 2},     {"I8", 1},     {"U8", 1},
                                                         {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  const auto found = others.find(dtype);
  return found == others.end() ? 0 : found->second;
}

[[noreturn]] void wrong(const std::string& what) {
  throw std::runtime_error("is not a safetensors file: " + what);
}

uint64_t size_from(const json& number, const std::string& name) {
  if (!number.is_number_unsigned() || number.get<uint64_t>() > INT64_MAX)
    wrong("tensor " + name + " has a size that is not a whole number");
  return number.get<uint64_t>();
}

/// The number of bytes of a tensor with these extents, at most `most`.
uint64_t bytes_of(const Entry& entry, const std::string& name, uint64_t most) {
  uint64_t bytes = dtype_bytes(entry.dtype);
  if (bytes == 0) wrong("tensor " + name + " has the unknown dtype " + entry.dtype);
  for (int64_t extent : entry.extents)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) bytes = most + 1;
  if (bytes > most) wrong("tensor " + name + " is larger than the file");
  return bytes;
}

/// `data`: the offset of the tensors' bytes.
Entry entry_from(const json& value, const std::string& name, uint64_t data, uint64_t end) {
  if (!value.is_object()) wrong("tensor " + name + " must be a JSON object");
  Entry entry;
  entry.dtype = value.at("dtype").get<std::string>();
  for (const json& extent : value.at("shape"))
    entry.extents.push_back(static_cast<int64_t>(size_from(extent, name)));
  const json& offsets = value.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2)
    wrong("tensor " + name + " needs two data_offsets");
  const uint64_t first = size_from(offsets[0], name), last = size_from(offsets[1], name);
  if (first > last || last > end - data) wrong("tensor " + name + " lies beyond the end");
  entry.begin = data + first;
  entry.bytes = last - first;
  if (bytes_of(entry, name, end) != entry.bytes)
    wrong("tensor " + name + " has other bytes than its shape needs");
  return entry;
}

void refuse_gaps(const Header& header, uint64_t data, uint64_t end) {
  std::set<std::pair<uint64_t, uint64_t>> pieces;
  for (const auto& [name, entry] : header)
    if (entry.bytes && !pieces.insert({entry.begin, entry.bytes}).second)
      wrong("two tensors share bytes");
  for (const auto& [begin, bytes] : pieces) {
    if (begin != data) wrong("its tensors leave a gap or overlap at byte " + std::to_string(begin));
    data += bytes;
  }
  if (data != end) wrong("it has bytes after its last tensor");
}

Header header_from(const std::string& text, uint64_t end) {
  const json parsed = checkpoint::json_from(text);
  if (!parsed.is_object()) wrong("its header is not a JSON object");
  const uint64_t data = length_bytes + text.size();
  Header header;
  for (const auto& [name, value] : parsed.items())
    if (name != "__metadata__") header[name] = entry_from(value, name, data, end);
  refuse_gaps(header, data, end);
  return header;
}

template <class Reader>
Header header_of(const checkpoint::File& file, Reader& reader) {
  try {
    return read_header(file.size(), [&](uint64_t offset, void* to, size_t bytes) {
      reader.read(offset, to, bytes);
    });
  } catch (const FileError&) {
    throw;
  } catch (const std::runtime_error& error) {
    file.fail(error.what());
  }
}

}  // namespace

const char* dtype_of(Element element) { return dtypes[static_cast<size_t>(element)]; }

std::optional<Element> element_of(const std::string& dtype) {
  for (size_t i = 0; i < std::size(dtypes); ++i)
    if (dtype == dtypes[i]) return static_cast<Element>(i);
  return std::nullopt;
}

std::string begin_of(const std::vector<Item>& items) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t end = 0;
  for (const Item& item : items) {
    uint64_t bytes = size_of(item.element);
    for (int64_t extent : item.extents) bytes *= static_cast<uint64_t>(extent);
    header[item.name] = {{"dtype", dtype_of(item.element)},
                         {"shape", item.extents},
                         {"data_offsets", {end, end + bytes}}};
    end += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the tensors' bytes
  std::string begin(length_bytes, '\0');
  for (size_t i = 0; i < length_bytes; ++i) begin[i] = static_cast<char>(text.size() >> (8 * i));
  return begin + text;
}

Header read_header(uint64_t bytes, const std::function<void(uint64_t, void*, size_t)>& read) {
  unsigned char digits[length_bytes];
  if (bytes < length_bytes) wrong("it is shorter than a header");
  read(0, digits, length_bytes);
  uint64_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | digits[i];
  if (length > longest_header || length > bytes - length_bytes) wrong("its header has no end");
  std::string text(length, '\0');
  read(length_bytes, text.data(), text.size());
  try {
    return header_from(text, bytes);
  } catch (const json::exception& error) {
    wrong(checkpoint::reason_of(error));
  }
}

Header read_header(const checkpoint::File& file) { return header_of(file, file); }

Header read_header(checkpoint::BlockReader& reader) { return header_of(reader.file(), reader); }

}  // namespace shardproof::safetensors
