#include <algorithm>
#include <map>
#include <set>

#include "impl/checkpoint/agree.h"
#include "impl/checkpoint/box.h"
#include "impl/interchange/files.h"
#include "impl/interchange/interchange.h"
#include "impl/interchange/parts.h"
#include "kernels/number.h"

namespace shardproof::interchange {
namespace {

namespace fs = std::filesystem;
const std::string saving = "saving a model";

/// This rank's part of a foreign tensor to write.
struct Outgoing {
  PartOfForeign part;
  const checkpoint::Leaf* leaf;
  double scale, plus;
};

std::vector<Outgoing> outgoing_of(const Mapping& mapping, const Mesh& mesh, int rank,
                                  const DimSizes& dims,
                                  const std::vector<checkpoint::Leaf>& leaves) {
  std::vector<Outgoing> all;
  for (const ForeignTensor& tensor : mapping.tensors()) {
    const auto leaf = std::find_if(leaves.begin(), leaves.end(),
                                   [&](const auto& each) { return each.name == tensor.leaf; });
    if (leaf == leaves.end())
      throw PlanError("the mapping has a tensor " + tensor.leaf +
                      ", which the model does not have");
    const std::vector<Factor> factors = factors_of(*leaf, mesh, rank, dims, mapping.pads());
    for (PartOfForeign& part : parts_of(tensor, leaf->name, factors, dims)) {
      part.name = mapping.prefixes().at(0) + part.name;
      all.push_back({std::move(part), &*leaf, scale_of(tensor, factors), tensor.plus});
    }
  }
  return all;
}

/// One item per tensor, also if it holds parts of several leaves.
std::vector<safetensors::Item> items_of(const std::vector<Outgoing>& all) {
  std::vector<safetensors::Item> items;
  std::set<std::string> known;
  for (const Outgoing& each : all)
    if (known.insert(each.part.name).second)
      items.push_back({each.part.name, each.leaf->tensor->element, each.part.extents});
  return items;
}

/// Gathers runs of the foreign tensor from the leaf and writes them at their offsets.
void write_part(checkpoint::File& file, uint64_t begin, const Outgoing& outgoing) {
  const LocalTensor& tensor = *outgoing.leaf->tensor;
  const size_t bytes = size_of(tensor.element);
  std::vector<char> run;
  outgoing.part.for_each_run([&](int64_t to, int64_t length, const auto& gather) {
    run.resize(static_cast<size_t>(length) * bytes);
    gather([&](int64_t i, int64_t local) {
      if (outgoing.scale == 1 && outgoing.plus == 0)
        std::copy_n(reinterpret_cast<const char*>(tensor.buffer.data()) + local * int64_t(bytes),
                    bytes, run.data() + i * int64_t(bytes));
      else
        set_number(tensor.element, run.data(), i,
                   (number_at(tensor.element, tensor.buffer.data(), local) - outgoing.plus) /
                       outgoing.scale);
    });
    file.write(begin + static_cast<uint64_t>(to) * bytes, run.data(), run.size());
  });
}

/// Writes the parts for which this rank is the first owner.
void write_parts(const fs::path& folder, const Layout& layout, const std::vector<Outgoing>& all,
                 const Mesh& mesh, int rank) {
  std::map<size_t, checkpoint::File> files;
  for (const Outgoing& each : all) {
    if (!each.part.here || !checkpoint::owns(each.leaf->type, mesh, rank)) continue;
    const Layout::Place& place = layout.places.at(each.part.name);
    const auto file = files.try_emplace(
        place.file, checkpoint::File::open_to_write(folder / layout.files[place.file]));
    write_part(file.first->second, place.begin, each);
  }
  for (const auto& [number, file] : files) file.sync();
}

void begin_files(const fs::path& unfinished, const Layout& layout) {
  std::error_code error;
  fs::remove_all(unfinished, error);
  if (!fs::create_directories(unfinished, error))
    throw FileError(unfinished.string() + ": cannot be made: " + error.message());
  for (size_t i = 0; i < layout.files.size(); ++i) {
    checkpoint::File file = checkpoint::File::create(unfinished / layout.files[i]);
    file.append(layout.begins[i].data(), layout.begins[i].size());
    file.resize(layout.sizes[i]);
  }
}

void finish_files(const fs::path& folder, const fs::path& unfinished, const Layout& layout,
                  const std::string& config) {
  checkpoint::write_text(unfinished / "config.json", config);
  if (const std::string index = layout.index(); !index.empty())
    checkpoint::write_text(unfinished / index_name(), index);
  checkpoint::File::folder(unfinished).sync();
  std::error_code error;
  fs::rename(unfinished, folder, error);
  if (error) throw FileError(folder.string() + ": cannot be made: " + error.message());
  checkpoint::File::folder(folder.parent_path()).sync();
}

}  // namespace

void save(const Mapping& mapping, const fs::path& to, Communicator& communicator, const Mesh& mesh,
          const Numbers& numbers, const std::vector<checkpoint::Leaf>& leaves,
          uint64_t most_bytes) {
  const fs::path folder = fs::absolute(to).lexically_normal();
  const fs::path unfinished = folder.string() + ".partial";
  const int rank = communicator.rank();
  const std::vector<Outgoing> all = outgoing_of(mapping, mesh, rank, numbers.sizes, leaves);
  const std::string config = mapping.config(numbers, all.at(0).leaf->tensor->element);
  const Layout layout(items_of(all), most_bytes);
  const auto on_first = [&](const auto& body) {
    checkpoint::agree(communicator, rank == 0 ? checkpoint::error_of(body) : "", saving);
  };
  on_first([&] {
    if (fs::exists(folder)) throw FileError(folder.string() + ": is there already");
  });
  try {
    on_first([&] { begin_files(unfinished, layout); });
    checkpoint::agree(
        communicator,
        checkpoint::error_of([&] { write_parts(unfinished, layout, all, mesh, rank); }), saving);
    on_first([&] { finish_files(folder, unfinished, layout, config); });
  } catch (...) {  // all ranks are told of an error, and none writes any more
    std::error_code ignored;
    if (rank == 0) fs::remove_all(unfinished, ignored);
    throw;
  }
}

}  // namespace shardproof::interchange
