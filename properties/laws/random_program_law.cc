// What is proved is what runs, for programs that nobody wrote: random fns and plans of them on
// random meshes. What is accepted equals the oracle, values and gradients, bit for bit where the
// numbers allow it; what is refused, after one edit of what was accepted, is seen to be wrong.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "properties/programs/arbitrary_choices.h"
#include "properties/programs/trial.h"
#include "spec/syntax/parser.h"

namespace shardproof::programs {

void showValue(const Choices& choices, std::ostream& out) {
  const RandomProgram drafted = draft_program(choices);
  out << "\n" << (drafted.with_step.empty() ? drafted.text : drafted.with_step);
}

namespace {

std::map<std::string, int> tally;

void count_words(const std::string& text) {
  static const std::vector<std::pair<std::string, std::string>> words{
      {"einsum", "einsum("}, {"add", " + "}, {"sub", " - v"}, {"mul", " * "}, {"sum", "sum("},
      {"max", "max("}, {"relu", "relu("}, {"where", "where("}, {"tanh", "tanh("},
      {"expand", "expand("}, {"rearrange", "rearrange("}, {"concat, read", "concat("},
      {"index", "index("}, {"index_unreduced", "index_unreduced("}, {"index_add", "index_add("},
      {"roll", "roll("}, {"cumsum", "cumsum("}, {"iota", "iota("}, {"all_gather", "all_gather("},
      {"all_reduce", "all_reduce("}, {"psum_scatter", "psum_scatter("}, {"slice", "slice("},
      {"all_to_all", "all_to_all("}, {"fan_out", "fan_out("}, {"zero_nonroot", "zero_nonroot("},
      {"zero_pad", "zero_pad("}, {"ppermute", "ppermute("}, {"save", "save("}, {"state S", "/"},
      {"state I", "I_"}, {"state U", "U_"}, {"state Max", "Max_"}};
  for (const auto& [name, word] : words)
    if (text.find(word) != std::string::npos) ++tally["has " + name];
}

std::string plan_text(const RandomProgram& drafted) {
  return drafted.text.substr(drafted.text.find("plan p"));
}

RC_GTEST_PROP(RandomPrograms, AcceptedMeansEqual, ()) {
  const Choices choices = *arbitrary_choices();
  const RandomProgram drafted = draft_program(choices);
  ++tally["drafted"];
  const Program program = load(drafted.with_step.empty() ? drafted.text : drafted.with_step);
  const auto& plans = program.checked().plans();
  if (plans.empty() || plans[0].verdict != Verdict::proved) {
    ++tally["refused"];
    const std::string report = program.report();
    ++tally["refused " + report.substr(0, report.find('\n'))];
    if (std::getenv("SHOW")) std::cout << drafted.text << report << "\n";
    return;
  }
  ++tally["accepted"];
  count_words(plan_text(drafted));
  const Outcome values = try_values(program, drafted, choices, 0);
  RC_LOG() << values.difference << "\n";
  RC_ASSERT(values.difference.empty());
  tally["ran"] += values.ran;
  tally["bitwise"] += values.bitwise;
  tally["bitwise in f32"] += values.bitwise_f32;
  tally["sharp"] += values.sharp;
  if (plans.size() < 3) return;
  if (plans[2].verdict != Verdict::proved) {
    ++tally["gradient " + std::string(to_string(plans[2].verdict))];
    return;
  }
  if (!choices.exact && drafted.kinks) return;
  const Outcome gradients = try_gradients(program, drafted, choices);
  RC_LOG() << gradients.difference << "\n";
  RC_ASSERT(gradients.difference.empty());
  tally["gradients"] += gradients.ran;
  tally["gradients bitwise"] += gradients.bitwise;
}

TEST(RandomProgramsCovered, EveryKind) {
  for (const auto& [what, number] : tally) std::cout << "    " << number << " " << what << "\n";
}

}  // namespace
}  // namespace shardproof::programs
