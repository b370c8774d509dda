#pragma once
// Properties over random cases, which RapidCheck shrinks.
#include <rapidcheck.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace shardproof::laws {

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
  if (result.template is<rc::detail::SuccessResult>()) return true;
  rc::detail::printResultMessage(result, std::cerr);
  std::cerr << "\n";
  return false;
}

/// 0 .. n - 1, whatever RapidCheck's size is.
inline rc::Gen<int> below(int n) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, n));
}

/// Words for laws::Dice (spec/laws/dice.h), up to `most`.
inline rc::Gen<std::vector<uint64_t>> dice_words(int most) {
  const auto word = rc::gen::cast<uint64_t>(below(1 << 20));
  return rc::gen::resize(most, rc::gen::container<std::vector<uint64_t>>(word));
}

}  // namespace shardproof::laws
