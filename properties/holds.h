#pragma once
// Properties over random cases, which RapidCheck shrinks.
#include <rapidcheck.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace shardproof::properties {

/// Whether the property holds in `usual` random cases, or `full` with SHARDPROOF_FULL=1; RC_PARAMS
/// wins. Prints the smallest case in which it does not.
template <class Property>
bool holds(const std::string& name, int usual, int full, const Property& property) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  if (params.maxSuccess == rc::detail::TestParams().maxSuccess)
    params.maxSuccess = std::getenv("SHARDPROOF_FULL") ? full : usual;
  rc::detail::TestMetadata metadata;
  metadata.id = name;
  const auto result = rc::detail::checkTestable(property, metadata, params);
  rc::detail::printResultMessage(result, std::cerr);
  std::cerr << "\n";
  return result.template is<rc::detail::SuccessResult>();
}

/// Words for laws::Dice (kernels/cuda/laws/dice.h), up to `most`.
inline rc::Gen<std::vector<uint64_t>> dice_words(int most) {
  const auto word =
      rc::gen::resize(rc::kNominalSize, rc::gen::cast<uint64_t>(rc::gen::inRange(0, 1 << 20)));
  return rc::gen::resize(most, rc::gen::container<std::vector<uint64_t>>(word));
}

}  // namespace shardproof::properties
