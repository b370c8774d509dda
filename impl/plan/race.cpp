// Simulates the memory of a plan, launch by launch. Each stream has a vector clock that it updates
// from the events for which it waits. A launch happens after another one exactly if its clock
// covers it.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "impl/plan/queues.h"

namespace shardproof::plan {
namespace {

using Clock = std::array<size_t, queue_count>;

struct Moment {
  size_t queue = 0, time = 0;
  const Step* step = nullptr;
};

/// Bytes [begin, end) of the arena; the caller's buffers follow after its end.
struct Range {
  size_t begin = 0, end = 0;
};

/// The last accesses to bytes that one buffer wrote, or that the caller passed in.
struct Cell {
  size_t end = 0;
  BufferId owner = 0;
  std::optional<Moment> write;
  std::array<std::optional<Moment>, queue_count> reads;  ///< since then, the last of each queue
};

/// Only the last accesses to each byte matter: they happen after all earlier ones.
class Memory {
 public:
  Memory(const std::vector<Piece>& pieces, const std::vector<BufferId>& given,
         const std::vector<std::pair<BufferId, BufferId>>& same)
      : pieces_(pieces), places_(pieces.size()) {
    size_t behind = 0;
    for (const Piece& piece : pieces) behind = std::max(behind, piece.offset + piece.bytes);
    const std::set<BufferId> outside(given.begin(), given.end());
    for (BufferId id = 0; id < pieces.size(); ++id)
      if (pieces[id].bytes && !outside.contains(id))
        places_[id] = {pieces[id].offset, pieces[id].offset + pieces[id].bytes};
      else
        places_[id] = {behind + id, behind + id + 1};
    for (const auto& [a, b] : same) places_.at(b) = places_.at(a);
    for (BufferId id : given) cells_[places_.at(id).begin] = {places_[id].end, id, {}, {}};
  }

  std::string walk(const std::vector<Command>& commands) {
    for (const Command& command : commands) {
      Clock& clock = clocks_[command.queue];
      if (command.kind == Command::Kind::record) events_.push_back(clock);
      if (command.kind == Command::Kind::wait) {
        const Clock& event = events_.at(command.event);
        for (size_t q = 0; q < queue_count; ++q) clock[q] = std::max(clock[q], event[q]);
      }
      if (command.kind == Command::Kind::launch) launch(command, clock);
      if (!race_.empty()) break;
    }
    return race_;
  }

 private:
  /// The first cell that ends after the start of the range.
  std::map<size_t, Cell>::iterator first_of(const Range& place) {
    auto cell = cells_.upper_bound(place.begin);
    if (cell != cells_.begin() && std::prev(cell)->second.end > place.begin) --cell;
    return cell;
  }

  void launch(const Command& command, Clock& clock) {
    const Moment now{command.queue, ++clock[command.queue], command.step};
    const Step& step = *command.step;
    if (is_collective(step)) {
      if (collective_) require_after(*collective_, now, "overtakes another collective:", 0);
      collective_ = now;
    }
    for (BufferId id : step.reads) read(id, now);
    for (BufferId id : step.writes) write(id, now);
  }

  void read(BufferId id, const Moment& now) {
    if (id >= pieces_.size()) return;
    const Range& place = places_[id];
    bool is_whole = false;
    for (auto cell = first_of(place); cell != cells_.end() && cell->first < place.end; ++cell) {
      if (cell->second.write)
        require_after(*cell->second.write, now, "reads what is written by", id);
      cell->second.reads[now.queue] = now;
      is_whole =
          cell->second.owner == id && cell->first == place.begin && cell->second.end == place.end;
    }
    if (!is_whole && pieces_[id].bytes) found(now, "reads what no step has written", id);
  }

  void write(BufferId id, const Moment& now) {
    if (id >= pieces_.size()) return;
    const Range& place = places_[id];
    auto cell = first_of(place);
    while (cell != cells_.end() && cell->first < place.end) {
      const auto [begin, old] = *cell;
      if (old.write) require_after(*old.write, now, "writes what is written by", id);
      for (const std::optional<Moment>& read : old.reads)
        if (read) require_after(*read, now, "writes what is read by", id);
      cell = cells_.erase(cell);
      if (begin < place.begin) {
        cells_[begin] = old;
        cells_[begin].end = place.begin;
      }
      if (old.end > place.end) cell = cells_.insert_or_assign(place.end, old).first;
    }
    cells_[place.begin] = {place.end, id, now, {}};
  }

  /// Reports a race unless `before` happens before `now`: an event, or the wait for it, is missing.
  void require_after(const Moment& before, const Moment& now, const char* does, BufferId id) {
    if (before.step == now.step && before.time == now.time && before.queue == now.queue) return;
    if (clocks_[now.queue][before.queue] >= before.time) return;
    found(now,
          does + (" " + before.step->op) + " at " + before.step->place +
              ", which no step has waited for",
          id);
  }

  void found(const Moment& now, const std::string& what, BufferId id) {
    if (race_.empty())
      race_ = now.step->op + " at " + now.step->place + " " + what + " (buffer " +
              std::to_string(id) + ")";
  }

  const std::vector<Piece>& pieces_;
  std::vector<Range> places_;     ///< by buffer
  std::map<size_t, Cell> cells_;  ///< by start offset
  std::array<Clock, queue_count> clocks_{};
  std::vector<Clock> events_;
  std::optional<Moment> collective_;
  std::string race_;
};

}  // namespace

std::string find_race(const std::vector<Command>& commands, const std::vector<Piece>& pieces,
                      const std::vector<BufferId>& given,
                      const std::vector<std::pair<BufferId, BufferId>>& same) {
  return Memory(pieces, given, same).walk(commands);
}

std::string find_race(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                      const std::vector<BufferId>& given,
                      const std::vector<std::pair<BufferId, BufferId>>& same) {
  // Two iterations: also checks each iteration against the next one.
  return find_race(commands_of(steps, 2), pieces, given, same);
}

}  // namespace shardproof::plan
