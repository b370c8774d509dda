// Planted faults at run time: a single edit of a proved plan that the checker refuses is noticed
// when the mutant is run unchecked: a value that differs from the oracle's, ranks that disagree, or
// tensors that do not fit. What only a gradient would show, and what the rules refuse though the
// numbers agree, is counted by the code of the refusal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <tuple>

#include "properties/faults/complete.h"
#include "properties/faults/dear.h"
#include "properties/faults/families.h"
#include "properties/faults/judge.h"
#include "properties/generators/plan_run.h"
#include "properties/generators/with_backwards.h"
#include "spec/check/conditions.h"

namespace shardproof::faults {
namespace {

using properties::PlanCase;

struct Score {
  /// By file, offset and name: a file may be imported twice; a plan with `{?_t}` has instances.
  std::set<std::tuple<std::string, uint32_t, Name>> plans;
  int made = 0, differs = 0, unfit = 0, equal = 0;
  int later = 0;                             ///< seen on some of many meshes only
  std::map<std::string, int> refused_equal;  ///< by code: the numbers agree
  std::vector<std::string> missed;           ///< refuted by the algebra, and nothing to be seen
};

constexpr int few = 4, many = 40;

enum class Seen { differs, unfit, nothing };

class Mutants {
 public:
  explicit Mutants(const properties::WithBackwards& file)
      : file_(file), mutant_(file.program), types_(file.types), steps_(find_steps(file.program)) {}

  Ground ground(size_t plan) const { return {file_.program, plan, steps_.at(plan)}; }

  /// On `meshes` that are drawn.
  Seen run(const Ground& ground, const Fault& fault, int meshes, std::string& code) {
    mutant_.functions.own()[ground.plan] = planted(ground.function, fault);
    complete(mutant_, mutant_.functions.own()[ground.plan], ground.is_step);
    Seen seen = Seen::nothing;
    try {
      const Typing typing = type_plan(mutant_, ground.plan, ground.is_step);
      types_[ground.plan] = typing.types;
      code = typing.refused.empty() ? "" : typing.refused[0].diagnostic.code;
      seen = run(ground.plan, meshes);
    } catch (const std::exception&) {
      seen = Seen::unfit;
    }
    mutant_.functions.own()[ground.plan] = ground.function;
    types_[ground.plan] = file_.types[ground.plan];
    return seen;
  }

 private:
  Seen run(size_t plan, int meshes) {
    PlanCase one{{&mutant_, &types_, nullptr, plan},
                 [&](const compile::Unit& of, const auto& wrt) {
                   const auto found = file_.backwards.find({of.function, wrt});
                   if (found == file_.backwards.end()) throw PlanError("no backward");
                   return compile::Unit{&mutant_, &types_, nullptr, found->second};
                 },
                 {},
                 {},
                 {}};
    const auto conditions = conditions_of(mutant_, types_[plan]);
    return properties::differs_somewhere(one, conditions, meshes) ? Seen::differs : Seen::nothing;
  }

  const properties::WithBackwards& file_;
  ir::Program mutant_;
  denote::Types types_;
  std::vector<bool> steps_;
};

void run_mutants(const std::string& path, size_t each, Score& score) {
  const auto file = properties::with_backwards(path, disk_reader(), false);
  if (!file) return;
  std::unique_ptr<Field> field;  // for the few that nothing else decides
  Mutants mutants(*file);
  std::mt19937 rng(1);
  for (size_t plan : file->written) {
    const Ground ground = mutants.ground(plan);
    const SourceRange& range = ground.function.range;
    if (!score.plans
             .insert({file->sources->file(range.file).path, range.begin, ground.function.name})
             .second)
      continue;
    Faults faults = faults_of(ground);
    std::shuffle(faults.begin(), faults.end(), rng);
    std::array<size_t, families> taken{};
    for (const Fault& fault : faults) {
      if (taken[static_cast<size_t>(fault.family)]++ >= each) continue;
      std::string code;
      const Seen seen = mutants.run(ground, fault, few, code);
      ++score.made;
      score.differs += seen == Seen::differs;
      score.unfit += seen == Seen::unfit;
      if (seen != Seen::nothing) continue;
      if (!code.empty()) {
        ++score.refused_equal[code];
        continue;
      }
      if (!field) field = Field::open(path);
      const Judgement judgement = field->judge(field->ground(plan), fault);
      if (judgement.outcome != Outcome::by_algebra)
        ++score.equal;
      else if (mutants.run(ground, fault, many, code) != Seen::nothing)
        ++score.later;
      else
        score.missed.push_back(field->place(fault.range) + " " + ground.function.name + ": " +
                               fault.text + " (" + judgement.code + " " + judgement.why + ")");
    }
  }
}

TEST(RunUnchecked, FaultsAreNoticed) {
  const bool full = std::getenv("SHARDPROOF_FULL") != nullptr;
  Score score;
  for (const char* folder : {"/spec/models", "/spec/tests/bugs", "/spec/tests/seeds"})
    for (const auto& entry :
         std::filesystem::directory_iterator(SHARDPROOF_SOURCE_DIR + std::string(folder)))
      if (entry.path().extension() == ".shard" && (full || !dear(entry.path().string())))
        run_mutants(entry.path().string(), full ? 1000 : 2, score);
  std::cout << "    " << score.made << " mutants: " << score.differs << " give other numbers, "
            << score.later << " on few meshes, " << score.unfit
            << " do not fit or make ranks disagree, " << score.equal
            << " are equal; refused, and equal in value:";
  for (const auto& [code, count] : score.refused_equal) std::cout << " " << code << " " << count;
  std::cout << "\n";
  for (const std::string& each : score.missed) std::cout << "      missed: " << each << "\n";
  // Those that the checker refutes at numbers and sizes which these runs do not draw: a literal of
  // 1e-14, or twice a mask's 1e10.
  EXPECT_LE(score.missed.size(), score.made / 150);
  EXPECT_GT(score.differs, score.made / 3);
}

}  // namespace
}  // namespace shardproof::faults
