#pragma once
// Row-wise fused ops (kernels/rowwise.h) by machine code (row_code.h).
#include <memory>

#include "kernels/fused.h"

namespace shardproof::cpu {

/// An op that is ready to run.
class RowProgram {
 public:
  virtual ~RowProgram() = default;

  /// Sums of a row are computed in f32, in lanes of at most 32 terms, and the lanes in double; sums
  /// per column in double. Threads share the rows. The scratch follows the outputs.
  virtual void run(void* const* outputs, const void* const* inputs) const = 0;
};

/// Null if the processor or a step has no machine code.
std::shared_ptr<const RowProgram> row_program(const Rowwise& op);

/// Whether there is a program that takes less time than the op's steps one by one. Does not depend
/// on the number of rows of an op that knows them: then a row's sums have the same bits, however
/// many rows a rank has.
bool is_worth_fusing(const Rowwise& op);

/// Bytes of the scratch output: sums per column of pieces of the rows.
size_t scratch_bytes(const Rowwise& op);

}  // namespace shardproof::cpu
