#pragma once
// A device: memory, streams, and kernels for the ops of kernels/ops.h.
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "impl/device/buffer.h"
#include "kernels/fused.h"
#include "kernels/ops.h"

namespace shardproof {

/// An error of a device, or in data that a kernel read. It names the device, and includes the
/// library's message.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A point in a stream's work.
class Event {
 public:
  virtual ~Event() = default;
};

/// A stream of a device: work runs in order, immediately or later.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Marks the work so far. The event can be waited for any number of times while it exists.
  virtual std::shared_ptr<Event> record() = 0;
  /// Later work runs after the event, which may be on any stream of this device.
  virtual void wait(const Event& event) = 0;
  /// Returns when all work is done. Throws DeviceError for errors in it.
  virtual void finish() = 0;
  /// The source location of the following launches, for errors of finish().
  virtual void set_place(const std::string*) {}
};

/// Recorded work, to be launched as a whole any number of times.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual void run(Queue& queue) = 0;
};

/// An op for arrays of one shape, ready to run; outputs and inputs are device memory.
using Launch = std::function<void(Queue&, std::span<void* const> outputs,
                                  std::span<const void* const> inputs)>;

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  ///< "cpu", "cuda:0 NVIDIA H200", "emulated"
  /// Whether its memory is host memory and its work is synchronous.
  virtual bool is_host() const { return false; }
  virtual Buffer allocate(size_t bytes) = 0;
  virtual std::unique_ptr<Queue> queue() = 0;
  /// Runs after earlier work of the stream; returns when `from` may be changed.
  virtual void copy_from_host(Queue& queue, void* to, const void* from, size_t bytes) = 0;
  /// Also finishes the stream.
  virtual void copy_to_host(Queue& queue, void* to, const void* from, size_t bytes) = 0;
  /// Within the device; runs after earlier work of the stream.
  virtual void copy(Queue& queue, void* to, const void* from, size_t bytes) = 0;
  /// Reduces over ranks whose arrays are all on this device: see kernels/cpu/reduce_ranks.h. The
  /// list of sources may be changed after the call.
  virtual void reduce_ranks(Queue& queue, Element element, Reduction reduction,
                            const void* const* sources, int n, void* out, size_t count) = 0;
  /// Whether it supports matrix products with these elements (c, a, b) without conversion.
  virtual bool multiplies(Element c, Element a, Element b) const = 0;
  /// Records the work that `work` enqueues on `queue` and on streams that wait for it and that it
  /// waits for at the end; does not run it. Null if the device does not support recording.
  virtual std::unique_ptr<Graph> record(Queue&, const std::function<void()>&) { return nullptr; }
  /// Throws DeviceError if the device has no kernel for the op.
  virtual Launch prepare(const KernelOp& op) = 0;
  /// Runs the op once. A host does this without preparation.
  virtual void run(const KernelOp& op, Queue& queue, std::span<void* const> outputs,
                   std::span<const void* const> inputs) {
    prepare(op)(queue, outputs, inputs);
  }
  /// Empty if the device has no kernel for the op: the caller then compiles its instructions.
  virtual Launch prepare_fused(const FusedOp&) const { return {}; }
  /// Whether it has a kernel; compiles none.
  virtual bool has_fused(const FusedOp& op) const { return bool(prepare_fused(op)); }
  /// Bytes of each scratch output of the op: those of kernels/fused.h, and what the device needs in
  /// addition.
  virtual std::vector<size_t> fused_scratch(const FusedOp& op) const { return scratch_bytes(op); }
  /// Text for reports on how the device computes; may be empty.
  virtual std::string notes() const { return ""; }
};

/// The CPU; ops run in the calling thread.
std::shared_ptr<Device> cpu_device();

}  // namespace shardproof
