#include <cstring>

#include "impl/device/device.h"
#include "kernels/cpu/fused.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/reduce_ranks.h"
#include "kernels/cpu/rowwise.h"

namespace shardproof {
namespace {

class CpuEvent : public Event {};

class CpuQueue : public Queue {
 public:
  std::shared_ptr<Event> record() override { return std::make_shared<CpuEvent>(); }
  void wait(const Event&) override {}
  void finish() override {}
};

void run_here(const KernelOp& op, std::span<void* const> outputs,
              std::span<const void* const> inputs) {
  std::visit([&](const auto& kernel) { cpu::run(kernel, outputs[0], inputs.data()); }, op);
}

class CpuDevice : public Device {
 public:
  std::string name() const override { return "cpu"; }
  bool is_host() const override { return true; }
  Buffer allocate(size_t bytes) override { return Buffer(bytes); }
  std::unique_ptr<Queue> queue() override { return std::make_unique<CpuQueue>(); }
  void copy_from_host(Queue& queue, void* to, const void* from, size_t bytes) override {
    copy(queue, to, from, bytes);
  }
  void copy_to_host(Queue& queue, void* to, const void* from, size_t bytes) override {
    copy(queue, to, from, bytes);
  }
  void copy(Queue&, void* to, const void* from, size_t bytes) override {
    if (bytes) std::memcpy(to, from, bytes);
  }
  void reduce_ranks(Queue&, Element element, Reduction reduction, const void* const* sources, int n,
                    void* out, size_t count) override {
    if (count) shardproof::reduce_ranks(element, reduction, sources, n, out, count);
  }
  bool multiplies(Element c, Element a, Element b) const override {
    return cpu::multiplies(c, a, b);
  }
  Launch prepare(const KernelOp& op) override {
    return [op](Queue&, std::span<void* const> outputs, std::span<const void* const> inputs) {
      run_here(op, outputs, inputs);
    };
  }
  void run(const KernelOp& op, Queue&, std::span<void* const> outputs,
           std::span<const void* const> inputs) override {
    run_here(op, outputs, inputs);
  }
  bool has_fused(const FusedOp& op) const override { return cpu::has_fused(op); }
  std::vector<size_t> fused_scratch(const FusedOp& op) const override {
    return cpu::fused_scratch(op, threads_);
  }
  Launch prepare_fused(const FusedOp& op) const override {
    if (!cpu::has_fused(op)) return {};
    if (const auto* rows = std::get_if<Rowwise>(&op))
      return [program = cpu::row_program(*rows)](Queue&, std::span<void* const> outputs,
                                                 std::span<const void* const> inputs) {
        program->run(outputs.data(), inputs.data());
      };
    return [op = op, threads = threads_](Queue&, std::span<void* const> outputs,
                                         std::span<const void* const> inputs) {
      cpu::run(op, outputs.data(), inputs.data(), threads);
    };
  }

 private:
  const int threads_ = cpu::threads();  ///< for which a plan has scratch memory
};

}  // namespace

std::shared_ptr<Device> cpu_device() { return std::make_shared<CpuDevice>(); }

}  // namespace shardproof
