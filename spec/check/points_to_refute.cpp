#include "spec/check/points_to_refute.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "spec/check/cost_of_run.h"
#include "spec/check/fixed_sizes.h"
#include "spec/check/mesh_points.h"
#include "spec/check/points.h"
#include "spec/check/requirements.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

bool differentiates_in(const ir::Program& program, size_t index, std::set<size_t>& seen) {
  if (!seen.insert(index).second) return false;
  const ir::Function& function = program.functions.at(index);
  bool found = function.uses_gradients || function.implements_grad;
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    if (auto* call = std::get_if<ir::Call>(&instr.op))
      found = found || differentiates_in(program, call->function, seen);
  });
  return found;
}

unsigned float_tensors(const ir::Function& function) {
  return static_cast<unsigned>(
      std::count_if(function.params.begin(), function.params.end(), [&](ir::ValueId v) {
        const Type& type = function.values.at(v).type;
        return is_float(type.dtype) && !type.dims.empty();
      }));
}

/// Whether a dim that has the same size in all of `chosen` has another size here.
bool has_new_size(const std::vector<denote::Sizes>& chosen, const denote::Sizes& sizes) {
  return std::any_of(sizes.dims.begin(), sizes.dims.end(), [&](const auto& dim) {
    const int64_t known = chosen.front().dims.at(dim.first);
    return dim.second != known &&
           std::all_of(chosen.begin(), chosen.end(),
                       [&](const denote::Sizes& each) { return each.dims.at(dim.first) == known; });
  });
}

/// The smallest five, one per kind of draw, sizings that give every dim a second size, and one with
/// padding: an error in a rotary angle shows only with two frequencies.
std::vector<denote::Sizes> smallest(const ir::Program& program, const ir::Function& function,
                                    std::vector<denote::Sizes> found) {
  std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    return entries(program, function, a) < entries(program, function, b);
  });
  std::vector<denote::Sizes> chosen(found.begin(), found.begin() + 5);
  for (size_t i = 5; i < found.size(); ++i)
    if (has_new_size(chosen, found[i])) chosen.push_back(found[i]);
  const auto pads = [&](const denote::Sizes& sizes) { return pads_something(program, sizes); };
  if (std::none_of(chosen.begin(), chosen.end(), pads))
    if (const auto at = std::find_if(found.begin(), found.end(), pads); at != found.end())
      chosen.push_back(*at);
  return chosen;
}

/// What is required of a few values leaves the others free, and may ask for large or small ones:
/// more points, if they run in little time. Numbers of an even seed have both signs.
void add_required(const ir::Program& program, size_t plan, const std::vector<denote::Sizes>& found,
                  CostOfRun& cost, PointsToRefute& points) {
  constexpr double most_of_draws = 1e5;
  constexpr size_t most_draws = 96;
  if (found.empty() || !DrawRules(program).of_values) return;
  const double affordable = most_of_draws / (1 + cost.at(plan, found[0]).numbers);
  for (unsigned i = 0; i < std::min(static_cast<double>(most_draws), affordable); ++i) {
    points.all.push_back({found[i % found.size()], 100 + 2 * i});
    points.all.back().scale = scales_of_required[i % scales_of_required.size()];
  }
}

/// Adds points at numbers and sizes from the program, as many as run in little time.
void add_literals(const ir::Program& program, size_t plan, const std::vector<denote::Sizes>& found,
                  bool differentiates, CostOfRun& cost, PointsToRefute& points) {
  constexpr double most_of_draws = 2e6, many = 5e5, most_of_a_size = 4e6, most_of_large = 1e7;
  constexpr size_t least_draws = 16, most_of_gradients = 48, most_draws = 384;
  if (found.empty() || points.literals.all.empty() || DrawRules(program).of_values) return;
  const auto affordable =
      static_cast<size_t>(most_of_draws / (1 + cost.at(plan, found[0]).numbers));
  const size_t draws = std::clamp(differentiates ? 4 * points.literals.all.size() : affordable,
                                  least_draws, differentiates ? most_of_gradients : most_draws);
  for (size_t i = 0; i < draws; ++i)
    points.all.push_back({found[i % found.size()], static_cast<unsigned>(i), {}, &points.literals});
  unsigned count = 0;
  double spent = 0;
  for (const denote::Sizes& sizes : sizes_at_literals(program, plan, points.literals.all, found[0],
                                                      names_mesh_sizes(program, plan))) {
    const double numbers = cost.at(plan, sizes).numbers;
    const bool is_large = numbers > many;
    if (numbers > most_of_a_size || (is_large && spent + numbers > most_of_large)) continue;
    ++count, spent += is_large ? numbers : 0;
    points.all.push_back({sizes, static_cast<unsigned>(points.all.size())});
    points.all.back().of_number = true;
    points.all.push_back({sizes, count, {}, &points.literals});
  }
}

}  // namespace

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

