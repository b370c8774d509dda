#include "impl/trainer/same_model.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <random>
#include <sstream>

#include "impl/comm/threads.h"
#include "impl/compile/compile_plan.h"
#include "impl/trainer/cache.h"
#include "impl/trainer/cache_roles.h"
#include "kernels/number.h"
#include "spec/check/cost_of_run.h"
#include "spec/check/mesh_points.h"
#include "spec/check/requirements.h"

namespace shardproof {
namespace {

constexpr double most_numbers = 5e7;  ///< in a run

const ir::Function& function(const Program& program, size_t index) {
  return program.checked().program().functions.at(index);
}

/// The leaves of the parameter `group`, with their types as written.
std::map<Name, Type> leaves_of(const ir::Function& plan, const Name& group) {
  std::map<Name, Type> leaves;
  size_t leaf = 0;
  for (const auto& [name, count] : plan.param_groups)
    for (size_t i = 0; i < count; ++i, ++leaf) {
      const ir::Value& value = plan.values.at(plan.params.at(leaf));
      if (name == group) leaves.emplace(value.name, value.type);
    }
  return leaves;
}

[[noreturn]] void refuse(const ir::Function& cache, const std::string& why) {
  throw PlanError(cache.name + " extends the cache of another model: " + why +
                  "; name the file of this model, or sample without a cache: --decode none");
}

/// The plan needs the weights that the step has, all of them, as the step holds them.
void require_same_weights(const ir::Function& step, const ir::Function& cache, const Name& group) {
  const std::map<Name, Type> own = leaves_of(step, group), wanted = leaves_of(cache, group);
  for (const auto& [name, type] : wanted) {
    const auto found = own.find(name);
    if (found == own.end())
      refuse(cache, "it takes " + name + ": " + to_string(type) + ", which " + step.name +
                        " does not have");
    if (!same_value_type(found->second, type))
      refuse(cache, name + " is " + to_string(type) + " in it, and " + to_string(found->second) +
                        " in " + step.name);
  }
  for (const auto& [name, type] : own)
    if (!wanted.contains(name))
      refuse(cache,
             "it does not take " + name + ": " + to_string(type) + ", a weight of " + step.name);
}

Mesh one_device(const Program& program) {
  std::vector<std::pair<Axis, int64_t>> axes;
  for (const auto& [axis, declared] : program.checked().program().axes) axes.emplace_back(axis, 1);
  return Mesh(axes);
}

/// Sizes that meet what the plan claims; none on a mesh with fixed axes, or if a run takes too
/// long.
std::optional<DimSizes> sizes_for(const Program& program, const PlanReport& plan,
                                  const DimSizes& given, denote::RandomBits& rng) {
  const ir::Program& resolved = program.checked().program();
  const auto drawn = mesh_sizes(resolved, plan.conditions, rng,
                                {.axes = std::set<Axis>(),
                                 .least = 2,
                                 .given = given,
                                 .requirements = requirements_of_claim(resolved, plan.function)});
  if (!drawn || drawn->devices() != 1 ||
      CostOfRun(resolved).at(plan.function, *drawn).numbers > most_numbers)
    return std::nullopt;
  return drawn->dims;
}

class Comparison {
 public:
  Comparison(const Program& model, const PlanReport& logits, const Program& cached,
             const PlanReport& cache, const std::vector<Name>& state)
      : model_(model),
        logits_(logits),
        cached_(cached),
        cache_(cache),
        plan_(function(cached, cache.function)),
        roles_(*cache_roles(plan_, state)) {}

  /// Draws sizes, weights and tokens; sizes are at most `most`, and those of the run if they are
  /// smaller. False if no such sizes meet what the plans claim, or if a run takes too long.
  bool draw(const DimSizes& dims, int64_t most, denote::RandomBits& rng) {
    DimSizes given;
    for (const auto& [name, size] : dims) given[name] = std::min(size, most);
    const std::vector<Split>& ids = param(*roles_.ids).dims;
    for (size_t i = 0; i + 1 < ids.size(); ++i) given.erase(to_string(ids[i].dim));
    const auto cache = sizes_for(cached_, cache_, given, rng);
    if (!cache) return false;
    const auto model = sizes_for(model_, logits_, *cache, rng);
    if (!model) return false;
    for_model_ = *model;
    for_cache_ = *cache;
    length_ = for_cache_.at(to_string(positions_of(plan_, roles_)));
    vocabulary_ = vocabulary();
    seed_ = rng();
    return length_ > 1;
  }

  /// Throws PlanError if the logits differ, or if a plan cannot be compiled at these sizes.
  void compare() const {
    std::optional<PlanError> failed;
    run_on_threads(1, [&](Communicator& ranks) {
      try {
        compare_on(ranks);
      } catch (const PlanError& error) {
        failed = error;  // run_on_threads names a rank
      }
    });
    if (failed) throw *failed;
  }

 private:
  /// The logits of the first sequence.
  struct Rows {
    explicit Rows(const LocalTensor& logits)
        : tensor(logits), width(logits.extents.back()), count(logits.extents.rbegin()[1]) {}
    double at(int64_t row, int64_t column) const {
      return number_at(tensor.element, tensor.buffer.data(), row * width + column);
    }
    const LocalTensor& tensor;
    int64_t width, count;
  };

