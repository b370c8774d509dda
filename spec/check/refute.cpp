#include "spec/check/refute.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "spec/check/claim.h"
#include "spec/check/cost_of_run.h"
#include "spec/check/fixed_sizes.h"
#include "spec/check/one_device.h"
#include "spec/check/points.h"
#include "spec/check/requirements.h"
#include "spec/denote/gradient.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

using Inputs = std::vector<denote::Array<double>>;

std::string shown(double value) {
  if (std::isnan(value)) return "no value";
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

/// Index of the element that differs most, relative to the claim's largest value; nullopt when they
/// agree. `noise`: a difference that rounding alone can make.
std::optional<size_t> differs(const denote::Array<double>& a, const denote::Array<double>& b,
                              double noise) {
  double most = noise;
  for (double x : b.data) most = std::max(most, 1e-6 * std::abs(x));
  std::optional<size_t> worst;
  for (size_t i = 0; i < b.data.size(); ++i) {
    if (!std::isfinite(b.data[i]) || std::isinf(a.data[i])) return std::nullopt;
    if (std::isnan(a.data[i])) return i;  // no value where the model has one
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

template <class Sizes>
std::string sizes_text(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(size);
  return text;
}

/// The result that differs, or of a large one the entry that differs most.
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

Refutation describe(const denote::Sizes& sizes, size_t result, size_t at,
                    const denote::Array<double>& plan, const denote::Array<double>& model,
                    bool gradient) {
  Refutation refutation;
  refutation.result = result;
  refutation.numbers.mesh = sizes.mesh.empty() ? "one device" : sizes_text(sizes.mesh);
  refutation.numbers.sizes = sizes_text(sizes.dims);
  refutation.numbers.lines.push_back(
      "at " + place(model, at) + (gradient ? " the gradient is " : " the model gives ") +
      shown(model.data[at]) + ", the plan " + (gradient ? "gives " : "") + shown(plan.data[at]));
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
    if (size < 2) refutation.entries = 1;  // a sum over one entry is a factor that is none
  for (size_t i = 0; i < model.data.size(); ++i)
    if (!(std::abs(plan.data[i] - refutation.ratio * model.data[i]) <= 1e-9 * std::sqrt(square)))
      refutation.uniform = false;
  return refutation;
}

/// What the plan gives, and what it claims to give.
struct Outcome {
  Inputs plan, claimed;
  Inputs inputs = {};  ///< the parameters, then what is saved
  /// The summands of a gradient may cancel (softmax does not see a shift), those of a value do not.
  double noise = 1e-18;
};

Outcome outcome(const ir::Program& program, size_t plan, const denote::Sizes& sizes,
                Inputs inputs) {
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

/// Where a plan is run: sizes, numbers, and which of them are drawn far apart.
struct Point {
  denote::Sizes sizes;
  unsigned seed = 0;
  std::optional<unsigned> apart = {};
  bool literals = false;  ///< among them those of the program
  /// Whole numbers of one parameter are taken into this range.
  std::optional<std::pair<size_t, Dim>> within = {};
};

/// Where the claim has no value at a point, as a root of a negative variance, all is positive.
Outcome outcome_at(const ir::Program& program, size_t plan, const Point& point) {
  std::optional<ir::Program> changed;
  if (names_mesh_sizes(program, plan)) changed = at_mesh_sizes(program, point.sizes);
  const ir::Program& one = changed ? *changed : program;
  const ir::Function& function = program.functions.at(plan);
  const auto drawn = [&](Draw draw) {
    Inputs inputs = random_inputs(program, function, point.sizes, point.seed, draw);
    if (point.apart) draw_apart(function, *point.apart, inputs);
    if (point.within)
      for (double& entry : inputs.at(point.within->first).data)
        entry =
            std::fmod(std::abs(entry),
                      static_cast<double>(program.size(point.within->second, point.sizes.dims)));
    if (point.apart) satisfy_assumptions(program, function, point.sizes, inputs);
    return outcome(one, plan, point.sizes, std::move(inputs));
  };
  Outcome found = drawn(point.literals ? Draw::literals
                        : point.apart  ? Draw::mixed
                                       : static_cast<Draw>(point.seed % 5));
  if (!finite(found.claimed)) found = drawn(Draw::positive);
  if (!point.apart) return found;
  // Far apart, rounding is relative to the inputs, and what overflows says nothing.
  found.noise = 1e-4;
  if (!finite(found.plan)) found.plan.clear();
  return found;
}

/// Whether running the function differentiates something: as many runs as there are weights.
bool differentiates(const ir::Program& program, size_t index, std::set<size_t>& seen) {
  if (!seen.insert(index).second) return false;
  const ir::Function& function = program.functions.at(index);
  bool found = function.uses_gradients || function.implements_grad;
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    if (auto* call = std::get_if<ir::Call>(&instr.op))
      found = found || differentiates(program, call->function, seen);
  });
  return found;
}

double entries(const ir::Program& program, const ir::Function& function,
               const denote::Sizes& sizes) {
  double sum = 0;
  for (ir::ValueId v : function.params) {
    double product = 1;
    for (const Split& split : function.values.at(v).type.dims)
      product *= static_cast<double>(program.size(split.dim, sizes.dims));
    sum += product;
  }
  return sum;
}

unsigned float_tensors(const ir::Function& function) {
  return static_cast<unsigned>(
      std::count_if(function.params.begin(), function.params.end(), [&](ir::ValueId v) {
        const Type& type = function.values.at(v).type;
        return is_float(type.dtype) && !type.dims.empty();
      }));
}

/// A dim that has one size in all of these has another one here.
bool has_new_size(const std::vector<denote::Sizes>& chosen, const denote::Sizes& sizes) {
  return std::any_of(sizes.dims.begin(), sizes.dims.end(), [&](const auto& dim) {
    const int64_t known = chosen.front().dims.at(dim.first);
    return dim.second != known &&
           std::all_of(chosen.begin(), chosen.end(),
                       [&](const denote::Sizes& each) { return each.dims.at(dim.first) == known; });
  });
}

/// The smallest five, one for each way to draw, and those that give every dim a second size: an
/// angle of a rotary embedding needs two frequencies to be seen.
std::vector<denote::Sizes> smallest(const ir::Program& program, const ir::Function& function,
                                    std::vector<denote::Sizes> found) {
  std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    return entries(program, function, a) < entries(program, function, b);
  });
  std::vector<denote::Sizes> chosen(found.begin(), found.begin() + 5);
  for (size_t i = 5; i < found.size(); ++i)
    if (has_new_size(chosen, found[i])) chosen.push_back(found[i]);
  return chosen;
}

