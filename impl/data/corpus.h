#pragma once
// A generated corpus, so that a run needs no file.
#include <cstdint>
#include <string>

namespace shardproof::data {

/// Short English stories about people and the things that they count, with correct sums. Each
/// document starts with a byte 0. Equal seeds give equal text of at least `bytes` bytes.
std::string made_up_corpus(size_t bytes, uint64_t seed);

}  // namespace shardproof::data
