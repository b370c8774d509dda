// What is proved is what runs, for random programs: fns and plans of them on
// random meshes. What is accepted equals the oracle, values and gradients, bit for bit where the
// numbers allow it; what is refused, after one edit of what was accepted, is seen to be wrong.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "properties/programs/arbitrary_choices.h"
#include "properties/programs/edits.h"
#include "properties/programs/trial.h"
#include "spec/laws/holds.h"
#include "spec/syntax/parser.h"

namespace shardproof::programs {

/// What RapidCheck prints of the smallest failure.
void showValue(const Choices& choices, std::ostream& out) {
  out << "\n" << with_step(draft_program(choices));
}

namespace {

std::map<std::string, int> tally;

double share(const std::string& what, const std::string& of) {
  return 1. * tally[what] / tally[of];
}

void print_tally(const std::string& title) {
  std::cout << "    " << title << ":";
  for (const auto& [what, number] : tally) std::cout << " " << what << " " << number << ",";
  std::cout << "\n";
}

using laws::holds;

const std::map<std::string, std::string> classes{{"einsum", "einsum("},
                                                 {"add", " + "},
                                                 {"sub", " - "},
                                                 {"mul", " * "},
                                                 {"sum", "sum("},
                                                 {"max", "max("},
                                                 {"relu", "relu("},
                                                 {"where", "where("},
                                                 {"tanh", "tanh("},
                                                 {"expand", "expand("},
                                                 {"rearrange", "rearrange("},
                                                 {"concat", "concat("},
                                                 {"index", "index("},
                                                 {"index_unreduced", "index_unreduced("},
                                                 {"index_add", "index_add("},
                                                 {"roll", "roll("},
                                                 {"rev", "rev("},
                                                 {"cumsum", "cumsum("},
                                                 {"iota", "iota("},
                                                 {"scan", "scan n"},
                                                 {"emit", "emit s"},
                                                 {"top_k", "top_k("},
                                                 {"argsort", "argsort("},
                                                 {"bf16", "bf16("},
                                                 {"read", "read("},
                                                 {"all_gather", "all_gather("},
                                                 {"all_reduce", "all_reduce("},
                                                 {"psum_scatter", "psum_scatter("},
                                                 {"slice", "slice("},
                                                 {"all_to_all", "all_to_all("},
                                                 {"fan_out", "fan_out("},
                                                 {"zero_nonroot", "zero_nonroot("},
                                                 {"zero_pad", "zero_pad("},
                                                 {"ppermute", "ppermute("},
                                                 {"save", "save("},
                                                 {"S", "/"},
                                                 {"I", "{I_"},
                                                 {"U", "{U_"},
                                                 {"Max", "{Max_"}};

/// Seconds since the last call.
class Watch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

size_t plan_begin(const RandomProgram& drafted) { return drafted.text.find("plan p"); }

/// Axes with more than one device.
std::string wide_axes(const denote::Sizes& sizes) {
  int wide = 0;
  for (const auto& [axis, size] : sizes.mesh) wide += size > 1;
  return std::to_string(wide) + " wide axes";
}

bool has_einsum_of_three(const std::vector<programs::Word>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    const std::string left = line.substr(0, line.find(" ->"));
    return left.starts_with("einsum(") && std::count(left.begin(), left.end(), ',') == 2;
  });
}

void count_classes(const RandomProgram& drafted, const denote::Sizes& sizes) {
  const size_t begin = plan_begin(drafted);
  for (const auto& [name, word] : classes)
    tally[name] += drafted.text.find(word, begin) != std::string::npos;
  tally["einsum of 3"] += has_einsum_of_three(drafted.plan);
  tally["R"] += std::any_of(drafted.values.begin(), drafted.values.end(), [&](const Drafted& each) {
    return std::any_of(sizes.mesh.begin(), sizes.mesh.end(),
                       [&](const auto& axis) { return each.layout.state(axis.first[0]) == 'R'; });
  });
  ++tally[wide_axes(sizes)];
}

void require_same_text(const std::string& text) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const auto file = syntax::parse(sources, sources.add("p.shard", text), diagnostics);
  const auto again =
      syntax::parse(sources, sources.add("q.shard", syntax::print(file)), diagnostics);
  RC_ASSERT(diagnostics.empty());
  RC_ASSERT(syntax::same(file, again));
}

void require_equal(const Outcome& outcome, const std::string& what) {
  RC_LOG() << outcome.difference << "\n";
  RC_ASSERT(outcome.difference.empty());
  tally[what] += outcome.ran;
  tally[what + " bitwise"] += outcome.bitwise;
  tally[what + " bitwise in f32"] += outcome.bitwise_f32;
  tally[what + " sharp"] += outcome.sharp;
  tally[what + " in bf16"] += outcome.written;
}

