#include "impl/device/cuda/queue.h"

namespace shardproof {
namespace {

struct StreamEvent : Event {
  explicit StreamEvent(std::shared_ptr<EventPool> pool)
      : from(std::move(pool)), event(from->take()) {}
  ~StreamEvent() override { from->give_back(event); }
  std::shared_ptr<EventPool> from;
  cudaEvent_t event;
};

}  // namespace

EventPool::~EventPool() {
  for (cudaEvent_t event : free_) cudaEventDestroy(event);
}

cudaEvent_t EventPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const cudaEvent_t event = free_.back();
      free_.pop_back();
      return event;
    }
  }
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  return event;
}

void EventPool::give_back(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  free_.push_back(event);
}

StreamQueue::StreamQueue(int ordinal, std::shared_ptr<EventPool> events)
    : ordinal_(ordinal), events_(std::move(events)) {
  check_cuda(cudaSetDevice(ordinal_), "GPU " + std::to_string(ordinal_));
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, sizeof(Fault), cudaHostAllocMapped), "memory for faults");
  fault_ = new (memory) Fault;
}

StreamQueue::~StreamQueue() {
  cudaSetDevice(ordinal_);
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
  cudaFreeHost(fault_);
}

std::shared_ptr<Event> StreamQueue::record() {
  check_cuda(cudaSetDevice(ordinal_), "GPU " + std::to_string(ordinal_));  // also for the event
  auto event = std::make_shared<StreamEvent>(events_);
  check_cuda(cudaEventRecord(event->event, stream_), "recording an event");
  return event;
}

void StreamQueue::wait(const Event& event) {
  check_cuda(cudaStreamWaitEvent(stream_, static_cast<const StreamEvent&>(event).event, 0),
             "waiting for an event");
}

void StreamQueue::finish() {
  check_cuda(cudaSetDevice(ordinal_), "GPU " + std::to_string(ordinal_));
  check_cuda(cudaStreamSynchronize(stream_), "a kernel failed");
  const Fault fault = *fault_;
  if (!fault.taken) return;
  *fault_ = Fault{};
  const bool placed = fault.step >= 0 && fault.step < static_cast<int64_t>(places_.size());
  throw DeviceError((placed ? *places_[static_cast<size_t>(fault.step)] + ": " : "") + text(fault));
}

void StreamQueue::set_place(const std::string* place) {
  const auto [number, is_new] = numbers_.try_emplace(place, static_cast<int64_t>(places_.size()));
  if (is_new) places_.push_back(place);
  place_ = number->second;
}

cuda::Stream StreamQueue::launch_on() {
  check_cuda(cudaSetDevice(ordinal_), "GPU " + std::to_string(ordinal_));
  return {stream_, fault_, place_, workspace_.data()};
}

}  // namespace shardproof
