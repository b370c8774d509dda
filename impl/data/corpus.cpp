#include "impl/data/corpus.h"

#include <array>

#include "kernels/philox.h"

namespace shardproof::data {
namespace {

constexpr std::array names = {"Ada", "Ben", "Cora", "Dan", "Eva", "Finn", "Gwen", "Hugo"};
constexpr std::array things = {"apples", "books", "coins", "drums",
                               "eggs",   "flags", "pears", "stones"};
constexpr std::array places = {"market", "harbour", "garden", "library", "station", "old mill"};
constexpr std::array weathers = {"sunny", "rainy", "windy", "cold"};

class Story {
 public:
  Story(uint64_t seed, uint64_t number) : key_(philox_fold(philox_fold(seed, "corpus"), number)) {}

  std::string text() {
    const std::string who = pick(names), place = pick(places);
    std::string other = pick(names);
    while (other == who) other = pick(names);
    const std::string text =
        "It was a " + std::string(pick(weathers)) + " day at the " + place + ". ";
    switch (below(3)) {
      case 0:
        return text + gift(who, other);
      case 1:
        return text + loss(who);
      default:
        return text + sums(who);
    }
  }

 private:
  uint32_t below(uint32_t n) { return philox(key_, count_++, 4).word[0] % n; }
  template <size_t n>
  const char* pick(const std::array<const char*, n>& words) {
    return words[below(n)];
  }

  std::string gift(const std::string& who, const std::string& other) {
    const uint32_t a = 2 + below(48), b = 1 + below(49);
    const std::string what = pick(things);
    return who + " had " + std::to_string(a) + " " + what + ". " + other + " gave " + who + " " +
           std::to_string(b) + " more. Now " + who + " has " + std::to_string(a + b) + " " + what +
           ".\n";
  }
  std::string loss(const std::string& who) {
    const uint32_t b = 1 + below(40), a = b + 1 + below(50);
    const std::string what = pick(things);
    return who + " had " + std::to_string(a) + " " + what + " and lost " + std::to_string(b) +
           " of them. Now " + who + " has " + std::to_string(a - b) + " " + what + ".\n";
  }
  std::string sums(const std::string& who) {
    std::string text = who + " did sums:";
    for (uint32_t i = 1 + below(4); i-- > 0;) {
      const uint32_t a = below(50), b = below(50);
      text += " " + std::to_string(a) + " + " + std::to_string(b) + " = " + std::to_string(a + b) +
              (i > 0 ? "," : ".\n");
    }
    return text;
  }

  uint64_t key_, count_ = 0;
};

}  // namespace

std::string made_up_corpus(size_t bytes, uint64_t seed) {
  std::string text;
  for (uint64_t number = 0; text.size() < bytes; ++number) {
    text += '\0';
    text += Story(seed, number).text();
  }
  return text;
}

}  // namespace shardproof::data
