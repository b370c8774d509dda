#include "spec/check/refute.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>

#include "oracle/huge.h"
#include "spec/check/budget.h"
#include "spec/check/claim.h"
#include "spec/check/cost_of_run.h"
#include "spec/check/exact.h"
#include "spec/check/fixed_sizes.h"
#include "spec/check/jumps.h"
#include "spec/check/literals.h"
#include "spec/check/one_device.h"
#include "spec/check/points.h"
#include "spec/check/points_to_refute.h"
#include "spec/check/requirements.h"
#include "spec/denote/gradient.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

using Inputs = std::vector<denote::Array<double>>;

std::string shown(double value, int digits) {
  if (std::isnan(value)) return "no value";
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value == 0 ? 0 : value);
  return text;
}

/// Both numbers, with enough digits to show that they differ.
std::pair<std::string, std::string> shown_apart(double a, double b) {
  int digits = 5;
  while (digits < 17 && shown(a, digits) == shown(b, digits)) ++digits;
  return {shown(a, digits), shown(b, digits)};
}

/// The index of the entry that differs most, relative to the claim's largest value; nullopt if they
/// agree. `noise`: differences up to this may be rounding.
std::optional<size_t> differs(const denote::Array<double>& a, const denote::Array<double>& b,
                              double noise) {
  double most = noise;
  for (double x : b.data) most = std::max(most, 1e-6 * std::abs(x));
  std::optional<size_t> worst;
  for (size_t i = 0; i < b.data.size(); ++i) {
    if (!std::isfinite(b.data[i]) || std::isinf(a.data[i])) return std::nullopt;
    if (std::isnan(a.data[i])) return i;  // undefined where the model is defined
    if (std::abs(a.data[i] - b.data[i]) > most) most = std::abs(a.data[i] - b.data[i]), worst = i;
  }
  return worst;
}

std::string place(const denote::Array<double>& array, size_t flat) {
  std::string text;
  for (size_t d = array.shape.size(); d-- > 0;) {
    const auto extent = static_cast<size_t>(array.shape[d]);
    text = std::to_string(flat % extent) + (text.empty() ? "" : ", ") + text;
    flat /= extent;
  }
  return "[" + text + "]";
}

/// The sizes whose names are in `read`.
template <class Sizes>
std::string sizes_text(const Sizes& sizes, const std::set<Name>& read) {
  std::string text;
  for (const auto& [name, size] : sizes)
    if (read.contains(name)) text += (text.empty() ? "" : " ") + name + "=" + std::to_string(size);
  return text;
}

/// The plain dims of the values of a plan and its model.
std::set<Name> dims_of_claim(const ir::Program& program, size_t plan) {
  std::set<Name> dims;
  const auto add = [&](const Dim& dim) {
    for (const Name& name : program.base(dim)) dims.insert(name);
  };
  const auto add_all = [&](const ir::Function& function) {
    for (const ir::Value& value : function.values)
      for (const Split& split : value.type.dims) add(split.dim);
    for_each_instr(function.body, [&](const ir::Instr& instr) {
      if (auto* size = std::get_if<ir::SizeOf>(&instr.op); size && !size->axis)
        add(Dim{{size->name}});
      if (auto* scan = std::get_if<ir::Scan>(&instr.op)) add(scan->dim);
    });
  };
  add_all(program.functions.at(plan));
  if (program.functions[plan].model) add_all(program.functions.at(*program.functions[plan].model));
  return dims;
}

/// The whole result or, if it is large, the entry that differs most.
HeldValue both(const denote::Array<double>& plan, const denote::Array<double>& model, size_t at) {
  constexpr size_t most = 256;
  HeldValue value{"result", true, {}};
  if (model.data.size() <= most && plan.shape == model.shape)
    value.held = {{"plan", plan.shape, plan.data, model.data}, {"model", model.shape, model.data}};
  else
    value.held = {{"plan at " + place(model, at), {}, {plan.data.at(at)}, {model.data.at(at)}},
                  {"model at " + place(model, at), {}, {model.data.at(at)}}};
  return value;
}

