#pragma once
// The message that a process sends to the others before a collective.
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "impl/comm/call.h"

namespace shardproof {

/// A rank's next step. Two members make the same call if all bytes except `to` and `from` are
/// equal.
struct Announcement {
  enum class Kind : uint8_t { call, end };

  int32_t to = 0, from = 0;  ///< for permute
  Kind kind = Kind::call;
  Collective collective = Collective::all_gather;
  Element element = Element::u8;
  Reduction reduction = Reduction::sum;
  uint8_t unused[4] = {};
  uint64_t count = 0;
  uint64_t ranks_hash = 0, place_hash = 0;
  char ranks[48] = {}, place[160] = {};  ///< for messages; truncated

  static Announcement of_end();
  static Announcement of_call(const Call& call, const std::vector<int>& ranks,
                              const std::string& place);
  bool agrees(const Announcement& other) const;
  Call call() const;
};
static_assert(std::has_unique_object_representations_v<Announcement>, "compared as bytes");

/// `is in all_reduce(sum) of 4 f32 at ffn.shard:7:3, of ranks 0 1`, `has ended`
std::string text(const Announcement& announcement);

}  // namespace shardproof
