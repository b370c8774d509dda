#include "impl/checkpoint/manifest.h"

#include <algorithm>

#include "impl/checkpoint/checksum.h"
#include "impl/checkpoint/json_text.h"
#include "impl/checkpoint/safetensors.h"

namespace shardproof::checkpoint {
namespace {

using nlohmann::json;

constexpr int version = 1;
constexpr uint64_t largest_manifest = 1 << 28, largest_file = uint64_t{1} << 60;  // bytes
constexpr int64_t last_step = 999'999'999'999'999'999;                            // of its name
const std::string line_begin = "{\"xxh3\":\"", line_end = "\",\n";

std::string first_line(const std::string& rest) {
  return line_begin + hex(checksum(rest.data(), rest.size())) + line_end;
}

json json_of(const StoredFile& file) {
  json sums = json::array();
  for (uint64_t each : file.sums.blocks) sums.push_back(hex(each));
  return {{"name", file.name}, {"bytes", file.sums.bytes}, {"xxh3", sums}};
}

json json_of(const Piece& piece) {
  return {{"file", piece.file}, {"first", piece.box.first}, {"extents", piece.box.extents}};
}

json json_of(const StoredTensor& tensor) {
  json pieces = json::array();
  for (const Piece& piece : tensor.pieces) pieces.push_back(json_of(piece));
  return {{"dtype", safetensors::dtype_of(tensor.element)},
          {"type", tensor.type},
          {"dims", tensor.dims},
          {"extents", tensor.extents},
          {"pieces", pieces}};
}

/// Reads a part of the manifest; an error in it names that part.
template <class Read>
auto within(const std::string& part, Read read) {
  try {
    return read();
  } catch (const std::exception& error) {
    throw std::runtime_error(part + ": " + reason_of(error));
  }
}

template <class T>
T entry(const json& value, const char* key) {
  return within(key, [&] { return value.at(key).get<T>(); });
}

StoredFile file_from(const json& value) {
  StoredFile file{entry<std::string>(value, "name"), {entry<uint64_t>(value, "bytes"), {}}};
  if (file.sums.bytes > largest_file) throw std::runtime_error(file.name + " is too large");
  if (file.name.find('/') != std::string::npos)
    throw std::runtime_error("a file is outside the checkpoint's folder");
  for (const std::string& each : entry<std::vector<std::string>>(value, "xxh3"))
    file.sums.blocks.push_back(from_hex(each));
  if (file.sums.blocks.size() != (file.sums.bytes + block_bytes - 1) / block_bytes)
    throw std::runtime_error(file.name + " has checksums for another size");
  return file;
}

/// Pieces name a file by its number.
bool in_order_of_ranks(const std::vector<StoredFile>& files) {
  const auto before = [](const StoredFile& a, const StoredFile& b) {
    return std::pair(a.name.size(), a.name) < std::pair(b.name.size(), b.name);
  };
  return std::adjacent_find(files.begin(), files.end(), [&](const auto& a, const auto& b) {
           return !before(a, b);
         }) == files.end();
}

Piece piece_from(const json& value, const StoredTensor& tensor, size_t files) {
  Piece piece{
      entry<size_t>(value, "file"),
      {entry<std::vector<int64_t>>(value, "first"), entry<std::vector<int64_t>>(value, "extents")}};
  const size_t dims = tensor.extents.size();
  bool inside =
      piece.file < files && piece.box.first.size() == dims && piece.box.extents.size() == dims;
  for (size_t i = 0; inside && i < dims; ++i)
    inside = piece.box.first[i] >= 0 && piece.box.first[i] <= tensor.extents[i] &&
             piece.box.extents[i] >= 0 &&
             piece.box.extents[i] <= tensor.extents[i] - piece.box.first[i];
  if (!inside) throw std::runtime_error("a piece of a tensor is not inside of it");
  return piece;
}

StoredTensor tensor_from(const json& value, size_t files) {
  StoredTensor tensor;
  const std::string dtype = entry<std::string>(value, "dtype");
  const auto element = safetensors::element_of(dtype);
  if (!element) throw std::runtime_error("a tensor has the unknown dtype " + dtype);
  tensor.element = *element;
  tensor.type = entry<std::string>(value, "type");
  tensor.dims = entry<std::vector<std::string>>(value, "dims");
  tensor.extents = entry<std::vector<int64_t>>(value, "extents");
  if (tensor.dims.size() != tensor.extents.size())
    throw std::runtime_error("a tensor has another number of dims than of sizes");
  auto left = static_cast<int64_t>(largest_file / size_of(tensor.element));
  for (const int64_t extent : tensor.extents) {
    if (extent < 0 || extent > left) throw std::runtime_error("a tensor has an impossible size");
    left /= std::max<int64_t>(extent, 1);
  }
  for (const json& piece : entry<std::vector<json>>(value, "pieces"))
    tensor.pieces.push_back(within("pieces", [&] { return piece_from(piece, tensor, files); }));
  return tensor;
}

template <class Sizes>
void require_positive(const Sizes& sizes, const std::string& what) {
  for (const auto& [name, size] : sizes)
    if (size < 1)
      throw std::runtime_error("the " + what + " " + name + " has the size " +
                               std::to_string(size));
}

Manifest manifest_from(const std::string& text) {
  const size_t line = line_begin.size() + 16 + line_end.size();
  if (text.size() < line || text.substr(0, line) != first_line(text.substr(line)))
    throw std::runtime_error("is damaged, or is not a manifest: its checksum does not match");
  const json value = whole_numbers_from(text);
  if (value.at("version") != version)
    throw std::runtime_error("has version " + value.at("version").dump() + "; this program reads " +
                             std::to_string(version));
  Manifest manifest;
  manifest.position = {within("step", [&] { return whole_from(value.at("step")); }),
                       entry<std::map<std::string, std::string>>(value, "values")};
  if (manifest.position.step < 0 || manifest.position.step > last_step)
    throw std::runtime_error("has the step " + std::to_string(manifest.position.step));
  manifest.mesh = entry<std::vector<std::pair<Axis, int64_t>>>(value, "mesh");
  require_positive(manifest.mesh, "axis");
  manifest.dims = entry<DimSizes>(value, "dims");
  require_positive(manifest.dims, "dim");
  for (const json& file : entry<std::vector<json>>(value, "files"))
    manifest.files.push_back(within("files", [&] { return file_from(file); }));
  if (!in_order_of_ranks(manifest.files))
    throw std::runtime_error("its files are not in the order of their ranks");
  for (const auto& [name, tensor] : entry<std::map<Name, json>>(value, "tensors"))
    manifest.tensors[name] = within(
        "tensor " + name, [&, &each = tensor] { return tensor_from(each, manifest.files.size()); });
  return manifest;
}

}  // namespace

std::vector<std::string> dims_of(const Type& type) {
  std::vector<std::string> dims;
  for (const Split& split : type.dims) dims.push_back(to_string(split.dim));
  return dims;
}

std::string file_of_rank(int64_t rank) {
  const std::string number = std::to_string(rank);
  return "rank-" + std::string(number.size() < 5 ? 5 - number.size() : 0, '0') + number +
         ".safetensors";
}

std::string text_of(const Manifest& manifest) {
  json files = json::array(), tensors = json::object();
  for (const StoredFile& file : manifest.files) files.push_back(json_of(file));
  for (const auto& [name, tensor] : manifest.tensors) tensors[name] = json_of(tensor);
  const json value = {{"version", version},
                      {"step", manifest.position.step},
                      {"values", manifest.position.values},
                      {"mesh", manifest.mesh},
                      {"dims", manifest.dims},
                      {"files", files},
                      {"tensors", tensors}};
  const std::string rest = value.dump().substr(1) + "\n";  // without the opening brace
  return first_line(rest) + rest;
}

std::filesystem::path manifest_path(const std::filesystem::path& checkpoint) {
  return checkpoint / "manifest.json";
}

Manifest read_manifest(const std::filesystem::path& checkpoint) {
  const std::string text = read_text(manifest_path(checkpoint), largest_manifest);
  try {
    return manifest_from(text);
  } catch (const std::exception& error) {
    throw FileError(manifest_path(checkpoint).string() + ": " + reason_of(error));
  }
}

}  // namespace shardproof::checkpoint
