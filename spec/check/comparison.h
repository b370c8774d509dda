#pragma once
// The plan's erasure against its model: normal forms for all sizes, random points to refute.
#include <string>
#include <vector>

#include "spec/check/check.h"

namespace shardproof {

struct ComparedPlan {
  Verdict verdict = Verdict::unknown;
  std::string proof;  ///< "algebra, limit 1"
  std::vector<std::string> assumptions;
  std::vector<ir::Arith> of_sizes;  ///< those on sizes alone
  std::vector<Diagnostic> diagnostics;
};

/// Whether random points are tried if equality is not shown.
enum class Search { counterexample, none };

/// `proved[f]`: plan f is proved, and stands for its model where it is called. `where_assumed`:
/// those too that are their models only where what they assume holds (null: no others).
ComparedPlan compare_with_model(const ir::Program& program, size_t plan,
                                const std::vector<bool>& proved, bool inline_plans,
                                const std::vector<bool>* where_assumed = nullptr,
                                Search search = Search::counterexample);

/// What the erasure of a plan without a model assumes: ranges of ids, `require`s.
std::vector<std::string> assumptions_of(const ir::Program& program, size_t plan);

/// The first thing that depends on the mesh in the function or its callees: "the size of Q in
/// `h`", where Q's size names an axis, or "|t| in `h`" of a fn.
std::optional<std::string> size_of_mesh(const ir::Program& program, size_t function);

}  // namespace shardproof
