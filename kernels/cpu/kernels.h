#pragma once
// Runs the ops of kernels/ops.h on this processor. `inputs` has the op's inputs, in order.
#include "kernels/ops.h"

namespace shardproof::cpu {

// copy.cpp. Throw std::out_of_range where a moving part is beyond its dim.
void run(const Copy& op, void* out, const void* const* inputs);
void run(const Zero& op, void* out, const void* const* inputs);
void run(const Roll& op, void* out, const void* const* inputs);
void run(const Reverse& op, void* out, const void* const* inputs);
// create.cpp
void run(const Iota& op, void* out, const void* const* inputs);
void run(const Random& op, void* out, const void* const* inputs);
// indexing.cpp. Throw std::out_of_range naming an id that has no entry.
void run(const Index& op, void* out, const void* const* inputs);
void run(const IndexAdd& op, void* out, const void* const* inputs);
// order.cpp
void run(const Ordered& op, void* out, const void* const* inputs);
/// pointwise.cpp. Throws std::domain_error where an integer is divided by 0.
void run(const Pointwise& op, void* out, const void* const* inputs);
/// reduce.cpp. Sums are formed in double, in the order of the loops, and rounded once.
void run(const Reduce& op, void* out, const void* const* inputs);
/// matmul.cpp, by oneDNN where it is found, otherwise by Eigen: what multiplies() has.
void run(const Matmul& op, void* out, const void* const* inputs);
/// One product of f32 and bf16, whatever the op's batch; c is row-major. It is added to c, which is
/// f32 then, where `adds`.
void multiply(const Matmul& op, void* c, const void* a, const void* b, bool adds);
/// Whether there are products of such entries (c, a, b): all f64, or f32 and bf16 in any mixture,
/// with sums in f32 that are rounded once.
bool multiplies(Element c, Element a, Element b);

}  // namespace shardproof::cpu
