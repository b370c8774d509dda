// The random programs of the laws, drawn and shrunk by RapidCheck.
#pragma once

#include "spec/algebra/generator.h"
#include "spec/laws/holds.h"

namespace shardproof::algebra {

inline rc::Gen<Drawn> programs(Recipe recipe) {
  return rc::gen::map(laws::dice_words(200), [=](std::vector<uint64_t> words) {
    return drawn(laws::Dice(std::move(words)), recipe);
  });
}
/// Programs from any recipe.
inline rc::Gen<Drawn> programs() {
  return rc::gen::mapcat(laws::below(static_cast<int>(Recipe::count)),
                         [](int recipe) { return programs(static_cast<Recipe>(recipe)); });
}

}  // namespace shardproof::algebra
