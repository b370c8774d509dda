#include "impl/device/emulated/emulated.h"

#include <algorithm>
#include <cstring>

#include "impl/device/emulated/graph.h"
#include "impl/device/emulated/matmul.h"
#include "impl/device/emulated/stage.h"
#include "impl/device/graph/attention_call.h"
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/kernels.h"

namespace shardproof {
namespace {

using emulated::Line;
using emulated::Occurrence;
using emulated::Recording;
using emulated::Stage;

class EmulatedQueue : public Queue {
 public:
  explicit EmulatedQueue(std::shared_ptr<Stage> stage) : stage_(std::move(stage)) {}
  ~EmulatedQueue() override { stage_->end(line_); }

  std::shared_ptr<Event> record() override {
    auto event = std::make_shared<Occurrence>();
    stage_->add(line_, {.records = event});
    return event;
  }
  void wait(const Event& event) override {
    stage_->add(line_, {.waits = static_cast<const Occurrence&>(event).shared_from_this()});
  }
  void finish() override {
    if (const std::string error = stage_->finish(*line_); !error.empty())
      throw DeviceError("emulator: " + error);
  }
  void set_place(const std::string* place) override { place_ = place; }

  const std::shared_ptr<Line>& line() const { return line_; }
  /// Enqueues `run(stream)`; afterwards the task checks its fault.
  void give(std::function<void(const emulated::Stream&)> run) {
    const std::string place = place_ ? *place_ + ": " : "";
    stage_->add(line_, {.run = [run = std::move(run), place, scratch = scratch_.data()] {
                  Fault fault;
                  try {
                    run({nullptr, &fault, 0, scratch});
                  } catch (const std::exception& error) {
                    throw DeviceError(place + error.what());
                  }
                  if (fault.taken) throw DeviceError(place + text(fault));
                }});
  }

 private:
  std::shared_ptr<Stage> stage_;
  std::shared_ptr<Line> line_ = stage_->line();
  std::vector<double> scratch_ = std::vector<double>(emulated::scratch_bytes / sizeof(double));
  const std::string* place_ = nullptr;
};

EmulatedQueue& own(Queue& queue) { return static_cast<EmulatedQueue&>(queue); }

class EmulatedGraph : public Graph {
 public:
  EmulatedGraph(std::shared_ptr<Stage> stage, std::shared_ptr<Recording> recording)
      : stage_(std::move(stage)), recording_(std::move(recording)) {}
  void run(Queue& queue) override { stage_->give(*recording_, *own(queue).line()); }

 private:
  const std::shared_ptr<Stage> stage_;
  const std::shared_ptr<Recording> recording_;
};

/// Like a GPU: log-sum-exps are also converted there.
void attend(const emulated::Stream& stream, const AttentionCall& call,
            const AttentionCall::Arrays& arrays) {
  for (const std::span<std::byte> each : arrays.zeroed)
    std::fill(each.begin(), each.end(), std::byte{0});
  if (const auto& bias = call.bias())
    emulated::to_bias(stream, call.shape(), bias->batch, bias->stride, arrays.mask, arrays.bias);
  if (call.is_gradient())
    emulated::to_logs(stream, call.shape(), arrays.stats, arrays.log_sum_exps);
  evaluate(call.graph(), arrays.tensors);
  if (!call.is_gradient())
    emulated::from_logs(stream, call.shape(), arrays.log_sum_exps, arrays.stats);
}

class EmulatedDevice : public Device {
 public:
  explicit EmulatedDevice(uint64_t seed)
      : stage_(std::make_shared<Stage>(seed)), ordered_(seed % 2 == 0) {}

  std::string name() const override { return "emulated"; }
  Buffer allocate(size_t bytes) override {
    auto* data = static_cast<std::byte*>(::operator new (bytes + 64, std::align_val_t{64}));
    std::memset(data, 0xff, bytes + 64);
    return Buffer(bytes, data,
                  [](std::byte* memory) { ::operator delete (memory, std::align_val_t{64}); });
  }
  std::unique_ptr<Queue> queue() override { return std::make_unique<EmulatedQueue>(stage_); }
  void copy_from_host(Queue& queue, void* to, const void* from, size_t bytes) override {
    const auto* begin = static_cast<const std::byte*>(from);
    own(queue).give([to, data = std::vector<std::byte>(begin, begin + bytes)](const auto&) {
      if (!data.empty()) std::memcpy(to, data.data(), data.size());
    });
  }
  void copy_to_host(Queue& queue, void* to, const void* from, size_t bytes) override {
    queue.finish();
    if (bytes) std::memcpy(to, from, bytes);
  }
  void copy(Queue& queue, void* to, const void* from, size_t bytes) override {
    own(queue).give([=](const auto&) {
      if (bytes) std::memcpy(to, from, bytes);
    });
  }
  void reduce_ranks(Queue& queue, Element element, Reduction reduction, const void* const* sources,
                    int n, void* out, size_t count) override {
    own(queue).give([=, from = std::vector<const void*>(sources, sources + n)](const auto& stream) {
      emulated::reduce_ranks(stream, element, reduction, from.data(), n, out, count);
    });
  }
  bool multiplies(Element c, Element a, Element b) const override {
    return gpu_multiplies(c, a, b);
  }
  std::unique_ptr<Graph> record(Queue& queue, const std::function<void()>& work) override {
    const std::shared_ptr<Recording> recording = stage_->begin_recording(own(queue).line());
    try {
      work();
    } catch (...) {
      stage_->end_recording(*recording, false);
      throw;
    }
    stage_->end_recording(*recording, true);
    return std::make_unique<EmulatedGraph>(stage_, recording);
  }
  Launch prepare(const KernelOp& op) override {
    return std::visit([](const auto& kernel) { return later(kernel); }, op);
  }
  Launch prepare_fused(const FusedOp& op) const override {
    if (!on_gpus(op)) return {};
    if (const auto* product = std::get_if<BiasedProduct>(&op)) {
      const bool has =
          multiplies(Element::f32, product->product.elements[1], product->product.elements[2]);
      return has && product->fits() ? later(*product) : Launch();
    }
    return [op, call = AttentionCall::of(op, ordered_)](
               Queue& queue, std::span<void* const> outputs, std::span<const void* const> inputs) {
      const bool graph = call && call->takes(outputs, inputs);
      own(queue).give([op, call, graph, to = std::vector<void*>(outputs.begin(), outputs.end()),
                       from = std::vector<const void*>(inputs.begin(), inputs.end())](
                          const emulated::Stream& stream) {
        if (graph)
          attend(stream, *call, call->arrays(to, from));
        else
          emulated::run(stream, op, to.data(), from.data());
      });
    };
  }
  std::vector<size_t> fused_scratch(const FusedOp& op) const override {
    return usual_scratch(op, ordered_);
  }

 private:
  template <class Op>
  static Launch later(const Op& op) {
    return [op](Queue& queue, std::span<void* const> outputs, std::span<const void* const> inputs) {
      std::vector<const void*> from(inputs.begin(), inputs.end());
      own(queue).give(
          [op, to = outputs[0], from = std::move(from)](const emulated::Stream& stream) {
            if constexpr (std::is_same_v<Op, Matmul> || std::is_same_v<Op, BiasedProduct>)
              emulate(op, to, from.data());
            else
              emulated::run(stream, op, to, from.data());
          });
    };
  }

  std::shared_ptr<Stage> stage_;
  const bool ordered_;
};

}  // namespace

std::shared_ptr<Device> emulated_device(uint64_t seed) {
  return std::make_shared<EmulatedDevice>(seed);
}

}  // namespace shardproof