  void compare_on(Communicator& ranks) const {
    Plan whole = compiled(model_, logits_.name, for_model_);
    const std::vector<LocalTensor> logits = whole.run(ranks, inputs(whole, 0));
    const Rows wanted(logits.at(0));
    std::vector<LocalTensor> kept;
    using Part = std::pair<int64_t, int64_t>;
    for (const auto& [at, count] : {Part{0, length_ - 1}, Part{length_ - 1, 1}}) {
      DimSizes sizes = for_cache_;
      sizes[to_string(param(*roles_.ids).dims.back().dim)] = count;
      Plan part = compiled(cached_, plan_.name, sizes);
      std::vector<LocalTensor> given = inputs(part, at);
      for (size_t i = 0; i < kept.size(); ++i) given.at(roles_.cache[i]) = std::move(kept[i]);
      std::vector<LocalTensor> results = part.run(ranks, given);
      require_close(Rows(results.at(0)), wanted, at, count);
      kept.clear();
      for (size_t i = 1; i < results.size(); ++i) {
        kept.push_back(std::move(results[i]));
        kept.back().type = param(roles_.cache[i - 1]);
      }
    }
  }

  const Type& param(size_t leaf) const { return plan_.values.at(plan_.params.at(leaf)).type; }

  static Plan compiled(const Program& program, const Name& plan, const DimSizes& sizes) {
    PlanOptions how;
    how.precision = Precision::f64;
    how.accept_unknown = true;  // whether it may run is checked where it does
    return compile_plan(program, plan, one_device(program), sizes, 0, how);
  }

  /// The entries of the vocabulary, without those that a table only stores.
  int64_t vocabulary() const {
    const ir::Program& program = model_.checked().program();
    const Dim& dim = function(model_, logits_.function).results.at(0).dims.back().dim;
    const std::optional<Name> padded = program.padded(dim);
    return Placement(program, one_device(model_), for_model_, 0)
        .size(padded ? Dim{{*padded}} : dim);
  }

  /// Equal weights by their names; the same tokens in every sequence, from position `at` on.
  std::vector<LocalTensor> inputs(const Plan& plan, int64_t at) const {
    std::vector<LocalTensor> all;
    for (size_t i = 0; i < plan.inputs().size(); ++i) {
      const Slot& slot = plan.inputs()[i];
      all.push_back(plan.input(i));
      std::mt19937_64 rng(seed_ + std::hash<Name>()(slot.name));
      const int64_t length = slot.extents.empty() ? 1 : slot.extents.back();
      double most = 1;  // sums of products stay near 1: a softmax of large numbers sees one of them
      if (slot.extents.size() > 1)
        most = std::sqrt(3.0 / static_cast<double>(*std::ranges::max_element(slot.extents)));
      std::uniform_real_distribution<double> weight(-most, most);
      for (int64_t k = 0; k < all.back().count(); ++k)
        set_number(slot.element, all.back().buffer.data(), k,
                   data(slot.name, at, k % length).value_or(weight(rng)));
    }
    return all;
  }
  /// Two documents, if the cache has their numbers. None: a weight, or what the cache holds at
  /// first.
  std::optional<double> data(const Name& name, int64_t at, int64_t position) const {
    const int64_t second = roles_.segments ? length_ / 3 : 0;
    if (name == "ids")
      return static_cast<double>((seed_ / 7 + static_cast<uint64_t>(5 * (at + position))) %
                                 static_cast<uint64_t>(vocabulary_));
    if (name == "at") return static_cast<double>(at);
    if (name == "starts") return position == 0 || position == second;
    if (name == "segments") return position < second ? 1 : 2;
    return std::nullopt;
  }

  void require_close(const Rows& got, const Rows& wanted, int64_t at, int64_t count) const {
    double largest = 0;
    for (int64_t row = 0; row < wanted.count; ++row)
      for (int64_t column = 0; column < vocabulary_; ++column)
        largest = std::max(largest, std::abs(wanted.at(row, column)));
    if (!std::isfinite(largest)) return;
    for (int64_t row = 0; row < std::min(count, wanted.count - at); ++row)
      for (int64_t column = 0; column < vocabulary_; ++column) {
        const double one = got.at(row, column), other = wanted.at(at + row, column);
        if (std::abs(one - other) <= 1e-9 * largest) continue;
        std::ostringstream why;
        why << std::setprecision(9) << "for random weights and " << length_
            << " tokens its logit of token " << column << " at position " << at + row
            << (at > 0 ? ", read with the cache," : "") << " is " << one << ", and that of "
            << logits_.name << " is " << other;
        refuse(plan_, why.str());
      }
  }

  const Program& model_;
  const PlanReport& logits_;
  const Program& cached_;
  const PlanReport& cache_;
  const ir::Function& plan_;
  const CacheRoles roles_;
  DimSizes for_model_, for_cache_;
  int64_t length_ = 0, vocabulary_ = 0;
  uint64_t seed_ = 0;
};

}  // namespace

void require_same_model(const Program& program, const StepRoles& roles,
                        const std::optional<Name>& logits, const Program& cached,
                        const DimSizes& dims) {
  std::vector<Name> state;
  for (const StateGroup& group : roles.state) state.push_back(group.name);
  const ir::Function& cache = function(cached, cache_plan(cached, state));
  for (const auto& [group, count] : cache.param_groups)
    if (std::find(state.begin(), state.end(), group) != state.end())
      require_same_weights(function(program, roles.step), cache, group);
  if (!logits) return;
  Comparison comparison(program, program.plan(*logits), cached, cached.plan(cache.name), state);
  denote::RandomBits rng(1);
  for (int64_t most = 1024; most > 2; most /= 2)
    if (comparison.draw(dims, most, rng)) return comparison.compare();
  if (comparison.draw({}, 0, rng)) comparison.compare();
}

}  // namespace shardproof
