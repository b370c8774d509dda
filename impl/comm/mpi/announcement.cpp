#include "impl/comm/mpi/announcement.h"

#include <cstring>
#include <string_view>

#include "kernels/fnv1a.h"

namespace shardproof {
namespace {

/// Long lists of ranks lose their end, long locations their start, which says less.
template <size_t size>
void put(char (&field)[size], std::string_view text, bool keep_end) {
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(field, text.data() + (keep_end ? text.size() - length : 0), length);
}

}  // namespace

Announcement Announcement::of_end() {
  Announcement made;
  made.kind = Kind::end;
  return made;
}

Announcement Announcement::of_call(const Call& call, const std::vector<int>& ranks,
                                   const std::string& place) {
  Announcement made;
  const std::string text = text_of_ranks(ranks);
  made.ranks_hash = fnv1a(text);
  put(made.ranks, text, false);
  made.collective = call.collective;
  made.element = call.element;
  made.reduction = call.reduction;
  made.count = call.count;
  made.to = call.to;
  made.from = call.from;
  made.place_hash = fnv1a(place);
  put(made.place, place, true);
  return made;
}

bool Announcement::agrees(const Announcement& other) const {
  const size_t compared = offsetof(Announcement, kind);
  return std::memcmp(reinterpret_cast<const char*>(this) + compared,
                     reinterpret_cast<const char*>(&other) + compared,
                     sizeof(Announcement) - compared) == 0;
}

Call Announcement::call() const { return {collective, element, reduction, count, to, from}; }

std::string text(const Announcement& announcement) {
  if (announcement.kind == Announcement::Kind::end) return "has ended";
  return "is in " + to_string(PlacedCall{announcement.call(), announcement.place}) + ", of " +
         announcement.ranks;
}

}  // namespace shardproof
