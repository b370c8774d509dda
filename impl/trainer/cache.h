#pragma once
// Text from a plan that extends a key-value cache: the prompt at once, then one token at a time.
#include "impl/trainer/sample.h"

namespace shardproof {

/// The only plan of the program's own file that extends a cache, of those that take `state`: its
/// parameters are state, `ids` of the next positions, `segments` of all positions, a number `at`,
/// and float tensors, the cache; its results are logits and the cache. Throws PlanError, naming
/// what there is, where it is not one.
size_t cache_plan(const Program& program, const std::vector<Name>& state);

/// Collective: as sample(), with the plan of `program`, whose parameters of the state are those of
/// the trainer's. Each device has one sequence. A text that is longer than the cache goes on with
/// its second half, read again.
Sample sample_with_cache(Trainer& trainer, const Program& program, const SampleOptions& options);

}  // namespace shardproof
