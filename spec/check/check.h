#pragma once
// check(Program): the rules on every axis, then the erasure of each plan against its model. No Z3.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "spec/resolve/resolve.h"

namespace shardproof {

/// `axes[0]*axes[1]*... | |dim|`: a local shape needs it. For a group the dim is its first factor.
struct Divisibility {
  std::vector<Axis> axes;  ///< sorted
  Dim dim;
  bool operator==(const Divisibility&) const = default;
};
std::string to_string(const Divisibility& condition);  ///< "t*d | M"

/// The one order: invalid, refuted, unknown, proved. The worse of two.
Verdict worse(Verdict a, Verdict b);

/// `|p| <= 16, |A| <= 64`: a schedule of the user's was run up to these sizes, and is not known to
/// come to an end beyond them.
struct ScheduleBound {
  Name schedule;
  std::map<Name, int64_t> up_to;  ///< the largest of each size
  bool own_chunks = true;         ///< what the schedule takes for the number of chunks is that
  bool operator==(const ScheduleBound&) const = default;
};
std::string to_string(const ScheduleBound& bound);  ///< "|A| <= 64 and |p| <= 16 (schedule pairs)"

/// What is said of one plan.
struct PlanReport {
  size_t function = 0;
  Name name;
  std::string
      claim;  ///< "implements ffn", "implements grad(ffn)", "same on every mesh, no model stated"
  Verdict verdict = Verdict::unknown;
  bool imported = false;
  bool read_whole = true;  ///< false: it, or what it needs, has an error that hides a part of it
  std::vector<Divisibility> conditions;  ///< reduced by implication
  std::vector<ScheduleBound> schedules;  ///< of its pipelines and of the plans that it calls
  std::vector<std::string>
      assumptions;                  ///< requires, ranges of ids, positivity used by the algebra
  std::vector<ir::Arith> of_sizes;  ///< assumptions on sizes alone, for sizes that are given
  std::vector<Name> trusting;       ///< trusted plans it depends on
  std::vector<Diagnostic> diagnostics;
  std::string proof;  ///< how the comparison closed: "algebra, limit 1"
};

struct CheckOptions {
  std::map<Name, double> set;  ///< --set: consts given another value (a new claim)
  bool inline_plans =
      false;            ///< compare with every sub-plan's own body instead of its proved model
  bool fixes = true;    ///< look for fixes that check (re-checks the file with each edit)
  bool compare = true;  ///< false: the rules only
  Name only = {};       ///< decide and report this plan of the file alone; empty: every plan
};

struct CheckedBackward;
/// Derived backwards by the plan and the leaf parameters that it is differentiated by.
using CheckedBackwards =
    std::map<std::pair<size_t, std::vector<size_t>>, std::shared_ptr<const CheckedBackward>>;

struct ProofStatistics;
struct ProveOptions;

/// What was checked. Types are final for every value of every plan. Verdicts are what the checker
/// and the prover say: nothing else can change them.
class CheckedProgram {
 public:
  const ir::Program& program() const { return resolved_.program; }
  const std::vector<Type>& types(size_t function) const { return types_.at(function); }
  const std::vector<std::vector<Type>>& types() const { return types_; }
  const std::vector<PlanReport>& plans() const { return plans_; }
  const std::vector<Diagnostic>& diagnostics() const {
    return diagnostics_;
  }  ///< of the file, not of one plan
  bool readable() const { return resolved_.readable; }
  /// Those that the plans take, as far as plans were compared.
  const CheckedBackwards& backwards() const { return backwards_; }
  /// Plans with pipelines, as they are written: in program() scans stand in their place.
  const std::map<size_t, ir::Function>& written() const { return written_; }
  /// The schedules that the file's pipelines may name.
  const std::map<Name, syntax::ScheduleDecl>& schedules() const { return resolved_.schedules; }
  /// invalid beats refuted beats unknown beats proved; a file without plans is proved ("nothing to
  /// prove").
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

/// Checks every plan of the file at `path` and of the files it imports. Never throws on bad input.
CheckedProgram check(Sources& sources, const std::string& path, const FileReader& reader,
                     const CheckOptions& options = {});

}  // namespace shardproof