Refutation describe(const ir::Program& program, size_t function, const denote::Sizes& sizes,
                    size_t result, size_t at, const denote::Array<double>& plan,
                    const denote::Array<double>& model) {
  const bool gradient = program.functions.at(function).implements_grad;
  const auto [own, claim] = shown_apart(plan.data[at], model.data[at]);
  const std::set<Name> read = dims_of_claim(program, function);
  const std::set<Axis> axes = axes_of_plan(program, denote::types_for(program, function), function);
  Refutation refutation;
  refutation.result = result;
  refutation.numbers.mesh = sizes_text(sizes.mesh, axes);
  if (refutation.numbers.mesh.empty()) refutation.numbers.mesh = "one device";
  refutation.numbers.sizes = sizes_text(sizes.dims, read);
  refutation.numbers.lines.push_back("at " + place(model, at) +
                                     (gradient ? " the gradient is " : " the model gives ") +
                                     claim + ", the plan " + (gradient ? "gives " : "") + own);
  refutation.numbers.values.push_back(both(plan, model, at));
  double cross = 0, square = 0;
  for (size_t i = 0; i < model.data.size(); ++i) {
    cross += plan.data[i] * model.data[i];
    square += model.data[i] * model.data[i];
  }
  refutation.ratio = square > 0 ? cross / square : 0;
  refutation.uniform = true;
  refutation.entries = model.data.size();
  for (const auto& [name, size] : sizes.dims)
    if (size < 2 && read.contains(name))
      refutation.entries = 1;  // for one entry, a common factor means nothing
  for (size_t i = 0; i < model.data.size(); ++i)
    if (!(std::abs(plan.data[i] - refutation.ratio * model.data[i]) <= 1e-9 * std::sqrt(square)) ||
        (std::abs(refutation.ratio) < 1e-9 && std::abs(plan.data[i]) > 1e-9))
      refutation.uniform = false;
  return refutation;
}

/// The plan's results and the claimed ones.
struct Outcome {
  Inputs plan, claimed;
  Inputs inputs = {};  ///< the parameters, then saved values
  /// Terms of a gradient may cancel (softmax ignores a shift), those of a value do not.
  double noise = 1e-18;
};

Inputs arrays_of(const std::vector<oracle::Tensor>& tensors) {
  Inputs arrays;
  for (const oracle::Tensor& each : tensors) arrays.push_back(array_of(each));
  return arrays;
}

/// Both by the oracle.
Outcome reverse_mode(const ir::Program& program, size_t plan, const denote::Sizes& sizes,
                     Inputs inputs) {
  const ir::Function& function = program.functions.at(plan);
  const denote::Types types = denote::types_for(program, plan);
  const PointOfPlan point{&program, &types, plan, sizes, inputs, {}};
  Inputs saved;
  if (function.implements_grad)
    saved = denote::saved<double>(
        program, plan, sizes,
        {inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(point.own_params())});
  Inputs given = arrays_of(erasure(point, saved)), claim = arrays_of(claimed(point));
  std::move(saved.begin(), saved.end(), std::back_inserter(inputs));
  return {std::move(given), std::move(claim), std::move(inputs), 1e-10};
}

Outcome outcome(const ir::Program& program, size_t plan, const Point& at, Inputs inputs) {
  const denote::Sizes& sizes = at.sizes;
  if (at.many_weights) return reverse_mode(program, plan, sizes, std::move(inputs));
  const ir::Function& function = program.functions.at(plan);
  const size_t model = function.model.value();
  if (!function.implements_grad) {
    Inputs given = denote::evaluate<double>(program, plan, sizes, inputs);
    Inputs claimed = denote::evaluate<double>(program, model, sizes, inputs);
    return {std::move(given), std::move(claimed), std::move(inputs)};
  }
  const auto own =
      inputs.begin() + static_cast<std::ptrdiff_t>(program.functions.at(model).params.size());
  const Inputs primal(inputs.begin(), own), upstream(own, inputs.end());
  for (auto& saved : denote::saved<double>(program, plan, sizes, primal))
    inputs.push_back(std::move(saved));
  Inputs given = denote::evaluate<double>(program, plan, sizes, inputs);
  return {std::move(given),
          denote::numeric_gradient(program, model, sizes, primal, function.wrt, upstream),
          std::move(inputs), 1e-10};
}

