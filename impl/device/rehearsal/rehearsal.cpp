#include "impl/device/rehearsal/rehearsal.h"

#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <utility>

#include "impl/device/rehearsal/matmul.h"
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/kernels.h"

namespace shardproof {
namespace {

struct Occurrence : Event, std::enable_shared_from_this<Occurrence> {
  bool happened = false;
};

/// Runs, happens, or waits for something to happen.
struct Task {
  std::function<void()> run = {};
  std::shared_ptr<Occurrence> records = {};
  std::shared_ptr<const Occurrence> waits = {};
};

struct Line {
  std::deque<Task> tasks;
  std::string error;  ///< the first, of finish()
};

/// The queues of a device, and the one who decides which of them goes on.
class Stage {
 public:
  explicit Stage(uint64_t seed) : rng_(seed) {}

  std::shared_ptr<Line> line() {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::make_shared<Line>());
    return lines_.back();
  }
  void end(const std::shared_ptr<Line>& line) {
    finish(*line);
    const std::lock_guard lock(mutex_);
    std::erase(lines_, line);
  }
  void add(Line& line, Task task) {
    const std::lock_guard lock(mutex_);
    line.tasks.push_back(std::move(task));
  }
  std::string finish(Line& line) {
    const std::lock_guard lock(mutex_);
    while (!line.tasks.empty()) step(line);
    return std::exchange(line.error, "");
  }

 private:
  static bool ready(const Line& line) {
    return !line.tasks.empty() && (!line.tasks[0].waits || line.tasks[0].waits->happened);
  }

  void step(Line& wanted) {
    std::vector<Line*> able;
    for (const std::shared_ptr<Line>& each : lines_)
      if (ready(*each)) able.push_back(each.get());
    if (able.empty()) {  // an event is recorded before it is waited for, so its task is in a queue
      wanted.tasks.clear();
      wanted.error = "the queues wait for each other";
      return;
    }
    Line& line = *able[rng_() % able.size()];
    const Task task = std::move(line.tasks.front());
    line.tasks.pop_front();
    if (task.records) task.records->happened = true;
    if (!task.run) return;
    try {
      task.run();
    } catch (const std::exception& error) {
      if (line.error.empty()) line.error = error.what();
    }
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<Line>> lines_;
  std::mt19937_64 rng_;
};

class RehearsalQueue : public Queue {
 public:
  explicit RehearsalQueue(std::shared_ptr<Stage> stage) : stage_(std::move(stage)) {}
  ~RehearsalQueue() override { stage_->end(line_); }

  std::shared_ptr<Event> record() override {
    auto event = std::make_shared<Occurrence>();
    stage_->add(*line_, {.records = event});
    return event;
  }
  void wait(const Event& event) override {
    stage_->add(*line_, {.waits = static_cast<const Occurrence&>(event).shared_from_this()});
  }
  void finish() override {
    if (const std::string error = stage_->finish(*line_); !error.empty())
      throw DeviceError("rehearsal: " + error);
  }
  void set_place(const std::string* place) override { place_ = place; }

  /// Later: `run(stream)`, whose fault it then looks at.
  void give(std::function<void(const rehearsal::Stream&)> run) {
    const std::string place = place_ ? *place_ + ": " : "";
    stage_->add(*line_, {.run = [run = std::move(run), place, scratch = scratch_.data()] {
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
  std::vector<double> scratch_ = std::vector<double>(rehearsal::scratch_bytes / sizeof(double));
  const std::string* place_ = nullptr;
};

RehearsalQueue& own(Queue& queue) { return static_cast<RehearsalQueue&>(queue); }

class RehearsalDevice : public Device {
 public:
  explicit RehearsalDevice(uint64_t seed) : stage_(std::make_shared<Stage>(seed)) {}

  std::string name() const override { return "rehearsal"; }
  Buffer allocate(size_t bytes) override {
    auto* data = static_cast<std::byte*>(::operator new (bytes + 64, std::align_val_t{64}));
    std::memset(data, 0xff, bytes + 64);
    return Buffer(bytes, data,
                  [](std::byte* memory) { ::operator delete (memory, std::align_val_t{64}); });
  }
  std::unique_ptr<Queue> queue() override { return std::make_unique<RehearsalQueue>(stage_); }
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
      rehearsal::reduce_ranks(stream, element, reduction, from.data(), n, out, count);
    });
  }
  bool multiplies(Element c, Element a, Element b) const override {
    return gpu_multiplies(c, a, b);
  }
  Launch prepare(const KernelOp& op) override {
    return std::visit([](const auto& kernel) { return later(kernel); }, op);
  }
  Launch prepare_fused(const FusedOp& op) const override {
    return [op](Queue& queue, std::span<void* const> outputs, std::span<const void* const> inputs) {
      own(queue).give([op, to = std::vector<void*>(outputs.begin(), outputs.end()),
                       from = std::vector<const void*>(inputs.begin(), inputs.end())](
                          const rehearsal::Stream& stream) {
        rehearsal::run(stream, op, to.data(), from.data());
      });
    };
  }

 private:
  template <class Op>
  static Launch later(const Op& op) {
    return [op](Queue& queue, std::span<void* const> outputs, std::span<const void* const> inputs) {
      std::vector<const void*> from(inputs.begin(), inputs.end());
      own(queue).give(
          [op, to = outputs[0], from = std::move(from)](const rehearsal::Stream& stream) {
            if constexpr (std::is_same_v<Op, Matmul>)
              rehearsed(op, to, from.data());
            else
              rehearsal::run(stream, op, to, from.data());
          });
    };
  }

  std::shared_ptr<Stage> stage_;
};

}  // namespace

std::shared_ptr<Device> rehearsal_device(uint64_t seed) {
  return std::make_shared<RehearsalDevice>(seed);
}

}  // namespace shardproof
