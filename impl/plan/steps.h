#pragma once
// What a compiled plan is: steps in order, each with the buffers that it reads and writes.
#include <functional>
#include <map>
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

/// What the steps of a run share.
struct Frame {
  std::vector<std::byte*> buffers;
  std::vector<int64_t> loops;  ///< the index of each loop
  Queue* queue = nullptr;      ///< where the next step's work goes
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

/// A function of the library as one op; its scratch is the last outputs.
struct FusedKernel {
  FusedOp op;
  std::vector<Ref> outputs, inputs;
};

/// offset + the sum of stride * index over these loops.
struct Affine {
  int64_t offset = 0;
  std::vector<Ref::Term> terms;
};

/// Where a step gets a whole number: a constant, made of loop indices, or the first entry of a
/// view.
struct Whole {
  std::optional<int64_t> known;
  Ref ref;
  std::optional<Affine> index = {};
  int64_t get(const Frame& frame) const;
};

/// A collective on contiguous views, of one element, between the ranks of a group.
struct Exchange {
  Collective collective = Collective::all_gather;
  size_t group = 0;   ///< of Frame::groups
  Ref send, receive;  ///< of a send both are the one message
  Reduction reduction = Reduction::sum;
  /// permute: each position sends to the position `shift` further on, modulo the group's size.
  Whole shift = {};
  int64_t position = 0;  ///< permute, send: of this rank

  /// The call in a group of `size`. A permute's positions are those of `frame`.
  Call call(int size, const Frame& frame) const;
};

struct Step {
  std::string op;                ///< "einsum", "psum_scatter"
  std::string place;             ///< "ffn.shard:12 in ffn_sharded"
  std::optional<Kernel> kernel;  ///< one of these three, or a loop
  std::optional<FusedKernel> fused;
  std::optional<Exchange> exchange;
  std::function<void(Frame&)> run;  ///< from prepare() on
  std::vector<BufferId> reads, writes;
  /// Steps of one turn of a pipeline's stage: fused only with each other, or what a turn makes
  /// would be kept until the turn of another microbatch.
  size_t turn = 0;

  bool is_kernel() const { return kernel || fused; }

  // A loop runs its body instead.
  std::vector<Step> body;
  size_t loop = 0;
  int64_t times = 0;
  bool reverse = false;
  bool is_loop = false;

  // overlap.h
  bool starts = false;  ///< a collective that the communication thread runs while others go on
  std::optional<size_t>
      waits;  ///< before it all started collectives but the last of this number end
};

bool is_collective(const Step& step);
/// It is one, or has one in its body.
bool communicates(const Step& step);
/// Some step here or in a loop within is run by the communication thread.
bool has_starts(const std::vector<Step>& steps);

/// What a step touches, with all that is in a loop; sorted, each once.
struct Access {
  std::vector<BufferId> reads, writes;
};
Access access_of(const Step& step);
/// Whether the step, or one in its body, does.
bool reads(const Step& step, BufferId id);
bool writes(const Step& step, BufferId id);
/// Whether the order of the two counts.
bool conflict(const Access& a, const Access& b);
bool has(const std::vector<BufferId>& some, BufferId id);

/// How many steps read and write each buffer, those in loops one by one.
struct BufferUses {
  explicit BufferUses(const std::vector<Step>& steps) {
    for (const Step& step : steps) add(step);
  }
  /// A step with this access comes, or goes.
  void add(const Access& access) { change(access, 1); }
  void remove(const Access& access) { change(access, -1); }
  /// All these steps come, or go: of a loop those of its body.
  void add(const Step& step) { change(step, 1); }
  void remove(const Step& step) { change(step, -1); }
  size_t reads_of(BufferId id) const { return of(reads_, id); }
  size_t writes_of(BufferId id) const { return of(writes_, id); }

 private:
  void change(const Step& step, int by);
  void change(const Access& access, int by);
  static size_t of(const std::vector<size_t>& uses, BufferId id) {
    return id < uses.size() ? uses[id] : 0;
  }
  std::vector<size_t> reads_, writes_;  ///< by buffer
};

/// Calls `visit` with each view of a kernel's step: what it writes, then what it reads.
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

/// Sets Step::run of each step, those in loops too: the device makes its kernels.
void prepare(std::vector<Step>& steps, Device& device);

}  // namespace shardproof::plan
