#pragma once
// The verdict about a fault: the checker's own parts give it, and numbers on a mesh test it.
#include <functional>
#include <memory>

#include "properties/faults/ground.h"
#include "properties/generators/with_backwards.h"
#include "spec/check/comparison.h"

namespace shardproof::faults {

enum class Outcome {
  at_edit,       ///< refused by a rule where the edit is
  downstream,    ///< refused by a rule where its result is used
  at_signature,  ///< refused as a result, a carry or an argument
  by_algebra,    ///< refuted with numbers, or its assumptions never hold
  equal,         ///< shown equal for all sizes
  small_sizes,   ///< not shown equal, and equal wherever it was run
  unknown        ///< not shown equal, and not run
};
constexpr size_t outcomes = static_cast<size_t>(Outcome::unknown) + 1;
const char* to_string(Outcome outcome);

/// The rules and the comparison, so that a test can plant a fault in the checker itself.
struct Checker {
  std::function<Typing(const ir::Program&, size_t plan, bool is_step)> type = type_plan;
  std::function<ComparedPlan(const ir::Program&, size_t plan, const std::vector<bool>& proved)>
      compare = [](const ir::Program& program, size_t plan, const std::vector<bool>& proved) {
        return compare_with_model(program, plan, proved, false);
      };
};

struct Judgement {
  Outcome outcome = Outcome::unknown;
  std::string code;       ///< of the refusal
  std::string why;        ///< its words; of a survivor the numbers
  bool survived = false;  ///< shown equal, and different on a mesh: the checker is wrong
  int meshes = 0;         ///< of an equal one: the sizes at which it was run on a mesh and agreed
};

/// A plan to be given faults, and what it is: "forward", "backward", "derived" backward, "step".
struct Planned {
  size_t plan;
  std::string kind;
};

/// A checked file with its proved plans.
class Field {
 public:
  /// Null where the file cannot be read or has no proved plan with a model. `derived`: also the
  /// derived backwards of its plans.
  static std::unique_ptr<Field> open(const std::string& path, bool derived = false,
                                     Checker checker = {},
                                     const FileReader& reader = disk_reader());

  std::vector<Planned> plans() const;
  const ir::Program& program() const { return file_->program; }
  Ground ground(size_t plan) const { return {file_->program, plan, steps_.at(plan)}; }

  Judgement judge(const Ground& ground, const Fault& fault);
  /// The plan as it is: it must be equal, and agree on meshes.
  Judgement judge(const Ground& ground);
  /// `file.shard:12`
  std::string place(SourceRange range) const;

 private:
  Field(std::unique_ptr<properties::WithBackwards> file, Checker checker);
  Judgement judge(size_t plan, const Fault* fault);
  Judgement refused(const ir::Function& function, const RefusedOp& refused,
                    const Fault* fault) const;
  void compare(size_t plan, std::vector<Type> types, Judgement& judgement);

  Checker checker_;
  std::unique_ptr<properties::WithBackwards> file_;
  ir::Program mutant_;  ///< the file's, but for the plan that is judged
  std::vector<bool> steps_;
};

}  // namespace shardproof::faults
