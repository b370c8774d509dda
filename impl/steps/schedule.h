#pragma once
// What a compiled plan is: steps in order, each with the buffers that it reads and writes.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "impl/comm/communicator.h"
#include "impl/device/device.h"

namespace shardproof::exec {

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

struct Step {
  std::string op;                    ///< "einsum", "psum_scatter"
  std::string place;                 ///< "ffn.shard:12 in ffn_sharded"
  std::optional<Kernel> kernel;      ///< a collective has none
  std::optional<FusedKernel> fused;  ///< or this
  std::function<void(Frame&)> run;   ///< of a kernel: from prepare() on
  std::vector<BufferId> reads, writes;

  bool is_kernel() const { return kernel || fused; }

  // A loop runs its body instead.
  std::vector<Step> body;
  size_t loop = 0;
  int64_t times = 0;
  bool reverse = false;
  bool is_loop = false;

  // overlap.h
  bool starts = false;  ///< a collective that the communication thread runs while others go on
  std::optional<size_t> waits;  ///< before it all started collectives but the last so many end
};

bool is_collective(const Step& step);
/// It is one, or has one in its body.
bool communicates(const Step& step);

/// What a step touches, with all that is in a loop; sorted, each once.
struct Access {
  std::vector<BufferId> reads, writes;
};
Access access_of(const Step& step);
/// Whether the order of the two counts.
bool conflict(const Access& a, const Access& b);
bool has(const std::vector<BufferId>& some, BufferId id);

/// How many steps read and write each buffer, those in loops one by one.
struct BufferUses {
  explicit BufferUses(const std::vector<Step>& steps) { count(steps); }
  /// A step with this access comes, or goes.
  void add(const Access& access) { change(access, 1); }
  void remove(const Access& access) { change(access, -1); }
  size_t reads_of(BufferId id) const { return of(reads_, id); }
  size_t writes_of(BufferId id) const { return of(writes_, id); }

 private:
  void count(const std::vector<Step>& steps);
  void change(const Access& access, int by);
  static size_t of(const std::map<BufferId, size_t>& uses, BufferId id) {
    const auto found = uses.find(id);
    return found == uses.end() ? 0 : found->second;
  }
  std::map<BufferId, size_t> reads_, writes_;
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

/// Whether the result `made` may have the memory of the parameter `kept`: when it is written nobody
/// reads that any more, but for the step itself, entry by entry.
bool may_share(const std::vector<Step>& steps, BufferId kept, BufferId made);

/// Has the device make its kernels for the steps, those in loops too.
void prepare(std::vector<Step>& steps, Device& device);

/// A buffer of the arena.
struct Piece {
  size_t bytes = 0;
  size_t first = ~size_t{0}, last = 0;  ///< the steps between which its content is needed
  size_t offset = 0;
};

/// What is made only to be copied elsewhere is made there, and the copy goes: what an iteration
/// emits, for one, is made in the stack. `given`: buffers that are not of the arena.
void make_in_stack(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                   const std::vector<BufferId>& given);

/// Chains, norms, their gradients and sums over rows that read or write the same entries become one
/// chain along rows, where the device has those, and what only it reads is not written.
void join_rows(std::vector<Step>& steps, std::vector<Piece>& pieces,
               const std::vector<BufferId>& given, const Device& device);

/// An optimizer whose gradient was only scaled for it scales it itself.
void fold_scale(std::vector<Step>& steps, const std::vector<BufferId>& given);

/// A sum of parts of one array, each with zeros around it, is these parts put together.
void join_parts(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                const std::vector<BufferId>& given);

/// A chain of pointwise ops that is only copied in another order is computed in that order.
void compute_packed(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                    const std::vector<BufferId>& given);

/// f32 numbers of the arena that are all bf16, and read by nobody who minds, are kept as bf16.
void keep_narrow(std::vector<Step>& steps, std::vector<Piece>& pieces,
                 const std::vector<BufferId>& given);

/// The first and last use of each buffer, loops included: what is made before a loop and read in it
/// lives until its end, what is made in it and read behind it lives from its begin. What a started
/// collective touches lives until it is waited for.
void find_lifetimes(const std::vector<Step>& steps, std::vector<Piece>& pieces);

/// Places the buffers so that two which live at the same time do not overlap: the size of the arena
/// in bytes. `reuse` false: each has its own place.
size_t place_buffers(std::vector<Piece>& pieces, bool reuse);

}  // namespace shardproof::exec
