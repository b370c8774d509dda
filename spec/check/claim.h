#pragma once
// The value that a function must have at a point, by the oracle on whole tensors, and bounds of its
// rounding. Neither the rules nor the algebra are used.
#include <functional>

#include "oracle/oracle.h"
#include "spec/denote/evaluate.h"

namespace shardproof {

/// A function with its parameters. Refers to the program and the types.
struct PointOfPlan {
  const ir::Program* program = nullptr;
  const denote::Types* types = nullptr;
  size_t function = 0;
  denote::Sizes sizes;
  std::vector<denote::Array<double>> whole;        ///< the parameters
  std::vector<denote::Distributed<double>> local;  ///< the same on the devices, then saved ones

  const ir::Function& plan() const { return program->functions.at(function); }
  const Type& param_type(size_t i) const { return types->at(function).at(plan().params.at(i)); }
  /// The parameters of the differentiated function; the other inputs of a gradient are upstream.
  size_t own_params() const;
};

oracle::Tensor whole_tensor(const denote::Array<double>& array, Dtype dtype);
denote::Array<double> array_of(const oracle::Tensor& tensor);
oracle::Sizes oracle_sizes(const ir::Program& program, const denote::Sizes& sizes);

/// Its model's value, for `implements grad` the gradient, without a model its own erasure. Throws
/// oracle::Error.
std::vector<oracle::Tensor> claimed(const PointOfPlan& point);

/// The value of the erasure; `saved` are what it takes after `;`. Throws oracle::Error.
std::vector<oracle::Tensor> erasure(const PointOfPlan& point,
                                    const std::vector<denote::Array<double>>& saved);

/// How far rounding moves each entry of each result.
using Bounds = std::vector<double>;
/// Of each result the farthest that an entry is from `wanted` in one evaluation of `evaluate` where
/// numbers have this unit roundoff, and with `inputs_round` the inputs have it too.
Bounds moved_by_rounding(
    const PointOfPlan& point, const std::vector<oracle::Tensor>& wanted, double unit, unsigned seed,
    bool inputs_round,
    const std::function<std::vector<oracle::Tensor>(const PointOfPlan&)>& evaluate = claimed);

/// How far doubles themselves move each result, found by 20 evaluations. A jump, as `where(a < b,
/// ..)` has one where rounding makes a and b equal, is seen at its whole height, which no
/// evaluation in coarser numbers shows.
Bounds moved_by_doubles(
    const PointOfPlan& point, const std::vector<oracle::Tensor>& wanted,
    const std::function<std::vector<oracle::Tensor>(const PointOfPlan&)>& evaluate = claimed);

/// False if there is an infinity or a NaN: such a point decides nothing.
bool all_finite(const std::vector<oracle::Tensor>& tensors);

}  // namespace shardproof
