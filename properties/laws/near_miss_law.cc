// Plans that are their models but for a token or two (properties/near_miss): what is proved of them
// gives what the model gives, at points of this law's own. 2,000 pairs; with SHARDPROOF_FULL
// 100,000. What was ever proved wrongly is a golden file in spec/tests/soundness.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "properties/near_miss/pair.h"
#include "spec/check/claim.h"
#include "spec/check/mesh_points.h"
#include "spec/denote/geometry.h"
#include "spec/laws/holds.h"

namespace shardproof {
namespace near_miss {

/// What RapidCheck prints of the smallest failure.
void showValue(const Pair& pair, std::ostream& out) { out << "\n" << pair.text; }

}  // namespace near_miss
namespace {

rc::Gen<near_miss::Pair> drawn_pairs() {
  return rc::gen::map(laws::dice_words(200), [](std::vector<uint64_t> words) {
    return near_miss::draw(laws::Dice(std::move(words)));
  });
}

CheckedProgram checked(const std::string& text, Sources& sources) {
  const FileReader reader = [&](const std::string&) { return std::optional(text); };
  CheckOptions options;
  options.fixes = false;
  return check(sources, "near_miss.shard", reader, options);
}

bool has(const PlanReport& report, const std::string& code) {
  for (const Diagnostic& each : report.diagnostics)
    if (each.code == code) return true;
  return false;
}

/// Numbers that hit the literals of the drafts, ties among them, and others.
double drawn(Dtype dtype, denote::RandomBits& rng) {
  if (is_integer(dtype)) return static_cast<double>(rng() % 4);
  if (rng() % 3) return static_cast<double>(rng() % 13) / 4 - 1.5;
  return std::uniform_real_distribution<double>(-2, 2)(rng);
}

/// Whether the erasure of the plan is its model at one point; true where one has no value there.
bool agrees(const CheckedProgram& program, const PlanReport& report, uint64_t seed) {
  denote::RandomBits rng(seed);
  const auto sizes = mesh_sizes(program.program(), all_conditions(program), rng, {.least = 2});
  if (!sizes) return true;
  PointOfPlan point{.program = &program.program(),
                    .types = &program.types(),
                    .function = report.function,
                    .sizes = *sizes,
                    .whole = {},
                    .local = {}};
  const denote::Geometry geometry(program.program(), *sizes);
  for (size_t i = 0; i < point.plan().params.size(); ++i) {
    const Type& type = point.param_type(i);
    denote::Array<double> array{geometry.global_shape(type), {}};
    int64_t count = 1;
    for (int64_t extent : array.shape) count *= extent;
    for (int64_t k = 0; k < count; ++k) array.data.push_back(drawn(type.dtype, rng));
    point.whole.push_back(std::move(array));
  }
  try {
    const auto wanted = claimed(point), given = erasure(point, {});
    if (!all_finite(wanted) || !all_finite(given)) return true;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto a = array_of(wanted[i]), b = array_of(given[i]);
      double scale = 1;
      for (double x : a.data) scale = std::max(scale, std::abs(x));
      for (size_t k = 0; k < a.data.size(); ++k)
        if (!(std::abs(a.data[k] - b.data[k]) <= 1e-9 * scale)) return false;
    }
  } catch (const oracle::Error&) {
  }
  return true;
}

TEST(NearMiss, NothingWrongIsProved) {
  std::map<std::string, std::map<std::string, int>> tally;
  int pairs = 0, not_run = 0;  // roots of negative numbers at every draw
  EXPECT_TRUE(laws::holds("what is proved of a near miss is right", 2'000, 100'000, [&] {
    const near_miss::Pair pair = *drawn_pairs();
    const auto seed = static_cast<uint64_t>(*laws::below(1 << 20));
    Sources sources;
    const CheckedProgram program = checked(pair.text, sources);
    std::string verdict = program.plans().empty() ? "invalid" : "";
    bool never_run = false;
    for (const PlanReport& report : program.plans()) {
      verdict = to_string(report.verdict);
      never_run = never_run || has(report, "U0010");
      if (has(report, "U0009")) RC_FAIL("proved without its run");
      for (uint64_t point = 0; report.verdict == Verdict::proved && point < 3; ++point)
        if (!agrees(program, report, seed + point)) RC_FAIL("proved, and another value");
    }
    ++pairs;
    not_run += never_run;
    if (!pair.changed && !never_run && verdict != "proved") RC_FAIL("right, and " + verdict);
    ++tally[pair.family][(pair.changed ? "changed, " : "right, ") + verdict];
  }));
  EXPECT_LE(not_run, pairs / 1000);
  for (const auto& [family, verdicts] : tally)
    for (const auto& [verdict, count] : verdicts)
      printf("%-12s %-20s %d\n", family.c_str(), verdict.c_str(), count);
}

}  // namespace
}  // namespace shardproof
