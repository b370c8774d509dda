#include "spec/denote/counterexample.h"

#include <algorithm>
#include <cmath>

#include "spec/denote/array.h"
#include "spec/denote/show.h"

namespace shardproof::denote {
namespace {

constexpr size_t budget = 4000, most_free_entries = 64;
constexpr int most_searches = 6;

bool finite(std::span<const double> entries) {
  return std::ranges::all_of(entries, [](double x) { return std::isfinite(x); });
}

/// The first result that does not represent the wanted value; none if all do. Throws Error.
std::optional<size_t> wrong_result(const Trial& trial, const Values<double>& operands,
                                   const std::vector<Type>& results,
                                   const std::vector<Array<double>>& wanted) {
  const Values<double> got = trial.outcome(operands, results);
  for (size_t i = 0; i < got.size(); ++i) {
    if (!finite(got[i].all())) throw Overflow("a number that is not finite");
    const auto value = represented(trial.geometry(), results.at(i), got[i]);
    if (!value || !same(*value, wanted.at(i))) return i;
  }
  return {};
}

/// Without a stated type: whether no type at all fits the result.
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
    } catch (const Mismatch&) {  // not this type
    }
  }
  return true;
}

bool natural_number(const Type& type) {
  return is_integer(type.dtype) || type.dtype == Dtype::boolean || type.dtype == Dtype::key;
}

/// Indices and offsets are not negative; booleans are 0 or 1.
bool fits(const Trial& trial, const std::vector<int64_t>& numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Type& type = trial.inputs()[trial.free_entries()[i].operand].type;
    if (natural_number(type) && numbers[i] < 0) return false;
    if (type.dtype == Dtype::boolean && numbers[i] > 1) return false;
  }
  return true;
}

/// Tries numbers in one trial. Returns none where they do not apply, e.g. an index out of range.
class Attempts {
 public:
  Attempts(const Trial& trial, const std::vector<Type>& results, bool stated)
      : trial_(trial), results_(results), stated_(stated) {
    if (!stated && !results.empty()) candidates_ = candidate_types(results[0], axes_with_devices());
  }

  /// The axes with more than one device: on the others all states are the same.
  std::vector<Axis> axes_with_devices() const {
    std::vector<Axis> axes = axes_of(shapes_of(trial_.op(), types_of(trial_.inputs()), {}));
    std::erase_if(axes,
                  [&](const Axis& axis) { return trial_.geometry().sizes().axis(axis) == 1; });
    return axes;
  }

  /// The result that is wrong for these numbers; -1 if none is.
  std::optional<int> wrong(const std::vector<int64_t>& numbers) const {
    if (!fits(trial_, numbers)) return {};
    const auto operands = trial_.operands(std::vector<double>(numbers.begin(), numbers.end()));
    try {
      const auto wanted = trial_.wanted(operands, results_);
      if (!std::ranges::all_of(wanted, [](const auto& each) { return finite(each.data); }))
        return {};
      const auto place = wrong_result(trial_, operands, results_, wanted);
      if (!place) return -1;
      if (!stated_ && !wrong_at_all(trial_, operands, results_, candidates_, wanted)) return -1;
      return static_cast<int>(*place);
    } catch (const Mismatch&) {
    } catch (const OutOfRange&) {
    } catch (const Overflow&) {
    }
    return {};
  }

  /// False if random numbers show no error: then an ordered search is not worth its time.
  bool promising() const {
    std::mt19937_64 rng(1);
    int right = 0;
    for (int attempt = 0; attempt < 40 && right < 8; ++attempt) {
      std::vector<int64_t> numbers;
      for (const FreeEntry& entry : trial_.free_entries()) {
        const bool natural = natural_number(trial_.inputs()[entry.operand].type);
        const int64_t range = attempt % 2 ? 2 : 7;
        numbers.push_back(natural ? static_cast<int64_t>(rng() % 2)
                                  : static_cast<int64_t>(rng() % (2 * range + 1)) - range);
      }
      const auto place = wrong(numbers);
      if (place && *place >= 0) return true;
      right += place ? 1 : 0;
    }
    return false;
  }

  std::optional<Counterexample> least() const {
    std::optional<Counterexample> example;
    integers_by_size(trial_.free_entries().size(), budget,
                     [&](const std::vector<int64_t>& numbers) {
                       const auto place = wrong(numbers);
                       if (!place || *place < 0) return false;
                       const auto operands =
                           trial_.operands(std::vector<double>(numbers.begin(), numbers.end()));
                       const auto result = static_cast<size_t>(*place);
                       const bool seen = shows(operands, result);
                       if (seen || !example)
                         example = explain(trial_, operands, results_, stated_, result);
                       return seen;
                     });
    return example;
  }

 private:
  /// Whether the numbers show a difference: all zeros where zeros are wanted do not.
  bool shows(const Values<double>& operands, size_t result) const {
    const auto zero = [](std::span<const double> entries) {
      return std::ranges::all_of(entries, [](double x) { return x == 0; });
    };
    return !zero(trial_.wanted(operands, results_).at(result).data) ||
           !zero(trial_.outcome(operands, results_).at(result).all());
  }

  const Trial& trial_;
  const std::vector<Type>& results_;
  bool stated_;
  std::vector<Type> candidates_;
};

}  // namespace

std::optional<Counterexample> find_counterexample(const ir::Program& program, const ir::Op& op,
                                                  const std::vector<Input>& operands,
                                                  const std::vector<Type>& stated,
                                                  const Axis& about) {
  try {
    const std::vector<Type> types = types_of(operands);
    const std::vector<Type> results = stated.empty() ? whole_results(op, types) : stated;
    const Sizings sizings(program, shapes_of(op, types, results), about);
    int searches = 0;
    for (const Sizes& sizes : sizings.all()) {
      const Geometry geometry(sizings.program(), sizes);
      const Trial trial(geometry, op, operands);
      if (trial.free_entries().size() > most_free_entries || searches == most_searches) continue;
      const Attempts attempts(trial, results, !stated.empty());
      if (!attempts.promising()) continue;
      if (auto example = attempts.least()) return example;
      ++searches;
    }
  } catch (const Error&) {  // an op without a denotation
  } catch (const std::domain_error&) {
  } catch (const std::out_of_range&) {  // a pattern with another number of operands
  } catch (const std::bad_optional_access&) {
  }
  return {};
}

}  // namespace shardproof::denote
