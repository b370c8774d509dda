#pragma once
// The value that a function should have at a point, from the oracle on whole tensors, and bounds on
// its rounding error. Uses neither the rules nor the algebra.
#include <functional>

#include "oracle/disturbed.h"
#include "oracle/oracle.h"
#include "spec/denote/evaluate.h"

namespace shardproof {

oracle::Sizes oracle_sizes(const ir::Program& program, const denote::Sizes& sizes);

/// A function with values of its parameters. Keeps references to the program and the types.
struct PointOfPlan {
  const ir::Program* program = nullptr;
  const denote::Types* types = nullptr;
  size_t function = 0;
  denote::Sizes sizes;
  std::vector<denote::Array<double>> whole;        ///< values of the parameters
  std::vector<denote::Distributed<double>> local;  ///< the same on the devices, then saved ones
  oracle::Sizes of_oracle = oracle_sizes(*program, sizes);

  const ir::Function& plan() const { return program->functions.at(function); }
  const Type& param_type(size_t i) const { return types->at(function).at(plan().params.at(i)); }
  /// The number of parameters of the differentiated function; a gradient's other inputs are
  /// cotangents.
  size_t own_params() const;
};

/// The parameters by which a gradient is taken if none are named.
std::vector<size_t> float_params(const ir::Function& function);
oracle::Tensor whole_tensor(const denote::Array<double>& array, Dtype dtype);
denote::Array<double> array_of(const oracle::Tensor& tensor);

/// The model's value; for `implements grad` the gradient; without a model the plan's own erasure.
/// Throws oracle::Error.
std::vector<oracle::Tensor> claimed(const PointOfPlan& point);

/// For a plan that implements a fn: the model's value, and its gradients for the leaves in `wrt`,
/// where each result's own gradient is 1. Throws oracle::Error.
oracle::Differentiated value_and_gradient_of_model(const PointOfPlan& point,
                                                   const std::vector<size_t>& wrt);

/// The value of the erasure; `saved` are the parameters after `;`. Throws oracle::Error, also where
/// the plan that it runs after requires something else of values.
std::vector<oracle::Tensor> erasure(const PointOfPlan& point,
                                    const std::vector<denote::Array<double>>& saved);

/// The evaluator of a point: `claimed`, or the plan's erasure.
using Evaluation = std::function<std::vector<oracle::Tensor>(const PointOfPlan&)>;

/// For each result, how far rounding moves its entries.
using Bounds = std::vector<double>;
/// How numbers are rounded in an evaluation (oracle/disturbed.h).
struct Rounding {
  double unit;          ///< half of what is between 1 and the next number
  bool inputs = false;  ///< inputs are rounded too
  oracle::Off off = oracle::Off::moved;
};
/// For each result, the largest distance of an entry from `wanted` in one evaluation of `evaluate`
/// with this rounding: infinite where an entry has no value.
Bounds moved_by_rounding(const PointOfPlan& point, const std::vector<oracle::Tensor>& wanted,
                         const Rounding& rounding, unsigned seed,
                         const Evaluation& evaluate = claimed);

/// How far double rounding moves each result, from 20 evaluations. At a discontinuity, such as
/// where(a < b, ..) with a and b equal up to rounding, this is its full height, which coarser
/// arithmetic may miss.
Bounds moved_by_doubles(const PointOfPlan& point, const std::vector<oracle::Tensor>& wanted,
                        const Evaluation& evaluate = claimed);

/// Whether double rounding may give this entry of a result a number. The variance of equal numbers
/// is 0: its root has no value where rounding makes it negative, which says nothing of the plan.
bool finite_by_rounding(const PointOfPlan& point, const Evaluation& evaluate, size_t result,
                        size_t entry);

/// Whether this entry has a value where no exponential is 0: e^-1000 / e^-1000 is 1, and 0 / 0 in
/// doubles.
bool finite_without_underflow(const PointOfPlan& point, const Evaluation& evaluate, size_t result,
                              size_t entry);

/// Whether a double overflows on the way. What is finite afterwards, such as 1 / inf, is not the
/// value: of log(sigmoid(x)) the gradient is 0 in doubles where exp(-x)^2 overflows, and 1 in
/// truth.
bool overflows(const PointOfPlan& point, const Evaluation& evaluate);

/// False if there is an infinity or a NaN: such a point decides nothing.
bool all_finite(const std::vector<oracle::Tensor>& tensors);

}  // namespace shardproof
