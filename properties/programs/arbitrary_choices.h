#pragma once
// RapidCheck's generator of choices. What is left out or smaller drafts a smaller program.
#include <rapidcheck.h>

#include "properties/programs/choices.h"

namespace shardproof::programs {

/// In [0, end), of any size; 0 is the smallest.
inline rc::Gen<int> below(int end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, end));
}

inline rc::Gen<Choice> arbitrary_choice() {
  using rc::gen::set;
  return rc::gen::build<Choice>(set(&Choice::op, below(1 << 12)),
                                set(&Choice::a, rc::gen::element(0, 0, 0, 1, 1, 2, 3)),
                                set(&Choice::b, rc::gen::element(1, 0, 1, 2, 3, 4)),
                                set(&Choice::salt, rc::gen::cast<uint32_t>(below(1 << 24))));
}

inline rc::Gen<Choices> arbitrary_choices() {
  using rc::gen::set;
  const auto some = [](int size) {
    return rc::gen::resize(size, rc::gen::container<std::vector<Choice>>(arbitrary_choice()));
  };
  return rc::gen::build<Choices>(
      set(&Choices::axes, rc::gen::element(2, 1, 2, 2, 3, 3, 4)),
      set(&Choices::exact, rc::gen::element(true, true, false)), set(&Choices::params, some(4)),
      set(&Choices::steps, some(10)),
      set(&Choices::mesh,
          rc::gen::container<std::vector<int>>(4, rc::gen::element(2, 3, 1, 2, 3, 4))),
      set(&Choices::dims, rc::gen::container<std::vector<int>>(5, rc::gen::element(1, 2, 3))),
      set(&Choices::ranks, rc::gen::element(8, 8, 8, 8, 8, 8, 8, 24)),
      set(&Choices::data, rc::gen::cast<uint32_t>(below(1 << 24))));
}

}  // namespace shardproof::programs