bool finite(const Inputs& arrays) {
  return std::all_of(arrays.begin(), arrays.end(), [](const denote::Array<double>& array) {
    return std::all_of(array.data.begin(), array.data.end(),
                       [](double x) { return std::isfinite(x); });
  });
}

/// Evaluates both at a point. If the claim is undefined there, e.g. a root of a negative variance,
/// draws positive numbers; at some points negative ones: log(x * y) is defined there.
Outcome outcome_at(const ir::Program& program, size_t plan, const Point& point) {
  std::optional<ir::Program> changed;
  if (names_mesh_sizes(program, plan)) changed = at_mesh_sizes(program, point.sizes);
  const ir::Program& one = changed ? *changed : program;
  const ir::Function& function = program.functions.at(plan);
  const auto drawn = [&](std::optional<Draw> draw) {
    Inputs inputs =
        draw ? random_inputs(program, function, point.sizes, point.seed, *draw)
             : inputs_at_literals(program, function, *point.literals, point.sizes, point.seed);
    if (point.apart) draw_apart(function, *point.apart, inputs);
    if (point.scale != 1) scale_floats(function, point.scale, inputs);
    if (point.within)
      for (double& entry : inputs.at(point.within->first).data)
        entry =
            std::fmod(std::abs(entry),
                      static_cast<double>(program.size(point.within->second, point.sizes.dims)));
    if (point.apart || point.scale != 1)
      satisfy_assumptions(program, function, point.sizes, inputs);
    return outcome(one, plan, point, std::move(inputs));
  };
  if (point.literals) return drawn({});
  Outcome found = drawn(point.apart ? Draw::mixed : static_cast<Draw>(point.seed % 5));
  const bool negative = !finite(found.claimed) && point.seed % 3 == 0;
  if (negative) found = drawn(Draw::negative);
  if (!finite(found.claimed)) found = drawn(Draw::positive);
  if (!point.apart) return found;
  // With very different magnitudes, rounding is relative to the inputs, and overflow proves
  // nothing.
  found.noise = 1e-4;
  if (!finite(found.plan)) found.plan.clear();
  return found;
}

/// The oracle's results, and how far rounding moves each.
struct Confirmed {
  Inputs arrays;
  Bounds bounds;
};

/// `seeds`: the number of perturbed evaluations. At a discontinuity, half of them are on each side.
Confirmed by_oracle(const PointOfPlan& point, const Evaluation& value, bool inputs_round,
                    unsigned seeds) {
  constexpr double safety = 8 * 0x1p-23, unit = 0x1p-30;
  const std::vector<oracle::Tensor> found = value(point);
  Confirmed confirmed{arrays_of(found), Bounds(found.size())};
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    const Bounds moved = moved_by_rounding(point, found, {unit, inputs_round}, seed, value);
    for (size_t r = 0; r < found.size(); ++r)
      confirmed.bounds[r] = std::max(confirmed.bounds[r], safety * moved[r]);
  }
  return confirmed;
}

/// Widens the bounds by double rounding, which matters at discontinuities.
Confirmed at_jumps(const PointOfPlan& point, const Evaluation& value, Confirmed confirmed) {
  const Bounds moved = moved_by_doubles(point, value(point), value);
  for (size_t r = 0; r < moved.size(); ++r)
    confirmed.bounds[r] = std::max(confirmed.bounds[r], moved[r]);
  return confirmed;
}

/// The index of a result, and of an entry in it.
using Entry = std::pair<size_t, size_t>;

