#pragma once
// For the laws about rules: ops with all states of their operands, on small meshes, with random
// exact values.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>

#include "spec/denote/testing.h"
#include "spec/denote/trial.h"

namespace shardproof {
struct RuleResult;
}

namespace shardproof::denote::law {

using testing::pattern;

struct Tally {
  int64_t accepted = 0, refused = 0, unsound = 0, conservative = 0, allowed = 0;
  std::map<std::string, int> reasons;
  std::vector<std::string> findings;
  void find(const std::string& text) {
    if (std::find(findings.begin(), findings.end(), text) == findings.end() && findings.size() < 40)
      findings.push_back(text);
  }
};

/// An op over dims without axes; the law tries all axes of operands and result.
struct OpCase {
  std::string name;
  std::function<ir::Op(const ir::Pattern&)> make;
  std::vector<Type> operands;  ///< dims and dtypes
  std::optional<ir::Pattern> pattern;
  bool two_axes = true;                 ///< test over two axes too
  std::optional<size_t> constant = {};  ///< an operand without gradient
};

struct World {
  std::vector<std::pair<Axis, int64_t>> mesh;
  ir::Program program;
  Sizes sizes;
  std::vector<Axis> axes;
};

inline World world(std::vector<std::pair<Axis, int64_t>> mesh, int64_t size) {
  World result;
  for (const auto& [axis, n] : mesh) result.axes.push_back(axis);
  result.program = testing::program(result.axes);
  result.sizes.mesh = mesh;
  for (const char* dim : {"B", "L", "M", "F", "V", "K", "G"}) result.sizes.dims[dim] = size;
  for (const char* dim : {"D", "A"}) result.sizes.dims[dim] = 2;
  return result;
}

inline std::vector<World> worlds(bool two_axes) {
  std::vector<World> result{world({{"d", 2}}, 4), world({{"d", 3}}, 6)};
  if (two_axes) result.push_back(world({{"d", 2}, {"t", 3}}, 6));
  return result;
}

inline bool natural(Dtype dtype) { return !is_float(dtype); }

inline std::vector<Rational> random_numbers(const Trial& trial, RandomBits& rng) {
  std::vector<Rational> numbers;
  for (const FreeEntry& entry : trial.free_entries()) {
    const Dtype dtype = trial.inputs()[entry.operand].type.dtype;
    const bool scalar = trial.inputs()[entry.operand].type.dims.empty();
    numbers.push_back(dtype == Dtype::boolean ? Rational(static_cast<int64_t>(rng() % 2))
                      : natural(dtype) ? Rational(static_cast<int64_t>(rng() % (scalar ? 3 : 4)))
                                       : Scalar<Rational>::random(rng) / 2);
  }
  return numbers;
}

/// Whether the devices end with the op's value at `results`, for random numbers.
enum class Outcome { right, wrong, undecided };
inline Outcome value_outcome(const Trial& trial, const std::vector<Type>& results,
                             RandomBits& rng) {
  int right = 0;
  for (int attempt = 0; attempt < 60 && right < 8; ++attempt) try {
      const auto operands = trial.operands(random_numbers(trial, rng));
      const auto wanted = trial.wanted(operands, results);
      try {
        const auto got = trial.outcome(operands, results);
        for (size_t i = 0; i < got.size(); ++i) {
          const auto value = represented(trial.geometry(), results.at(i), got[i]);
          if (!value || !same(*value, wanted.at(i))) return Outcome::wrong;
        }
        ++right;
      } catch (const Error&) {
        return Outcome::wrong;  // whole tensors have a value, the devices do not
      }
    } catch (const OutOfRange&) {
    } catch (const Overflow&) {
    }
  return right ? Outcome::right : Outcome::undecided;
}

inline std::string describe(const OpCase& op, const std::vector<Type>& operands,
                            const Type& result) {
  std::string text = op.name + "(";
  for (const Type& type : operands) text += (text.back() == '(' ? "" : ", ") + to_string(type);
  return text + ") -> " + to_string(result);
}

inline std::vector<std::vector<Type>> tuples(const std::vector<Type>& bare,
                                             const std::vector<Axis>& axes, bool copies) {
  std::vector<std::vector<Type>> result{{}};
  for (const Type& type : bare) {
    std::vector<std::vector<Type>> longer;
    for (const auto& tuple : result)
      for (const Type& each : candidate_types(type, axes, copies)) {
        longer.push_back(tuple);
        longer.back().push_back(each);
      }
    result = std::move(longer);
  }
  return result;
}

/// The op with the axes of operands and result written into its pattern, elaborated.
inline ir::Op written(const OpCase& op, const std::vector<Type>& operands, const Type& result) {
  if (!op.pattern) return op.make({});
  ir::Pattern filled = *op.pattern;
  for (size_t i = 0; i < filled.left.size(); ++i) {
    for (size_t k = 0; k < filled.left[i].dims.size(); ++k)
      filled.left[i].dims[k].axes = operands[i].dims[k].axes;
    filled.left[i].marks = operands[i].marks;
  }
  for (size_t k = 0; k < filled.right.dims.size(); ++k)
    filled.right.dims[k].axes = result.dims[k].axes;
  filled.right.marks = result.marks;
  return testing::elaborated(testing::program({}), op.make(filled), operands);
}

inline std::vector<Type> all_results(const OpCase& op, const std::vector<Type>& operands,
                                     const Type& first) {
  std::vector<Type> results = whole_results(written(op, operands, first), operands);
  for (Type& type : results) static_cast<Shape&>(type) = first;
  return results;
}

/// Applies the rule. `gradient`: float operands have one, except for the constant.
RuleResult apply(const World& world, const ir::Op& op, const std::vector<Type>& types,
                 bool gradient, std::optional<size_t> constant = {});

inline bool any_max(const std::vector<Type>& types) {
  for (const Type& type : types)
    for (const auto& [axis, mark] : type.marks)
      if (mark == Mark::Max) return true;
  return false;
}

inline Type bare(const std::string& dims, Dtype dtype = Dtype::f32) {
  return testing::type(dims, dtype);
}

inline OpCase pointwise(const std::string& name, const ir::Op& op, std::vector<Type> operands,
                        bool two_axes = true) {
  return {name, [op](const ir::Pattern&) { return op; }, std::move(operands), {}, two_axes};
}

template <class Make>
OpCase patterned(const std::string& name, const std::string& text, Make make,
                 std::vector<Dtype> dtypes = {}, bool two_axes = false) {
  const ir::Pattern parsed = pattern(text);
  OpCase result{name + " " + text,
                [make](const ir::Pattern& p) { return ir::Op(make(p)); },
                {},
                parsed,
                two_axes};
  for (size_t i = 0; i < parsed.left.size(); ++i) {
    Type type;
    static_cast<Shape&>(type) = parsed.left[i];
    type.dtype = i < dtypes.size() ? dtypes[i] : Dtype::f32;
    result.operands.push_back(type);
  }
  for (size_t i = parsed.left.size(); i < dtypes.size(); ++i)
    result.operands.push_back(bare("", dtypes[i]));
  return result;
}

inline void report(const std::string& what, const Tally& tally) {
  std::cout << what << ": accepted " << tally.accepted << ", unsound " << tally.unsound
            << ", refused " << tally.refused << ", of these right but allowed " << tally.allowed
            << ", unexplained " << tally.conservative << "\n";
  for (const auto& [reason, times] : tally.reasons)
    std::cout << "    " << times << "  " << reason << "\n";
  for (const std::string& finding : tally.findings) std::cout << "    " << finding << "\n";
}

template <class Check>
Tally over_all(const std::vector<OpCase>& cases, bool copies, Check check) {
  Tally tally;
  RandomBits rng(7);
  for (const OpCase& op : cases)
    for (const World& world : worlds(op.two_axes))
      for (const auto& operands : tuples(op.operands, world.axes, copies))
        check(op, world, operands, tally, rng);
  return tally;
}

std::vector<OpCase> linear_cases();
std::vector<OpCase> other_cases();
std::vector<OpCase> collective_cases();

}  // namespace shardproof::denote::law
