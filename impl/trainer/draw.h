#pragma once
// What both ways to sample share: the text so far, a row of logits, a token of it.
#include "impl/trainer/sample.h"

namespace shardproof {

/// The prompt, or what begins a document; the last `most` tokens of it.
std::vector<uint32_t> first_text(const SampleOptions& options, int64_t most);

/// The logits at a position of the first sequence, on every rank: each gives what it has of them.
std::vector<double> logits_at(Communicator& ranks, const Placement& placement, const Tensor& logits,
                              int64_t position);

/// Token number `i` of the sample.
uint32_t draw(std::vector<double> logits, const SampleOptions& options, int64_t i);

}  // namespace shardproof
