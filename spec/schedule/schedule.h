#pragma once
// Pipeline schedules: the work of each stage in order, whether blocking messages can deadlock, the
// memory for activations and the idle time. A schedule changes no value.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/syntax/ast.h"

namespace shardproof::schedule {

/// |p| stages, A microbatches, C chunks per stage, and the arguments in the order of the schedule's
/// parameters.
struct Sizes {
  int64_t p = 1, A = 1, C = 1;
  std::vector<int64_t> arguments;
};

/// F, B or W of one microbatch on one chunk.
struct Work {
  char kind = 'F';
  int64_t m = 0, c = 0;
  SourceRange range;  ///< the step that it comes from
};
using Timeline = std::vector<Work>;

/// `F(3)`, or `F(3, 1)` with chunks.
std::string to_string(const Work& work, int64_t chunks);

/// An error in a schedule: E0502, E0503, E0504 or E0007, at a step, for the smallest sizes that
/// show it.
struct Problem {
  std::string code, message;
  SourceRange range;
  std::vector<std::string> details = {};
};

/// The diagnostic for a pipeline that uses `schedule`; the caller sets its location.
Diagnostic diagnostic_of(const Problem& problem, const Name& schedule);

/// Steps left for running schedules: one for each part of an expression, eight for each F, B and W.
/// The schedules of a file share one budget.
struct Budget {
  int64_t steps = 1'000'000'000;  ///< 3 to 5 s
};

/// A schedule compiled once, for many sizes. The declaration must outlive it, and `budget` too;
/// null: it has a budget of its own. Throws Problem E0007 if the budget is used up.
class Program {
 public:
  explicit Program(const syntax::ScheduleDecl& declaration, Budget* budget = nullptr);
  ~Program();
  Program(Program&&) noexcept;

  /// Whether the schedule's `require`s hold at these sizes. Throws Problem.
  bool allows(const Sizes& sizes) const;
  /// The work of each stage. Throws Problem for unknown numbers and too many steps.
  std::vector<Timeline> timelines(const Sizes& sizes) const;
  SourceRange range() const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

/// Durations of one F, B and W; without W, B includes its work.
struct Durations {
  int64_t f = 1, b = 1, w = 1;
};

struct Timed {
  Work work;
  int64_t begin = 0, end = 0;
};

/// A simulated run of the stages, each as early as its messages allow.
struct Run {
  std::vector<std::vector<Timed>> stages;
  std::vector<int64_t> peak;  ///< maximum number of chunks whose activations a stage holds
  int64_t end = 0;
  bool has_w = false;
  double idle() const;  ///< idle share of the total time of all stages
};

/// Draws each stage's timeline: F, B and W as blocks, idle time in grey. Times of a measured run
/// are in microseconds.
std::string svg(const Run& run, int64_t chunks, bool measured = false);

/// Requires on each stage every F and B once, every W once or none, B after F, W after B.
std::optional<Problem> well_formed(const std::vector<Timeline>& stages, const Sizes& sizes,
                                   SourceRange schedule);

/// Runs the stages with one queue per sender, receiver and direction. Message j is sent after
/// message j - depth was read. Needs well-formed timelines. Problem E0504: a deadlock.
struct Outcome {
  Run run;
  std::optional<Problem> problem;
};
Outcome simulate(const std::vector<Timeline>& stages, const Sizes& sizes,
                 const Durations& durations, int64_t depth, SourceRange schedule);

/// The problem of that run only: whether stages deadlock does not depend on durations.
std::optional<Problem> deadlock(const std::vector<Timeline>& stages, const Sizes& sizes,
                                int64_t depth, SourceRange schedule);

/// All checks at one size; nullopt if the schedule does not allow the size.
std::optional<Problem> check(const Program& program, const Sizes& sizes);

/// Checks every p <= 16, A <= 64 and, with `chunks`, C <= 4, with C as the only argument.
std::optional<Problem> check_all(const syntax::ScheduleDecl& declaration, Budget* budget = nullptr);
/// Whether check_all checks the schedule at these sizes.
bool is_of_all(const syntax::ScheduleDecl& declaration, const Sizes& sizes);

}  // namespace shardproof::schedule
