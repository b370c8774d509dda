// Rotary positions: each block handles one position. It computes the cosines and sines in shared
// memory and rotates the vectors of that position.
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/fused/rows.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

constexpr int rope_threads = 128;

template <class E, int n>
struct RopeKernel {
  int64_t outer, positions, inner, width, slices;
  float sign;
  const E* x;
  const int32_t* pos;
  E* out;
  Given base;

  /// cos in entries 0 .. width/2 - 1, then sin.
  SHARDPROOF_DEVICE void fill(Block& block, int64_t position) const {
    auto* table = block.shared<float>();
    const int64_t half = width / 2;
    block.each([&](int thread) {
      const float rate = -2.0f * logf(base.get()) / static_cast<float>(width);
      for (int64_t i = thread; i < half; i += rope_threads) {
        const float a = static_cast<float>(pos[position]) * expf(static_cast<float>(i) * rate);
        table[i] = cosf(a);
        table[half + i] = sign * sinf(a);
      }
    });
  }

  SHARDPROOF_DEVICE void turn(const float* table, int64_t at, int64_t i) const {
    const int64_t half = width / 2;
    const auto c = load<n>(table + i), s = load<n>(table + half + i);
    auto x1 = load<n>(x + at + i), x2 = load<n>(x + at + half + i);
    for (int k = 0; k < n; ++k) {
      const float first = x1.at[k], second = x2.at[k];
      x1.at[k] = first * c.at[k] - second * s.at[k];
      x2.at[k] = second * c.at[k] + first * s.at[k];
    }
    store(out + at + i, x1);
    store(out + at + half + i, x2);
  }

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const int64_t position = block.index() / slices, slice = block.index() % slices;
    fill(block, position);
    const int64_t parts = width / 2 / n, vectors = (outer - slice + slices - 1) / slices * inner;
    const auto* table = block.shared<float>();
    block.each_alone([&](int thread) {
      for (int64_t part = thread; part < vectors * parts; part += rope_threads) {
        const int64_t vector = part / parts, o = slice + vector / inner * slices;
        const int64_t at = ((o * positions + position) * inner + vector % inner) * width;
        turn(table, at, part % parts * n);
      }
    });
  }
};

template <class E, int n>
void launch_rope(const Stream& stream, const Rope& op, Outputs outputs, Inputs inputs) {
  constexpr int64_t enough_blocks = 4096;
  if (op.outer * op.positions * op.inner * op.width == 0) return;
  const int64_t slices =
      std::clamp<int64_t>(enough_blocks / op.positions, 1, std::max<int64_t>(op.outer, 1));
  const void* const* next = inputs + 2;
  const Given base = given(op.base, next);
  const RopeKernel<E, n> kernel{op.outer,
                                op.positions,
                                op.inner,
                                op.width,
                                slices,
                                op.inverse ? -1.0f : 1.0f,
                                static_cast<const E*>(inputs[0]),
                                static_cast<const int32_t*>(inputs[1]),
                                static_cast<E*>(outputs[0]),
                                base};
  launch<rope_threads>(stream, op.positions * slices, kernel,
                       static_cast<size_t>(op.width) * sizeof(float));
}

template <class E, int n>
void launch_rope_of(const Stream& stream, const Rope& op, Outputs outputs, Inputs inputs) {
  if (aligned(op.width / 2, n, {inputs[0], outputs[0]}))
    launch_rope<E, n>(stream, op, outputs, inputs);
  else
    launch_rope<E, 1>(stream, op, outputs, inputs);
}

}  // namespace

void run(const Stream& stream, const Rope& op, Outputs outputs, Inputs inputs) {
  if (op.element == Element::bf16)
    launch_rope_of<Bfloat16, 8>(stream, op, outputs, inputs);
  else
    launch_rope_of<float, 4>(stream, op, outputs, inputs);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
