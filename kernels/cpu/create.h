#pragma once
// Tensors made from nothing or from a key, each rank its own part from global indices.
#include "kernels/element.h"
#include "kernels/nest.h"

namespace shardproof::cpu {

/// to = first + the index of loop `dim`; row-major over the extents.
void iota(const std::vector<int64_t>& extents, size_t dim, int64_t first, Element element,
          void* to);

enum class Random : uint8_t { uniform, normal };

/// to = a function of the key and the global index `first` + nest; operand 0: to, 1: the index.
void random(const Nest& nest, Random fn, uint64_t key, int64_t first, Element element, void* to);

}  // namespace shardproof::cpu
