#pragma once
// Evaluates the requirements of a file and its functions at given sizes.
#include <map>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// The condition over plain dims: aliases and groups have no entry in a table of sizes.
ir::Arith over_plain_dims(const ir::Program& program, const ir::Arith& arith);

/// Whether all requirements hold at these sizes of plain dims and axes. Throws std::domain_error if
/// one is undefined there.
bool hold(const ir::Program& program, const std::vector<ir::Requirement>& requirements,
          const std::map<Name, int64_t>& sizes);

/// Whether the body of a function, or of a loop in it, requires something of values.
bool requires_of_values(const ir::Function& function);

/// At these sizes; none where they do not decide it, or for more than 2^18 indices.
std::optional<bool> hold_at_all_indices(const ir::Program& program, const ir::OfIndices& condition,
                                        std::map<Name, int64_t> sizes);

/// Whether the function, its model, the plan that it runs after, or a callee of these has a
/// `require` on values.
bool requires_values(const ir::Program& program, size_t function);

/// The requirements on sizes only that must hold for the function's results: its own, its model's,
/// and those of what it calls or differentiates. Sizes are at least 1, so the bodies of loops run,
/// and theirs count too.
std::vector<ir::Requirement> requirements_of_sizes(const ir::Program& program, size_t function);

/// `requirements_of_sizes` of a plan, its model and the plan that it runs after: at other sizes
/// there is no claim.
std::vector<ir::Requirement> requirements_of_claim(const ir::Program& program, size_t plan);

}  // namespace shardproof
