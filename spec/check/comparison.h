#pragma once
// Compares a plan's erasure with its model: normal forms for all sizes, then random points to
// refute.
#include <map>
#include <string>
#include <vector>

#include "spec/check/check.h"
#include "spec/lower/lower.h"

namespace shardproof {

struct ComparedPlan {
  Verdict verdict = Verdict::unknown;
  std::string proof;             ///< "algebra, limit 1"
  bool needs_its_sizes = false;  ///< not shown with sizes of the file made symbolic
  std::vector<std::string> assumptions;
  std::map<std::string, lower::Shortened> shortened;  ///< by text of `assumptions`
  std::vector<ir::Arith> of_sizes;                    ///< those on sizes only
  std::vector<ir::OfIndices> of_indices;              ///< those on indices and sizes
  std::vector<std::shared_ptr<const lower::Assumed>> of_values;
  std::vector<Diagnostic> diagnostics;
};

/// Writes shortened assumptions as "`n` in line 8 != 0", with the file if it is not this one.
void name_operands(const Sources& sources, int32_t file, ComparedPlan& compared);

/// Whether to try random points if equality is not proved. unconfirmed: see Confirm::no.
enum class Search { counterexample, unconfirmed, none };

/// `proved[f]`: plan f is proved, so its calls are lowered as its model. `where_assumed`: also
/// plans that equal their model only under their assumptions (null: none). `sizes_first`: a callee
/// needs the sizes of the file, so try these before symbolic ones.
ComparedPlan compare_with_model(const ir::Program& program, size_t plan,
                                const std::vector<bool>& proved, bool inline_plans,
                                const std::vector<bool>* where_assumed = nullptr,
                                Search search = Search::counterexample, bool sizes_first = false);

/// The assumptions of a plan without a model: ranges of ids, `require`s.
std::vector<std::string> assumptions_of(const ir::Program& program, size_t plan);

/// The first dependence on the mesh in the function or its callees: "the size of Q in `h`" if Q's
/// size contains an axis, or "|t| in `h`" for a function.
std::optional<std::string> size_of_mesh(const ir::Program& program, size_t function);

}  // namespace shardproof