void accepted_means_equal(const Choices& choices) {
  const RandomProgram drafted = draft_program(choices);
  const std::string text = with_step(drafted);
  require_same_text(text);
  const Program program = load(text);
  RC_ASSERT(program.checked().readable());
  const auto& plans = program.checked().plans();
  ++tally["drafted"];
  if (plans.at(0).verdict != Verdict::proved) {
    ++tally["not proved"];
    if (std::getenv("SHARDPROOF_FULL"))
      std::cout << "not proved:\n" << text << program.report() << "\n";
    return;
  }
  count_classes(drafted, point(program.checked(), choices, 0));
  require_equal(try_values(program, drafted, choices, 0), "values");
  if (plans.size() < 3) return;
  if (plans[2].verdict == Verdict::unknown) {
    ++tally["gradients not decided"];
    if (std::getenv("SHARDPROOF_FULL"))
      std::cout << "not decided:\n" << text << program.report() << "\n";
  }
  RC_ASSERT(plans[2].verdict == Verdict::proved || plans[2].verdict == Verdict::unknown);
  // On which side of a kink a number is, rounding may decide.
  if (choices.exact || !drafted.kinks)
    require_equal(try_gradients(program, drafted, choices), "gradients");
}

TEST(RandomPrograms, AcceptedMeansEqual) {
  tally.clear();
  ASSERT_TRUE(holds("RandomPrograms.AcceptedMeansEqual", 200, 20'000,
                    [] { accepted_means_equal(*arbitrary_choices()); }));
  print_tally("random programs");
  EXPECT_LT(share("not proved", "drafted"), 0.5);
  EXPECT_GT(share("values bitwise in f32", "values"), 0.3);
  EXPECT_GT(share("gradients bitwise", "gradients"), 0.3);
  EXPECT_GT(share("values in bf16", "values"), 0.02);
  // The others are zero everywhere, or the gradient of what does not matter.
  EXPECT_GT(share("values sharp", "values"), 0.8);
  EXPECT_GT(share("gradients sharp", "gradients"), 0.7);
  EXPECT_GT(share("2 wide axes", "values"), 0.1);
  EXPECT_GT(share("3 wide axes", "values"), 0.05);
  for (const auto& [name, word] : classes) EXPECT_GT(share(name, "values"), 0.005) << name;
  for (const char* name : {"R", "einsum of 3"}) EXPECT_GT(share(name, "values"), 0.01) << name;
}

void refused_means_different(const Choices& choices, uint32_t which) {
  const RandomProgram drafted = draft_program(choices);
  const std::vector<Edit> edits = edits_of(drafted.text, plan_begin(drafted));
  if (edits.empty()) return;
  const std::string text = edited(drafted.text, edits[which % edits.size()]);
  RC_LOG() << "edited:\n" << text;
  const Program program = load(text);
  ++tally["edits"];
  const auto& plans = program.checked().plans();
  if (!program.checked().readable() || plans.empty() || plans[0].verdict == Verdict::invalid) {
    ++tally["unreadable"];
    return;
  }
  const PlanReport& report = plans[0];
  const std::string code = report.diagnostics.empty() ? "" : report.diagnostics[0].code;
  const Seen seen = try_unchecked(program, choices, 3);
  const char* names[] = {"differs", "unfit", "equal"};
  ++tally[std::string(to_string(report.verdict)) + " " + names[static_cast<int>(seen)]];
  if (report.verdict == Verdict::proved) RC_ASSERT(seen == Seen::equal);
  if (report.verdict == Verdict::proved || seen != Seen::equal) return;
  ++tally["equal " + code];
}

TEST(RandomPrograms, RefusedMeansDifferent) {
  tally.clear();
  ASSERT_TRUE(holds("RandomPrograms.RefusedMeansDifferent", 150, 10'000, [] {
    const Choices choices = *arbitrary_choices();
    refused_means_different(choices, *rc::gen::cast<uint32_t>(below(1 << 20)));
  }));
  print_tally("edits");
  // What the comparison refutes differs; what only the rules refuse may be equal in value: a
  // pattern that is not the operand's type, a gradient that would be counted twice.
  // A few of the former agree at every size that is drawn: a maximum for a sum of one entry.
  int agreeing = 0, edits = 0;
  for (const auto& [what, number] : tally) {
    if (what == "edits") edits = number;
    if (what.starts_with("equal E04")) agreeing += number;
  }
  EXPECT_LE(20 * agreeing, edits);
  EXPECT_GT(share("refuted differs", "edits") + share("refuted unfit", "edits"), 0.25);
}

/// Milliseconds of a tiny case on 4 ranks, by stage.
TEST(RandomPrograms, Speed) {
  const int number = std::getenv("SHARDPROOF_FULL") ? 2000 : 100;
  double draft = 0, check = 0, run = 0, oracle = 0;
  Watch watch;
  rc::Random random(1);
  const auto arbitrary = arbitrary_choices();
  for (int i = -1; i < number; ++i) {
    if (i == 0) draft = check = run = oracle = 0;  // the first one reads the library
    Choices choices = arbitrary(random.split(), rc::kNominalSize).value();
    choices.axes = 2;
    choices.mesh = {2, 2, 1, 1};
    watch.lap();
    const RandomProgram drafted = draft_program(choices);
    draft += watch.lap();
    const Program program = load(drafted.text);
    check += watch.lap();
    if (program.checked().plans().at(0).verdict != Verdict::proved) continue;
    EXPECT_NE(try_unchecked(program, choices, 1), Seen::differs) << drafted.text;
    run += watch.lap();
    run_oracle(program, choices);
    oracle += watch.lap();
  }
  const double each = 1000. / number;
  std::cout << "    ms a case: drafted " << draft * each << ", checked " << check * each
            << ", the oracle and 4 ranks compiled, run and compared " << run * each
            << " (the oracle alone " << oracle * each << "); " << number / (draft + check + run)
            << " cases a second\n";
}

}  // namespace
}  // namespace shardproof::programs
