#pragma once
// How a kernel reports an error in its data.
#include "kernels/cuda/stream.h"

namespace shardproof::SHARDPROOF_MACHINE {

/// As Stream has it, for a kernel's argument.
struct Report {
  Fault* fault = nullptr;
  int64_t step = 0;

  /// Only the first report on the stream counts.
  SHARDPROOF_DEVICE void leave(Fault::Kind kind, int64_t value, int64_t extent) const {
#ifdef SHARDPROOF_ON_GPU
    if (atomicCAS(&fault->taken, 0u, 1u) != 0) return;  // the host reads it when all work is done
#else
    if (fault->taken != 0) return;
    fault->taken = 1;
#endif
    fault->kind = kind;
    fault->step = step;
    fault->value = value;
    fault->extent = extent;
  }
};

inline Report report_to(const Stream& stream) { return {stream.fault, stream.step}; }

}  // namespace shardproof::SHARDPROOF_MACHINE
