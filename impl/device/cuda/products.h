#pragma once
// Matrix products by cuBLASLt.
#include <memory>

#include "impl/device/device.h"

namespace shardproof {

/// One cuBLASLt handle for one GPU.
class Products {
 public:
  /// `workspace`: bytes of scratch memory per stream. `times`: the algorithm of a large product is
  /// the fastest of those that cuBLASLt offers, by a clock; else its first.
  Products(size_t workspace, bool times);
  ~Products();
  /// Asks cuBLASLt for its best algorithm. Throws DeviceError if it has none.
  Launch prepare(const Matmul& op);
  /// The same; empty if it has none.
  Launch prepare(const BiasedProduct& op);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A product in cuBLASLt's column-major view: out' (n by m) = x (n by k) times y (k by m), x from b
/// and y from a. `transposed`: memory has the transposed matrix. Pure, so it is tested without a
/// GPU.
struct ColumnMajor {
  struct Operand {
    bool transposed = false;
    int64_t rows = 0, columns = 0, leading = 0;  ///< as in memory
  };
  int64_t m = 0, n = 0, k = 0;
  Operand x, y, out;
  bool flipped = false;  ///< y is b's memory, and x is a's
};
ColumnMajor column_major(const Matmul& op);

/// The loop of the batch that cuBLASLt runs itself, the longest; -1: none.
int batch_loop(const Nest& batch);

}  // namespace shardproof