/// At numbers and sizes that the program speaks of: where it changes its mind nothing else may
/// come.
void add_literals(const ir::Program& program, const ir::Function& function,
                  const std::vector<denote::Sizes>& found, std::vector<Point>& points) {
  constexpr size_t least_draws = 16, most_draws = 48, most_sizes = 8;
  constexpr double most_of_literals = 5000;
  if (found.empty()) return;
  const size_t numbers = numbers_of(program, function).size();
  const size_t draws = numbers == 0 ? 0 : std::clamp(4 * numbers, least_draws, most_draws);
  for (size_t i = 0; i < draws; ++i)
    points.push_back({found[i % found.size()], static_cast<unsigned>(i), {}, true});
  size_t count = 0;
  for (const denote::Sizes& sizes : sizes_beyond_literals(program, function, found[0]))
    if (entries(program, function, sizes) <= most_of_literals && count++ < most_sizes)
      points.push_back({sizes, static_cast<unsigned>(points.size()), {}, false});
}

/// More are not run: the file fixes a size that is too large, or contracts over many dims.
constexpr double most_entries = 1e6, most_numbers = 5e7;

/// At many sizes, or, if the plan differentiates, at the smallest of these; then with numbers far
/// apart.
std::vector<Point> points(const ir::Program& program, size_t plan) {
  std::vector<denote::Sizes> found;
  const ir::Function& function = program.functions.at(plan);
  CostOfRun cost(program);
  for (unsigned attempt = 0; attempt < 15; ++attempt)
    if (const auto sizes = small_sizes(program, attempt))
      if (entries(program, function, *sizes) <= most_entries &&
          cost.at(plan, *sizes).numbers <= most_numbers)
        found.push_back(*sizes);
  std::set<size_t> seen;
  if (found.size() > 5 && differentiates(program, plan, seen))
    found = smallest(program, function, std::move(found));
  std::vector<Point> points;
  for (const denote::Sizes& sizes : found)
    points.push_back({sizes, static_cast<unsigned>(points.size())});
  add_literals(program, function, found, points);
  for (unsigned way = 0; way < apart_draws && !found.empty(); ++way)
    if (way % (apart_draws / 2) < float_tensors(function))
      points.push_back({found[way % std::min<size_t>(found.size(), 5)], way, way});
  return points;
}

