#include "impl/data/made_up.h"

#include "kernels/number.h"
#include "kernels/philox.h"

namespace shardproof::data {
namespace {

/// The global index of local entry i.
uint64_t global_index(const Placement& placement, const LocalTensor& tensor, int64_t i) {
  uint64_t index = 0, stride = 1;
  for (size_t d = tensor.extents.size(); d-- > 0; i /= tensor.extents[d]) {
    const Split& split = tensor.type.dims[d];
    index += stride * static_cast<uint64_t>(placement.first(split) + i % tensor.extents[d]);
    stride *= static_cast<uint64_t>(placement.size(split.dim));
  }
  return index;
}

}  // namespace

MadeUp::MadeUp(Batches& tokens, std::map<Name, int64_t> below, uint64_t seed)
    : tokens_(tokens), below_(std::move(below)), seed_(seed) {}

std::vector<Name> MadeUp::names() const {
  std::vector<Name> all = tokens_.names();
  for (const auto& [name, below] : below_) all.push_back(name);
  return all;
}

void MadeUp::fill(const Name& name, const Placement& placement, LocalTensor& to) {
  const auto found = below_.find(name);
  if (found == below_.end()) return tokens_.fill(name, placement, to);
  const uint64_t key = philox_fold(seed_, fnv1a(name));
  for (int64_t i = 0; i < to.count(); ++i) {
    const uint64_t index = global_index(placement, to, i);
    set_number(to.element, to.buffer.data(), i,
               is_float(to.type.dtype)
                   ? philox_normal(key, index)
                   : std::floor(philox_uniform(key, index) * static_cast<double>(found->second)));
  }
}

}  // namespace shardproof::data