/// The entry that differs by more than rounding can explain.
std::optional<Entry> beyond_rounding(const Confirmed& claim, const Confirmed& erased,
                                     double noise) {
  constexpr double ill = 1e-7;
  for (size_t r = 0; r < claim.arrays.size() && r < erased.arrays.size(); ++r) {
    double most = 0;
    for (double x : claim.arrays[r].data) most = std::max(most, std::abs(x));
    for (double x : erased.arrays[r].data)
      if (std::isfinite(x)) most = std::max(most, std::abs(x));
    const double bound = claim.bounds[r] + erased.bounds[r];
    if (std::isinf(erased.bounds[r]) && std::isfinite(claim.bounds[r]))  // no value: not a distance
      if (const auto entry = differs(erased.arrays[r], claim.arrays[r], INFINITY))
        return Entry{r, *entry};
    if (!(bound <= std::max(ill * most, noise))) continue;
    if (const auto entry = differs(erased.arrays[r], claim.arrays[r], std::max(bound, noise)))
      return Entry{r, *entry};
  }
  return std::nullopt;
}

/// The entry that differs both in exact arithmetic and in the oracle.
std::optional<Entry> beyond_rounding(const ExactResults& exact, const Confirmed& claim,
                                     const Confirmed& erased, double noise) {
  for (size_t r = 0; r < claim.arrays.size() && r < erased.arrays.size(); ++r) {
    const auto entry = differs(exact.plan.at(r), exact.model.at(r), noise);
    if (entry && differs(erased.arrays[r], claim.arrays[r], noise) == entry)
      return Entry{r, *entry};
  }
  return std::nullopt;
}

/// What both are at a point, and an entry that differs by more than rounding can explain.
struct Apart {
  Confirmed claim, erased;
  std::optional<Entry> entry;
};

/// `seeds`: as for `by_oracle`. `jump`: whether a value may be at a discontinuity.
Apart apart_by_oracle(const PointOfPlan& point, const Evaluation& erased_value, bool inputs_round,
                      unsigned seeds, bool jump, double noise) {
  Apart found{by_oracle(point, claimed, inputs_round, seeds),
              by_oracle(point, erased_value, inputs_round, seeds),
              {}};
  found.entry = beyond_rounding(found.claim, found.erased, noise);
  if (found.entry && jump)
    found.entry = beyond_rounding(at_jumps(point, claimed, found.claim),
                                  at_jumps(point, erased_value, found.erased), noise);
  return found;
}

bool agree(const Inputs& a, const Inputs& b) {
  for (size_t r = 0; r < a.size(); ++r)
    for (size_t i = 0; i < a[r].data.size(); ++i)
      if (!(std::abs(a[r].data[i] - b[r].data[i]) <= 1e-9 * (1 + std::abs(a[r].data[i]))))
        return false;
  return true;
}

/// A difference where exponentials overflow, if neither side depends on what they are.
std::optional<Apart> apart_in_spite_of_overflow(const PointOfPlan& point,
                                                const Evaluation& erased_value, unsigned seeds,
                                                double noise) {
  constexpr unsigned ways = 8;  // half of them keep the order of exponentials
  std::optional<Inputs> claim, erased;
  for (unsigned seed = ways; seed > 0; --seed) {
    const oracle::HugeExponentials huge(seed);
    if (overflows(point, claimed) || overflows(point, erased_value)) return std::nullopt;
    Inputs other_claim = arrays_of(claimed(point)), other = arrays_of(erased_value(point));
    if (claim && !(agree(*claim, other_claim) && agree(*erased, other))) return std::nullopt;
    claim = std::move(other_claim), erased = std::move(other);
  }
  const oracle::HugeExponentials huge(1);
  Apart found = apart_by_oracle(point, erased_value, true, seeds, true, noise);
  return found.entry ? std::optional(std::move(found)) : std::nullopt;
}