/// The sizes made multiples of the axes that split them in the plan's parameters and results: at
/// others the plan claims nothing. Nullopt: the file's requirements do not hold there.
std::optional<denote::Sizes> divided(const ir::Program& program, size_t plan, denote::Sizes sizes) {
  const ir::Function& function = program.functions.at(plan);
  const auto divide = [&](const Shape& shape) {
    for (const Split& split : shape.dims) {
      const std::vector<Name> base = program.base(split.dim);
      const auto dim = sizes.dims.find(base.empty() ? "" : base[0]);
      int64_t shards = 1;
      for (const Axis& axis : split.axes) shards *= sizes.axis(axis);
      if (dim != sizes.dims.end() && dim->second % shards != 0) dim->second *= shards;
    }
  };
  for (ir::ValueId v : function.params) divide(function.values.at(v).type);
  for (const Type& result : function.results) divide(result);
  std::map<Name, int64_t> all = sizes.dims;
  for (const auto& [axis, size] : sizes.mesh) all[axis] = size;
  if (!hold(program, program.requirements, all)) return std::nullopt;
  return sizes;
}

/// The oracle's numbers, and how far rounding moves each result.
struct Confirmed {
  Inputs arrays;
  Bounds bounds;
};

Confirmed by_oracle(const PointOfPlan& point,
                    const std::function<std::vector<oracle::Tensor>(const PointOfPlan&)>& value) {
  constexpr double safety = 8 * 0x1p-23, unit = 0x1p-30;
  const std::vector<oracle::Tensor> found = value(point);
  Confirmed confirmed{{}, Bounds(found.size())};
  for (const oracle::Tensor& tensor : found) confirmed.arrays.push_back(array_of(tensor));
  for (unsigned seed : {1, 2}) {
    const Bounds moved = moved_by_rounding(point, found, unit, seed, true, value);
    for (size_t r = 0; r < found.size(); ++r)
      confirmed.bounds[r] = std::max(confirmed.bounds[r], safety * moved[r]);
  }
  return confirmed;
}

