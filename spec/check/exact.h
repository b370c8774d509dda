#pragma once
// A plan and its model in exact fractions, where all that they compute is one.
#include <optional>
#include <vector>

#include "spec/denote/denote.h"

namespace shardproof {

/// Nearest doubles of exact results.
struct ExactResults {
  std::vector<denote::Array<double>> plan, model;
};

/// On one device, at the shortest decimals of these inputs. Nullopt: something is no fraction of 64
/// bits, is drawn from a key, or has no value.
std::optional<ExactResults> exact_results(const ir::Program& program, size_t plan,
                                          const denote::Sizes& sizes,
                                          const std::vector<denote::Array<double>>& inputs);

}  // namespace shardproof
