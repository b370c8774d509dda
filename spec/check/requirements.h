#pragma once
// Evaluates the requirements of a file and its functions at given sizes.
#include <map>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// The same over plain dims: aliases and groups have no sizes of their own in a table of sizes.
ir::Arith over_plain_dims(const ir::Program& program, const ir::Arith& arith);

/// Whether all of them hold at these sizes of plain dims and axes. Throws std::domain_error where
/// one has no value there.
bool hold(const ir::Program& program, const std::vector<ir::Requirement>& requirements,
          const std::map<Name, int64_t>& sizes);

/// What a function requires of sizes alone, on its way to its results: its own, and what the
/// functions that it calls or differentiates require. What a loop's body requires is not among
/// them.
std::vector<ir::Requirement> requirements_of_sizes(const ir::Program& program, size_t function);

/// The same of a plan and of its model: at other sizes nothing is claimed.
std::vector<ir::Requirement> requirements_of_claim(const ir::Program& program, size_t plan);

}  // namespace shardproof
