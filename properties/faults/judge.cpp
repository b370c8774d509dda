#include "properties/faults/judge.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "properties/faults/complete.h"
#include "properties/faults/numbers.h"
#include "spec/check/bounds.h"
#include "spec/check/conditions.h"
#include "spec/check/pipelines.h"
#include "spec/ir/walk.h"

namespace shardproof::faults {

const char* to_string(Outcome outcome) {
  static const char* const names[] = {"at the edit",    "downstream", "at the signature",
                                      "by the algebra", "equal",      "equal at small sizes",
                                      "unknown"};
  static_assert(std::size(names) == outcomes);
  return names[static_cast<size_t>(outcome)];
}

namespace {

/// The number of an instruction in the function, loops before their bodies.
std::optional<size_t> number_of(const ir::Function& function, const ir::Instr* wanted) {
  std::optional<size_t> found;
  size_t number = 0;
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    if (&instr == wanted) found = number;
    ++number;
  });
  return found;
}

}  // namespace

std::unique_ptr<Field> Field::open(const std::string& path, bool derived, Checker checker,
                                   const FileReader& reader) {
  auto file = properties::with_backwards(path, reader, derived);
  if (!file || (file->written.empty() && file->derived.empty())) return nullptr;
  return std::unique_ptr<Field>(new Field(std::move(file), std::move(checker)));
}

Field::Field(std::unique_ptr<properties::WithBackwards> file, Checker checker)
    : checker_(std::move(checker)),
      file_(std::move(file)),
      mutant_(file_->program),
      steps_(find_steps(file_->program)) {}

std::vector<Planned> Field::plans() const {
  std::vector<Planned> plans;
  for (size_t f : file_->written) {
    const ir::Function& function = program().functions[f];
    const bool step = function.uses_gradients;
    plans.push_back({f, step ? "step" : function.implements_grad ? "backward" : "forward"});
  }
  for (size_t f : file_->derived) plans.push_back({f, "derived"});
  return plans;
}

std::string Field::place(SourceRange range) const {
  if (range.file < 0) return "?";
  const std::string name = std::filesystem::path(file_->sources->file(range.file).path).filename();
  return name + ":" + std::to_string(file_->sources->locate(range.file, range.begin).line);
}

Judgement Field::judge(const Ground& ground, const Fault& fault) {
  mutant_.functions.own()[ground.plan] = planted(ground.function, fault);
  complete(mutant_, mutant_.functions.own()[ground.plan], ground.is_step);
  const Judgement judgement = judge(ground.plan, &fault);
  mutant_.functions.own()[ground.plan] = ground.function;
  return judgement;
}

Judgement Field::judge(const Ground& ground) {
  const Judgement judgement = judge(ground.plan, nullptr);
  mutant_.functions.own()[ground.plan] = ground.function;
  return judgement;
}

Judgement Field::judge(size_t plan, const Fault* fault) {
  const ir::Function& function = mutant_.functions.at(plan);
  Judgement judgement;
  try {
    const Typing typing = checker_.type(mutant_, plan, steps_.at(plan));
    if (!typing.refused.empty()) return refused(function, typing.refused.front(), fault);
    if (const auto beyond = entries_beyond(mutant_, function); !beyond.empty())
      return {Outcome::at_edit, beyond.front().code, beyond.front().message};
    for (const Divisibility& condition : conditions_of(mutant_, typing.types))
      if (!may_hold(mutant_, condition))
        return {Outcome::at_edit, "E0501", to_string(condition) + " does not hold"};
    compare(plan, typing.types, judgement);
  } catch (const std::domain_error& error) {
    judgement = {Outcome::at_edit, "E0106", error.what()};
  }
  return judgement;
}

Judgement Field::refused(const ir::Function& function, const RefusedOp& refused,
                         const Fault* fault) const {
  Judgement judgement{Outcome::at_signature, refused.diagnostic.code, refused.diagnostic.message};
  if (!refused.instr) return judgement;
  const auto number = number_of(function, refused.instr);
  const bool there = fault && !fault->end && number && *number >= fault->at &&
                     *number < fault->at + fault->instead.size();
  judgement.outcome = there ? Outcome::at_edit : Outcome::downstream;
  return judgement;
}

void Field::compare(size_t plan, std::vector<Type> types, Judgement& judgement) {
  if (has_pipeline(mutant_.functions.at(plan)))
    expand_pipelines(mutant_, mutant_.functions.own().at(plan), types);
  const ComparedPlan compared = checker_.compare(mutant_, plan, file_->proved);
  if (!compared.diagnostics.empty()) {
    judgement.code = compared.diagnostics.front().code;
    judgement.why = compared.diagnostics.front().message;
  }
  if (compared.verdict == Verdict::refuted || compared.verdict == Verdict::invalid) {
    judgement.outcome = Outcome::by_algebra;
    return;
  }
  denote::Types all = file_->types;
  all.at(plan) = std::move(types);
  const Agreement run = run_on_meshes(mutant_, all, plan, file_->backwards);
  judgement.meshes = run.meshes;
  if (compared.verdict == Verdict::proved) {
    judgement.outcome = Outcome::equal;
    judgement.survived = !run.difference.empty();
    if (judgement.survived) judgement.why = run.difference;
  } else if (!run.difference.empty()) {
    judgement.outcome = Outcome::by_algebra;
    judgement.why = run.difference;
  } else {
    judgement.outcome = run.meshes ? Outcome::small_sizes : Outcome::unknown;
  }
}

}  // namespace shardproof::faults
