#pragma once
// Runs the ops of kernels/ops.h on this processor. `inputs` has the op's inputs in order.
#include "kernels/ops.h"

namespace shardproof::cpu {

// copy.cpp. Throws std::out_of_range if a moving part is outside its dim.
void run(const Copy& op, void* out, const void* const* inputs);
void run(const Zero& op, void* out, const void* const* inputs);
void run(const Roll& op, void* out, const void* const* inputs);
void run(const Reverse& op, void* out, const void* const* inputs);
// create.cpp
void run(const Iota& op, void* out, const void* const* inputs);
void run(const Random& op, void* out, const void* const* inputs);
// indexing.cpp. Throws std::out_of_range with the id if an id has no entry.
void run(const Index& op, void* out, const void* const* inputs);
void run(const IndexAdd& op, void* out, const void* const* inputs);
// order.cpp
void run(const Ordered& op, void* out, const void* const* inputs);
/// pointwise.cpp. Throws std::domain_error if an integer is divided by 0.
void run(const Pointwise& op, void* out, const void* const* inputs);
/// The same step by step: neither by machine code nor with look-ups.
void run_steps(const Pointwise& op, void* out, const void* const* inputs);
/// reduce.cpp. Sums in double, in loop order, and rounds once.
void run(const Reduce& op, void* out, const void* const* inputs);
/// matmul.cpp: by the processor's tiles, by oneDNN if it is installed, else by Eigen. Supports what
/// multiplies() accepts.
void run(const Matmul& op, void* out, const void* const* inputs);
/// One product of f32 or bf16 matrices; ignores the op's batch. c is row-major. With `adds`, c is
/// f32 and the product is added to it.
void multiply(const Matmul& op, void* c, const void* a, const void* b, bool adds);
/// Whether products with these elements exist (c, a, b): all f64, or any mixture of f32 and bf16,
/// which sum in f32 and round once.
bool multiplies(Element c, Element a, Element b);

}  // namespace shardproof::cpu
