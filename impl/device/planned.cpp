#include "impl/device/planned.h"

#include "impl/device/graph/attention_call.h"

namespace shardproof {
namespace {

[[noreturn]] void refuse() { throw std::logic_error("plans for a GPU that is not there run"); }

class PlannedQueue : public Queue {
 public:
  std::shared_ptr<Event> record() override { refuse(); }
  void wait(const Event&) override { refuse(); }
  void finish() override {}
};

class PlannedDevice : public Device {
 public:
  std::string name() const override { return "planned"; }
  Buffer allocate(size_t bytes) override {
    return Buffer(bytes, nullptr, [](std::byte*) {});
  }
  std::unique_ptr<Queue> queue() override { return std::make_unique<PlannedQueue>(); }
  void copy_from_host(Queue&, void*, const void*, size_t) override { refuse(); }
  void copy_to_host(Queue&, void*, const void*, size_t) override { refuse(); }
  void copy(Queue&, void*, const void*, size_t) override { refuse(); }
  void reduce_ranks(Queue&, Element, Reduction, const void* const*, int, void*, size_t) override {
    refuse();
  }
  bool multiplies(Element c, Element a, Element b) const override {
    return gpu_multiplies(c, a, b);
  }
  Launch prepare(const KernelOp&) override { return never(); }
  Launch prepare_fused(const FusedOp& op) const override {
    return on_gpus(op) ? never() : Launch();
  }
  std::vector<size_t> fused_scratch(const FusedOp& op) const override { return usual_scratch(op); }

 private:
  static Launch never() {
    return [](Queue&, std::span<void* const>, std::span<const void* const>) { refuse(); };
  }
};

}  // namespace

std::shared_ptr<Device> planned_device() { return std::make_shared<PlannedDevice>(); }

}  // namespace shardproof
