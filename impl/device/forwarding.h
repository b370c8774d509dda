#pragma once
// A wrapper for devices that observe another one, or replace parts of
// it.
#include <utility>

#include "impl/device/device.h"

namespace shardproof {

/// Forwards all calls.
class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::shared_ptr<Device> inner) : inner_(std::move(inner)) {}

  std::string name() const override { return inner_->name(); }
  bool is_host() const override { return inner_->is_host(); }
  Buffer allocate(size_t bytes) override { return inner_->allocate(bytes); }
  std::unique_ptr<Queue> queue() override { return inner_->queue(); }
  void copy_from_host(Queue& queue, void* to, const void* from, size_t bytes) override {
    inner_->copy_from_host(queue, to, from, bytes);
  }
  void copy_to_host(Queue& queue, void* to, const void* from, size_t bytes) override {
    inner_->copy_to_host(queue, to, from, bytes);
  }
  void copy(Queue& queue, void* to, const void* from, size_t bytes) override {
    inner_->copy(queue, to, from, bytes);
  }
  void reduce_ranks(Queue& queue, Element element, Reduction reduction, const void* const* sources,
                    int n, void* out, size_t count) override {
    inner_->reduce_ranks(queue, element, reduction, sources, n, out, count);
  }
  bool multiplies(Element c, Element a, Element b) const override {
    return inner_->multiplies(c, a, b);
  }
  std::unique_ptr<Graph> record(Queue& queue, const std::function<void()>& work) override {
    return inner_->record(queue, work);
  }
  Launch prepare(const KernelOp& op) override { return inner_->prepare(op); }
  Launch prepare_fused(const FusedOp& op) const override { return inner_->prepare_fused(op); }
  bool has_fused(const FusedOp& op) const override { return inner_->has_fused(op); }
  std::vector<size_t> fused_scratch(const FusedOp& op) const override {
    return inner_->fused_scratch(op);
  }
  std::string notes() const override { return inner_->notes(); }

 protected:
  Device& inner() { return *inner_; }

 private:
  const std::shared_ptr<Device> inner_;
};

}  // namespace shardproof
