#pragma once
// A generated text, so that a run needs no file.
#include <cstdint>
#include <string>

namespace shardproof::data {

/// Short stories in English about people and the things that they count, with correct sums. Each
/// document begins with a byte 0. The same seed gives the same text of at least `bytes` bytes.
std::string made_up_corpus(size_t bytes, uint64_t seed);

}  // namespace shardproof::data
