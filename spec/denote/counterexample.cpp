#include "spec/denote/counterexample.h"

#include <cmath>

#include "spec/denote/array.h"
#include "spec/denote/show.h"

namespace shardproof::denote {
namespace {

constexpr size_t budget_per_size = 1500, budget = 12000, most_slots = 48;

bool finite(const std::vector<Array<double>>& arrays) {
  for (const Array<double>& array : arrays)
    for (double x : array.data)
      if (!std::isfinite(x)) return false;
  return true;
}

/// The first result that does not represent what is wanted; nothing where all do. Throws Error.
std::optional<size_t> wrong_result(const Trial& trial, const Values<double>& operands,
                                   const std::vector<Type>& results,
                                   const std::vector<Array<double>>& wanted) {
  const Values<double> got = trial.outcome(operands, results);
  for (size_t i = 0; i < got.size(); ++i) {
    if (!finite(got[i])) throw Overflow("a number that is not finite");
    const auto value = represented(trial.geometry(), results.at(i), got[i]);
    if (!value || !same(*value, wanted.at(i))) return i;
  }
  return {};
}

/// Whether no type at all fits: where none is stated.
bool wrong_at_all(const Trial& trial, const Values<double>& operands,
                  const std::vector<Type>& results, const std::vector<Type>& candidates,
                  const std::vector<Array<double>>& wanted) {
  for (const Type& candidate : candidates) {
    std::vector<Type> types = results;
    types.at(0) = candidate;
    for (size_t i = 1; i < types.size(); ++i)
      static_cast<Shape&>(types[i]) = static_cast<const Shape&>(candidate);
    try {
      if (!wrong_result(trial, operands, types, wanted)) return false;
    } catch (const Mismatch&) {  // not this type, then
    }
  }
  return true;
}

bool natural_number(const Type& type) {
  return is_integer(type.dtype) || type.dtype == Dtype::boolean || type.dtype == Dtype::key;
}

/// Indices and offsets are not negative, truth is 0 or 1.
bool fits(const Trial& trial, const std::vector<int64_t>& numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Type& type = trial.inputs()[trial.slots()[i].operand].type;
    if (natural_number(type) && numbers[i] < 0) return false;
    if (type.dtype == Dtype::boolean && numbers[i] > 1) return false;
  }
  return true;
}

std::optional<Counterexample> search(const Trial& trial, const std::vector<Type>& results,
                                     bool stated, size_t tries) {
  std::optional<Counterexample> example;
  std::vector<Type> candidates;
  if (!stated && !results.empty())
    candidates =
        candidate_types(results[0], axes_of(shapes_of(trial.op(), types_of(trial.inputs()), {})));
  integers_by_size(trial.slots().size(), tries, [&](const std::vector<int64_t>& numbers) {
    if (!fits(trial, numbers)) return false;
    const auto operands = trial.operands(std::vector<double>(numbers.begin(), numbers.end()));
    try {
      const auto wanted = trial.wanted(operands, results);
      if (!finite(wanted)) return false;
      const auto wrong = wrong_result(trial, operands, results, wanted);
      if (!wrong || (!stated && !wrong_at_all(trial, operands, results, candidates, wanted)))
        return false;
      example = explain(trial, operands, results, stated, *wrong);
      return true;
    } catch (const Mismatch&) {
      return false;
    } catch (const OutOfRange&) {
      return false;
    } catch (const Overflow&) {
      return false;
    }
  });
  return example;
}

}  // namespace

std::optional<Counterexample> find_counterexample(const ir::Program& program, const ir::Op& op,
                                                  const std::vector<Input>& operands,
                                                  const std::vector<Type>& stated) {
  try {
    const std::vector<Type> types = types_of(operands);
    const std::vector<Type> results = stated.empty() ? whole_results(op, types) : stated;
    const Sizings sizings(program, shapes_of(op, types, results));
    size_t left = budget;
    for (const Sizes& sizes : sizings.all()) {
      const Geometry geometry(sizings.program(), sizes);
      const Trial trial(geometry, op, operands);
      if (trial.slots().size() > most_slots || left == 0) continue;
      const size_t tries = std::min(left, budget_per_size);
      if (auto example = search(trial, results, !stated.empty(), tries)) return example;
      left -= tries;
    }
  } catch (const Error&) {  // an op without a denotation has no numbers
  } catch (const std::domain_error&) {
  } catch (const std::out_of_range&) {  // a pattern with another number of operands
  } catch (const std::bad_optional_access&) {
  }
  return {};
}

}  // namespace shardproof::denote
