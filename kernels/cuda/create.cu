#include "kernels/cuda/entry.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loops.h"
#include "kernels/philox.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

struct IotaKernel {
  void* out;
  Element element;
  int64_t count, first, inner, extent;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, count, [&](int64_t i) {
      const int64_t value = first + i / inner % extent;
      if (is_real(element))
        store_real(element, out, i, static_cast<double>(value));
      else
        store_integer(element, out, i, value);
    });
  }
};

struct RandomKernel {
  Loops<2> loops;
  void* out;
  const uint64_t* key;
  Element element;
  RandomFn fn;
  int64_t first;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, loops.count, [&](int64_t i) {
      int64_t at[2];
      loops.find(i, at);
      const auto index = static_cast<uint64_t>(first + at[1]);
      store_real(
          element, out, at[0],
          fn == RandomFn::uniform ? philox_uniform(*key, index) : philox_normal(*key, index));
    });
  }
};

/// Uniform numbers of adjacent entries: each counter gives four.
struct UniformRowKernel {
  void* out;
  const uint64_t* key;
  Element element;
  uint64_t first;
  int64_t count;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, counters(), [&](int64_t i) {
      const uint64_t counter = first / 4 + static_cast<uint64_t>(i);
      const PhiloxWords words = philox(*key, counter, 0);
      for (int j = 0; j < 4; ++j) {
        const auto at = static_cast<int64_t>(counter * 4 + static_cast<uint64_t>(j) - first);
        if (at >= 0 && at < count) store_real(element, out, at, philox_uniform_of(words.word[j]));
      }
    });
  }
  SHARDPROOF_HD int64_t counters() const {
    return static_cast<int64_t>((first + static_cast<uint64_t>(count) + 3) / 4 - first / 4);
  }
};

}  // namespace

void run(const Stream& stream, const Iota& op, void* out, const void* const*) {
  int64_t inner = 1, count = 1;
  for (size_t d = 0; d < op.extents.size(); ++d) {
    count *= op.extents[d];
    if (d > op.dim) inner *= op.extents[d];
  }
  if (count == 0) return;
  launch_each(stream, count,
              IotaKernel{out, op.element, count, op.first, inner, op.extents[op.dim]});
}

void run(const Stream& stream, const Random& op, void* out, const void* const* inputs) {
  const Nest nest = coalesced(op.nest);
  const auto* key = static_cast<const uint64_t*>(inputs[0]);
  if (nest.count() == 0) return;
  const bool row = nest.extents.empty() || (nest.extents.size() == 1 && nest.inner_stride(0) == 1 &&
                                            nest.inner_stride(1) == 1);
  if (row && op.fn == RandomFn::uniform) {
    const UniformRowKernel kernel{out, key, op.element, static_cast<uint64_t>(op.first),
                                  nest.count()};
    return launch_each(stream, kernel.counters(), kernel);
  }
  launch_each(stream, nest.count(),
              RandomKernel{loops_of<2>(nest), out, key, op.element, op.fn, op.first});
}

}  // namespace shardproof::SHARDPROOF_MACHINE
