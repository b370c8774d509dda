#pragma once
// check(): applies the typing rules on every axis, then compares the erasure of each plan with its
// model. Does not use Z3.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "spec/resolve/resolve.h"

namespace shardproof {

namespace lower {
struct Assumed;
}

/// `axes[0]*axes[1]*... | |dim|`: a local shape needs it. For a group, dim is its first factor.
struct Divisibility {
  std::vector<Axis> axes;  ///< sorted
  Dim dim;
  bool operator==(const Divisibility&) const = default;
};
std::string to_string(const Divisibility& condition);  ///< "t*d | M"

/// The worse of two verdicts. Order: invalid, refuted, unknown, proved.
Verdict worse(Verdict a, Verdict b);

/// `|p| <= 16, |A| <= 64`: a user-defined schedule was run up to these sizes. Beyond them it is not
/// known to terminate.
struct ScheduleBound {
  Name schedule;
  std::map<Name, int64_t> up_to;  ///< the largest value of each size
  bool own_chunks = true;         ///< the argument is the number of chunks
  bool operator==(const ScheduleBound&) const = default;
};
std::string to_string(const ScheduleBound& bound);  ///< "|A| <= 64 and |p| <= 16 (schedule pairs)"

/// The result for one plan.
struct PlanReport {
  size_t function = 0;
  Name name;
  std::string
      claim;  ///< "implements ffn", "implements grad(ffn)", "same on every mesh, no model stated"
  Verdict verdict = Verdict::unknown;
  bool imported = false;
  bool read_whole = true;  ///< false: an error, here or in a function it needs, hides a part of it
  std::vector<Divisibility> conditions;   ///< reduced by implication
  std::vector<ScheduleBound> schedules;   ///< of its pipelines, and of the plans it calls
  std::vector<std::string> assumptions;   ///< requires, ranges of ids, signs that the algebra used
  std::vector<ir::Arith> of_sizes;        ///< assumptions on sizes only, to evaluate at given sizes
  std::vector<ir::OfIndices> of_indices;  ///< on indices and sizes
  std::vector<std::shared_ptr<const lower::Assumed>> of_values;  ///< e.g. what its roots need
  std::vector<Name> trusting;  ///< trusted plans on which it depends
  std::vector<Diagnostic> diagnostics;
  std::string proof;  ///< how the comparison closed: "algebra, limit 1"
};

struct CheckOptions {
  std::map<Name, double> set;  ///< --set: new values of consts (a new claim)
  bool inline_plans = false;   ///< compare with the body of every callee, not with its proved model
  bool fixes = true;           ///< search for fixes (checks the file again with each edit)
  bool compare = true;         ///< false: apply the typing rules only
  bool confirm = true;         ///< false: believe a difference in double, for trials of edits
  double patience = 1;         ///< multiplies the time limits, for slow builds
  Name only = {};              ///< check and report only this plan of the file; empty: all plans
};

struct CheckedBackward;
/// Derived backwards. Key: the plan, and the leaf parameters to differentiate by.
using CheckedBackwards =
    std::map<std::pair<size_t, std::vector<size_t>>, std::shared_ptr<const CheckedBackward>>;

struct ProofStatistics;
struct ProveOptions;

/// The result of a check. The types of all values are final. Only the checker and the prover set
/// verdicts.
class CheckedProgram {
 public:
  const ir::Program& program() const { return resolved_.program; }
  const std::vector<Type>& types(size_t function) const { return types_.at(function); }
  const std::vector<std::vector<Type>>& types() const { return types_; }
  const std::vector<PlanReport>& plans() const { return plans_; }
  const std::vector<Diagnostic>& diagnostics() const {
    return diagnostics_;
  }  ///< of the file, not of a plan
  bool readable() const { return resolved_.readable; }
  /// The backwards that plans use, as far as these were compared.
  const CheckedBackwards& backwards() const { return backwards_; }
  /// Plans with pipelines, as written; program() has scans in their place.
  const std::map<size_t, ir::Function>& written() const { return written_; }
  /// The schedules that the file's pipelines can name.
  const syntax::Schedules& schedules() const { return resolved_.schedules; }
  /// The worst verdict of all plans: invalid, refuted, unknown, proved. A file without plans is
  /// proved ("nothing to prove").
  Verdict verdict() const;

 private:
  friend CheckedProgram check(Sources&, const std::string&, const FileReader&, const CheckOptions&);
  friend ProofStatistics prove(CheckedProgram&, const ProveOptions&);  ///< spec/prove
  CheckedProgram() = default;
  Resolved resolved_;
  std::vector<std::vector<Type>> types_;  ///< by function, by value
  std::vector<PlanReport> plans_;
  std::vector<Diagnostic> diagnostics_;
  CheckedBackwards backwards_;
  std::map<size_t, ir::Function> written_;
};

/// Checks every plan of the file at `path` and of its imports. Never throws on bad input.
CheckedProgram check(Sources& sources, const std::string& path, const FileReader& reader,
                     const CheckOptions& options = {});

}  // namespace shardproof
