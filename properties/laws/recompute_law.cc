// What is saved for the backward changes no bit: steps with all `save` marks removed, so that
// everything is computed again, and with a mark on every product and gather, beside the steps as
// they are written. Whole models take part with SHARDPROOF_FULL=1 only.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <regex>
#include <sstream>

#include "properties/generators/plan_run.h"
#include "properties/generators/shard_files.h"
#include "spec/check/mesh_points.h"

namespace shardproof {
namespace recompute_law {

using properties::PlanCase;

std::string without_saves(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(\bsave\()"), "(");
}

/// `h = einsum(..)` in a plan becomes `h = save(einsum(..))`, and so do gathers and reductions.
std::string with_more_saves(const std::string& text) {
  static const std::regex line_of(
      R"((\s+\w+\s*= )((?:einsum|all_gather|all_reduce|psum_scatter)\("[^"]*"(?:, \w+)+\))\s*(#.*)?)");
  std::istringstream in(text);
  std::string result;
  bool in_plan = false;
  for (std::string line; std::getline(in, line); result += line + "\n") {
    if (line.starts_with("plan ")) in_plan = true;
    if (line.starts_with("}")) in_plan = false;
    std::smatch found;
    if (in_plan && std::regex_match(line, found, line_of))
      line = found[1].str() + "save(" + found[2].str() + ")";
  }
  return result;
}

Program load(const std::string& path, std::string (*edit)(const std::string&)) {
  CheckOptions options;
  options.fixes = false;
  const FileReader disk = disk_reader();
  return Program::load(
      path,
      [&](const std::string& file) {
        std::optional<std::string> text = disk(file);
        if (text && edit) text = edit(*text);
        return text;
      },
      options);
}

struct Tally {
  int steps = 0, changed = 0, refused = 0;
};

/// How many values the backward of the steps keeps.
size_t saves(const Program& program) {
  size_t count = 0;
  for (const ir::Function& function : program.checked().program().functions)
    for (const ir::Instr& instr : function.body.instrs)
      count += std::holds_alternative<ir::Save>(instr.op);
  return count;
}

void compare(const PlanCase& one, const Program& other, Tally& tally) {
  const PlanReport& report = other.plan(one.unit.plan().name);
  if (report.verdict != Verdict::proved) {
    ++tally.refused;
    return;
  }
  PlanCase same = properties::case_of(other, report);
  same.sizes = one.sizes;
  same.whole = one.whole;
  same.local = one.local;
  ++tally.changed;
  EXPECT_EQ(properties::run_on_ranks(same, {.precision = Precision::f64}),
            properties::run_on_ranks(one, {.precision = Precision::f64}))
      << properties::text(one);
}

void run_file(const std::string& path, Tally& tally) {
  SCOPED_TRACE(path);
  const Program written = load(path, nullptr), none = load(path, without_saves),
                more = load(path, with_more_saves);
  const CheckedProgram& checked = written.checked();
  const std::vector<Divisibility> conditions = all_conditions(checked);
  for (const PlanReport& report : checked.plans()) {
    const ir::Function& function = checked.program().functions.at(report.function);
    if (function.imported || !function.uses_gradients || report.verdict != Verdict::proved)
      continue;
    PlanCase one = properties::case_of(written, report);
    for (unsigned seed = 1; seed < 10; ++seed) {
      if (!properties::draw(one, conditions, seed, false)) continue;
      ++tally.steps;
      for (const Program* other : {&none, &more})
        if (saves(*other) != saves(written)) compare(one, *other, tally);
      break;
    }
  }
}

TEST(Recomputation, ChangesNoNumber) {
  const bool full = std::getenv("SHARDPROOF_FULL") != nullptr;
  Tally tally;
  for (const std::string& path :
       properties::shard_files({SHARDPROOF_SOURCE_DIR "/spec/models"}, {}))
    if (full || path.find("/data_parallel.") != path.npos ||
        path.find("/gpt2_data_parallel.") != path.npos)
      run_file(path, tally);
  std::cout << "    " << tally.steps << " steps, " << tally.changed
            << " times with other marks and the same bits; refused so " << tally.refused << "\n";
  EXPECT_GE(tally.changed, 6);
}

}  // namespace recompute_law
}  // namespace shardproof
