#include <algorithm>
#include <numeric>

#include "kernels/cuda/laws/cases.h"
#include "kernels/number.h"

namespace shardproof::laws {

std::vector<int64_t> random_extents(Dice& dice, size_t most_dims) {
  std::vector<int64_t> extents(
      static_cast<size_t>(dice.between(0, static_cast<int64_t>(most_dims))));
  int64_t count = 1;
  for (int64_t& extent : extents) {
    extent = dice.one_of<int64_t>({1, 2, 3, 5, 8, 16, 24, 33, 64});
    if (dice.percent(8)) extent = dice.between(100, 3000);
    if (dice.percent(1)) extent = 0;
    if (count * extent > 20000) extent = 2;
    count *= std::max<int64_t>(extent, 1);
  }
  return extents;
}

std::vector<int64_t> random_strides(Dice& dice, const std::vector<int64_t>& extents, bool repeats) {
  std::vector<size_t> order(extents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (dice.percent(40))
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<size_t>(dice.below(static_cast<int64_t>(i)))]);
  std::vector<int64_t> strides(extents.size(), 0);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (repeats && dice.percent(20)) continue;
    strides[order[i]] = step;
    step *= std::max<int64_t>(extents[order[i]], 1);
  }
  return strides;
}

void set_random(Dice& dice, Array& array, int64_t entry) {
  switch (array.element) {
    case Element::u64: {
      const uint64_t key = dice.word();
      std::copy_n(reinterpret_cast<const unsigned char*>(&key), 8, array.bytes.data() + entry * 8);
      return;
    }
    case Element::u8:
      return set_number(array.element, array.bytes.data(), entry,
                        static_cast<double>(dice.below(2)));
    case Element::u32:
      return set_number(array.element, array.bytes.data(), entry,
                        static_cast<double>(dice.below(60)));
    case Element::i32:
      return set_number(array.element, array.bytes.data(), entry,
                        static_cast<double>(dice.between(-30, 30)));
    default:
      set_number(array.element, array.bytes.data(), entry,
                 static_cast<double>(dice.between(-96, 96)) / 32);
  }
}

Array array_of(Dice& dice, Element element, int64_t entries) {
  Array array;
  array.element = element;
  const auto size = static_cast<int64_t>(size_of(element));
  array.offset = (dice.percent(25) ? dice.between(1, 15) : 16) * size;
  array.bytes.resize(static_cast<size_t>((entries + 48) * size));
  for (int64_t i = 0; i < array.entries(); ++i) set_random(dice, array, i);
  return array;
}

Array random_array(Dice& dice, Element element, const std::vector<int64_t>& extents,
                   const std::vector<int64_t>& strides) {
  int64_t entries = 1;
  for (size_t d = 0; d < extents.size(); ++d)
    entries += std::max<int64_t>(extents[d] - 1, 0) * strides[d];
  return array_of(dice, element, entries);
}

}  // namespace shardproof::laws
