#pragma once
// Reading and adding at indices that are data.
#include "kernels/element.h"
#include "kernels/nest.h"

namespace shardproof::cpu {

/// The part of an indexed dim that is here. `partial`: what lies beyond it is another rank's.
struct IndexWindow {
  int64_t first = 0, extent = 0;
  int64_t stride = 0;  ///< of the dim, in the table or the sum
  bool partial = false;
};

/// out = table[.., ids, ..] over the nest (operand 0: out, 1: table, 2: ids, i32 or u32); 0 for
/// another rank's entries. Throws std::out_of_range naming the id where there is no such entry.
void index(const Nest& nest, const IndexWindow& window, Element element, void* out,
           const void* table, Element id_element, const void* ids);

/// sum[.., ids, ..] += x over the nest (operand 0: sum, 1: ids, 2: x), in the order of the loops;
/// `sum` has been set before. Floats of the sum are f64 or f32.
void index_add(const Nest& nest, const IndexWindow& window, Element sum_element, void* sum,
               Element id_element, const void* ids, Element x_element, const void* x);

}  // namespace shardproof::cpu
