#pragma once
// Streams, events, and faults reported by kernels.
#include <map>
#include <mutex>
#include <vector>

#include "impl/device/cuda/check.h"
#include "impl/device/cuda/cuda_device.h"
#include "kernels/cuda/stream.h"

namespace shardproof {

/// Events for reuse: creating one in every step would cost more than recording it.
class EventPool {
 public:
  ~EventPool();
  cudaEvent_t take();
  void give_back(cudaEvent_t event);

 private:
  std::mutex mutex_;
  std::vector<cudaEvent_t> free_;
};

class StreamQueue : public CudaQueue {
 public:
  StreamQueue(int ordinal, std::shared_ptr<EventPool> events);
  ~StreamQueue() override;

  CUstream_st* stream() const override { return stream_; }
  std::shared_ptr<Event> record() override;
  void wait(const Event& event) override;
  void finish() override;
  void set_place(const std::string* place) override;

  /// The stream for a launch; also selects the device in this thread.
  cuda::Stream launch_on();
  /// Scratch memory for products and kernels; one launch at a time uses it, as the stream is
  /// ordered.
  std::pair<void*, size_t> workspace() const { return {workspace_.data(), workspace_.bytes()}; }
  void set_workspace(Buffer memory) { workspace_ = std::move(memory); }

 private:
  const int ordinal_;
  std::shared_ptr<EventPool> events_;
  cudaStream_t stream_ = nullptr;
  Fault* fault_ = nullptr;  ///< host memory, mapped
  std::map<const std::string*, int64_t> numbers_;
  std::vector<const std::string*> places_;
  int64_t place_ = -1;
  Buffer workspace_;
};

}  // namespace shardproof
