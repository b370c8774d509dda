// Chains along rows are what their steps say, at random programs and sizes.
#include <gtest/gtest.h>

#include "kernels/cuda/laws/rowwise.h"
#include "properties/fused/rehearsed.h"

namespace shardproof::properties {
namespace {

using laws::RowwiseCase;

/// Memory and launches of the device under test.
struct Machine {
  std::shared_ptr<Device> device = law_device();
  std::shared_ptr<Queue> queue = device->queue();
  std::map<void*, Buffer> buffers;

  laws::KernelMachine memory() {
    laws::KernelMachine machine;
    machine.allocate = [this](size_t bytes) -> void* {
      Buffer buffer = device->allocate(bytes);
      void* data = buffer.data();
      buffers.emplace(data, std::move(buffer));
      return data;
    };
    machine.release = [this](void* data) { buffers.erase(data); };
    machine.to_machine = [this](void* to, const void* from, size_t bytes) {
      device->copy_from_host(*queue, to, from, bytes);
    };
    machine.from_machine = [this](void* to, const void* from, size_t bytes) {
      device->copy_to_host(*queue, to, from, bytes);
    };
    return machine;
  }
  laws::RunRowwise run() {
    return [this](const Rowwise& op, void* const* outputs, const void* const* inputs) {
      const size_t scratch = device->fused_scratch(op).size();
      device->prepare_fused(op)(*queue, {outputs, op.outputs.size() + scratch},
                                {inputs, op.inputs.size()});
      queue->finish();
      return Fault{};
    };
  }
};

void expect_holds(const RowwiseCase& given) {
  Machine machine;
  ASSERT_TRUE(fits(given.op));
  EXPECT_EQ(laws::broken_rowwise(machine.memory(), machine.run(), given), "")
      << given.op.rows << " rows of " << given.op.length;
}

TEST(Rowwise, RandomPrograms) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_holds(laws::random_rowwise(seed));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace shardproof::properties
