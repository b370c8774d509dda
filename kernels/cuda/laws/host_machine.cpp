#include "kernels/cuda/laws/host_machine.h"

#include <cstdlib>
#include <cstring>

namespace shardproof::laws {

KernelMachine host_machine(
    std::function<Fault(const KernelOp& op, void* out, const void* const* inputs)> run) {
  KernelMachine machine;
  machine.allocate = [](size_t bytes) {
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  };
  machine.release = [](void* memory) { std::free(memory); };
  machine.to_machine = machine.from_machine = [](void* to, const void* from, size_t bytes) {
    std::memcpy(to, from, bytes);
  };
  machine.run = std::move(run);
  return machine;
}

}  // namespace shardproof::laws
