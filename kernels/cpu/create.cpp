#include "kernels/cpu/kernels.h"

#include <algorithm>

#include "kernels/cpu/block.h"
#include "kernels/number.h"
#include "kernels/philox.h"

namespace shardproof::cpu {

void run(const Iota& op, void* out, const void* const*) {
  int64_t inner = 1, count = 1;
  for (size_t d = 0; d < op.extents.size(); ++d) {
    count *= op.extents[d];
    if (d > op.dim) inner *= op.extents[d];
  }
  Block<double> block;
  for (int64_t begin = 0; begin < count; begin += block_size) {
    const int64_t n = std::min(block_size, count - begin);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t value = op.first + (begin + i) / inner % op.extents[op.dim];
      if (is_real(op.element))
        block.real[i] = static_cast<double>(value);
      else
        block.integer[i] = value;
    }
    store(out, op.element, begin, 1, block, n);
  }
}

void run(const Random& op, void* out, const void* const* inputs) {
  const Nest& nest = op.nest;
  const uint64_t key = *static_cast<const uint64_t*>(inputs[0]);
  const int64_t n = nest.inner();
  for_each_row(nest, [&](const int64_t* at) {
    for (int64_t i = 0; i < n; ++i) {
      const auto index = static_cast<uint64_t>(op.first + at[1] + i * nest.inner_stride(1));
      set_number(
          op.element, out, at[0] + i * nest.inner_stride(0),
          op.fn == RandomFn::uniform ? philox_uniform(key, index) : philox_normal(key, index));
    }
  });
}

}  // namespace shardproof::cpu
