#pragma once
// Collectives between ranks, as one rank sees them. Threads, virtual ranks of a device, MPI and
// NCCL implement it.
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "impl/comm/call.h"

namespace shardproof {

class Device;  // impl/device/device.h
class Graph;
class Queue;

/// The environment failed, or ranks disagree. The message names the rank, the op and the reason.
class CommError : public std::runtime_error {
 public:
  CommError(int rank, const std::string& what) : std::runtime_error(what), rank_(rank) {}
  int rank() const { return rank_; }  ///< the rank at fault; -1 if not known

 private:
  int rank_;
};

/// The ranks of a collective, in order. A member's position is its index in this list.
class Group {
 public:
  virtual ~Group() = default;
  const std::vector<int>& ranks() const { return ranks_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  int position() const { return position_; }  ///< of the rank that owns this object

 protected:
  Group(std::vector<int> ranks, int position) : ranks_(std::move(ranks)), position_(position) {}

 private:
  std::vector<int> ranks_;
  int position_;
};

/// One rank's view of all ranks. All members of a group make the same calls in the same order.
/// Threads compare every call. Processes compare only where all ranks take part: at the start of a
/// fixed sequence of calls (begin_sequence), and before each call outside a sequence. If the calls
/// differ (op, element, count, reduction or location), or a rank has thrown, died or ended, every
/// rank that takes part throws CommError, which says what two of the ranks do. Buffers must be
/// contiguous and must not overlap. Sums are formed in the order of the group, so the bits are the
/// same in every run.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// The group of these ranks, which include this one. The same list gives the same group on all
  /// members. The communicator owns it. Not collective.
  virtual Group& group(const std::vector<int>& ranks) = 0;

  /// Whether the ranks are threads that compare every call: prepare() and begin_sequence() do
  /// nothing.
  virtual bool in_one_process() const { return false; }

  /// Creates groups before their first use. Collective; every rank passes the same list, with the
  /// groups of all ranks. Optional: other groups are created at their first call, which takes time.
  virtual void prepare(const std::vector<std::vector<int>>&) {}

  /// The collectives below define `send` and `receive` of each call. `place` is its location in the
  /// program, for messages.
  virtual void collective(Group& group, const Call& call, const void* send, void* receive,
                          const std::string& place) = 0;

  /// receive = the members' `bytes` one after the other.
  void all_gather(Group& group, const void* send, void* receive, size_t bytes,
                  const std::string& place) {
    collective(group, Call::move(Collective::all_gather, bytes), send, receive, place);
  }
  /// receive = the members' `count` entries, reduced entry by entry.
  void all_reduce(Group& group, const void* send, void* receive, size_t count, Element element,
                  Reduction reduction, const std::string& place) {
    collective(group, {Collective::all_reduce, element, reduction, count}, send, receive, place);
  }
  /// `send` has size() blocks of `count` entries: receive = block position(), reduced.
  void reduce_scatter(Group& group, const void* send, void* receive, size_t count, Element element,
                      Reduction reduction, const std::string& place) {
    collective(group, {Collective::reduce_scatter, element, reduction, count}, send, receive,
               place);
  }
  /// Block i of `send` goes to member i: block j of `receive` comes from member j.
  void all_to_all(Group& group, const void* send, void* receive, size_t bytes,
                  const std::string& place) {
    collective(group, Call::move(Collective::all_to_all, bytes), send, receive, place);
  }
  /// Sends to position `to` what it receives from position `from`.
  void permute(Group& group, const void* send, int to, void* receive, int from, size_t bytes,
               const std::string& place) {
    collective(group, Call::permute(bytes, to, from, group.size()), send, receive, place);
  }

  /// In a group of two, position 0 sends to position 1. Returns when both have called it.
  void send(Group& group, const void* send, void* receive, size_t bytes, const std::string& place) {
    collective(group, Call::move(Collective::send, bytes), send, receive, place);
  }

  /// Collective over all ranks. `what`, as in "begins step_ddp on d=4", determines all calls up to
  /// end_sequence(). If a rank passes another text or does something else, all throw CommError.
  virtual void begin_sequence(const std::string& /*what*/) {}
  virtual void end_sequence() noexcept {}

  /// On a device: the following collectives go to this stream, with buffers on the device. On the
  /// host a collective returns when it is complete.
  virtual void use(Queue&) {}
  /// Device::record of work that contains collectives; null if this is not possible. Collective
  /// over all ranks, as is each run of the graph.
  virtual std::shared_ptr<Graph> record(Device&, Queue&, const std::function<void()>&) {
    return nullptr;
  }

  /// Throws the error of an earlier call on a stream, if there was one: the stream may have ended
  /// without the result.
  virtual void require_alive() {}

  /// Whether calls may come from any thread of the rank, one at a time.
  virtual bool any_thread() const { return true; }

  /// Makes every waiting rank fail with an error that names this rank and the reason.
  virtual void abort(const std::string& reason) noexcept = 0;
};

/// Begins a sequence; the destructor ends it.
class CallSequence {
 public:
  CallSequence(Communicator& communicator, const std::string& what) : communicator_(communicator) {
    communicator.begin_sequence(what);
  }
  ~CallSequence() { communicator_.end_sequence(); }
  CallSequence(const CallSequence&) = delete;

 private:
  Communicator& communicator_;
};

}  // namespace shardproof
