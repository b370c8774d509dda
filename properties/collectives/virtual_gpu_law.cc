// Virtual ranks of a GPU hold the laws of collectives.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "impl/device/cuda/cuda_device.h"
#include "properties/collectives/drawn.h"
#include "properties/collectives/on_device.h"
#include "properties/collectives/sequence.h"

namespace shardproof::properties {
namespace {

RC_GTEST_PROP(VirtualRanksOnAGpu, DoWhatTheCollectiveIs, ()) {
  const std::shared_ptr<Device> device = cuda_device();
  for (Collective collective : collectives) {
    const CollectiveCase c = drawn_case(collective);
    RC_LOG() << c << "\n";
    const Results results = on_device(*device, c);
    for (int rank = 0; rank < world_of(c); ++rank) RC_ASSERT((results[rank] == defined(c, rank)));
  }
}

RC_GTEST_PROP(VirtualRanksOnAGpu, DoWhatASequenceSays, ()) { hold_sequence(*cuda_device()); }

}  // namespace
}  // namespace shardproof::properties
