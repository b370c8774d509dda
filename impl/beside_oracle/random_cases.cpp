#include "impl/beside_oracle/random_cases.h"

#include "impl/beside_oracle/first_op.h"

namespace shardproof::beside {
namespace {

using Tensors = std::vector<oracle::Tensor>;

constexpr int most_runs_of_shrinking = 300;
constexpr unsigned few = 3, many = 40;  ///< disturbed evaluations

struct Difference {
  std::string how, what;
  bool in_double = true;
};

/// One way to run a plan, and what its results may be off by.
struct Way {
  const char* how;
  PlanOptions options;
  std::function<Bounds(unsigned times)> bounds;
};

std::vector<Way> ways_of(const PlanCase& one, const Tensors& wanted, bool ties,
                         const CaseOptions& options) {
  const auto in_double = [&](unsigned times) {
    return rounding_bounds(one, wanted, shardproof::claimed, times).f64;
  };
  const auto as_written = [&](unsigned times) { return written_bounds(one, wanted, times); };
  std::vector<Way> ways;
  if (!options.kernel)
    ways = {{"in f64", {.precision = Precision::f64, .device = options.device}, in_double},
            {"in f64, collectives beside the work",
             {.precision = Precision::f64, .overlap = true, .unroll = 2, .device = options.device},
             in_double}};
  if (!ties)  // of small whole numbers many large terms cancel
    ways.push_back({"as written", {.device = options.device}, as_written});
  return ways;
}

std::optional<Difference> difference_at(const PlanCase& one, const Tensors& wanted, bool ties,
                                        const CaseOptions& options) {
  for (const Way& way : ways_of(one, wanted, ties, options)) {
    std::string found;
    try {
      const auto got =
          options.kernel ? run_on_ranks(one, options.kernel) : run_on_ranks(one, way.options);
      // Most are equal bit for bit, and then nobody asks for bounds.
      for (const unsigned times : {0u, few, many}) {
        found = difference(got, wanted, times ? way.bounds(times) : Bounds(wanted.size()));
        if (found.empty()) break;
      }
    } catch (const KernelFault& fault) {
      found = fault.what();
    }
    if (!found.empty()) return Difference{way.how, found, way.options.precision == Precision::f64};
  }
  return std::nullopt;
}

/// A difference with what it was seen at.
struct Seen {
  PlanCase one;
  Difference difference;
};

/// Nothing as well where the plan claims nothing at this point, or cannot be run there.
std::optional<Seen> seen_at(PlanCase one, const denote::Sizes& sizes, unsigned seed, bool ties,
                            const CaseOptions& options) {
  one.sizes = sizes;
  try {
    const auto wanted = draw_inputs(one, seed, ties);
    if (!wanted) return std::nullopt;
    if (auto found = difference_at(one, *wanted, ties, options))
      return Seen{std::move(one), std::move(*found)};
  } catch (const std::exception&) {  // sizes that one of its ops cannot have
  }
  return std::nullopt;
}

/// Takes smaller sizes as long as some show a difference too.
Seen shrunk(Seen seen, const std::vector<Divisibility>& conditions, unsigned seed,
            const CaseOptions& options) {
  int runs = 0;
  for (bool smaller = true; smaller && runs < most_runs_of_shrinking;) {
    smaller = false;
    for (const denote::Sizes& sizes :
         smaller_sizes(*seen.one.unit.program, conditions, seen.one.sizes, options.given)) {
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

Failure failure_of(const Seen& seen, const CaseOptions& options) {
  Failure failure{seen.one.sizes, seen.difference.how, seen.difference.what, {}, false};
  if (!seen.difference.in_double) return failure;
  try {
    failure.first_op = first_op_that_differs(seen.one, options.device);
    failure.looked_at_ops = true;
  } catch (const std::exception&) {  // some value of it cannot be a result
  }
  return failure;
}

}  // namespace

Outcome run_random_cases(PlanCase one, const std::vector<Divisibility>& conditions,
                         const CaseOptions& options) {
  Outcome outcome;
  const MeshWish wish{.given = options.given};
  const unsigned first = options.seed * 1000;
  const auto most = static_cast<unsigned>(4 * options.cases + 20);
  for (unsigned seed = first; outcome.cases < options.cases && seed < first + most; ++seed) {
    const bool ties = seed % 2 == 1 && !options.numbers_assumed && !options.kernel;
    const auto wanted = draw(one, conditions, seed, ties, wish);
    if (!wanted) continue;
    if (!ties && !would_see_a_factor(*wanted, rounding_bounds(one, *wanted).f32)) continue;
    if (auto found = difference_at(one, *wanted, ties, options)) {
      outcome.failure =
          failure_of(shrunk({one, std::move(*found)}, conditions, seed, options), options);
      return outcome;
    }
    ++outcome.cases;
  }
  if (outcome.cases == 0) throw PlanError("its model has no value at small sizes");
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
