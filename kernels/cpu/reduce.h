#pragma once
// Sums of products, maxima and minima over loops that the result does not have.
#include <vector>

#include "kernels/element.h"
#include "kernels/nest.h"

namespace shardproof::cpu {

struct Reduce {
  Reduction fn = Reduction::sum;
  Nest kept;     ///< operand 0: the result, then the inputs
  Nest reduced;  ///< operand k: input k
  std::vector<Element> inputs;
  Element output;
};

/// out[kept] = reduction over `reduced` of the product of the inputs. Sums are formed in double, in
/// the order of the loops, and rounded once. A maximum of nothing is -infinity, or the least
/// integer.
void reduce(const Reduce& op, void* out, const void* const* inputs);

}  // namespace shardproof::cpu
