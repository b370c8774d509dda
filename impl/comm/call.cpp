#include "impl/comm/call.h"

#include <algorithm>

#include "impl/comm/communicator.h"

namespace shardproof {
namespace {

const char* name_of_collective(Collective collective) {
  switch (collective) {
    case Collective::all_gather:
      return "all_gather";
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_to_all:
      return "all_to_all";
    case Collective::permute:
      return "permute";
    case Collective::send:
      return "send";
  }
  return "?";
}

}  // namespace

Call Call::move(Collective collective, size_t bytes) {
  return {.collective = collective, .count = bytes};
}

Call Call::permute(size_t bytes, int to, int from, int size) {
  if (std::min(to, from) < 0 || std::max(to, from) >= size)
    throw CommError(-1, "permute to position " + std::to_string(to) + " and from " +
                            std::to_string(from) + " in a group of " + std::to_string(size));
  return {.collective = Collective::permute, .count = bytes, .to = to, .from = from};
}

std::string to_string(const PlacedCall& placed) {
  const Call& call = placed.call;
  std::string text = name_of_collective(call.collective);
  if (reduces(call)) text += "(" + std::string(name_of(call.reduction)) + ")";
  text += " of " + std::to_string(call.count) + " ";
  text += reduces(call) ? name_of(call.element) : "bytes";
  if (call.collective == Collective::permute)
    text += " to position " + std::to_string(call.to) + " and from " + std::to_string(call.from);
  return text + " at " + placed.place;
}

std::string said_by(int rank, const std::string& reason) {
  const std::string word = "rank ";
  const size_t end = reason.find_first_not_of("0123456789", word.size());
  const bool names_one = reason.starts_with(word) && end != word.size() && end != reason.npos &&
                         reason.compare(end, 2, ": ") == 0;
  return names_one ? reason : word + std::to_string(rank) + ": " + reason;
}

std::string text_of_ranks(const std::vector<int>& ranks) {
  std::string text = "ranks";
  for (int rank : ranks) text += " " + std::to_string(rank);
  return text;
}

int position_in(const std::vector<int>& ranks, int rank, int size) {
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  if (found == ranks.end() || twice || sorted.front() < 0 || sorted.back() >= size)
    throw CommError(rank, "rank " + std::to_string(rank) + " of " + std::to_string(size) +
                              " cannot make a group of " + text_of_ranks(ranks));
  return static_cast<int>(found - ranks.begin());
}

bool same_call(const PlacedCall& a, const PlacedCall& b) {
  return a.call.collective == b.call.collective && a.call.element == b.call.element &&
         a.call.reduction == b.call.reduction && a.call.count == b.call.count && a.place == b.place;
}

std::string disagreement_text(int rank, const PlacedCall& call, int other_rank,
                              const PlacedCall& other) {
  const std::string a = std::to_string(rank), b = std::to_string(other_rank);
  return "ranks " + a + " and " + b + " disagree: rank " + a + " calls " + to_string(call) +
         ", rank " + b + " calls " + to_string(other);
}

}  // namespace shardproof
