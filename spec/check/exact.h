#pragma once
// Runs a plan and its model in exact fractions, if all of their values are fractions.
#include <optional>
#include <vector>

#include "spec/denote/denote.h"

namespace shardproof {

/// The exact results, rounded to double.
struct ExactResults {
  std::vector<denote::Array<double>> plan, model;
};

/// On one device, at the shortest decimals of these inputs. Nullopt: a value is no 64-bit fraction,
/// is drawn from a key, or is undefined.
std::optional<ExactResults> exact_results(const ir::Program& program, size_t plan,
                                          const denote::Sizes& sizes,
                                          const std::vector<denote::Array<double>>& inputs);

}  // namespace shardproof
