#pragma once
// Collectives on a device's queues, one after the other and between kernels that read and overwrite
// their buffers, while the host never waits: what is in memory at the end is what the steps say.
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "impl/comm/virtual/virtual_ranks.h"

namespace shardproof::properties {

constexpr size_t registers = 4;
using Entries = std::vector<uint32_t>;
using Registers = std::array<Entries, registers>;  ///< of one rank

/// to = from, or to = from + also, or a collective over ranks that differ by less than `width`, or
/// modulo it. Each on one of two queues.
struct SequenceStep {
  enum Kind { copy, add, reduce, scatter, gather, exchange, shift } kind;
  size_t to, from, also;
  bool strided;
  size_t queue;
};

struct Sequence {
  int world, width;
  int graph_runs;  ///< given once, then recorded, and run so often
  size_t entries;
  std::vector<SequenceStep> steps;
};

inline std::ostream& operator<<(std::ostream& out, const Sequence& s) {
  out << s.world << " ranks, groups of " << s.width << ", " << s.entries << " entries, "
      << s.graph_runs << " runs of a graph:";
  for (const SequenceStep& a : s.steps)
    out << " (" << a.kind << " " << a.to << " " << a.from << " " << a.also << " " << a.strided
        << " " << a.queue << ")";
  return out;
}

inline std::vector<int> members_of(const Sequence& s, const SequenceStep& action, int rank) {
  std::vector<int> members;
  for (int other = 0; other < s.world; ++other)
    if (action.strided ? other % s.width == rank % s.width : other / s.width == rank / s.width)
      members.push_back(other);
  return members;
}

inline Sequence drawn_sequence() {
  Sequence s;
  s.world = *rc::gen::element(1, 2, 2, 4, 4, 6);
  s.width = s.world % 2 ? 1 : *rc::gen::element(1, 2, s.world);
  s.graph_runs = *rc::gen::inRange(0, 3);
  s.entries = *rc::gen::element<size_t>(24, 240, 24'000);  // some are reduced by parts
  const size_t length = *rc::gen::element<size_t>(1, 5, 12, 24);
  for (size_t i = 0; i < length; ++i) {
    const size_t to = *rc::gen::inRange<size_t>(0, registers);
    const auto another = [&] { return (to + *rc::gen::inRange<size_t>(1, registers)) % registers; };
    s.steps.push_back({static_cast<SequenceStep::Kind>(*rc::gen::inRange(0, 7)), to, another(),
                       another(), *rc::gen::arbitrary<bool>(), *rc::gen::inRange<size_t>(0, 2)});
  }
  return s;
}

inline Registers first_registers(const Sequence& s, int rank) {
  Registers state;
  for (size_t i = 0; i < registers; ++i)
    for (size_t entry = 0; entry < s.entries; ++entry)
      state[i].push_back(static_cast<uint32_t>((entry * 7 + i * 31 + rank + 1) * 2654435761u));
  return state;
}

/// The meaning of the steps, on all ranks at once.
inline void define(const Sequence& s, const SequenceStep& action, std::vector<Registers>& states) {
  const std::vector<Registers> before = states;
  for (int rank = 0; rank < s.world; ++rank) {
    const std::vector<int> members = members_of(s, action, rank);
    const size_t n = members.size(), block = s.entries / n;
    const size_t own = std::find(members.begin(), members.end(), rank) - members.begin();
    const auto sent = [&](size_t member) -> const Entries& {
      return before[members[member]][action.from];
    };
    const auto sum = [&](size_t entry) {
      uint32_t total = 0;
      for (size_t i = 0; i < n; ++i) total += sent(i)[entry];
      return total;
    };
    Entries& to = states[rank][action.to];
    for (size_t i = 0; i < s.entries; ++i) {
      if (action.kind == SequenceStep::copy) to[i] = before[rank][action.from][i];
      if (action.kind == SequenceStep::add)
        to[i] = before[rank][action.from][i] + before[rank][action.also][i];
      if (action.kind == SequenceStep::reduce) to[i] = sum(i);
      if (action.kind == SequenceStep::scatter && i < block) to[i] = sum(own * block + i);
      if (action.kind == SequenceStep::gather) to[i] = sent(i / block)[i % block];
      if (action.kind == SequenceStep::exchange) to[i] = sent(i / block)[own * block + i % block];
      if (action.kind == SequenceStep::shift) to[i] = sent((own + n - 1) % n)[i];
    }
  }
}

/// One rank's memory and queues.
class SequenceRank {
 public:
  SequenceRank(const Sequence& s, Device& device, Communicator& communicator)
      : s_(s), device_(device), communicator_(communicator) {
    for (auto& queue : queues_) queue = device.queue();
    const Registers state = first_registers(s, communicator.rank());
    for (size_t i = 0; i < registers; ++i) {
      buffers_[i] = device.allocate(bytes());
      device.copy_from_host(*queues_[0], buffers_[i].data(), state[i].data(), bytes());
    }
    last_ = queues_[0]->record();
  }

  void run() {
    for (const SequenceStep& action : s_.steps) {
      Queue& queue = *queues_[action.queue];
      queue.wait(*last_);
      give(action, queue);
      last_ = queue.record();
    }
  }
  /// All steps `times` times more, where the device records.
  void run_recorded(int times) {
    Queue& origin = *queues_[0];
    origin.wait(*last_);
    const std::shared_ptr<Graph> graph = communicator_.record(device_, origin, [&] {
      last_ = origin.record();
      run();
      origin.wait(*last_);
    });
    for (int i = 0; graph && i < times; ++i) graph->run(origin);
    last_ = origin.record();
  }
  Registers result() {
    Registers state;
    queues_[0]->wait(*last_);
    for (size_t i = 0; i < registers; ++i) {
      state[i].resize(s_.entries);
      device_.copy_to_host(*queues_[0], state[i].data(), buffers_[i].data(), bytes());
    }
    for (auto& queue : queues_) queue->finish();
    return state;
  }

 private:
  size_t bytes() const { return s_.entries * sizeof(uint32_t); }
  void give(const SequenceStep& action, Queue& queue);

  const Sequence& s_;
  Device& device_;
  Communicator& communicator_;
  std::array<Buffer, registers> buffers_;
  std::unique_ptr<Queue> queues_[2];  ///< after the buffers: they end first, with what is left
  std::shared_ptr<Event> last_;
};

inline void SequenceRank::give(const SequenceStep& action, Queue& queue) {
  void* const to = buffers_[action.to].data();
  const void* const from = buffers_[action.from].data();
  const void* const both[] = {from, buffers_[action.also].data()};
  if (action.kind == SequenceStep::copy) return device_.copy(queue, to, from, bytes());
  if (action.kind == SequenceStep::add)
    return device_.reduce_ranks(queue, Element::u32, Reduction::sum, both, 2, to, s_.entries);
  Group& group = communicator_.group(members_of(s_, action, communicator_.rank()));
  const size_t block = s_.entries / group.size();
  const int n = group.size(), next = (group.position() + 1) % n, last = (next + n - 2) % n;
  communicator_.use(queue);
  if (action.kind == SequenceStep::reduce)
    communicator_.all_reduce(group, from, to, s_.entries, Element::u32, Reduction::sum, "law");
  if (action.kind == SequenceStep::scatter)
    communicator_.reduce_scatter(group, from, to, block, Element::u32, Reduction::sum, "law");
  if (action.kind == SequenceStep::gather)
    communicator_.all_gather(group, from, to, block * sizeof(uint32_t), "law");
  if (action.kind == SequenceStep::exchange)
    communicator_.all_to_all(group, from, to, block * sizeof(uint32_t), "law");
  if (action.kind == SequenceStep::shift)
    communicator_.permute(group, from, next, to, (last + n) % n, bytes(), "law");
}

/// For RapidCheck: a sequence on virtual ranks of the device.
inline void hold_sequence(Device& device) {
  const Sequence s = drawn_sequence();
  RC_LOG() << s << "\n";
  const int runs = 1 + (device.is_host() ? 0 : s.graph_runs);  // the host records nothing
  std::vector<Registers> wanted, got(s.world);
  for (int rank = 0; rank < s.world; ++rank) wanted.push_back(first_registers(s, rank));
  for (int run = 0; run < runs; ++run)
    for (const SequenceStep& action : s.steps) define(s, action, wanted);
  run_on_virtual_ranks(device, s.world, [&](Communicator& communicator) {
    SequenceRank rank(s, device, communicator);
    rank.run();
    if (s.graph_runs > 0) rank.run_recorded(s.graph_runs);
    got[communicator.rank()] = rank.result();
  });
  RC_ASSERT((got == wanted));
}

}  // namespace shardproof::properties