/// Confirms a difference; where forward-mode gradients are too slow, by error analysis alone.
/// Returns the difference that the oracle sees between erasure and model; none if rounding moves
/// one of them far. Values that are fractions of the inputs are compared exactly too: at a
/// discontinuity, such as x >= 100 at 100, rounding moves them far.
std::optional<Refutation> confirmed(const ir::Program& program, size_t plan, const Point& at,
                                    const Outcome& seen) {
  constexpr unsigned few = 2, some = 8, many = 20;
  const ir::Function& function = program.functions.at(plan);
  const denote::Types types = denote::types_for(program, plan);
  const auto params = static_cast<std::ptrdiff_t>(function.params.size());
  const Inputs saved(seen.inputs.begin() + params, seen.inputs.end());
  const PointOfPlan point{
      &program, &types, plan, at.sizes, {seen.inputs.begin(), seen.inputs.begin() + params}, {}};
  const Evaluation erased_value = [&](const PointOfPlan& moved) { return erasure(moved, saved); };
  const auto described = [&](const Entry& entry, const Confirmed& claim, const Confirmed& erased) {
    const auto& [r, i] = entry;
    return describe(program, plan, at.sizes, r, i, erased.arrays[r], claim.arrays[r]);
  };
  const bool of_values = !differentiates(program, plan), jump = may_jump(program, plan);
  std::optional<ExactResults> exact;
  if (of_values && !names_mesh_sizes(program, plan))
    exact = exact_results(program, plan, at.sizes, point.whole);
  if (exact) {
    const Confirmed claim = by_oracle(point, claimed, false, 0);
    const Confirmed erased = by_oracle(point, erased_value, false, 0);
    const auto entry = beyond_rounding(*exact, claim, erased, seen.noise);
    return entry ? std::optional(described(*entry, claim, erased)) : std::nullopt;
  }
  if (overflows(point, claimed) || overflows(point, erased_value)) {
    const auto found = apart_in_spite_of_overflow(point, erased_value, few, seen.noise);
    return found ? std::optional(described(*found->entry, found->claim, found->erased))
                 : std::nullopt;
  }
  for (const bool inputs_round : {true, false}) {
    if (!inputs_round && !of_values) break;  // a gradient depends on more than one point
    // Without the evaluations at jumps, two must not agree by chance.
    const unsigned seeds = !jump ? some : at.literals || !inputs_round ? many : few;
    const auto [claim, erased, entry] =
        apart_by_oracle(point, erased_value, inputs_round, seeds, jump, seen.noise);
    if (!entry) continue;
    const auto [r, i] = *entry;
    if (!std::isfinite(erased.arrays[r].data[i]) &&
        (finite_by_rounding(point, erased_value, r, i) ||
         finite_without_underflow(point, erased_value, r, i)))
      continue;
    return described(*entry, claim, erased);
  }
  return std::nullopt;
}

/// The results at a point if plan and claim differ there, by one evaluator.
std::optional<Outcome> difference_at(const ir::Program& program, size_t plan, const Point& point) {
  Outcome found = outcome_at(program, plan, point);
  for (size_t r = 0; r < found.claimed.size() && r < found.plan.size(); ++r)
    if (differs(found.plan[r], found.claimed[r], found.noise)) return found;
  return std::nullopt;
}

/// Moves the point to sizes for which the plan has a claim and the difference persists; on fewer
/// devices if needed.
std::optional<Point> where_it_is_claimed(const ir::Program& program, size_t plan,
                                         const Point& point, std::optional<Outcome>& found) {
  for (const std::optional<int64_t> extent : {std::optional<int64_t>(), {2}, {1}}) {
    Point at = point;
    for (auto& [axis, devices] : at.sizes.mesh)
      if (extent && !program.axes.at(axis).size) devices = *extent;
    const auto own = divided(program, plan, at.sizes);
    if (!own || entries(program, program.functions.at(plan), *own) > most_entries) continue;
    at.sizes = *own;
    if (at.sizes.dims == point.sizes.dims && at.sizes.mesh == point.sizes.mesh) return at;
    if (auto there = difference_at(program, plan, at)) {
      found = std::move(there);
      return at;
    }
  }
  return std::nullopt;
}

