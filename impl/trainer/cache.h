#pragma once
// Samples text with a plan that extends a key-value cache: first the prompt, then one token at a
// time.
#include "impl/trainer/sample.h"

namespace shardproof {

/// The only plan in the program's own file that extends a cache. Its parameters are `state`, `ids`
/// of the next positions, a number `at`, float tensors (the cache), and `segments` of all positions
/// if the model separates documents; its results are logits and the cache. Throws PlanError with
/// the candidates unless there is exactly one.
size_t cache_plan(const Program& program, const std::vector<Name>& state);

/// Collective: like sample(), with the plan of `program`, whose state parameters are the
/// trainer's. Each device has one sequence. When a text exceeds the cache, its second half is read
/// again.
Sample sample_with_cache(Trainer& trainer, const Program& program, const SampleOptions& options);

}  // namespace shardproof
