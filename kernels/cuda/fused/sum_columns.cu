// Sums the blocks' partial sums per column of a row-wise fused op.
#include "kernels/cuda/entry.h"
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/fused/row.h"
#include "kernels/cuda/launch.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

/// Sums one output per column in block order; each thread takes an eighth of the blocks.
struct SumColumns {
  int64_t blocks, length;
  const float* partials;
  void* out;
  Element element;
  static constexpr int columns = 32, parts = row_threads / columns;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    auto* sums = block.shared<float>();
    block.each([&](int thread) {
      const int64_t i = block.index() * columns + thread % columns;
      float sum = 0;
      if (i < length) {
        SHARDPROOF_UNROLL(8)
        for (int64_t b = thread / columns; b < blocks; b += parts) sum += partials[b * length + i];
      }
      sums[thread] = sum;
    });
    block.each_alone([&](int thread) {
      const int64_t i = block.index() * columns + thread;
      if (thread >= columns || i >= length) return;
      float sum = 0;
      for (int part = 0; part < parts; ++part) sum += sums[part * columns + thread];
      store_real(element, out, i, sum);
    });
  }
};

}  // namespace

void sum_columns(const Stream& stream, const Rowwise& op, const RowShape& shape, Outputs outputs) {
  const auto* partials = static_cast<const float*>(outputs[op.outputs.size()]);
  for (size_t o = 0; o < op.outputs.size(); ++o) {
    if (op.outputs[o].per != Per::column) continue;
    const SumColumns kernel{shape.blocks, shape.length, partials, outputs[o],
                            op.outputs[o].element};
    launch<row_threads>(stream, (shape.length + SumColumns::columns - 1) / SumColumns::columns,
                        kernel, row_threads * sizeof(float));
    partials += shape.blocks * shape.length;
  }
}

#ifdef SHARDPROOF_ON_GPU
void run(const Stream&, const Rowwise&, Outputs, Inputs) {
  throw std::logic_error("a chain along rows is compiled when it is prepared");
}
#endif

}  // namespace shardproof::SHARDPROOF_MACHINE
