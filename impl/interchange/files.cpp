#include "impl/interchange/files.h"

#include <cstdio>
#include <set>

#include "impl/checkpoint/json_text.h"

namespace shardproof::interchange {
namespace {

namespace fs = std::filesystem;
const std::string whole_name = "model.safetensors";

/// The files in the index, or the only file.
std::vector<fs::path> files_in(const fs::path& folder) {
  const fs::path index = folder / index_name();
  if (!fs::exists(index)) return {folder / whole_name};
  std::set<std::string> names;
  try {
    const auto parsed = checkpoint::json_from(checkpoint::read_text(index));
    for (const auto& [tensor, file] : parsed.at("weight_map").items()) names.insert(file);
  } catch (const FileError&) {
    throw;
  } catch (const std::exception& error) {
    throw FileError(index.string() + ": " + checkpoint::reason_of(error));
  }
  std::vector<fs::path> paths;
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos)
      throw FileError(index.string() + ": " + name + " is not in its folder");
    paths.push_back(folder / name);
  }
  return paths;
}

std::string numbered(size_t file, size_t files) {
  if (files == 1) return whole_name;
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", file + 1, files);
  return name;
}

uint64_t size_of_item(const safetensors::Item& item) {
  uint64_t bytes = size_of(item.element);
  for (int64_t extent : item.extents) bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

/// Distributes items to files in order; starts a new file when one would be too large.
std::vector<std::vector<safetensors::Item>> dealt(const std::vector<safetensors::Item>& items,
                                                  uint64_t most_bytes) {
  std::vector<std::vector<safetensors::Item>> files(1);
  uint64_t bytes = 0;
  for (const safetensors::Item& item : items) {
    if (bytes && bytes + size_of_item(item) > most_bytes) {
      files.emplace_back();
      bytes = 0;
    }
    bytes += size_of_item(item);
    files.back().push_back(item);
  }
  return files;
}

}  // namespace

const char* index_name() { return "model.safetensors.index.json"; }

ForeignFiles::ForeignFiles(const fs::path& folder) : folder_(folder) {
  for (const fs::path& path : files_in(folder)) {
    files_.push_back(checkpoint::File::open(path));
    headers_.push_back(safetensors::read_header(files_.back()));
  }
}

ForeignFiles::Found ForeignFiles::find(const std::string& name) const {
  for (size_t i = 0; i < files_.size(); ++i)
    if (const auto found = headers_[i].find(name); found != headers_[i].end())
      return {&files_[i], &found->second};
  return {nullptr, nullptr};
}

std::vector<std::string> ForeignFiles::names() const {
  std::vector<std::string> names;
  for (const safetensors::Header& header : headers_)
    for (const auto& [name, entry] : header) names.push_back(name);
  return names;
}

Layout::Layout(const std::vector<safetensors::Item>& items, uint64_t most_bytes) {
  const auto files_items = dealt(items, most_bytes);
  for (size_t file = 0; file < files_items.size(); ++file) {
    files.push_back(numbered(file, files_items.size()));
    begins.push_back(safetensors::begin_of(files_items[file]));
    uint64_t end = begins.back().size();
    for (const safetensors::Item& item : files_items[file]) {
      places[item.name] = {file, end};
      end += size_of_item(item);
    }
    sizes.push_back(end);
  }
}

std::string Layout::index() const {
  if (files.size() == 1) return "";
  uint64_t total = 0;
  for (size_t i = 0; i < files.size(); ++i) total += sizes[i] - begins[i].size();
  nlohmann::ordered_json index = {{"metadata", {{"total_size", total}}}};
  for (const auto& [name, place] : places) index["weight_map"][name] = files[place.file];
  return index.dump(2) + "\n";
}

}  // namespace shardproof::interchange
