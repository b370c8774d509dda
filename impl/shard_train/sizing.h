#pragma once
// Sizes, consts and the mesh of a run, from a config, an imported model and the options. Throws
// BadInput if they do not fit.
#include <optional>
#include <stdexcept>

#include "impl/interchange/mapping.h"
#include "impl/shard_train/options.h"
#include "impl/tensor/placement.h"
#include "spec/ir/program.h"

namespace shardproof::shard_train {

/// The command, model, sizes or data do not fit each other; the message has a remedy.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The sizes, and the consts that the run overrides. Options override an imported model, which
/// overrides the config; a config's axes are ignored.
interchange::Numbers numbers_of(const ir::Program& program, const Options& options,
                                const std::optional<interchange::Mapping>& mapping);

/// "the mesh d=2 has 2 ranks".
std::string counted_ranks(const Mesh& mesh);

/// The mesh of --mesh; its axes must exist in the program, and its number of ranks must equal
/// --ranks.
Mesh mesh_of(const ir::Program& program, const Options& options);

/// The dims with padding, and those of the model.
interchange::Pads pads_of(const ir::Program& program);

/// A size for each of them that has none: the smallest that all parameters of the step divide.
void size_padded(const ir::Program& program, const ir::Function& step, const Mesh& mesh,
                 DimSizes& dims);

/// Requires a size for every dim in the step's parameters.
void require_sizes(const ir::Program& program, const ir::Function& step, const DimSizes& dims);

}  // namespace shardproof::shard_train
