#pragma once
// Many short lists in one vector.
#include <cstddef>
#include <vector>

namespace shardproof::plan {

/// Lists of numbers, by index; each gives its last number first.
class Lists {
 public:
  Lists() = default;
  /// With room for about as many numbers as lists.
  explicit Lists(size_t lists) : last_(lists, none) { entries_.reserve(lists); }

  void push(size_t list, size_t number) {
    if (list >= last_.size()) last_.resize(2 * list + 1, none);
    entries_.push_back({number, last_[list]});
    last_[list] = entries_.size() - 1;
  }
  /// Whether the last number of the list is this one.
  bool ends_with(size_t list, size_t number) const {
    return list < last_.size() && last_[list] != none && entries_[last_[list]].number == number;
  }
  template <class Visit>
  void for_each(size_t list, const Visit& visit) const {
    if (list >= last_.size()) return;
    for (size_t at = last_[list]; at != none; at = entries_[at].before) visit(entries_[at].number);
  }

 private:
  static constexpr size_t none = ~size_t{0};
  struct Entry {
    size_t number, before;
  };
  std::vector<Entry> entries_;  ///< of all lists
  std::vector<size_t> last_;    ///< by list: into entries_
};

}  // namespace shardproof::plan