bool differentiates(const ir::Program& program, size_t function) {
  std::set<size_t> seen;
  return differentiates_in(program, function, seen);
}

double seconds_of_run(const ir::Program& program, size_t plan, const denote::Sizes& sizes,
                      CostOfRun& cost) {
  constexpr double of_a_number = 5e-8, of_an_op = 2e-6, at_once = 16;
  const Cost run = cost.at(plan, sizes);
  const double once = of_a_number * run.numbers + of_an_op * run.ops;
  if (!differentiates(program, plan)) return once;
  return once * std::max(1.0, entries(program, program.functions.at(plan), sizes) / at_once);
}

std::optional<denote::Sizes> divided(const ir::Program& program, size_t plan, denote::Sizes sizes) {
  const ir::Function& function = program.functions.at(plan);
  const auto divide = [&](const Shape& shape) {
    for (const Split& split : shape.dims) {
      const std::vector<Name> base = program.base(split.dim);
      const auto dim = sizes.dims.find(base.empty() ? "" : base[0]);
      int64_t shards = 1;
      for (const Axis& axis : split.axes) shards *= sizes.axis(axis);
      if (dim != sizes.dims.end()) dim->second = std::lcm(dim->second, shards);
    }
  };
  for (ir::ValueId v : function.params) divide(function.values.at(v).type);
  for (const Type& result : function.results) divide(result);
  std::map<Name, int64_t> all = sizes.dims;
  for (const auto& [axis, size] : sizes.mesh) all[axis] = size;
  if (!hold(program, program.requirements, all)) return std::nullopt;
  return sizes;
}

PointsToRefute::PointsToRefute(const ir::Program& program, size_t plan)
    : literals(program, program.functions.at(plan)) {
  std::vector<denote::Sizes> found;
  const ir::Function& function = program.functions.at(plan);
  CostOfRun cost(program);
  const std::vector<ir::Requirement> possible = program.consistency(function);
  const bool on_a_mesh = names_mesh_sizes(program, plan);
  for (unsigned attempt = 0; attempt < 15; ++attempt) {
    auto sizes = small_sizes(program, attempt, possible);
    if (sizes && on_a_mesh) sizes = divided(program, plan, *sizes);
    if (sizes)
      if (entries(program, function, *sizes) <= most_entries &&
          cost.at(plan, *sizes).numbers <= most_numbers)
        found.push_back(*sizes);
  }
  const bool gradients = differentiates(program, plan);
  if (found.size() > 5 && gradients) found = smallest(program, function, std::move(found));
  for (const denote::Sizes& sizes : found)
    all.push_back({sizes, static_cast<unsigned>(all.size())});
  if (!gradients) add_required(program, plan, found, cost, *this);
  add_literals(program, plan, found, gradients, cost, *this);
  for (unsigned way = 0; way < apart_draws && !found.empty(); ++way)
    if (way % (apart_draws / 2) < float_tensors(function))
      all.push_back({found[way % std::min<size_t>(found.size(), 5)], way, way});
  constexpr double long_gradient = 0.05;
  for (Point& each : all)
    each.many_weights =
        gradients && seconds_of_run(program, plan, each.sizes, cost) > long_gradient;
}

}  // namespace shardproof
