#pragma once
// --from-hf and --to-hf: the weights of a run from and to Hugging Face's format.
#include <optional>

#include "impl/cli/options.h"
#include "impl/interchange/interchange.h"
#include "impl/trainer/trainer.h"

namespace shardproof::cli {

/// The file that says how the model lies in the other format: as the user says, or NAME.hf.json
/// beside the one file NAME.shard of the program that has one. Throws PlanError, FileError.
interchange::Mapping find_mapping(const Program& program, const std::string& given);

/// The leaves of the state that are the model's weights, `w`, named as in its record.
std::vector<checkpoint::Leaf> weights_of(Trainer& trainer, const Name& group);

/// The sizes and consts that the program has here.
interchange::Numbers numbers_of(const Program& program, const Mesh& mesh, const DimSizes& dims);

}  // namespace shardproof::cli
