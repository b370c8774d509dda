#pragma once
// Text from a model: one token after another from the logits of a forward plan.
#include "impl/trainer/trainer.h"

namespace shardproof {

/// The plan among those that the step's loss calls whose parameters are state and data, `ids`
/// among them, and whose result has the dims of ids and one more: the logits. Nothing where there
/// is none.
std::optional<Name> logits_plan(const Program& program, const StepRoles& roles);

struct SampleOptions {
  int64_t count = 64;        ///< tokens
  double temperature = 0.8;  ///< 0: the likeliest
  uint64_t seed = 0;
  uint32_t document = 0;  ///< the token that begins a document: the text's first, if no prompt
  std::vector<uint32_t> prompt = {};
};

struct Sample {
  std::vector<uint32_t> tokens;
  double prompt_seconds = 0, seconds = 0;  ///< to the first token; to the last
  /// Of those after the first.
  double tokens_per_second() const {
    const auto after = static_cast<double>(tokens.size()) - 1;
    return seconds > prompt_seconds ? after / (seconds - prompt_seconds) : 0;
  }
};

/// Collective: the tokens that follow the prompt, the same on every rank. The plan is run once for
/// each token on its fixed length; a longer text slides out of it.
Sample sample(Trainer& trainer, const Name& plan, const SampleOptions& options);

}  // namespace shardproof