/// Whether no axis has the size of a dim or of another axis: x * |d| / |G| is x where they are
/// equal.
bool have_sizes_of_their_own(const denote::Sizes& sizes) {
  std::multiset<int64_t> all;
  for (const auto& [axis, size] : sizes.mesh) all.insert(size);
  for (const auto& [dim, size] : sizes.dims) all.insert(size);
  return std::all_of(sizes.mesh.begin(), sizes.mesh.end(),
                     [&](const auto& axis) { return all.count(axis.second) == 1; });
}

/// Larger dims where one has the size of an axis: a block of one entry, or as many blocks as
/// entries, would hide what is wrong.
denote::Sizes apart_from_axes(denote::Sizes sizes) {
  for (const auto& [axis, extent] : sizes.mesh)
    for (auto& [dim, size] : sizes.dims)
      if (size == extent) size += extent;
  return sizes;
}

/// Looks for the first wrong value of a plan that names the size of an axis: at sizes that tell the
/// axes apart from the dims, if the plan differs at such.
std::optional<FirstWrong> first_wrong_on_a_mesh(const ir::Program& program, size_t plan,
                                                const std::vector<Point>& all, const Point& at,
                                                const Outcome& seen, size_t result) {
  const auto there = [&](const denote::Sizes& sizes, const Inputs& inputs) {
    return first_wrong_value(program, plan, sizes, result, inputs);
  };
  if (have_sizes_of_their_own(at.sizes)) return there(at.sizes, seen.inputs);
  const bool gradient = program.functions.at(plan).implements_grad;  // its numbers are dear
  CostOfRun cost(program);
  std::vector<std::pair<double, Point>> apart;
  for (const Point& point : all) {
    if (point.of_number) continue;
    const auto sizes =
        divided(program, plan, gradient ? point.sizes : apart_from_axes(point.sizes));
    if (!sizes || !have_sizes_of_their_own(*sizes)) continue;
    apart.push_back({cost.at(plan, *sizes).numbers, point});
    apart.back().second.sizes = *sizes;
  }
  std::stable_sort(apart.begin(), apart.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  constexpr size_t most = 3;
  for (size_t i = 0; i < std::min(apart.size(), most); ++i) try {
      const Point& point = apart[i].second;
      const auto found = difference_at(program, plan, point);
      if (found && differs(found->plan.at(result), found->claimed.at(result), found->noise))
        return there(point.sizes, found->inputs);
    } catch (const std::exception&) {
      continue;  // not every point is valid
    }
  return there(at.sizes, seen.inputs);
}

/// Looks for the first wrong value at this point or, where that takes many numbers, at the greatest
/// sizes that do not and at which there is a difference.
std::optional<FirstWrong> first_wrong_at(const ir::Program& program, size_t plan,
                                         const std::vector<Point>& all, const Point& at,
                                         const Outcome& seen, size_t result) {
  constexpr double many = 2e4;
  constexpr size_t most = 12;
  if (names_mesh_sizes(program, plan))
    return first_wrong_on_a_mesh(program, plan, all, at, seen, result);
  CostOfRun cost(program);
  const auto numbers = [&](const Point& point) { return cost.at(plan, point.sizes).numbers; };
  std::vector<std::pair<double, Point>> smaller;
  // Numbers of a gradient are dear.
  const bool is_large = numbers(at) > many && !program.functions.at(plan).implements_grad;
  for (const Point& point : all) {
    if (!is_large || point.of_number) continue;
    const double own = numbers(point);
    if (own > many) continue;
    smaller.push_back({own, point});
    if (!std::exchange(smaller.back().second.literals, nullptr)) continue;
    smaller.push_back({own, point});  // it may have no value: the number may be no valid index
  }
  std::stable_sort(smaller.begin(), smaller.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = 0; i < std::min(smaller.size(), most); ++i) try {
      const Point& point = smaller[i].second;
      const Outcome there = outcome_at(program, plan, point);
      if (differs(there.plan.at(result), there.claimed.at(result), there.noise))
        return first_wrong_value(program, plan, point.sizes, result, there.inputs);
    } catch (const std::exception&) {
      continue;  // not every point is valid
    }
  return first_wrong_value(program, plan, at.sizes, result, seen.inputs);
}

/// The range of an integer parameter, that of a dim, in which the difference vanishes at all of
/// these points: the model may be meant for that range only. `points`: the one that shows the
/// difference is first, since most ranges fail there.
std::string range_without_difference(const ir::Program& program, size_t plan,
                                     const std::vector<Point>& points) {
  const SearchLimit limit(FileBudget::of_ranges);
  const ir::Function& function = program.functions.at(plan);
  for (size_t leaf = 0; leaf < function.params.size(); ++leaf) {
    const ir::Value& param = function.values.at(function.params[leaf]);
    if (!is_integer(param.type.dtype)) continue;
    std::vector<Name> above, tried;
    for (const Name& name : function.dims) {
      const bool own = std::any_of(param.type.dims.begin(), param.type.dims.end(),
                                   [&](const Split& split) { return split.dim == Dim{{name}}; });
      if (own || program.dims.at(name).kind == ir::DimInfo::Kind::alias) continue;
      tried.push_back(name);
      const bool gone = std::all_of(points.begin(), points.end(), [&](Point point) {
        point.within = {leaf, Dim{{name}}};
        if (limit.ended()) return false;
        try {
          return !difference_at(program, plan, point);
        } catch (const std::exception&) {
          return false;
        }
      });
      if (gone) above.push_back(name);
      if (!above.empty() && above != tried) break;
    }
    if (above.size() > 1 && above == tried) return param.name + " >= 0";  // no size matters
    if (!above.empty()) return "0 <= " + param.name + " < |" + above.front() + "|";
  }
  return "";
}

/// The difference as it was seen, in double.
std::optional<Refutation> believed(const ir::Program& program, size_t plan, const Point& at,
                                   const Outcome& seen) {
  for (size_t r = 0; r < seen.plan.size() && r < seen.claimed.size(); ++r)
    if (const auto i = differs(seen.plan[r], seen.claimed[r], seen.noise))
      return describe(program, plan, at.sizes, r, *i, seen.plan[r], seen.claimed[r]);
  return std::nullopt;
}

}  // namespace

