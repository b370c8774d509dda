#pragma once
// A compiled plan: steps in order, each with the buffers that it reads and writes.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "impl/comm/communicator.h"
#include "impl/device/device.h"

namespace shardproof::plan {

using BufferId = size_t;
constexpr BufferId no_buffer = ~size_t{0};

/// A strided view of a buffer; extents and strides in entries. In a loop it may move with the
/// loop's index.
struct Ref {
  struct Term {
    size_t loop;
    int64_t stride;
  };
  BufferId buffer = no_buffer;
  Element element = Element::f32;
  int64_t offset = 0;
  std::vector<int64_t> extents, strides;
  std::vector<Term> terms;

  int64_t count() const;
  bool contiguous() const;  ///< row-major without gaps
};

/// The state that the steps of a run share.
struct StepContext {
  std::vector<std::byte*> buffers;
  std::vector<int64_t> loops;  ///< current index of each loop
  Queue* queue = nullptr;      ///< receives the next step's work
  Communicator* communicator = nullptr;
  std::vector<Group*> groups;

  void* at(const Ref& ref) const {
    int64_t offset = ref.offset;
    for (const Ref::Term& term : ref.terms) offset += loops[term.loop] * term.stride;
    return buffers[ref.buffer] + offset * static_cast<int64_t>(size_of(ref.element));
  }
};

/// An op on views of buffers.
struct Kernel {
  KernelOp op;
  Ref out;
  std::vector<Ref> inputs;
};

/// A library function as one op; its scratch is at the end of the outputs.
struct FusedKernel {
  FusedOp op;
  std::vector<Ref> outputs, inputs;
};

/// offset + the sum of stride * index over these loops.
struct Affine {
  int64_t offset = 0;
  std::vector<Ref::Term> terms;
};

/// An integer operand of a step: a constant, a function of loop indices, or the first entry of a
/// view.
struct Whole {
  std::optional<int64_t> known;
  Ref ref;
  std::optional<Affine> index = {};
  int64_t get(const StepContext& context) const;
};

/// A collective on contiguous views of one element, in a group of ranks.
struct Exchange {
  Collective collective = Collective::all_gather;
  size_t group = 0;   ///< index in StepContext::groups
  Ref send, receive;  ///< for a send, both are the message
  Reduction reduction = Reduction::sum;
  /// permute: each position sends to the position `shift` later, modulo the group's size.
  Whole shift = {};
  int64_t position = 0;  ///< permute, send: this rank's position

  /// The call, in a group of `size`. For a permute, positions depend on `frame`.
  Call call(int size, const StepContext& context) const;
};

/// A value on the heap, or none; a copy has its own.
template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T&& value) : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }

  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

struct Step {
  std::string op;                ///< "einsum", "psum_scatter"
  std::string place;             ///< "ffn.shard:12 in ffn_sharded"
  std::optional<Kernel> kernel;  ///< exactly one of these three is set, or it is a loop
  Boxed<FusedKernel> fused;
  Boxed<Exchange> exchange;
  // Set by prepare().
  std::function<void(const Step&, StepContext&)> run;  ///< of this step
  Launch launch = {};  ///< of its kernel; none for an unfused one on a host
  std::vector<BufferId> reads, writes;
  /// The turn of a pipeline's stage that the step belongs to. Fused only within a turn: otherwise a
  /// value would have to live until the turn of another microbatch.
  size_t turn = 0;

  bool is_kernel() const { return kernel || fused; }

  // A loop: runs its body instead.
  std::vector<Step> body;
  size_t loop = 0;
  int64_t times = 0;
  bool reverse = false;
  bool is_loop = false;

  // Set by overlap().
  bool starts = false;          ///< a collective that runs in the background, while later steps run
  std::optional<size_t> waits;  ///< before it, wait for all started collectives but this many
};

bool is_collective(const Step& step);
/// Whether it is a collective, or contains one.
bool communicates(const Step& step);
/// Whether a step, here or in a loop, starts in the background.
bool has_starts(const std::vector<Step>& steps);

/// The buffers that a step uses, including its body's; sorted, without duplicates.
struct Access {
  std::vector<BufferId> reads, writes;
};
Access access_of(const Step& step);
/// Whether the step or one in its body reads the buffer.
bool reads(const Step& step, BufferId id);
bool writes(const Step& step, BufferId id);
/// Whether the order of the two matters.
bool conflict(const Access& a, const Access& b);
inline bool has(const std::vector<BufferId>& some, BufferId id) {
  return std::find(some.begin(), some.end(), id) != some.end();
}

/// The number of steps that read and write each buffer, counting steps inside loops.
struct BufferUses {
  explicit BufferUses(const std::vector<Step>& steps) {
    for (const Step& step : steps) add(step);
  }
  /// Adds a step with this access; remove() undoes it.
  void add(const Access& access) { change(access, 1); }
  void remove(const Access& access) { change(access, -1); }
  /// Adds the step, or all steps in a loop's body.
  void add(const Step& step) { change(step, 1); }
  void remove(const Step& step) { change(step, -1); }
  size_t reads_of(BufferId id) const { return id < uses_.size() ? uses_[id].reads : 0; }
  size_t writes_of(BufferId id) const { return id < uses_.size() ? uses_[id].writes : 0; }

 private:
  struct Uses {
    size_t reads = 0, writes = 0;
  };
  void change(const Step& step, int by);
  void change(const Access& access, int by);
  void count(const std::vector<BufferId>& ids, size_t Uses::*use, int by);
  std::vector<Uses> uses_;  ///< by buffer
};

/// Calls `visit` with each view of a kernel step: first those that it writes, then those that it
/// reads.
template <class AnyStep, class Visit>
void for_each_ref(AnyStep& step, const Visit& visit) {
  if (step.kernel) {
    visit(step.kernel->out);
    for (auto& input : step.kernel->inputs) visit(input);
  }
  if (step.fused) {
    for (auto& output : step.fused->outputs) visit(output);
    for (auto& input : step.fused->inputs) visit(input);
  }
}

/// Sets Step::run of each step, also in loops: the device, which must outlive the steps, prepares
/// its kernels.
void prepare(std::vector<Step>& steps, Device& device);

/// Calls `visit` with each step, here and in loops.
template <class Visit>
void for_each_step(const std::vector<Step>& steps, const Visit& visit) {
  for (const Step& step : steps) {
    visit(step);
    if (step.is_loop) for_each_step(step.body, visit);
  }
}

/// Whether `test` holds for a step, here or in a loop.
template <class Test>
bool any_step(const std::vector<Step>& steps, const Test& test) {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    return test(step) || (step.is_loop && any_step(step.body, test));
  });
}

}  // namespace shardproof::plan
