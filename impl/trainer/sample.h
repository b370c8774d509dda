#pragma once
// Samples text from a model, token by token, from the logits of a forward plan.
#include "impl/trainer/trainer.h"

namespace shardproof {

/// The plan of the logits: its parameters are state and data with `ids` among them, and its first
/// result has the dims of ids and one more. The step's loss calls it, or else it is the only one of
/// the file: a pipeline computes its logits inside. Null if there is none.
std::optional<Name> logits_plan(const Program& program, const StepRoles& roles);

struct SampleOptions {
  int64_t count = 64;        ///< tokens
  double temperature = 0.8;  ///< 0: always the most likely token
  uint64_t seed = 0;
  uint32_t document = 0;  ///< starts a document; the first token if there is no prompt
  std::vector<uint32_t> prompt = {};
};

struct Sample {
  std::vector<uint32_t> tokens;
  double prompt_seconds = 0, seconds = 0;  ///< time to the first token, and to the last
  /// Excludes the first token.
  double tokens_per_second() const {
    const auto after = static_cast<double>(tokens.size()) - 1;
    return seconds > prompt_seconds ? after / (seconds - prompt_seconds) : 0;
  }
};

/// Collective: generates the tokens after the prompt, the same on every rank. Runs the plan once
/// per token at its fixed length; older tokens are dropped when the text is longer.
Sample sample(Trainer& trainer, const Name& plan, const SampleOptions& options);

}  // namespace shardproof
