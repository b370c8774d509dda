#include "kernels/cpu/sources.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/look_ups.h"

namespace shardproof::cpu {
namespace {

constexpr size_t any_source = SIZE_MAX, no_source = SIZE_MAX - 1;

/// About.
int64_t instructions_of(PointwiseFn fn) {
  using enum PointwiseFn;
  constexpr std::array cheap{add, sub, mul, neg, abs, round_f32};
  constexpr std::array quick{eq, ne, lt, gt, le, ge, where};
  const auto is_in = [fn](const auto& all) {
    return std::find(all.begin(), all.end(), fn) != all.end();
  };
  if (fn == constant) return 0;
  if (is_in(cheap)) return 1;
  if (is_in(quick)) return 2;
  if (fn == round_bf16 || fn == maximum || fn == minimum) return 4;
  return fn == div || fn == sqrt || fn == rsqrt ? 10 : 20;
}

}  // namespace

Sources::Sources(const RowChain& chain) : chain_(chain) {
  for (const RowChain::Input& input : chain.inputs)
    add(input.element == Element::bf16 && !input.one ? of_.size() : no_source, 0);
  for (const PointwiseStep& step : chain.steps) {
    size_t source = any_source;
    int64_t cost = instructions_of(step.fn);
    for (size_t value : step.arguments) {
      if (of_[value] == any_source) continue;
      source = source == any_source || source == of_[value] ? of_[value] : no_source;
      if (of_[value] != value) cost += cost_[value];
    }
    if (source != no_source && step.real)
      add(source, cost);
    else
      add(step.fn == PointwiseFn::round_bf16 ? of_.size() : no_source, 0);
  }
  find_readers();
}

std::optional<size_t> Sources::worth_looking_up(size_t value) const {
  constexpr int64_t least_cost = 40;  // a look-up takes about as long as 30 instructions
  const size_t from = of_[value];
  if (from == any_source || from == no_source || from == value || cost_[value] < least_cost ||
      !is_read_[value] || !gives_real(chain_.steps[value - chain_.inputs.size()]))
    return std::nullopt;
  return from;
}

Pointwise Sources::part_of(size_t value, size_t from) const {
  Pointwise part;
  part.inputs = {Element::bf16};
  part.nest = {{table_size}, {{1}, {1}}};
  std::map<size_t, size_t> at{{from, 0}};
  add_steps(part, at, value);
  return part;
}

void Sources::add(size_t source, int64_t cost) {
  of_.push_back(source);
  cost_.push_back(cost);
}

void Sources::find_readers() {
  is_read_.resize(of_.size());
  for (const RowChain::Result& result : chain_.results) is_read_[result.value] = true;
  for (size_t i = 0; i < chain_.steps.size(); ++i)
    for (size_t value : chain_.steps[i].arguments)
      if (of_[chain_.inputs.size() + i] != of_[value]) is_read_[value] = true;
}

void Sources::add_steps(Pointwise& part, std::map<size_t, size_t>& at, size_t value) const {
  if (at.contains(value)) return;
  PointwiseStep step = chain_.steps[value - chain_.inputs.size()];
  for (size_t argument : step.arguments) add_steps(part, at, argument);
  for (size_t& argument : step.arguments) argument = at.at(argument);
  part.steps.push_back(std::move(step));
  at[value] = part.steps.size();
}

}  // namespace shardproof::cpu
