#include "spec/check/second_leg.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "oracle/sides.h"
#include "spec/check/cost_of_run.h"
#include "spec/check/derived.h"
#include "spec/check/fixed_sizes.h"
#include "spec/check/mesh_points.h"
#include "spec/check/points.h"
#include "spec/check/requirements.h"
#include "spec/check/unknown.h"
#include "spec/denote/represent.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

using Tensors = std::vector<oracle::Tensor>;

constexpr unsigned wanted_runs = 3, most_sizings = 12;
/// If runs are expensive, the cheapest of this many sizings are used.
constexpr unsigned sizings_of_long_runs = 36;
/// The number of draws to reach branches that three runs did not take, and a limit on the numbers
/// that they may compute on one device.
constexpr unsigned side_draws = 48;
constexpr double numbers_for_sides = 2e5;
/// If a run computes more numbers on all devices, cheaper sizes are searched.
constexpr double cheap_numbers = 1e6;
/// The least cost of an op, in entries.
constexpr double numbers_of_an_op = 128;
/// A run with fewer numbers is tried at many draws if the claim is undefined, e.g. the root of a
/// sum.
constexpr double few_numbers = 1e4;
/// Limits for a run at the file's own sizes: in general, if the program has a matching literal, and
/// after a difference at smaller sizes.
constexpr double free_numbers = 3e4, numbers_for_a_literal = 3e6, numbers_for_a_verdict = 1e8;

struct Difference {
  size_t result = 0;
  std::string text;
  bool finite = true;  ///< the device's value is finite
};

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

/// The first entry that is further from the wanted value than its bound.
std::optional<Difference> beyond(const std::vector<std::optional<oracle::Tensor>>& got,
                                 const Tensors& wanted, const Bounds& bounds) {
  for (size_t r = 0; r < wanted.size(); ++r) {
    const auto differ = [&](const std::string& text) { return Difference{r, text}; };
    if (!got.at(r)) return differ("the devices hold no value of its type");
    if (got[r]->shape != wanted[r].shape) return differ("it has another shape");
    if (got[r]->keys != wanted[r].keys) return differ("it has other keys");
    for (size_t i = 0; i < wanted[r].data.size(); ++i) {
      const double is = got[r]->data[i], was = wanted[r].data[i];
      if (is == was || std::abs(is - was) <= bounds.at(r)) continue;
      Difference found = differ("entry " + std::to_string(i) + " is " + decimal(is) +
                                " where the claim is " + decimal(was));
      found.finite = std::isfinite(is);
      return found;
    }
  }
  return std::nullopt;
}

/// The outcome of a run at one point.
struct Finding {
  enum class Kind { agrees, differs, says_nothing } kind = Kind::says_nothing;
  std::string text;
  size_t result = 0;
  bool finite = true;  ///< of a difference
};

Finding nothing(std::string why) { return {Finding::Kind::says_nothing, std::move(why)}; }

/// The error from summing in another order, for numbers that do not cancel.
constexpr double last_digits = 256 * 0x1p-53;

/// Rounding bounds of the plan's own evaluation, which may differ from the model's: (x + 1e30) -
/// 1e30 is 0, not x. Zero if the erasure is undefined.
template <class Bound>
Bounds of_plan(const PointOfPlan& point, const Evaluation& erased, const Bound& bound) {
  try {
    return bound(erased(point), erased);
  } catch (const oracle::Error&) {
    return Bounds(point.plan().results.size());
  }
}

