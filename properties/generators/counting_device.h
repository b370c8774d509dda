#pragma once
#include <atomic>

#include "impl/device/device.h"

namespace shardproof::properties {

/// Another device that counts the bytes it has given away.
class CountingDevice : public Device {
 public:
  explicit CountingDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  size_t now() const { return *now_; }
  size_t most() const { return most_; }

  Buffer allocate(size_t bytes) override {
    const size_t taken = *now_ += bytes;
    for (size_t most = most_; most < taken && !most_.compare_exchange_weak(most, taken);) continue;
    auto memory = std::make_shared<Buffer>(device_->allocate(bytes));
    return Buffer(bytes, memory->data(),
                  [memory, bytes, now = now_](std::byte*) { *now -= bytes; });
  }
  std::string name() const override { return device_->name(); }
  bool is_host() const override { return device_->is_host(); }
  std::unique_ptr<Queue> queue() override { return device_->queue(); }
  void copy_from_host(Queue& queue, void* to, const void* from, size_t bytes) override {
    device_->copy_from_host(queue, to, from, bytes);
  }
  void copy_to_host(Queue& queue, void* to, const void* from, size_t bytes) override {
    device_->copy_to_host(queue, to, from, bytes);
  }
  void copy(Queue& queue, void* to, const void* from, size_t bytes) override {
    device_->copy(queue, to, from, bytes);
  }
  void reduce_ranks(Queue& queue, Element element, Reduction reduction, const void* const* sources,
                    int n, void* out, size_t count) override {
    device_->reduce_ranks(queue, element, reduction, sources, n, out, count);
  }
  bool multiplies(Element c, Element a, Element b) const override {
    return device_->multiplies(c, a, b);
  }
  std::unique_ptr<Graph> record(Queue& queue, const std::function<void()>& work) override {
    return device_->record(queue, work);
  }
  Launch prepare(const KernelOp& op) override { return device_->prepare(op); }
  Launch prepare_fused(const FusedOp& op) const override { return device_->prepare_fused(op); }
  std::vector<size_t> fused_scratch(const FusedOp& op) const override {
    return device_->fused_scratch(op);
  }
  std::string notes() const override { return device_->notes(); }

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<std::atomic<size_t>> now_ = std::make_shared<std::atomic<size_t>>(0);
  std::atomic<size_t> most_ = 0;
};

}  // namespace shardproof::properties
