#include "kernels/cpu/create.h"

#include <algorithm>

#include "kernels/cpu/block.h"
#include "kernels/number.h"
#include "kernels/philox.h"

namespace shardproof::cpu {
void iota(const std::vector<int64_t>& extents, size_t dim, int64_t first, Element element,
          void* to) {
  int64_t inner = 1, count = 1;
  for (size_t d = 0; d < extents.size(); ++d) {
    count *= extents[d];
    if (d > dim) inner *= extents[d];
  }
  Block<double> block;
  for (int64_t begin = 0; begin < count; begin += block_size) {
    const int64_t n = std::min(block_size, count - begin);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t value = first + (begin + i) / inner % extents[dim];
      if (is_real(element))
        block.real[i] = static_cast<double>(value);
      else
        block.integer[i] = value;
    }
    store(to, element, begin, 1, block, n);
  }
}

void random(const Nest& nest, Random fn, uint64_t key, int64_t first, Element element, void* to) {
  const int64_t n = nest.inner();
  for_each_row(nest, [&](const int64_t* at) {
    for (int64_t i = 0; i < n; ++i) {
      const auto index = static_cast<uint64_t>(first + at[1] + i * nest.inner_stride(1));
      set_number(element, to, at[0] + i * nest.inner_stride(0),
                 fn == Random::uniform ? philox_uniform(key, index) : philox_normal(key, index));
    }
  });
}

}  // namespace shardproof::cpu
