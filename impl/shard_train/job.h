#pragma once
// Everything that a run needs before its ranks start: program, mesh, sizes and data. All are
// checked together, so that an error is reported once.
#include <memory>

#include "impl/data/loader.h"
#include "impl/data/tokenizer.h"
#include "impl/shard_train/sizing.h"
#include "impl/trainer/trainer.h"

namespace shardproof::shard_train {

/// Shared by all ranks.
struct Job {
  Options options;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Program> cached;  ///< has the plan that extends a cache; may be null
  Mesh mesh;
  DimSizes dims;
  Name step, eval, logits;  ///< plans; eval and logits may be empty
  TrainerOptions trainer;
  std::optional<interchange::Mapping> mapping;             ///< to and from Hugging Face's format
  std::vector<std::string> import_notes;                   ///< what the program has not
  bool draws = true;                                       ///< a plan draws the first state
  std::shared_ptr<const data::Tokenizer> tokenizer;        ///< null: tokens are bytes
  std::shared_ptr<const data::Tokens> tokens, validation;  ///< validation may be null: a part
  int64_t vocabulary = INT64_MAX;                          ///< upper bound of tokens
  std::map<Name, int64_t> made_up;  ///< without data: what is not tokens; integers are below this
  size_t process_bytes = 0;         ///< memory of the process before its ranks allocate any

  data::LoaderOptions train_part() const, validation_part() const;
  /// The leaves of the mapping: the first state, without its name.
  std::vector<checkpoint::Leaf> weights(Trainer& trainer) const;
  /// The run's sizes and consts.
  interchange::Numbers numbers() const;
  /// The tokens of the files; without files, of the generated corpus.
  std::shared_ptr<const data::Tokens> tokens_of(const std::vector<std::string>& files) const;
  std::vector<uint32_t> encode(const std::string& text) const;
  std::string decode(const std::vector<uint32_t>& tokens) const;
};

/// The options for compiling the job's plans.
PlanOptions plan_options(const Job& job);

/// Throws BadInput, PlanError, FileError.
Job prepare(const Options& options);

}  // namespace shardproof::shard_train
