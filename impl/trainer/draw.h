#pragma once
// Shared by both samplers: the initial text, a row of logits, a sampled token.
#include "impl/trainer/sample.h"

namespace shardproof {

/// The last `most` tokens of the prompt; without a prompt, the token that starts a document.
std::vector<uint32_t> first_text(const SampleOptions& options, int64_t most);

/// The logits at a position of the first sequence, on every rank; each rank contributes its part.
std::vector<double> logits_at(Communicator& ranks, const Placement& placement,
                              const LocalTensor& logits, int64_t position);

/// Samples token `i`.
uint32_t draw(std::vector<double> logits, const SampleOptions& options, int64_t i);

}  // namespace shardproof
