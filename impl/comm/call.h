#pragma once
// A collective as its members announce it, so that they can see that they mean the same one.
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

/// One rank's call without its place. `count` is of entries, and of bytes (u8) where nothing is
/// reduced; `to` and `from` are positions, of a permute alone.
struct Call {
  Collective collective = Collective::all_gather;
  Element element = Element::u8;
  Reduction reduction = Reduction::sum;
  size_t count = 0;
  int to = 0, from = 0;

  size_t bytes() const { return count * size_of(element); }
  /// Of each member, in a group of `size`.
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

  /// Whether the member at `position` gives or gets anything: a send goes from 0 to 1.
  bool gives(int position) const { return collective != Collective::send || position == 0; }
  bool gets(int position) const { return collective != Collective::send || position == 1; }

  static Call move(Collective collective, size_t bytes);
  /// Throws CommError where a position is not one of a group of `size`.
  static Call permute(size_t bytes, int to, int from, int size);
};

inline bool reduces(const Call& call) {
  return call.collective == Collective::all_reduce || call.collective == Collective::reduce_scatter;
}

/// A member's call with where it stands in the program.
struct PlacedCall {
  Call call;
  std::string place;
};

/// `all_reduce(max) of 12 f32 at ffn.shard:7:3`
std::string to_string(const PlacedCall& call);
/// `rank 3: <reason>`, unless it begins so.
std::string said_by(int rank, const std::string& reason);
/// `ranks 0 2 4`
std::string text_of_ranks(const std::vector<int>& ranks);

/// Where `rank` is in the list; throws CommError where it is not, or the list names a rank twice or
/// one that the world of `size` ranks does not have.
int position_in(const std::vector<int>& ranks, int rank, int size);

/// What the first member and another disagree about, with both calls; empty where all `size`
/// members mean the same. `call(i)` is the call of position i.
template <class CallOf>
std::string disagreement(const std::vector<int>& ranks, const CallOf& call);

// How the templates above do it.
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
