// No false alarms: a plan of the golden files that is refused, run unchecked with its outputs read
// at their stated types, differs from the oracle on some mesh, or does not fit. Those that agree in
// value and in their gradient are refused out of caution: they are counted by the code.
#include <gtest/gtest.h>

#include <iostream>

#include "properties/generators/plan_run.h"
#include "properties/generators/shard_files.h"
#include "spec/check/conditions.h"

namespace shardproof {
namespace refused_law {

using properties::PlanCase;

struct Tally {
  int differ = 0, unfit = 0;
  int gradients = 0, in_gradient = 0;  ///< of those equal in value: run, and differing
  std::map<std::string, int> equal;    ///< by code
  std::vector<std::string> against_numbers;
};

/// True where some mesh shows a difference. Throws where it cannot be run on any.
bool differs(const Program& program, const PlanReport& report) {
  const CheckedProgram& checked = program.checked();
  PlanCase one = properties::case_of(program, report);
  return properties::differs_somewhere(
      one, conditions_of(checked.program(), checked.types(report.function)));
}

/// The same of the gradient of all its parameters, by the backward derived from it.
bool gradient_differs(const Program& program, const PlanReport& report) {
  const CheckedBackward& backward = program.backward(report.function, {});
  const CheckedProgram& checked = *backward.checked;
  const size_t function = backward.report()->function;
  PlanCase one{{&checked.program(), &checked.types(), backward.sources.get(), function},
               any_backwards(program),
               {},
               {},
               {}};
  return properties::differs_somewhere(one,
                                       conditions_of(checked.program(), checked.types(function)));
}

std::string code_of(const PlanReport& report) {
  for (const Diagnostic& each : report.diagnostics)
    if (each.severity == Severity::error) return each.code;
  return "none";
}

/// False as well where it has none, or none that runs.
bool has_wrong_gradient(const Program& program, const PlanReport& report, Tally& tally) {
  try {
    const bool differs = gradient_differs(program, report);
    ++tally.gradients;
    return differs;
  } catch (const std::exception&) {
    return false;
  }
}

void run_file(const std::string& path, Tally& tally) {
  CheckOptions options;
  options.fixes = false;
  const Program program = Program::load(path, disk_reader(), options);
  if (!program.checked().readable()) return;
  for (const PlanReport& report : program.checked().plans()) {
    const ir::Function& function = program.checked().program().functions.at(report.function);
    if (function.imported || function.trusted || report.verdict != Verdict::refuted ||
        function.kind != ir::Function::Kind::plan)
      continue;
    try {
      const std::string code = code_of(report);
      if (differs(program, report)) {
        ++tally.differ;
        continue;
      }
      if (has_wrong_gradient(program, report, tally)) {
        ++tally.in_gradient;
        continue;
      }
      ++tally.equal[code];
      if (code.starts_with("E04"))  // the model said no, and the numbers do not
        tally.against_numbers.push_back(path + " " + report.name + " " + code);
    } catch (const std::exception&) {
      ++tally.unfit;
    }
  }
}

TEST(Refused, GoldenPlansDifferWhenTheyAreRun) {
  Tally tally;
  for (const std::string& path :
       properties::shard_files({SHARDPROOF_SOURCE_DIR "/spec/tests"}, {"/syntax/", "/impossible/"}))
    run_file(path, tally);
  std::cout << "    " << tally.differ << " refused plans differ, " << tally.unfit
            << " do not fit or cannot be run; of those equal in value " << tally.gradients
            << " have a gradient that runs, which differs of " << tally.in_gradient
            << "; the others:";
  int equal = 0;
  for (const auto& [code, count] : tally.equal) {
    std::cout << " " << code << " " << count;
    equal += count;
  }
  std::cout << "\n";
  for (const std::string& each : tally.against_numbers) std::cout << "      " << each << "\n";
  EXPECT_GT(tally.differ, 80);
  EXPECT_GE(tally.gradients, 10);
  EXPECT_LT(equal, tally.differ);
}

}  // namespace refused_law
}  // namespace shardproof
