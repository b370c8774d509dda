#include "impl/beside_oracle/random_cases.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "impl/beside_oracle/first_op.h"
#include "spec/check/first_wrong_value.h"
#include "spec/check/literals.h"
#include "spec/ir/walk.h"

namespace shardproof::beside {
namespace {

using Tensors = std::vector<oracle::Tensor>;

constexpr int most_runs_of_shrinking = 300;
constexpr unsigned few = 3;  ///< perturbed evaluations

struct Difference {
  std::string how, what;
  std::optional<size_t> result = {};  ///< none: a kernel violated its contract
  bool in_double = true;
};

/// A way to run a plan, and the tolerance of its results.
struct Way {
  const char* how;
  PlanOptions options;
  BoundsBy bounds;
};

std::vector<Way> ways_of(const PlanCase& one, bool ties, const CaseOptions& options) {
  const auto in_double = [&](const Tensors& of, const Evaluate& evaluate, unsigned times) {
    return rounding_bounds(one, of, evaluate, times).f64;
  };
  const auto as_written = [&](const Tensors& of, const Evaluate& evaluate, unsigned times) {
    return written_bounds(one, of, evaluate, times);
  };
  std::vector<Way> ways;
  if (!options.kernel)
    ways = {{"in f64", {.precision = Precision::f64, .device = options.device}, in_double},
            {"in f64, with overlapped collectives",
             {.precision = Precision::f64, .overlap = true, .unroll = 2, .device = options.device},
             in_double}};
  if (!ties)  // many large terms of small integers cancel
    ways.push_back({"as written", {.device = options.device}, as_written});
  return ways;
}

/// The inputs violate a `require` of the plan.
class NothingClaimed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Most are equal bit for bit; then no bounds are needed.
std::optional<WrongResult> beyond_rounding(const PlanCase& one,
                                           const std::vector<std::optional<oracle::Tensor>>& got,
                                           const Tensors& wanted, const Way& way) {
  auto found = wrong_result(got, wanted, Bounds(wanted.size()));
  if (found) found = wrong_result(got, wanted, way.bounds(wanted, shardproof::claimed, few));
  if (!found) return std::nullopt;
  try {
    return wrong_result(got, wanted, wide_bounds(one, wanted, way.bounds));
  } catch (const oracle::Error& error) {
    if (error.op == "require" || error.op == "assume") throw NothingClaimed(error.what());
    return found;  // its erasure is undefined: keep the first bounds
  }
}

std::optional<Difference> difference_at(const PlanCase& one, const Tensors& wanted, bool ties,
                                        const CaseOptions& options) {
  for (const Way& way : ways_of(one, ties, options)) {
    const bool in_double = way.options.precision == Precision::f64;
    try {
      const auto got =
          options.kernel ? run_on_ranks(one, options.kernel) : run_on_ranks(one, way.options);
      if (const auto found = beyond_rounding(one, got, wanted, way))
        return Difference{way.how, found->what, found->result, in_double};
    } catch (const KernelFault& fault) {
      return Difference{way.how, fault.what(), std::nullopt, in_double};
    }
  }
  return std::nullopt;
}

/// A difference, and the case that shows it.
struct Seen {
  PlanCase one;
  Difference difference;
};

/// None also if the plan claims nothing at this point or cannot run there.
std::optional<Seen> seen_at(PlanCase one, const denote::Sizes& sizes, unsigned seed, bool ties,
                            const CaseOptions& options) {
  one.sizes = sizes;
  try {
    const auto wanted = draw_inputs(one, seed, ties);
    if (!wanted) return std::nullopt;
    if (auto found = difference_at(one, *wanted, ties, options))
      return Seen{std::move(one), std::move(*found)};
  } catch (const std::exception&) {  // an op does not allow these sizes
  }
  return std::nullopt;
}

/// Reduces the sizes as long as a difference remains.
Seen shrunk(Seen seen, const std::vector<Divisibility>& conditions, unsigned seed,
            const CaseOptions& options) {
  int runs = 0;
  for (bool smaller = true; smaller && runs < most_runs_of_shrinking;) {
    smaller = false;
    for (const denote::Sizes& sizes :
         smaller_sizes(*seen.one.unit.program, conditions, seen.one.sizes, options.given)) {
      if (options.time.ended()) return seen;
      std::optional<Seen> found;
      for (const bool ties : {false, true})
        if (!found && (!ties || !options.numbers_assumed) && ++runs)
          found = seen_at(seen.one, sizes, seed, ties, options);
      if (!found) continue;
      seen = std::move(*found);
      smaller = true;
      break;
    }
  }
  return seen;
}

/// Whole terms are summed exactly, but ops on each term before that round: bounds from integers
/// would be wrong.
bool takes_terms_of_sums(const PlanCase& one) {
  return std::any_of(one.unit.plan().params.begin(), one.unit.plan().params.end(),
                     [&](const ir::ValueId param) {
                       const auto& marks = one.unit.type(param).marks;
                       return std::any_of(marks.begin(), marks.end(),
                                          [](const auto& mark) { return mark.second == Mark::U; });
                     });
}

std::optional<SourceRange> op_that_differs(const PlanCase& one, const CaseOptions& options) {
  try {
    return first_op_that_differs(one, options.device);
  } catch (const std::exception&) {  // a value cannot be a result
    return std::nullopt;
  }
}

/// The first value of the plan that the model does not have, on the way to its wrong result.
std::optional<SourceRange> op_that_the_model_lacks(const Seen& seen) {
  const PlanCase& one = seen.one;
  std::vector<denote::Array<double>> inputs = one.whole;
  for (denote::Array<double>& each : saved_of(one)) inputs.push_back(std::move(each));
  const auto found = first_wrong_value(*one.unit.program, one.unit.function, one.sizes,
                                       *seen.difference.result, inputs);
  return found ? std::optional(found->range) : std::nullopt;
}

std::optional<SourceRange> op_of_the_result(const Seen& seen) {
  const ir::Function& plan = seen.one.unit.plan();
  const ir::ValueId result = plan.returned.at(*seen.difference.result);
  for (const ir::Instr& instr : plan.body.instrs)
    if (std::find(instr.results.begin(), instr.results.end(), result) != instr.results.end())
      return instr.place.range;
  return std::nullopt;
}

/// `drawn` has sizes of its own for each dim, so few values are equal by chance; `smallest` is what
/// is left of it.
Failure failure_of(const Seen& drawn, const Seen& smallest, const CaseOptions& options) {
  Failure failure{smallest.one.sizes, smallest.difference.how, smallest.difference.what};
  if (!smallest.difference.in_double || !smallest.difference.result) return failure;
  const auto name = [&](const char* which, const std::optional<SourceRange>& range) {
    if (!failure.op && range && range->file >= 0) failure.op = {which, *range};
    return failure.op.has_value();
  };
  if (name("first op whose value differs", op_that_differs(smallest.one, options))) return failure;
  for (const Seen* seen : {&drawn, &smallest})
    if (name("first op whose value the model does not have", op_that_the_model_lacks(*seen)))
      return failure;
  name("computed by", op_of_the_result(smallest));
  return failure;
}

/// Sizes at the whole numbers of the program, of the dims whose positions or size the plan reads: a
/// window of 8 is seen at 9 positions.
std::vector<std::pair<Name, int64_t>> sizes_at_numbers(const PlanCase& one) {
  constexpr double largest = 32;
  const ir::Program& program = *one.unit.program;
  std::set<Name> dims;
  for_each_instr(one.unit.plan().body, [&](const ir::Instr& instr) {
    Dim dim;
    if (const auto* iota = std::get_if<ir::Iota>(&instr.op))
      dim = iota->created.shape.dims.at(iota->dim).dim;
    if (const auto* size = std::get_if<ir::SizeOf>(&instr.op); size && !size->axis)
      dim = Dim{{size->name}};
    if (!dim.factors.empty())
      for (const Name& name : program.base(dim)) dims.insert(name);
  });
  std::vector<std::pair<Name, int64_t>> sizes;
  for (const double number : numbers_of(program, one.unit.plan()))
    for (const Name& dim : dims)
      if (number >= 2 && number <= largest && number == std::floor(number))
        for (const double size : {number + 1, 2 * number})
          sizes.emplace_back(dim, static_cast<int64_t>(size));
  return sizes;
}

}  // namespace

Outcome run_random_cases(PlanCase one, const std::vector<Divisibility>& conditions,
                         const CaseOptions& given) {
  CaseOptions options = given;
  options.numbers_assumed = options.numbers_assumed || takes_terms_of_sums(one);
  Outcome outcome;
  const MeshWish wish{.given = options.given};
  const auto at_numbers = sizes_at_numbers(one);
  const unsigned first = options.seed * 1000;
  const auto most = static_cast<unsigned>(4 * options.cases + 20);
  for (unsigned seed = first; outcome.cases < options.cases && seed < first + most; ++seed) {
    outcome.stopped = outcome.cases > 0 ? options.time.cases_ended() : options.time.ended();
    if (outcome.stopped) break;
    const bool ties = seed % 2 == 1 && !options.numbers_assumed && !options.kernel;
    auto wanted = std::optional<Tensors>();
    if (seed % 3 == 2 && !at_numbers.empty()) try {
        MeshWish large = wish;
        large.given.insert(at_numbers[seed / 3 % at_numbers.size()]);
        wanted = draw(one, conditions, seed, ties, large);
      } catch (const PlanError&) {  // the conditions do not allow this size
      }
    if (!wanted) wanted = draw(one, conditions, seed, ties, wish);
    if (!wanted) continue;
    if (!ties && !would_see_a_factor(*wanted, rounding_bounds(one, *wanted).f32)) continue;
    try {
      if (auto found = difference_at(one, *wanted, ties, options)) {
        const Seen drawn{one, std::move(*found)};
        outcome.failure = failure_of(drawn, shrunk(drawn, conditions, seed, options), options);
        return outcome;
      }
    } catch (const NothingClaimed&) {
      continue;
    }
    ++outcome.cases;
  }
  if (outcome.cases == 0)
    throw PlanError(outcome.stopped ? time_ended : "its model has no value at small sizes");
  return outcome;
}

std::string mesh_text(const denote::Sizes& sizes) { return mesh_of(sizes).text(); }

std::string dims_text(const denote::Sizes& sizes) {
  std::string text;
  for (const auto& [dim, size] : sizes.dims)
    text += (text.empty() ? "" : " ") + dim + "=" + std::to_string(size);
  return text;
}

}  // namespace shardproof::beside
