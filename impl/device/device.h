#pragma once
// What computes: memory, queues of work, and kernels for the ops of kernels/ops.h.
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "impl/device/buffer.h"
#include "kernels/fused.h"
#include "kernels/ops.h"

namespace shardproof {

/// A fault of a device or of data that a kernel met: it names the device and gives the library's
/// message.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A point in a queue's work.
class Event {
 public:
  virtual ~Event() = default;
};

/// A line of work of a device: what is given to it is done in order, at once or later.
class Queue {
 public:
  virtual ~Queue() = default;
  /// The work given so far. The event may be waited for, as often as wanted, while it exists.
  virtual std::shared_ptr<Event> record() = 0;
  /// What is given from now on comes after the event, which is of any queue of this device.
  virtual void wait(const Event& event) = 0;
  /// Returns when all that was given is done. Throws DeviceError for what went wrong in it.
  virtual void finish() = 0;
  /// Names the launches that follow in errors of finish().
  virtual void set_place(const std::string*) {}
};

/// Work that was recorded, to be given as a whole as often as wanted.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual void run(Queue& queue) = 0;
};

/// An op for arrays of one shape, ready to run: outputs and inputs are memory of the device.
using Launch = std::function<void(Queue&, std::span<void* const> outputs,
                                  std::span<const void* const> inputs)>;

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  ///< "cpu", "cuda:0 NVIDIA H200", "rehearsal"
  /// Whether its memory is the host's, and its work is done when it is given.
  virtual bool is_host() const { return false; }
  virtual Buffer allocate(size_t bytes) = 0;
  virtual std::unique_ptr<Queue> queue() = 0;
  /// After what the queue was given before; returns when `from` may be changed.
  virtual void copy_from_host(Queue& queue, void* to, const void* from, size_t bytes) = 0;
  /// Finishes the queue.
  virtual void copy_to_host(Queue& queue, void* to, const void* from, size_t bytes) = 0;
  /// Within the device, after what the queue was given before.
  virtual void copy(Queue& queue, void* to, const void* from, size_t bytes) = 0;
  /// Reductions over ranks whose arrays are all on this device: kernels/cpu/reduce_ranks.h. The
  /// list of the sources may be changed when it returns.
  virtual void reduce_ranks(Queue& queue, Element element, Reduction reduction,
                            const void* const* sources, int n, void* out, size_t count) = 0;
  /// Whether it has matrix products of such entries (c, a, b) without a conversion.
  virtual bool multiplies(Element c, Element a, Element b) const = 0;
  /// What `work` gives to `queue`, and to queues that wait for it and that it waits for at the end,
  /// recorded and not done; none where the device cannot.
  virtual std::unique_ptr<Graph> record(Queue&, const std::function<void()>&) { return nullptr; }
  /// Throws DeviceError where it has no kernel for the op.
  virtual Launch prepare(const KernelOp& op) = 0;
  /// Empty where it has no kernel for the op: what the op stands for is computed instead.
  virtual Launch prepare_fused(const FusedOp&) const { return {}; }
  /// Whether it has one; makes none.
  virtual bool has_fused(const FusedOp& op) const { return bool(prepare_fused(op)); }
  /// Bytes of each scratch output of the op, after those that it names: those of kernels/fused.h,
  /// and what else the device needs.
  virtual std::vector<size_t> fused_scratch(const FusedOp& op) const { return scratch_bytes(op); }
  /// What a report is to say of how it computes; empty: nothing.
  virtual std::string notes() const { return ""; }
};

/// This processor, in the thread that calls.
std::shared_ptr<Device> cpu_device();

}  // namespace shardproof
