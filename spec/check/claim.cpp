#include "spec/check/claim.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>

#include "oracle/huge.h"
#include "spec/check/requirements.h"

namespace shardproof {
namespace {

std::vector<oracle::Tensor> whole_inputs(const PointOfPlan& point) {
  std::vector<oracle::Tensor> inputs;
  inputs.reserve(point.whole.size() + point.plan().saved_params.size());
  for (size_t i = 0; i < point.whole.size(); ++i)
    inputs.push_back(whole_tensor(point.whole[i], point.param_type(i).dtype));
  return inputs;
}

double largest_entry(const denote::Distributed<double>& held) {
  double most = 0;
  for (double each : held.all()) most = std::max(most, std::abs(each));
  return most;
}

/// Perturbs an input by rounding. For an unreduced input, also its terms and what is computed from
/// them before they are summed.
void disturb_input(PointOfPlan& point, size_t i, bool rounds) {
  const Type& type = point.param_type(i);
  if (!is_float(type.dtype)) return;
  oracle::Tensor x{point.whole[i].shape, point.whole[i].data, {}};
  if (rounds) oracle::disturb(x);
  const bool unreduced = std::any_of(type.marks.begin(), type.marks.end(),
                                     [](const auto& mark) { return mark.second == Mark::U; });
  if (unreduced && i < point.local.size())
    oracle::disturb_sums(x, oracle::filled(x.shape, 4 * largest_entry(point.local[i])),
                         static_cast<double>(point.local[i].size()));
  point.whole[i].data = x.data;
}

}  // namespace

std::vector<size_t> float_params(const ir::Function& function) {
  std::vector<size_t> floats;
  for (size_t i = 0; i < function.params.size(); ++i)
    if (is_float(function.values.at(function.params[i]).type.dtype)) floats.push_back(i);
  return floats;
}

size_t PointOfPlan::own_params() const {
  return plan().implements_grad ? program->functions.at(plan().model.value()).params.size()
                                : plan().params.size();
}

oracle::Tensor whole_tensor(const denote::Array<double>& array, Dtype dtype) {
  if (dtype != Dtype::key) return {array.shape, array.data, {}};
  oracle::Tensor keys{array.shape, {}, {}};
  for (double each : array.data) keys.keys.push_back(std::bit_cast<uint64_t>(each));
  return keys;
}

denote::Array<double> array_of(const oracle::Tensor& tensor) {
  denote::Array<double> array{tensor.shape, tensor.data};
  for (uint64_t key : tensor.keys) array.data.push_back(std::bit_cast<double>(key));
  return array;
}

oracle::Sizes oracle_sizes(const ir::Program& program, const denote::Sizes& sizes) {
  oracle::Sizes all{sizes.dims, {sizes.mesh.begin(), sizes.mesh.end()}};
  for (const auto& [axis, info] : program.axes) all.axes.emplace(axis, 1);
  return all;
}

std::vector<oracle::Tensor> claimed(const PointOfPlan& point) {
  const ir::Function& plan = point.plan();
  std::vector<oracle::Tensor> inputs = whole_inputs(point);
  if (!plan.model || !plan.implements_grad)
    return oracle::evaluate(*point.program, plan.model.value_or(point.function), point.of_oracle,
                            std::move(inputs));
  const auto own = static_cast<std::ptrdiff_t>(point.own_params());
  const std::vector<size_t> wrt =
      plan.wrt.empty() ? float_params(point.program->functions.at(*plan.model)) : plan.wrt;
  return oracle::gradient(*point.program, *plan.model, point.of_oracle,
                          {inputs.begin(), inputs.begin() + own},
                          {inputs.begin() + own, inputs.end()}, wrt);
}

oracle::Differentiated value_and_gradient_of_model(const PointOfPlan& point,
                                                   const std::vector<size_t>& wrt) {
  return oracle::value_and_gradient(*point.program,
                                    oracle::model_of(*point.program, point.function),
                                    point.of_oracle, whole_inputs(point), wrt);
}

std::vector<oracle::Tensor> erasure(const PointOfPlan& point,
                                    const std::vector<denote::Array<double>>& saved) {
  std::vector<oracle::Tensor> inputs = whole_inputs(point);
  if (const auto after = point.plan().after; after && requires_values(*point.program, *after))
    oracle::evaluate(
        *point.program, *after, point.of_oracle,
        {inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(point.own_params())});
  for (size_t i = 0; i < saved.size(); ++i) {
    const ir::ValueId id = point.plan().saved_params.at(i);
    inputs.push_back(whole_tensor(saved[i], point.types->at(point.function).at(id).dtype));
  }
  return oracle::evaluate(*point.program, point.function, point.of_oracle, std::move(inputs));
}

namespace {

// An input at a discontinuity is moved to either side in half of the evaluations.
constexpr unsigned evaluations = 20;
constexpr Rounding of_doubles{.unit = 8 * 0x1p-53};

std::vector<oracle::Tensor> disturbed(const PointOfPlan& point, const Rounding& rounding,
                                      unsigned seed, const Evaluation& evaluate) {
  const oracle::Disturbed disturbance(rounding.unit, seed, rounding.off);
  PointOfPlan moved = point;
  for (size_t i = 0; i < moved.whole.size(); ++i) disturb_input(moved, i, rounding.inputs);
  return evaluate(moved);
}

}  // namespace

Bounds moved_by_rounding(const PointOfPlan& point, const std::vector<oracle::Tensor>& wanted,
                         const Rounding& rounding, unsigned seed, const Evaluation& evaluate) {
  const std::vector<oracle::Tensor> got = disturbed(point, rounding, seed, evaluate);
  Bounds farthest(wanted.size());
  for (size_t r = 0; r < wanted.size(); ++r)
    for (size_t i = 0; i < wanted[r].data.size(); ++i) {
      const double off = std::abs(got.at(r).data.at(i) - wanted[r].data[i]);
      farthest[r] = std::max(farthest[r], std::isnan(off) ? INFINITY : off);
    }
  return farthest;
}

Bounds moved_by_doubles(const PointOfPlan& point, const std::vector<oracle::Tensor>& wanted,
                        const Evaluation& evaluate) {
  Bounds farthest(wanted.size());
  for (unsigned seed = 1; seed <= evaluations; ++seed) {
    const Bounds moved = moved_by_rounding(point, wanted, of_doubles, seed, evaluate);
    for (size_t r = 0; r < wanted.size(); ++r) farthest[r] = std::max(farthest[r], moved[r]);
  }
  return farthest;
}

bool finite_by_rounding(const PointOfPlan& point, const Evaluation& evaluate, size_t result,
                        size_t entry) {
  for (unsigned seed = 1; seed <= evaluations; ++seed)
    if (std::isfinite(disturbed(point, of_doubles, seed, evaluate).at(result).data.at(entry)))
      return true;
  return false;
}

bool finite_without_underflow(const PointOfPlan& point, const Evaluation& evaluate, size_t result,
                              size_t entry) {
  const oracle::HugeExponentials huge(1);
  return std::isfinite(evaluate(point).at(result).data.at(entry));
}

bool overflows(const PointOfPlan& point, const Evaluation& evaluate) {
  std::feclearexcept(FE_OVERFLOW);
  evaluate(point);
  return std::fetestexcept(FE_OVERFLOW) != 0;
}

bool all_finite(const std::vector<oracle::Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const oracle::Tensor& tensor) {
    return std::all_of(tensor.data.begin(), tensor.data.end(),
                       [](double x) { return std::isfinite(x); });
  });
}

}  // namespace shardproof
