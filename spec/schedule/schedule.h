#pragma once
// Schedules of pipelines: what each stage does in order, whether every order of blocking messages
// comes to an end, and what it keeps and waits for. A schedule changes no value.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/syntax/ast.h"

namespace shardproof::schedule {

/// |p| stages, A microbatches, C chunks on each stage, and the arguments in the order of the
/// schedule's parameters.
struct Sizes {
  int64_t p = 1, A = 1, C = 1;
  std::vector<int64_t> arguments;
};

/// F, B or W of one microbatch on one chunk.
struct Work {
  char kind = 'F';
  int64_t m = 0, c = 0;
  SourceRange range;  ///< the step that it is of
};
using Timeline = std::vector<Work>;

/// `F(3)`, or `F(3, 1)` with chunks.
std::string to_string(const Work& work, int64_t chunks);

/// What is wrong with a schedule: E0502, E0503 or E0504, at the step, for the smallest sizes seen.
struct Problem {
  std::string code, message;
  SourceRange range;
  std::vector<std::string> details = {};
};

/// What a pipeline by `schedule` is told; its place is the caller's to say.
Diagnostic diagnostic_of(const Problem& problem, const Name& schedule);

/// A schedule with its names looked up once, for many sizes. The declaration must outlive it.
class Program {
 public:
  explicit Program(const syntax::ScheduleDecl& declaration);
  ~Program();
  Program(Program&&) noexcept;

  /// Whether every `require` of the schedule holds at these sizes. Throws Problem.
  bool allows(const Sizes& sizes) const;
  /// What each stage does. Throws Problem where a number cannot be had or a loop does not end.
  std::vector<Timeline> timelines(const Sizes& sizes) const;
  SourceRange range() const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

/// Durations of one F, B and W; B does W's work where the schedule has no W.
struct Durations {
  int64_t f = 1, b = 1, w = 1;
};

struct Timed {
  Work work;
  int64_t begin = 0, end = 0;
};

/// One run of the stages, each as early as its messages allow.
struct Run {
  std::vector<std::vector<Timed>> stages;
  std::vector<int64_t> peak;  ///< chunks whose activations a stage keeps at most
  int64_t end = 0;
  bool has_w = false;
  double idle() const;  ///< the share of all stages' time in which they wait
};

/// The timeline of each stage: F, B and W as blocks, idle time grey. Of a measured run its times
/// are in microseconds.
std::string svg(const Run& run, int64_t chunks, bool measured = false);

/// Every F and B once on every stage, every W once or none, and B after F, W after B there.
std::optional<Problem> well_formed(const std::vector<Timeline>& stages, const Sizes& sizes,
                                   SourceRange schedule);

/// Runs the stages with one queue for each sender, receiver and direction. The j-th message is sent
/// when message j - depth has been read. Needs well-formed timelines. Problem E0504: a cycle.
struct Outcome {
  Run run;
  std::optional<Problem> problem;
};
Outcome simulate(const std::vector<Timeline>& stages, const Sizes& sizes,
                 const Durations& durations, int64_t depth, SourceRange schedule);

/// All of it at one size; null where the schedule does not allow the size.
std::optional<Problem> check(const Program& program, const Sizes& sizes);

/// For every p <= 16, A <= 64 and, where `chunks`, C <= 4, with C as the one argument.
std::optional<Problem> check_all(const syntax::ScheduleDecl& declaration);

}  // namespace shardproof::schedule
