// Checks that each stage does its work once and in order, and selects the sizes to check.
#include <algorithm>

#include "spec/schedule/schedule.h"

namespace shardproof::schedule {
namespace {

constexpr int64_t most_stages = 16, most_microbatches = 64, most_chunks = 4;

std::string of(const Sizes& sizes, size_t stage) {
  return "stage " + std::to_string(stage) + " of " + std::to_string(sizes.p) +
         ", A = " + std::to_string(sizes.A) +
         (sizes.C > 1 ? ", C = " + std::to_string(sizes.C) : "") + ": ";
}

/// One stage: the position of each F, B and W of each microbatch and chunk in its timeline.
class StageCheck {
 public:
  StageCheck(const Timeline& line, const Sizes& sizes, size_t stage, SourceRange schedule)
      : line_(line), sizes_(sizes), stage_(stage), schedule_(schedule) {
    at_.assign(3 * static_cast<size_t>(sizes.A * sizes.C), none);
  }

  std::optional<Problem> run() {
    for (size_t i = 0; i < line_.size(); ++i) {
      size_t& at = place(line_[i]);
      if (at != none) return problem("E0502", line_[i], " runs twice", line_[i].range);
      at = i;
    }
    has_w = std::any_of(line_.begin(), line_.end(), [](const Work& w) { return w.kind == 'W'; });
    for (int64_t m = 0; m < sizes_.A; ++m)
      for (int64_t c = 0; c < sizes_.C; ++c)
        if (auto found = one(m, c)) return found;
    return std::nullopt;
  }

  bool has_w = false;

 private:
  static constexpr size_t none = static_cast<size_t>(-1);

  size_t& place(const Work& work) {
    const int64_t kind = work.kind == 'F' ? 0 : work.kind == 'B' ? 1 : 2;
    return at_[static_cast<size_t>((kind * sizes_.A + work.m) * sizes_.C + work.c)];
  }

  std::optional<Problem> one(int64_t m, int64_t c) {
    for (const char kind : {'F', 'B', 'W'})
      if ((kind != 'W' || has_w) && place({kind, m, c, {}}) == none)
        return problem("E0502", {kind, m, c, {}}, " is missing", schedule_);
    const size_t f = place({'F', m, c, {}}), b = place({'B', m, c, {}});
    if (b < f) return before(line_[b], line_[f], "its activations do not exist yet");
    if (!has_w) return std::nullopt;
    const size_t w = place({'W', m, c, {}});
    if (w < b) return before(line_[w], line_[b], "the gradient that it needs does not exist yet");
    return std::nullopt;
  }

  std::optional<Problem> before(const Work& early, const Work& late, const std::string& why) const {
    return problem("E0503", early, " comes before " + to_string(late, sizes_.C) + ": " + why,
                   early.range);
  }

  Problem problem(const std::string& code, const Work& work, const std::string& what,
                  SourceRange range) const {
    return {code, of(sizes_, stage_) + to_string(work, sizes_.C) + what, range};
  }

  const Timeline& line_;
  const Sizes& sizes_;
  size_t stage_;
  SourceRange schedule_;
  std::vector<size_t> at_;
};

}  // namespace

Diagnostic diagnostic_of(const Problem& problem, const Name& schedule) {
  Diagnostic result;
  result.code = problem.code;
  result.message = "schedule `" + schedule + "`: " + problem.message;
  result.details = problem.details;
  if (problem.range.file >= 0) result.notes = {{problem.range, "at this step"}};
  return result;
}

std::optional<Problem> well_formed(const std::vector<Timeline>& stages, const Sizes& sizes,
                                   SourceRange schedule) {
  std::optional<size_t> with, without;
  for (size_t s = 0; s < stages.size(); ++s) {
    StageCheck stage(stages[s], sizes, s, schedule);
    if (auto found = stage.run()) return found;
    (stage.has_w ? with : without) = s;
  }
  if (with && without)
    return Problem{"E0502",
                   "stage " + std::to_string(*with) + " of " + std::to_string(sizes.p) +
                       " has W, and stage " + std::to_string(*without) + " has none",
                   schedule};
  return std::nullopt;
}

std::optional<Problem> check(const Program& program, const Sizes& sizes) {
  try {
    if (!program.allows(sizes)) return std::nullopt;
    const std::vector<Timeline> stages = program.timelines(sizes);
    if (auto found = well_formed(stages, sizes, program.range())) return found;
    return deadlock(stages, sizes, 1, program.range());
  } catch (Problem& problem) {
    if (problem.message.rfind("stage ", 0) != 0 && problem.code != "E0007")
      problem.details.push_back("with p = " + std::to_string(sizes.p) + ", A = " +
                                std::to_string(sizes.A) + ", C = " + std::to_string(sizes.C));
    return problem;
  }
}

bool is_of_all(const syntax::ScheduleDecl& declaration, const Sizes& sizes) {
  const bool chunks = declaration.params == std::vector<Name>{"C"};
  return sizes.p <= most_stages && sizes.A <= most_microbatches && sizes.C <= most_chunks &&
         (chunks ? sizes.arguments == std::vector<int64_t>{sizes.C}
                 : declaration.params.empty() && sizes.C == 1);
}

std::optional<Problem> check_all(const syntax::ScheduleDecl& declaration, Budget* budget) {
  const bool chunks = declaration.params == std::vector<Name>{"C"};
  if (!chunks && !declaration.params.empty()) return std::nullopt;
  try {
    const Program program(declaration, budget);
    for (int64_t p = 1; p <= most_stages; ++p)
      for (int64_t c = 1; c <= (chunks ? most_chunks : 1); ++c)
        for (int64_t a = 1; a <= most_microbatches; ++a)
          if (auto found = check(program, {p, a, c, std::vector<int64_t>(chunks ? 1 : 0, c)}))
            return found;
  } catch (const Problem& problem) {
    return problem;
  }
  return std::nullopt;
}

}  // namespace shardproof::schedule