/// Numbers of one evaluator refute nothing. The difference that the oracle sees at these inputs,
/// between the erasure and the model; nothing where rounding moves one of them far.
std::optional<Refutation> confirmed(const ir::Program& program, size_t plan, const Point& at,
                                    const Outcome& seen) {
  constexpr double ill = 1e-7;
  const ir::Function& function = program.functions.at(plan);
  const denote::Types types = denote::types_for(program, plan);
  const auto params = static_cast<std::ptrdiff_t>(function.params.size());
  const Inputs saved(seen.inputs.begin() + params, seen.inputs.end());
  const PointOfPlan point{
      &program, &types, plan, at.sizes, {seen.inputs.begin(), seen.inputs.begin() + params}, {}};
  const Confirmed claim = by_oracle(point, claimed);
  const Confirmed erased =
      by_oracle(point, [&](const PointOfPlan& moved) { return erasure(moved, saved); });
  for (size_t r = 0; r < claim.arrays.size() && r < erased.arrays.size(); ++r) {
    double most = 0;
    for (double x : claim.arrays[r].data) most = std::max(most, std::abs(x));
    for (double x : erased.arrays[r].data)
      if (std::isfinite(x)) most = std::max(most, std::abs(x));
    const double bound = claim.bounds[r] + erased.bounds[r];
    const bool has_no_value = std::isinf(erased.bounds[r]) && std::isfinite(claim.bounds[r]);
    if (!has_no_value && !(bound <= std::max(ill * most, seen.noise))) continue;
    if (auto entry = differs(erased.arrays[r], claim.arrays[r],
                             has_no_value ? seen.noise : std::max(bound, seen.noise)))
      return describe(at.sizes, r, *entry, erased.arrays[r], claim.arrays[r],
                      function.implements_grad);
  }
  return std::nullopt;
}

/// What is seen at a point if the plan differs there, by one evaluator.
std::optional<Outcome> difference_at(const ir::Program& program, size_t plan, const Point& point) {
  Outcome found = outcome_at(program, plan, point);
  for (size_t r = 0; r < found.claimed.size() && r < found.plan.size(); ++r)
    if (differs(found.plan[r], found.claimed[r], found.noise)) return found;
  return std::nullopt;
}

/// The range of a parameter of whole numbers, that of a dim, where the difference is gone at all of
/// these points: the model may be meant for that range alone.
std::string range_without_difference(const ir::Program& program, size_t plan,
                                     const std::vector<Point>& points) {
  const ir::Function& function = program.functions.at(plan);
  for (size_t leaf = 0; leaf < function.params.size(); ++leaf) {
    const ir::Value& param = function.values.at(function.params[leaf]);
    if (!is_integer(param.type.dtype)) continue;
    for (const Name& name : function.dims) {
      const bool own = std::any_of(param.type.dims.begin(), param.type.dims.end(),
                                   [&](const Split& split) { return split.dim == Dim{{name}}; });
      if (own || program.dims.at(name).kind == ir::DimInfo::Kind::alias) continue;
      const bool gone = std::all_of(points.begin(), points.end(), [&](Point point) {
        point.within = {leaf, Dim{{name}}};
        try {
          return !difference_at(program, plan, point);
        } catch (const std::exception&) {
          return false;
        }
      });
      if (gone) return "0 <= " + param.name + " < |" + name + "|";
    }
  }
  return "";
}

}  // namespace

std::optional<Refutation> refute(const ir::Program& program, size_t plan, std::string* why) {
  const std::vector<Point> all = points(program, plan);
  if (all.empty()) {  // large sizes that nothing reads are made smaller
    const FixedSizes unread = without_those_read(program, plan, fixed_sizes(program));
    if (!unread.empty() && !may_write_a_size(program, plan, unread))
      return refute(with_open_sizes(program, unread), plan, why);
  }
  if (all.empty() && why) *why = "no small sizes satisfy the file's requirements";
  for (const Point& point : all) try {
      auto found = difference_at(program, plan, point);
      if (!found) continue;
      const auto own = divided(program, plan, point.sizes);
      if (!own || entries(program, program.functions.at(plan), *own) > most_entries) continue;
      const Point at{*own, point.seed, point.apart, point.literals};
      if (own->dims != point.sizes.dims) found = difference_at(program, plan, at);
      if (!found) continue;
      if (auto refutation = confirmed(program, plan, at, *found)) {
        refutation->outside = range_without_difference(program, plan, all);
        return refutation;
      }
    } catch (const std::exception& error) {
      // A number of the program may be no index.
      if (why && !point.literals) *why = error.what();
    }
  return std::nullopt;
}

}  // namespace shardproof
