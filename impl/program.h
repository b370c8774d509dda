#pragma once
// A program as a training job loads it: read, checked, and with the backwards that its plans take.
#include <memory>

#include "spec/check/check.h"
#include "spec/check/derived.h"

namespace shardproof {

/// A checked file. Plans refer to it; it may be shared between threads.
class Program {
 public:
  /// Reads and checks the file at `path` and what it imports. Never throws on bad input: see
  /// verdict() and report().
  static Program load(const std::string& path, const FileReader& reader = disk_reader(),
                      const CheckOptions& options = {});
  /// The same for a text; its imports are looked for beside `path`.
  static Program from_text(const std::string& text, const std::string& path = "program.shard");
  /// What was checked already: the file at `path`, read by `reader`, with `options`.
  static Program of(CheckedProgram checked, std::shared_ptr<Sources> sources,
                    const std::string& path, const FileReader& reader = disk_reader(),
                    const CheckOptions& options = {});
  ~Program();
  Program(Program&&) noexcept;

  Verdict verdict() const { return checked().verdict(); }
  const CheckedProgram& checked() const;
  const Sources& sources() const;
  /// Every diagnostic, as check-sharding prints it.
  std::string report() const;
  /// The report of a plan, of the file itself before those of its imports; throws PlanError, naming
  /// those there are, where it has none.
  const PlanReport& plan(const Name& name) const;

  /// The derived backward of a plan with respect to some of its leaf parameters: that of check(),
  /// or made on the first call. Throws PlanError where there is none.
  const CheckedBackward& backward(size_t plan, const std::vector<size_t>& wrt) const;

 private:
  struct State;
  explicit Program(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shardproof
