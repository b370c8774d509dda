#pragma once
// A collective call as its members announce it, to detect that they make different calls.
#include <string>
#include <vector>

#include "kernels/element.h"

namespace shardproof {

enum class Collective : uint8_t {
  all_gather,
  all_reduce,
  reduce_scatter,
  all_to_all,
  permute,
  send
};

/// One rank's call without its source location. `count` is in entries; in bytes (u8) if nothing is
/// reduced. `to` and `from` are positions, for permute only.
struct Call {
  Collective collective = Collective::all_gather;
  Element element = Element::u8;
  Reduction reduction = Reduction::sum;
  size_t count = 0;
  int to = 0, from = 0;

  size_t bytes() const { return count * size_of(element); }
  /// Bytes that each member sends, in a group of `size`.
  size_t bytes_sent(int size) const {
    const bool blocks =
        collective == Collective::reduce_scatter || collective == Collective::all_to_all;
    return bytes() * static_cast<size_t>(blocks ? size : 1);
  }
  size_t bytes_received(int size) const {
    const bool blocks =
        collective == Collective::all_gather || collective == Collective::all_to_all;
    return bytes() * static_cast<size_t>(blocks ? size : 1);
  }

  /// Whether the member at `position` sends or receives: a send goes from 0 to 1.
  bool gives(int position) const { return collective != Collective::send || position == 0; }
  bool gets(int position) const { return collective != Collective::send || position == 1; }

  static Call move(Collective collective, size_t bytes);
  /// Throws CommError if a position is not in a group of `size`.
  static Call permute(size_t bytes, int to, int from, int size);
};

inline bool reduces(const Call& call) {
  return call.collective == Collective::all_reduce || call.collective == Collective::reduce_scatter;
}

/// A member's call with its source location.
struct PlacedCall {
  Call call;
  std::string place;
};

/// `all_reduce(max) of 12 f32 at ffn.shard:7:3`
std::string to_string(const PlacedCall& call);
/// `rank 3: <reason>`, unless it already starts like that.
std::string said_by(int rank, const std::string& reason);
/// `ranks 0 2 4`
std::string text_of_ranks(const std::vector<int>& ranks);

/// The index of `rank` in the list. Throws CommError if it is missing, or if the list has a rank
/// twice or one outside the world of `size` ranks.
int position_in(const std::vector<int>& ranks, int rank, int size);

/// The disagreement between the first member and another one, with both calls; empty if all `size`
/// members make the same call. `call(i)` is the call of position i.
template <class CallOf>
std::string disagreement(const std::vector<int>& ranks, const CallOf& call);

// Used by the templates above.
bool same_call(const PlacedCall& a, const PlacedCall& b);
std::string disagreement_text(int rank, const PlacedCall& call, int other_rank,
                              const PlacedCall& other);

template <class CallOf>
std::string disagreement(const std::vector<int>& ranks, const CallOf& call) {
  const PlacedCall& first = call(0);
  for (size_t i = 1; i < ranks.size(); ++i)
    if (const PlacedCall& other = call(i); !same_call(first, other))
      return disagreement_text(ranks[0], first, ranks[i], other);
  if (first.call.collective != Collective::permute) return "";
  for (size_t i = 0; i < ranks.size(); ++i)
    if (const size_t to = call(i).call.to; call(to).call.from != static_cast<int>(i))
      return disagreement_text(ranks[i], call(i), ranks[to], call(to));
  return "";
}

}  // namespace shardproof
