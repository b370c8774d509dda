#include "kernels/cpu/look_ups.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <numeric>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"

namespace shardproof::cpu {
namespace {

/// A look-up takes as long as about four additions, each rounded to bf16.
constexpr int64_t least_cost = 8;

int64_t cost_of(PointwiseFn fn) {
  using enum PointwiseFn;
  constexpr std::array series{exp, expm1, log, log1p, tanh, erf, sin, cos};
  if (fn == constant) return 0;
  return std::find(series.begin(), series.end(), fn) != series.end() ? 3 : 1;
}

/// The values of a chain are its inputs, then its steps.
class Finder {
 public:
  explicit Finder(const Pointwise& chain) : chain_(chain) {
    for (Element each : chain.inputs)
      reads_.push_back(each == Element::bf16 ? static_cast<int64_t>(reads_.size()) : several);
    for (const PointwiseStep& step : chain.steps) {
      int64_t read = nothing;
      for (size_t value : step.arguments)
        if (const int64_t own = reads_[value]; own != nothing)
          read = read == nothing || read == own ? own : several;
      reads_.push_back(has_all_values(step) ? read : several);
    }
  }

  std::optional<LookUps> found() {
    need(chain_.result());
    if (parts_.empty()) return std::nullopt;
    LookUps made;
    std::map<size_t, size_t> at;  // by value: its register in the rest
    const auto add_input = [&](size_t value, size_t from, Pointwise part) {
      at[value] = made.inputs.size();
      made.rest.inputs.push_back(chain_.inputs[from]);
      made.inputs.push_back({from, std::move(part)});
    };
    for (size_t value = 0; value < chain_.inputs.size(); ++value)
      if (needed_.contains(value)) add_input(value, value, {});
    for (size_t value : parts_)
      add_input(value, static_cast<size_t>(reads_[value]), part_of(value));
    for (const auto& [value, is_part] : needed_)
      if (value >= chain_.inputs.size() && !is_part) add_step(made.rest, value, at);
    made.rest.output = chain_.output;
    made.rest.nest.extents = chain_.nest.extents;
    made.rest.nest.strides = {chain_.nest.strides[0]};
    for (const LookedUp& each : made.inputs)
      made.rest.nest.strides.push_back(chain_.nest.strides[each.from + 1]);
    return made;
  }

 private:
  static constexpr int64_t nothing = -1, several = -2;  ///< in place of the one input that is read

  /// Integers may be divided by 0, and not every float is one.
  static bool has_all_values(const PointwiseStep& step) {
    using enum PointwiseFn;
    return step.fn == constant || step.fn == where || step.fn == to_real ||
           (step.real && step.fn != to_integer);
  }

  const PointwiseStep* step_of(size_t value) const {
    return value < chain_.inputs.size() ? nullptr : &chain_.steps[value - chain_.inputs.size()];
  }

  /// Which values make this one, itself included.
  std::vector<bool> makers_of(size_t value) const {
    std::vector<bool> makers(value + 1);
    makers[value] = true;
    for (size_t each = value; each >= chain_.inputs.size(); --each)  // arguments come before
      if (makers[each])
        for (size_t argument : step_of(each)->arguments) makers[argument] = true;
    return makers;
  }

  bool is_part(size_t value) const {
    const PointwiseStep* step = step_of(value);
    if (!step || reads_[value] < 0 || !gives_real(*step)) return false;
    const std::vector<bool> makers = makers_of(value);
    int64_t cost = 0;
    for (size_t each = chain_.inputs.size(); each < makers.size(); ++each)
      if (makers[each]) cost += cost_of(step_of(each)->fn);
    return cost >= least_cost;
  }

  /// Finds what the rest computes, and the largest parts that it reads.
  void need(size_t value) {
    if (needed_.contains(value)) return;
    const bool part = is_part(value);
    needed_[value] = part;
    if (part) return parts_.push_back(value);
    if (const PointwiseStep* step = step_of(value))
      for (size_t argument : step->arguments) need(argument);
  }

  void add_step(Pointwise& to, size_t value, std::map<size_t, size_t>& at) const {
    PointwiseStep step = *step_of(value);
    for (size_t& argument : step.arguments) argument = at.at(argument);
    at[value] = to.inputs.size() + to.steps.size();
    to.steps.push_back(std::move(step));
  }

  Pointwise part_of(size_t value) const {
    Pointwise part{{Element::bf16}, {}, Element::f32, false, {{table_size}, {{1}, {1}}}};
    std::map<size_t, size_t> at{{static_cast<size_t>(reads_[value]), 0}};
    const std::vector<bool> makers = makers_of(value);
    for (size_t each = chain_.inputs.size(); each < makers.size(); ++each)
      if (makers[each]) add_step(part, each, at);
    return part;
  }

  const Pointwise& chain_;
  std::vector<int64_t> reads_;     ///< by value: the bf16 input that alone makes it
  std::map<size_t, bool> needed_;  ///< by value that the rest has: whether it is a part
  std::vector<size_t> parts_;
};

}  // namespace

void put(std::string& key, uint64_t word) {
  key.append(reinterpret_cast<const char*>(&word), sizeof word);
}

std::string key_of_steps(const std::vector<PointwiseStep>& steps) {
  std::string key;
  for (const PointwiseStep& step : steps) {
    put(key, static_cast<uint64_t>(step.fn) << 8 | step.arguments.size() << 1 | step.real);
    for (size_t argument : step.arguments) put(key, argument);
    put(key, std::bit_cast<uint64_t>(step.value));
    key += step.tag + '\0';
  }
  return key;
}

const float* kept_table(const Pointwise& part) {
  constexpr size_t most = 64;
  static std::mutex mutex;
  static std::map<std::pair<Isa, std::string>, std::vector<float>> kept;
  const std::pair key{isa(), key_of_steps(part.steps)};
  {
    const std::lock_guard lock(mutex);
    if (const auto known = kept.find(key); known != kept.end()) return known->second.data();
    if (kept.size() >= most) return nullptr;
  }
  static const std::vector<uint16_t> all_bf16 = [] {
    std::vector<uint16_t> all(table_size);
    std::iota(all.begin(), all.end(), uint16_t{0});
    return all;
  }();
  std::vector<float> table(table_size);
  const void* const inputs[] = {all_bf16.data()};
  run_steps(part, table.data(), inputs);
  const std::lock_guard lock(mutex);
  return kept.try_emplace(key, std::move(table)).first->second.data();
}

std::optional<LookUps> look_ups(const Pointwise& chain) {
  return chain.f64 ? std::nullopt : Finder(chain).found();
}

}  // namespace shardproof::cpu
