#pragma once
// Sizes, consts and the mesh of a run, from a config, an imported model and the flags. What does
// not fit is thrown as BadInput.
#include <optional>
#include <stdexcept>

#include "impl/interchange/mapping.h"
#include "impl/shard_train/options.h"
#include "impl/tensor/placement.h"
#include "spec/ir/program.h"

namespace shardproof::shard_train {

/// The command, the model, the sizes or the data do not fit: it says what does.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The sizes, and those consts that the run gives another value. The flags count most, the config
/// least; a config's axes do not count.
interchange::Numbers numbers_of(const ir::Program& program, const Options& options,
                                const std::optional<interchange::Mapping>& mapping);

/// --mesh, of axes that the program has, with as many ranks as --ranks says.
Mesh mesh_of(const ir::Program& program, const Options& options);

/// Every dim of the step's parameters has a size.
void require_sizes(const ir::Program& program, const ir::Function& step, const DimSizes& dims);

}  // namespace shardproof::shard_train