std::optional<Refutation> refute(const ir::Program& program, size_t plan, std::string* why,
                                 double seconds, Confirm confirm, lower::Look look) {
  constexpr size_t few = 5;  // one per kind of draw
  const PointsToRefute points(program, plan);
  const std::vector<Point>& all = points.all;
  if (all.empty()) {  // reduce large sizes that nothing reads
    const FixedSizes unread = without_those_read(program, plan, sizes_to_reduce(program, plan));
    if (!unread.empty() && !may_write_a_size(program, plan, unread))
      return refute(with_open_sizes(program, unread), plan, why, seconds, confirm, look);
  }
  if (all.empty() && why) *why = "no small sizes satisfy the file's requirements";
  const SearchLimit limit(seconds);
  for (const Point& point : all) try {
      if (limit.ended() || (look == lower::Look::few && &point == all.data() + few)) break;
      auto found = difference_at(program, plan, point);
      if (!found) continue;
      const auto at = where_it_is_claimed(program, plan, point, found);
      if (!at) continue;
      auto refutation = confirm == Confirm::yes ? confirmed(program, plan, *at, *found)
                                                : believed(program, plan, *at, *found);
      if (!refutation) continue;
      for (size_t r = refutation->result + 1; r < found->plan.size() && r < found->claimed.size();
           ++r)
        if (differs(found->plan[r], found->claimed[r], found->noise))
          refutation->others.push_back(r);
      refutation->first_wrong = first_wrong_at(program, plan, all, *at, *found, refutation->result);
      if (confirm == Confirm::no) return refutation;
      std::vector<Point> first = all;
      std::swap(first.front(), first.at(static_cast<size_t>(&point - all.data())));
      refutation->outside = range_without_difference(program, plan, first);
      return refutation;
    } catch (const std::exception& error) {
      // A number of the program may be no valid index.
      if (why && !point.literals && !point.of_number) *why = error.what();
    }
  return std::nullopt;
}

}  // namespace shardproof