/// Compares results. Computes rounding bounds only if they differ; a point where rounding moves the
/// claim far proves nothing.
Finding within_rounding(const PointOfPlan& point, const char* of,
                        const std::vector<std::optional<oracle::Tensor>>& got,
                        const Tensors& wanted, const Evaluation& erased) {
  constexpr unsigned evaluations = 3;
  constexpr double safety = 8, unit = 0x1p-30, ill = 1e-6, noise = 1e-12;
  Bounds bounds(wanted.size());
  std::vector<double> scale(wanted.size());
  for (size_t r = 0; r < wanted.size(); ++r) {
    for (double x : wanted[r].data) scale[r] = std::max(scale[r], std::abs(x));
    // The terms of a sum on the devices have magnitude 1, and may cancel.
    bounds[r] = scale[r] > 0 ? last_digits * std::max(scale[r], 1.0) : noise;
  }
  std::optional<Difference> found = beyond(got, wanted, bounds);
  const auto widen = [&](double by, const auto& bound) {
    const Bounds of_claim = bound(wanted, claimed), moved = of_plan(point, erased, bound);
    for (size_t r = 0; r < wanted.size(); ++r)
      bounds[r] = std::max(bounds[r], by * std::max(of_claim[r], moved.at(r)));
    found = beyond(got, wanted, bounds);
  };
  for (unsigned seed = 1; found && seed <= evaluations; ++seed)
    widen(safety * 0x1p-23, [&](const Tensors& value, const Evaluation& evaluate) {
      return moved_by_rounding(point, value, {unit}, seed, evaluate);
    });
  if (found)
    widen(1, [&](const Tensors& value, const Evaluation& evaluate) {
      return moved_by_doubles(point, value, evaluate);
    });
  for (size_t r = 0; r < wanted.size(); ++r)
    if (!(bounds[r] <= std::max(ill * scale[r], noise)))
      return nothing("rounding moves the claim too far");
  if (!found) return {Finding::Kind::agrees, ""};
  if (overflows(point, claimed) || overflows(point, erased)) return nothing("a value overflows");
  return {Finding::Kind::differs, std::string(of) + ": " + found->text, found->result,
          found->finite};
}

/// Whether a result is so small that a wrong one may be within the rounding of its terms.
bool is_lost_in_noise(const Tensors& results) {
  constexpr double least = 1e-9;
  return std::any_of(results.begin(), results.end(), [](const oracle::Tensor& result) {
    return std::none_of(result.data.begin(), result.data.end(),
                        [](double x) { return std::abs(x) >= least; });
  });
}

/// A plan on one mesh with one set of sizes.
class Trial {
 public:
  Trial(const Devices::World& world, const ProgramToRun& to_run, const DrawRules& rules,
        size_t plan, denote::Sizes sizes, unsigned seed)
      : world_(world),
        rules_(rules),
        rng_(seed),
        point_{&to_run(world.program), &world.types, plan, std::move(sizes), {}, {}},
        devices_(point_.sizes, to_run, rng_),
        geometry_(devices_.geometry(world)) {}

  /// Runs draw `i` (very different magnitudes, or near literals) if it reaches a branch of the
  /// claim or the erasure that no earlier run took.
  Finding at_new_side(unsigned i, const oracle::Sides& sides) {
    devices_.use_models = erased_ = true;
    const size_t before = sides.taken();
    try {
      draw_far(i);
      const Tensors wanted = claimed(point_);
      if (!all_finite(wanted)) return nothing("the claim has no finite value");
      if (point_.plan().saved_params.empty()) erasure(point_, {});
      if (sides.taken() == before) return nothing("no other side of a condition");
      return beside(wanted);
    } catch (const oracle::Error& error) {
      return nothing(error.what());
    } catch (const denote::Unsupported& error) {
      return nothing(error.what());
    }
  }

