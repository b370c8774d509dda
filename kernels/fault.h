#pragma once
// An error in a kernel's data. A kernel cannot throw: it stores a Fault, and the host reads it
// after the work has finished.
#ifndef __CUDACC_RTC__  // NVRTC has neither
#include <cstdint>
#include <string>
#endif

namespace shardproof {

/// The first fault on a stream, in memory that kernels and host can access. `taken` is 0 if there
/// is none.
struct Fault {
  enum Kind : uint32_t { none, index, part, division };
  uint32_t taken = 0;
  uint32_t kind = none;
  int64_t step = 0;   ///< launch number: Stream::step
  int64_t value = 0;  ///< the index, or the first entry of the part
  int64_t extent = 0;
};

#ifndef __CUDACC_RTC__
/// "index 12 of 10 entries"
inline std::string text(const Fault& fault) {
  const std::string value = std::to_string(fault.value), extent = std::to_string(fault.extent);
  switch (fault.kind) {
    case Fault::index:
      return "index " + value + " of " + extent + " entries";
    case Fault::part:
      return "a part from entry " + value + " on of " + extent + " entries";
    case Fault::division:
      return "an integer is divided by 0";
  }
  return "no fault";
}
#endif

}  // namespace shardproof
