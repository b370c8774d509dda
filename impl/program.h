#pragma once
// A program as a training job loads it: read and checked, with the backwards that its plans use.
#include <memory>

#include "spec/check/check.h"
#include "spec/check/derived.h"

namespace shardproof {

/// A checked file. Plans refer to it. Thread-safe.
class Program {
 public:
  /// Reads and checks the file at `path` and its imports. Never throws on bad input: see verdict()
  /// and report().
  static Program load(const std::string& path, const FileReader& reader = disk_reader(),
                      const CheckOptions& options = {});
  /// The same for a text; `path` locates its imports.
  static Program from_text(const std::string& text, const std::string& path = "program.shard");
  /// For a program that is already checked: the file at `path`, read by `reader`, with `options`.
  static Program of(CheckedProgram checked, std::shared_ptr<Sources> sources,
                    const std::string& path, const FileReader& reader = disk_reader(),
                    const CheckOptions& options = {});
  ~Program();
  Program(Program&&) noexcept;

  Verdict verdict() const { return checked().verdict(); }
  const CheckedProgram& checked() const;
  const Sources& sources() const;
  /// All diagnostics, as check-sharding prints them.
  std::string report() const;
  /// The report of a plan; a plan of the file itself comes before one of an import. Throws
  /// PlanError with the existing names if there is none.
  const PlanReport& plan(const Name& name) const;

  /// The derived backward of a plan with respect to leaf parameters: from check(), or derived on
  /// the first call. Throws PlanError if there is none.
  const CheckedBackward& backward(size_t plan, const std::vector<size_t>& wrt) const;

 private:
  struct State;
  explicit Program(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// "p is refuted; only proved plans run".
std::string not_run(const PlanReport& report);

}  // namespace shardproof
