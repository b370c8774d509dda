#include <cmath>
#include <cstring>
#include <set>

#include "impl/checkpoint/agree.h"
#include "impl/interchange/files.h"
#include "impl/interchange/interchange.h"
#include "impl/interchange/parts.h"
#include "kernels/number.h"

namespace shardproof::interchange {
namespace {

/// IEEE half precision.
float from_f16(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float sign = bits >> 15 ? -1.f : 1.f;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

/// Entries in a dtype of the file that no leaf has.
struct ForeignNumbers {
  std::optional<Element> element;  ///< none: F16
  size_t bytes;

  explicit ForeignNumbers(const std::string& dtype)
      : element(safetensors::element_of(dtype)), bytes(element ? size_of(*element) : 2) {}
  double at(const char* data, int64_t i) const {
    if (element) return number_at(*element, data, i);
    uint16_t half;
    std::memcpy(&half, data + 2 * i, sizeof half);
    return from_f16(half);
  }
};

bool is_float_dtype(const std::string& dtype) {
  return dtype == "F64" || dtype == "F32" || dtype == "BF16" || dtype == "F16";
}

std::string shape_text(const std::vector<int64_t>& extents) {
  std::string text = "[";
  for (size_t i = 0; i < extents.size(); ++i) text += (i ? " " : "") + std::to_string(extents[i]);
  return text + "]";
}

/// The tensor with this name and one of the prefixes; marks its name as used.
ForeignFiles::Found find_tensor(const ForeignFiles& files, const Mapping& mapping,
                                const PartOfForeign& part, std::set<std::string>& used) {
  for (const std::string& prefix : mapping.prefixes()) {
    const ForeignFiles::Found found = files.find(prefix + part.name);
    if (!found.file) continue;
    used.insert(prefix + part.name);
    if (found.entry->extents != part.extents)
      found.file->fail("tensor " + part.name + " has shape " + shape_text(found.entry->extents) +
                       ", the program wants " + shape_text(part.extents));
    if (!is_float_dtype(found.entry->dtype))
      found.file->fail("tensor " + part.name + " has dtype " + found.entry->dtype +
                       ", which is not a float type that can be read");
    return found;
  }
  throw FileError(files.folder().string() + ": there is no tensor " + part.name);
}

/// Reads this rank's entries, run by run.
void read_part(const ForeignFiles::Found& found, const PartOfForeign& part, double scale,
               double plus, LocalTensor& tensor) {
  const ForeignNumbers numbers(found.entry->dtype);
  const bool same = scale == 1 && plus == 0 && numbers.element == tensor.element;
  std::vector<char> run;
  part.for_each_run([&](int64_t from, int64_t length, const auto& scatter) {
    run.resize(static_cast<size_t>(length) * numbers.bytes);
    found.file->read(found.entry->begin + static_cast<uint64_t>(from) * numbers.bytes, run.data(),
                     run.size());
    scatter([&](int64_t i, int64_t local) {
      if (same)
        std::memcpy(tensor.buffer.data() + static_cast<size_t>(local) * numbers.bytes,
                    run.data() + static_cast<size_t>(i) * numbers.bytes, numbers.bytes);
      else
        set_number(tensor.element, tensor.buffer.data(), local,
                   numbers.at(run.data(), i) * scale + plus);
    });
  });
}

const checkpoint::Leaf* find_leaf(const std::vector<checkpoint::Leaf>& leaves, const Name& name) {
  for (const checkpoint::Leaf& leaf : leaves)
    if (leaf.name == name) return &leaf;
  return nullptr;
}

/// Entries that the model does not have are zeros. Returns the number that it has.
int64_t clear_padding(const checkpoint::Leaf& leaf, int64_t count) {
  if (count < leaf.tensor->count())
    std::memset(leaf.tensor->buffer.data(), 0, leaf.tensor->buffer.bytes());
  return count;
}

void refuse_unknown(const ForeignFiles& files, const Mapping& mapping,
                    const std::set<std::string>& used) {
  for (const std::string& name : files.names()) {
    bool known = used.contains(name);
    for (const std::string& prefix : mapping.prefixes())
      known = known || (name.starts_with(prefix) && mapping.ignored(name.substr(prefix.size())));
    if (!known)
      throw FileError(files.folder().string() + ": the model has no place for tensor " + name);
  }
}

void load_part(const Mapping& mapping, const std::filesystem::path& folder, const Mesh& mesh,
               int rank, const DimSizes& dims, const std::vector<checkpoint::Leaf>& leaves) {
  const bool tied = mapping.tied(folder);
  const Pads& pads = mapping.pads();
  const ForeignFiles files(folder);
  std::set<std::string> used;
  std::map<Name, int64_t> missing;
  for (const checkpoint::Leaf& leaf : leaves)
    missing[leaf.name] = clear_padding(leaf, count_of(factors_of(leaf, mesh, rank, dims, pads)));
  for (const ForeignTensor& tensor : mapping.tensors()) {
    const checkpoint::Leaf* const leaf = find_leaf(leaves, tensor.leaf);
    if (!leaf)
      throw PlanError("the mapping has a tensor " + tensor.leaf +
                      ", which the model does not have");
    const std::vector<Factor> factors = factors_of(*leaf, mesh, rank, dims, pads);
    ForeignTensor source = tensor;
    if (tied && !tensor.tied_to.empty()) {
      source.name = tensor.tied_to;
      used.insert(tensor.name);
    }
    for (const PartOfForeign& part : parts_of(source, leaf->name, factors, dims)) {
      read_part(find_tensor(files, mapping, part, used), part, scale_of(tensor, factors),
                tensor.plus, *leaf->tensor);
      missing[leaf->name] -= part.count();
    }
  }
  for (const auto& [leaf, count] : missing)
    if (count != 0) throw PlanError("the mapping does not cover all of tensor " + leaf);
  refuse_unknown(files, mapping, used);
}

}  // namespace

void load(const Mapping& mapping, const std::filesystem::path& folder, Communicator& communicator,
          const Mesh& mesh, const DimSizes& dims, const std::vector<checkpoint::Leaf>& leaves) {
  const std::string error = checkpoint::error_of(
      [&] { load_part(mapping, folder, mesh, communicator.rank(), dims, leaves); });
  checkpoint::agree(communicator, error, "loading a model");
}

}  // namespace shardproof::interchange
