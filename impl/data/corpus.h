#pragma once
// A text that is made up, so that a run needs no file.
#include <cstdint>
#include <string>

namespace shardproof::data {

/// Short stories about who has how many of what, in English, with sums that are right. Each
/// document begins with a byte 0. The same seed gives the same text; it has at least `bytes` bytes.
std::string made_up_corpus(size_t bytes, uint64_t seed);

}  // namespace shardproof::data
