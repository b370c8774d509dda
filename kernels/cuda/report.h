#pragma once
// Reports an error in a kernel's data.
#include "kernels/cuda/stream.h"

namespace shardproof::SHARDPROOF_MACHINE {

/// The fields of Stream that a kernel needs to report errors.
struct Report {
  Fault* fault = nullptr;
  int64_t step = 0;

  /// Keeps the first report on the stream.
  SHARDPROOF_DEVICE void leave(Fault::Kind kind, int64_t value, int64_t extent) const {
#ifdef SHARDPROOF_ON_GPU
    if (atomicCAS(&fault->taken, 0u, 1u) != 0) return;  // the host reads it after all work
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
