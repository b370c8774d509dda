#include "impl/comm/store/call_log.h"

#include <algorithm>
#include <sstream>

namespace shardproof {

std::string text(const CallCounts& counts) {
  std::ostringstream out;
  for (const auto& [ranks, count] : counts) {
    out << count;
    for (int rank : ranks) out << " " << rank;
    out << "\n";
  }
  return out.str();
}

CallCounts read_call_counts(const std::string& text) {
  CallCounts counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    uint64_t count = 0;
    in >> count;
    std::vector<int> ranks;
    for (int rank = 0; in >> rank;) ranks.push_back(rank);
    counts[ranks] = count;
  }
  return counts;
}

void CallLog::begin(const std::vector<int>& ranks, const Call& call, const std::string& place) {
  auto placed = std::make_shared<const PlacedCall>(PlacedCall{call, place});
  const std::lock_guard lock(mutex_);
  if (recording_) recording_->emplace_back(ranks, placed);
  add(ranks, std::move(placed));
}

void CallLog::repeat(const Recording& recording) {
  const std::lock_guard lock(mutex_);
  for (const auto& [ranks, call] : recording) add(ranks, call);
}

void CallLog::add(const std::vector<int>& ranks, PlacedCallPtr call) {
  Calls& calls = calls_[ranks];
  ++calls.count;
  calls.last.push_back(std::move(call));
  if (calls.last.size() > most_kept) calls.last.pop_front();
}

CallCounts CallLog::counts() const {
  const std::lock_guard lock(mutex_);
  CallCounts counts;
  for (const auto& [ranks, calls] : calls_) counts[ranks] = calls.count;
  return counts;
}

std::string CallLog::missed(int own, int left, const CallCounts& of_left) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [ranks, calls] : calls_) {
    if (std::find(ranks.begin(), ranks.end(), left) == ranks.end()) continue;
    const auto found = of_left.find(ranks);
    const uint64_t made = found == of_left.end() ? 0 : found->second;
    if (calls.count <= made) continue;
    const uint64_t awaited = std::min<uint64_t>(calls.count - made, calls.last.size());
    const std::string rank = "rank " + std::to_string(left);
    return rank + " has ended; rank " + std::to_string(own) + " waits for " + rank + " in " +
           to_string(*calls.last[calls.last.size() - awaited]) + ", of " + text_of_ranks(ranks);
  }
  return "";
}

}  // namespace shardproof
