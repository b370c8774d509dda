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

/// A fault of the environment or a disagreement of ranks: it names the rank, the op and the reason.
class CommError : public std::runtime_error {
 public:
  CommError(int rank, const std::string& what) : std::runtime_error(what), rank_(rank) {}
  int rank() const { return rank_; }  ///< the rank that is at fault where it is known, else -1

 private:
  int rank_;
};

/// The ranks that take part in a collective, in order: a member's position is its place in it.
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

/// One rank's end of a world of ranks. Every call is made by all members of the group, in the same
/// order; calls that disagree (another op, element, count, reduction or place) throw CommError on
/// every member that takes part, with both ranks' places, and so does a rank that has thrown, died
/// or ended. All buffers are contiguous and do not overlap. Sums are formed in the order of the
/// group, so that the bits are the same in every run.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// A group with these ranks, this one among them; the same list is the same group for all
  /// members. Made once and kept by the communicator, without a word to the others.
  virtual Group& group(const std::vector<int>& ranks) = 0;

  /// The groups that will be used, of all ranks: every rank gives the same list. Collective, and
  /// never needed: a group that was not named is made at its first call, where making costs.
  virtual void prepare(const std::vector<std::vector<int>>&) {}

  /// The call's `send` and `receive` are as the collectives below say. `place` says where in the
  /// program it stands, for messages.
  virtual void collective(Group& group, const Call& call, const void* send, void* receive,
                          const std::string& place) = 0;

  /// receive = the members' `bytes` one behind the other.
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

  /// Of a group of two: position 0 sends, and position 1 receives; it returns when both are there.
  void send(Group& group, const void* send, void* receive, size_t bytes, const std::string& place) {
    collective(group, Call::move(Collective::send, bytes), send, receive, place);
  }

  /// Off: calls are no longer compared before they are made, where that costs (not between
  /// threads). For a caller who has compared the whole sequence of its calls. Every rank says the
  /// same.
  virtual void check_calls(bool) {}
  /// Whether calls are compared before they are made, at a cost.
  virtual bool checks_calls() const { return false; }

  /// Of a device: the collectives that follow are given to this queue, and their buffers are the
  /// device's. On the host a collective returns when it is done.
  virtual void use(Queue&) {}
  /// Device::record of work with collectives; none where it cannot. Collective over all ranks, and
  /// so is each run of the graph.
  virtual std::shared_ptr<Graph> record(Device&, Queue&, const std::function<void()>&) {
    return nullptr;
  }

  /// Throws what has gone wrong since, in calls that a queue was given: it may have finished
  /// without their results.
  virtual void require_alive() {}

  /// Whether calls may come from any thread of the rank, one at a time.
  virtual bool any_thread() const { return true; }

  /// Ends every other rank's waiting with an error that names this rank and the reason.
  virtual void abort(const std::string& reason) noexcept = 0;
};

}  // namespace shardproof
