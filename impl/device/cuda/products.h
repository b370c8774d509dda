#pragma once
// Matrix products by cuBLASLt.
#include <memory>

#include "impl/device/device.h"

namespace shardproof {

/// One handle, of one GPU.
class Products {
 public:
  /// `workspace`: the bytes of scratch memory that each queue has.
  explicit Products(size_t workspace);
  ~Products();
  /// Asks cuBLASLt for its best algorithm. Throws DeviceError where it has none.
  Launch prepare(const Matmul& op);
  /// The same; empty where it has none.
  Launch prepare(const BiasedProduct& op);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A product as cuBLASLt sees it, with columns first: out' (n by m) = x (n by k) times y (k by m),
/// x from b and y from a. Where `transposed`, memory has the other matrix. Pure, so that it can be
/// tested without a GPU.
struct ColumnMajor {
  struct Operand {
    bool transposed = false;
    int64_t rows = 0, columns = 0, leading = 0;  ///< as in memory
  };
  int64_t m = 0, n = 0, k = 0;
  Operand x, y, out;
  bool flipped = false;  ///< b's memory is y's, and a's x's
};
ColumnMajor column_major(const Matmul& op);

/// The loop of the batch that cuBLASLt walks itself, the longest; -1: none.
int batch_loop(const Nest& batch);

}  // namespace shardproof