  /// Whether claim and erasure still have values where all floats of the last draw are moved a
  /// little, at random. What a proof assumes, as s > 0, holds beside a point where it holds; the
  /// root of s has a value at 0 too.
  bool has_values_nearby() {
    constexpr double most = 1e-6;
    try {
      const ir::Function& plan = point_.plan();
      for (size_t i = 0; i < point_.whole.size(); ++i)
        if (is_float(plan.values[plan.params.at(i)].type.dtype))
          for (double& x : point_.whole[i].data)
            x += std::uniform_real_distribution<double>(-most, most)(rng_) *
                 std::max(1.0, std::abs(x));
      satisfy_assumptions(*point_.program, plan, point_.sizes, point_.whole);
      lay_out_inputs();
      return all_finite(claimed(point_)) && all_finite(erasure(point_, fill_in_saved()));
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  /// `through`: executes all callees. `erased`: compares the erasure too.
  Finding at(Draw draw, unsigned seed, double scale, bool through, bool erased) {
    devices_.use_models = !through;
    erased_ = erased;
    try {
      draw_inputs(draw, seed, scale);
      const Tensors wanted = claimed(point_);
      if (!all_finite(wanted)) return nothing("the claim has no finite value");
      if (draw == Draw::tiny && is_lost_in_noise(wanted))
        return nothing("the claim has no finite value, or vanishes where the inputs are small");
      return beside(wanted);
    } catch (const oracle::Error& error) {
      return nothing(error.what());
    } catch (const denote::Unsupported& error) {
      return nothing(error.what());
    }
  }

 private:
  void draw_inputs(Draw draw, unsigned seed, double scale) {
    point_.whole = random_inputs(*point_.program, point_.plan(), point_.sizes, seed, draw, rules_);
    if (scale != 1) {
      scale_floats(point_.plan(), scale, point_.whole);
      satisfy_assumptions(*point_.program, point_.plan(), point_.sizes, point_.whole);
    }
    lay_out_inputs();
  }

  void draw_far(unsigned i) {
    const bool literals = i % 3 == 0;
    point_.whole = random_inputs(*point_.program, point_.plan(), point_.sizes, 1 + i / 3,
                                 literals ? Draw::literals : Draw::mixed, rules_);
    if (!literals) {
      draw_apart(point_.plan(), (i - i / 3 - 1) % apart_draws, point_.whole);
      satisfy_assumptions(*point_.program, point_.plan(), point_.sizes, point_.whole);
    }
    lay_out_inputs();
  }

  void lay_out_inputs() {
    point_.local.clear();
    for (size_t i = 0; i < point_.whole.size(); ++i)
      point_.local.push_back(lay_out(geometry_, point_.param_type(i), point_.whole[i], rng_));
  }

  /// Compares the devices and the erasure with the claim. If the erasure is undefined, the devices
  /// are not run.
  Finding beside(const Tensors& wanted) {
    std::vector<denote::Array<double>> saved;
    std::string failure;
    std::vector<std::optional<oracle::Tensor>> got;
    try {
      saved = fill_in_saved();
      got = on_devices();
    } catch (const denote::Unsupported&) {
      throw;
    } catch (const denote::Error& error) {
      failure = error.what();
    }
    const Evaluation erased = [&](const PointOfPlan& at) { return erasure(at, saved); };
    if ((erased_ || !failure.empty()) && saved.size() == point_.plan().saved_params.size()) {
      const Tensors value = erased(point_);
      if (!all_finite(value)) return nothing("the erasure has no finite value");
      const Finding found =
          within_rounding(point_, "on one device", {value.begin(), value.end()}, wanted, erased);
      if (found.kind != Finding::Kind::agrees) return found;
    }
    if (!failure.empty()) return {Finding::Kind::differs, "the devices stop: " + failure};
    return within_rounding(point_, "on the devices", got, wanted, erased);
  }

  std::vector<denote::Array<double>> fill_in_saved() {
    const ir::Function& plan = point_.plan();
    if (plan.saved_params.empty()) return {};
    const Devices::Values primal(
        point_.local.begin(),
        point_.local.begin() + static_cast<std::ptrdiff_t>(point_.own_params()));
    std::vector<denote::Array<double>> whole;
    for (auto& each : devices_.saved(world_, point_.function, primal)) {
      const ir::ValueId id = plan.saved_params.at(whole.size());
      auto value = denote::represented(geometry_, point_.types->at(point_.function).at(id), each);
      if (!value) throw denote::Mismatch("a saved value has no value of its type");
      whole.push_back(std::move(*value));
      point_.local.push_back(std::move(each));
    }
    return whole;
  }

  std::vector<std::optional<oracle::Tensor>> on_devices() {
    std::vector<std::optional<oracle::Tensor>> got;
    const Devices::Values held = devices_.run(world_, point_.function, point_.local);
    for (size_t r = 0; r < held.size(); ++r) {
      const Type& type = point_.plan().results.at(r);
      const auto value = denote::represented(geometry_, type, held[r]);
      got.emplace_back();
      if (value) got.back() = whole_tensor(*value, type.dtype);
    }
    return got;
  }

  const Devices::World& world_;
  const DrawRules& rules_;
  denote::RandomBits rng_;
  PointOfPlan point_;
  Devices devices_;
  const denote::Geometry& geometry_;
  bool erased_ = true;
};

std::string sizes_line(const denote::Sizes& sizes) {
  std::string text;
  for (const auto& [dim, size] : sizes.dims)
    text += (text.empty() ? "" : " ") + dim + "=" + std::to_string(size);
  return text;
}

std::string mesh_line(const denote::Sizes& sizes) {
  std::string text;
  for (const auto& [axis, size] : sizes.mesh)
    if (size > 1) text += (text.empty() ? "" : " ") + axis + "=" + std::to_string(size);
  return text;
}

/// Whether the proof assumes something about values, such as a sign; divisibility of sizes and
/// ranges of indices do not count.
bool assumes_values(const Proved& proved) {
  return std::any_of(
      proved.assumptions.begin(), proved.assumptions.end(), [](const std::string& each) {
        const bool of_index = each.starts_with("0 <= ") && each.ends_with("|");
        const bool of_size = each.starts_with("|") || each.ends_with(" is a whole number");
        return !of_index && !of_size;
      });
}

/// Runs a plan three times, in a program with some sizes reduced.
class Runs {
 public:
  Runs(const Devices::World& world, const Proved& proved, FixedSizes open, RunsOfFile& file)
      : world_(world),
        proved_(proved),
        assumes_values_(assumes_values(proved)),
        requires_values_(requires_values(world.program, proved.plan)),
        wish_{.axes = axes_of_plan(world.program, world.types, proved.plan),
              .least = 2,
              .requirements = requirements_of_claim(world.program, proved.plan)},
        conditions_(conditions_text()),
        open_(std::move(open)),
        to_run_([this](const ir::Program& own) -> const ir::Program& { return opened(own); }),
        dims_(open_.empty() ? file.dims.of(proved.plan)
                            : ReachedDims(to_run_(world.program)).of(proved.plan)),
        own_costs_(to_run_(world.program)),
        costs_(open_.empty() ? file.costs : own_costs_),
        rules_(file.rules.of(world.program, world.program.functions.at(proved.plan))),
        file_(file),
        kept_(file.readings) {}

  /// The sizes for a run, as drawn. If runs may be expensive, the cheapest sizes come first.
  std::optional<denote::Sizes> sizing(unsigned turn) {
    if (drawn_.empty() && add_sizing() && numbers(*drawn_[0]) > cheap_numbers) {
      wish_.small = true;
      while (drawn_.size() < sizings_of_long_runs && add_sizing()) {
      }
      if (!drawn_.back()) drawn_.pop_back();
      order_by_costs();
    }
    while (drawn_.size() < turn) add_sizing();
    return drawn_.at(turn - 1);
  }

  Cost cost(const denote::Sizes& at) { return costs_.at(proved_.plan, at); }
  double numbers(const denote::Sizes& at) {
    return cost(at).numbers * static_cast<double>(at.devices() + 3);
  }

  /// Agrees, differs or is undecided; the text has the reason.
  Finding all() {
    unsigned runs = 0;
    for (unsigned seed = 1; seed <= most_sizings && runs < wanted_runs; ++seed) {
      at_ = sizing(seed);
      if (!at_) return nothing("no small mesh and sizes satisfy the conditions of the file");
      last_ = first_that_says(seed, runs == 0);
      if (last_.kind == Finding::Kind::differs) return last_;
      runs += last_.kind == Finding::Kind::agrees;
    }
    if (runs == wanted_runs) last_ = on_other_sides();
    return last_;
  }

  const denote::Sizes& at() const { return *at_; }

 private:
  bool add_sizing() {
    drawn_.push_back(drawn(drawn_.size() + 1));
    return drawn_.back().has_value();
  }

  std::optional<denote::Sizes> drawn(size_t seed) {
    if (!open_.empty()) return own_sizes(drawn_for_file(seed));
    RunsOfFile::Drawn& all = wish_.small ? file_.drawn_small : file_.drawn;
    if (all.conditions != conditions_) all = {conditions_, {}};
    if (all.sizes.size() < seed) all.sizes.resize(seed);
    std::optional<denote::Sizes>& known = all.sizes[seed - 1];
    if (!known) known = drawn_for_file(seed);
    return own_sizes(known);
  }

  std::optional<denote::Sizes> own_sizes(const std::optional<denote::Sizes>& of_file) const {
    if (!of_file) return std::nullopt;
    return sizes_of(dims_, *of_file);
  }

  /// Sizes of all dims of the file.
  std::optional<denote::Sizes> drawn_for_file(size_t seed) const {
    denote::RandomBits rng(seed);
    return mesh_sizes(to_run_(world_.program), proved_.conditions, rng, wish_);
  }

  std::string conditions_text() const {
    std::string text = "axes";
    for (const Axis& axis : *wish_.axes) text += " " + axis;
    for (const Divisibility& each : proved_.conditions) text += "\n" + to_string(each);
    for (const ir::Requirement& each : wish_.requirements)
      text += "\n" + ir::to_string(each.condition);
    return text;
  }

  /// Sorts by cost, but prefers sizes that split an axis that none of the earlier ones splits.
  void order_by_costs() {
    std::vector<std::pair<double, size_t>> costs;
    for (const auto& each : drawn_) {
      const Cost once = cost(*each);
      costs.push_back(
          {(once.numbers + numbers_of_an_op * once.ops) * static_cast<double>(each->devices() + 3),
           costs.size()});
    }
    std::sort(costs.begin(), costs.end());
    std::set<Axis> split;
    const auto splits_another = [&](const auto& cost) {
      for (const auto& [axis, size] : drawn_[cost.second]->mesh)
        if (size > 1 && !split.contains(axis)) return true;
      return false;
    };
    std::vector<std::optional<denote::Sizes>> ordered;
    while (!costs.empty()) {
      auto next = std::find_if(costs.begin(), costs.end(), splits_another);
      if (next == costs.end()) next = costs.begin();
      ordered.push_back(drawn_[next->second]);
      for (const auto& [axis, size] : ordered.back()->mesh)
        if (size > 1) split.insert(axis);
      costs.erase(next);
    }
    drawn_ = std::move(ordered);
  }

  /// After three runs that agree: also runs at inputs that take other branches. These agree or
  /// prove nothing: numbers of very different magnitudes may overflow f64.
  Finding on_other_sides() {
    const Finding agreed{Finding::Kind::agrees, ""};
    if (assumes_values_ || !sides_.one_is_open()) return agreed;
    const double each = cost(*at_).numbers;
    Trial trial(world_, to_run_, rules_, proved_.plan, *at_, 1);
    for (unsigned i = 0; i < side_draws && i * each < numbers_for_sides && sides_.one_is_open();
         ++i) {
      const Finding found = trial.at_new_side(i, sides_);
      if (found.kind == Finding::Kind::differs && found.finite) return found;
    }
    return agreed;
  }

  /// All kinds of draws, starting with a different one in each run. Kinds for which the plan was
  /// undefined, such as roots of negative numbers, come last.
  std::vector<Draw> draws_from(unsigned seed) const {
    std::vector<Draw> draws{Draw::ties, Draw::mixed, Draw::positive};
    std::rotate(draws.begin(), draws.begin() + seed % 3, draws.end());
    std::stable_partition(draws.begin(), draws.end(),
                          [&](Draw draw) { return !without_value_.contains(draw); });
    return draws;
  }

  /// The first run executes all callees and compares the erasure. If the plan has a `require` on
  /// values, the erasure decides whether it holds for a draw.
  Finding first_that_says(unsigned seed, bool first) {
    const std::vector<Draw> draws = draws_from(seed);
    Trial trial(world_, to_run_, rules_, proved_.plan, *at_, seed);
    Finding found;
    const auto run = [&](Draw draw, unsigned with, double scale = 1) {
      found = trial.at(draw, with, scale, proved_.through && first, first || requires_values_);
      if (found.kind == Finding::Kind::agrees && assumes_values_ && draw == Draw::ties &&
          !trial.has_values_nearby())
        found = nothing("what the proof assumes of values does not hold there");
      if (found.kind == Finding::Kind::says_nothing) without_value_.insert(draw);
      if (found.kind == Finding::Kind::differs && assumes_values_ && draw != Draw::positive)
        found = nothing("other numbers than the proof assumes: " + found.text);
      // E.g. at a size that the proof excludes, where a divisor is 0.
      if (found.kind == Finding::Kind::differs && !found.finite && !proved_.assumptions.empty())
        found = nothing("no value where the proof assumes one: " + found.text);
      return found.kind != Finding::Kind::says_nothing;
    };
    constexpr unsigned some = 3, many = 30, most = 90;
    const auto tries_left = [&](unsigned i) {
      return i < some ||
             (requires_values_ ? i < 2 * most : i < many && numbers(*at_) < few_numbers);
    };
    for (unsigned i = 0; tries_left(i); ++i) {
      const double scale = i < most ? 1 : scales_of_required[i / 3 % scales_of_required.size()];
      if (run(draws[i % draws.size()], seed + 97 * (i / 3), scale)) return found;
    }
    // At larger numbers a thousand layers overflow.
    if (!assumes_values_ && !requires_values_) run(Draw::tiny, seed);
    return found;
  }

  const ir::Program& opened(const ir::Program& own) {
    if (open_.empty()) return own;
    const auto [found, fresh] = opened_.try_emplace(&own);
    if (fresh) found->second = with_open_sizes(own, open_);
    return found->second;
  }

  const Devices::World& world_;
  const Proved& proved_;
  const bool assumes_values_;
  const bool requires_values_;
  MeshWish wish_;
  const std::string conditions_;  ///< what the drawn sizes depend on
  FixedSizes open_;
  std::map<const ir::Program*, ir::Program> opened_;
  ProgramToRun to_run_;
  const std::set<Name> dims_;
  CostOfRun own_costs_;  ///< of the program with reduced sizes
  CostOfRun& costs_;
  const DrawRules rules_;
  RunsOfFile& file_;
  std::vector<std::optional<denote::Sizes>> drawn_;
  const oracle::KeptWork kept_;
  const oracle::Sides sides_;
  std::set<Draw> without_value_;
  std::optional<denote::Sizes> at_;
  Finding last_;
};

Diagnostic told(const Devices::World& world, size_t plan, const char* code, std::string message,
                std::vector<std::string> details) {
  Diagnostic diagnostic;
  diagnostic.code = code;
  diagnostic.range = world.program.functions.at(plan).name_range;
  diagnostic.message = std::move(message);
  diagnostic.details = std::move(details);
  return diagnostic;
}

Diagnostic disagreement(const Devices::World& world, size_t plan, const Finding& found,
                        const denote::Sizes& at) {
  const ir::Function& function = world.program.functions.at(plan);
  Diagnostic diagnostic = told(world, plan, "U0009",
                               "`" + function.name + "` has a proof, and a run that contradicts it",
                               {"this is a bug in the checker: please report it with the file"});
  tell_what_is_known(diagnostic, "types, layouts and collectives",
                     "whether the values are those of the model",
                     "take the plan as wrong: `--test` runs it against its model");
  const Name name =
      found.result < function.result_names.size() ? function.result_names[found.result] : "";
  diagnostic.counterexample = {
      mesh_line(at),
      sizes_line(at),
      {(name.empty() ? "result " + std::to_string(found.result + 1) : "`" + name + "`") + ", " +
       found.text}};
  return diagnostic;
}

/// What sizes that can be run satisfy.
std::vector<std::string> wanted_sizes(const ir::Program& program,
                                      const std::vector<Divisibility>& conditions) {
  std::string would_do;
  const auto add = [&](const std::string& condition) {
    if (would_do.find(condition) == std::string::npos)
      would_do += (would_do.empty() ? "" : ", ") + condition;
  };
  for (const Divisibility& condition : conditions) add(to_string(condition));
  for (const ir::Requirement& each : program.requirements) add(ir::to_string(each.condition));
  if (would_do.empty()) return {};
  return {"sizes that can be run satisfy " + would_do};
}

Diagnostic no_instance(const Devices::World& world, size_t plan, const std::string& why,
                       const std::vector<std::string>& advice) {
  std::vector<std::string> details{why};
  details.insert(details.end(), advice.begin(), advice.end());
  Diagnostic diagnostic =
      told(world, plan, "U0010",
           "`" + world.program.functions.at(plan).name + "` was not run against its model",
           std::move(details));
  tell_what_is_known(diagnostic, "types, layouts and collectives, and a proof of the values",
                     "whether a run agrees with that proof: each proof is run once",
                     "let the plan allow small sizes and values at which its model is finite");
  return diagnostic;
}

/// Adds the conditions of the plan and of the backwards that it uses.
void add_conditions_of_backwards(const Devices::World& world, size_t plan,
                                 std::vector<Divisibility>& conditions) {
  for_each_instr(world.program.functions.at(plan).body, [&](const ir::Instr& instr) {
    auto* grad = std::get_if<ir::Grad>(&instr.op);
    if (!grad) return;
    const auto found = world.backwards.find({grad->function, grad->wrt});
    if (found == world.backwards.end() || !found->second->report()) return;
    for (const Divisibility& each : found->second->report()->conditions) conditions.push_back(each);
  });
}

/// Which fixed sizes to reduce, and the limit on the cost of a run. `faithful`: no value depends on
/// these sizes, so a difference is a real one.
struct Way {
  FixedSizes open;
  bool faithful = true;
  double most_numbers = numbers_for_a_verdict;
};

/// The order of attempts: the file's own sizes if they are small, then all of them reduced, and
/// after a difference there the file's own sizes again.
std::vector<Way> ways_to_open(const ir::Program& program, size_t plan) {
  const FixedSizes fixed = sizes_to_reduce(program, plan);
  if (fixed.empty()) return {{}};
  const FixedSizes unread = without_those_read(program, plan, fixed);
  const bool literal = may_write_a_size(program, plan, fixed);
  std::vector<Way> ways{{{}, true, literal ? numbers_for_a_literal : free_numbers}};
  if (literal) ways.push_back({unread, false, numbers_for_a_literal});
  ways.push_back({fixed, false});
  if (!literal) ways.push_back({unread, true});
  ways.push_back({});
  return ways;
}

thread_local double run_seconds = 0;

/// Adds the time of a scope to the total of all runs.
class Timed {
 public:
  ~Timed() { run_seconds += static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t start_ = std::clock();
};

}  // namespace

double seconds_of_runs() { return run_seconds; }

std::vector<bool> plans_that_nobody_calls(const ir::Program& program) {
  std::vector<bool> alone;
  for (const ir::Function& function : program.functions) {
    alone.push_back(function.kind == ir::Function::Kind::plan && !function.imported &&
                    !function.uses_gradients);
    for_each_instr(function.body, [&](const ir::Instr& instr) {
      const auto* call = std::get_if<ir::Call>(&instr.op);
      if (!call) return;
      alone.at(call->function) = false;
      for (size_t each : program.functions.at(call->function).instances) alone.at(each) = false;
    });
  }
  return alone;
}

std::optional<Diagnostic> run_beside_model(const Devices::World& world, Proved proved,
                                           RunsOfFile& file) {
  const Timed timed;
  add_conditions_of_backwards(world, proved.plan, proved.conditions);
  std::string why;
  bool has_sizes = false;
  std::optional<Diagnostic>
      differs;  // at reduced sizes; a run at the file's own sizes overrules it
  for (const Way& way : ways_to_open(world.program, proved.plan)) {
    Runs runs(world, proved, way.open, file);
    const auto sizes = runs.sizing(1);
    has_sizes = has_sizes || sizes;
    if (sizes && !(runs.numbers(*sizes) <= way.most_numbers)) {
      if (why.empty()) why = "a run at the sizes of the file takes too long";
      continue;
    }
    Finding found;
    try {
      found = runs.all();
    } catch (const std::domain_error& error) {  // the proof assumes that a size or number exists
      why = error.what();
      continue;
    }
    if (found.kind == Finding::Kind::agrees) return std::nullopt;
    if (found.kind == Finding::Kind::differs && way.faithful) {
      differs = disagreement(world, proved.plan, found, runs.at());
      if (way.open.empty()) return differs;
    }
    why = found.kind == Finding::Kind::differs ? "a run at the sizes of the file takes too long, "
                                                 "and smaller sizes change its values: " +
                                                     found.text
                                               : found.text;
  }
  if (differs) return differs;
  return no_instance(
      world, proved.plan, why,
      has_sizes ? std::vector<std::string>{} : wanted_sizes(world.program, proved.conditions));
}

}  // namespace shardproof
