// The library's schedules at all sizes that are promised, their peaks and idle time, and random
// orders beside a search over all interleavings that knows nothing of queues' indices.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "spec/laws/dice.h"
#include "spec/laws/holds.h"
#include "spec/schedule/schedule.h"
#include "spec/syntax/parser.h"

namespace shardproof::schedule {
namespace {

syntax::ScheduleDecl parsed(const std::string& text, const std::string& name) {
  Sources sources;
  const int32_t file = sources.add("test.shard", text);
  std::vector<Diagnostic> diagnostics;
  const syntax::File tree = syntax::parse(sources, file, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  for (const auto& each : tree.declarations)
    if (auto* found = std::get_if<syntax::ScheduleDecl>(&each); found && found->name == name)
      return *found;
  throw std::runtime_error("no schedule " + name);
}

syntax::ScheduleDecl of_library(const std::string& name) {
  std::ifstream in(std::string(SHARDPROOF_SOURCE_DIR) + "/spec/lib/schedules.shard");
  std::ostringstream text;
  text << in.rdbuf();
  return parsed(text.str(), name);
}

schedule::Run run_of(const Program& program, const Sizes& sizes, const Durations& durations = {}) {
  const Outcome outcome = simulate(program.timelines(sizes), sizes, durations, 1, program.range());
  EXPECT_FALSE(outcome.problem) << outcome.problem->message;
  return outcome.run;
}

TEST(Schedules, TheLibrarysEndAtAllSizesInTime) {
  for (const char* name : {"gpipe", "one_f_one_b", "interleaved", "zero_bubble"}) {
    const syntax::ScheduleDecl declaration = of_library(name);
    const auto begin = std::chrono::steady_clock::now();
    const auto problem = check_all(declaration);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_FALSE(problem) << name << ": " << problem->message;
    EXPECT_LT(seconds, 2) << name;  // 0.2 on a machine that does nothing else
    std::cout << name << ": " << seconds << " s\n";
  }
}

TEST(Schedules, ThoseOfAFileShareItsSteps) {
  const syntax::ScheduleDecl declaration = of_library("gpipe");
  Budget budget;
  EXPECT_FALSE(check_all(declaration, &budget));
  const int64_t one = Budget{}.steps - budget.steps;
  EXPECT_GT(one, 2 * 136 * 2080 * 8) << "F and B of all stages and microbatches";
  budget.steps = 2 * one - 1;
  EXPECT_FALSE(check_all(declaration, &budget));
  const auto problem = check_all(declaration, &budget);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, "E0007");
}

TEST(Schedules, CallsThatDoubleEnd) {
  const auto with = [](int count, bool twice) {
    std::string text = "schedule s {\n    let g0(x) = x\n";
    for (int i = 1; i <= count; ++i) {
      const std::string last = "g" + std::to_string(i - 1);
      text += "    let g" + std::to_string(i) + "(x) = " + last +
              (twice ? "(" + last + "(x))\n" : "(x)\n");
    }
    return text + "    for m in 0 .. A { F(m) }\n    for m in 0 .. A { B(g" +
           std::to_string(count) + "(m)) }\n}\n";
  };
  const auto code = [](const std::string& text) {
    const syntax::ScheduleDecl declaration = parsed(text, "s");
    Budget budget{20'000'000};
    const auto problem = check_all(declaration, &budget);
    return problem ? problem->code : "";
  };
  EXPECT_EQ(code(with(3, true)), "");
  EXPECT_EQ(code(with(60, true)), "E0007");
  EXPECT_EQ(code(with(20000, false)), "E0007") << "nested too deeply for the stack";
}

TEST(Schedules, InterleavedNeedsItsCondition) {
  const syntax::ScheduleDecl declaration = of_library("interleaved");
  const Program program(declaration);
  EXPECT_TRUE(program.allows({4, 8, 2, {2}}));
  EXPECT_TRUE(program.allows({4, 7, 1, {1}}));
  EXPECT_FALSE(program.allows({4, 7, 2, {2}}));
  syntax::ScheduleDecl without = declaration;
  without.steps.erase(without.steps.begin());
  EXPECT_TRUE(check_all(without));
}

TEST(Schedules, PeaksAndIdleTimeAreTheFormulas) {
  const auto gpipe = of_library("gpipe"), one = of_library("one_f_one_b"),
             interleaved = of_library("interleaved"), zero = of_library("zero_bubble");
  const Program of_gpipe(gpipe), of_one(one), of_interleaved(interleaved), of_zero(zero);
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t a = 1; a <= 24; ++a) {
      const schedule::Run g = run_of(of_gpipe, {p, a, 1, {}}), o = run_of(of_one, {p, a, 1, {}});
      const double idle = static_cast<double>(p - 1) / static_cast<double>(a + p - 1);
      EXPECT_EQ(g.end, (a + p - 1) * 3);
      EXPECT_EQ(o.end, (a + p - 1) * 3);
      EXPECT_NEAR(o.idle(), idle, 1e-12);
      const schedule::Run z = run_of(of_zero, {p, a, 1, {}});
      for (int64_t s = 0; s < p; ++s) {
        const auto stage = static_cast<size_t>(s);
        EXPECT_EQ(g.peak[stage], a);
        EXPECT_EQ(o.peak[stage], std::min(p - s, a));
        EXPECT_LE(z.peak[stage], std::min(p, a));
      }
      if (a >= p) {
        EXPECT_EQ(z.end, 3 * a + p - 1) << p << " " << a;
      }
      for (int64_t c = 1; c <= 4; ++c) {
        if (c > 1 && a % p != 0) continue;
        const schedule::Run i = run_of(of_interleaved, {p, a, c, {c}});
        if (a % p == 0) {
          EXPECT_NEAR(i.idle(), static_cast<double>(p - 1) / static_cast<double>(a * c + p - 1),
                      1e-12);
        }
        for (int64_t s = 0; s < p; ++s)
          EXPECT_EQ(i.peak[static_cast<size_t>(s)],
                    std::min(2 * (p - 1 - s) + (c - 1) * p + 1, a * c));
      }
    }
}

// --- a search of its own: every stage and every wire is a process that moves when it may ---

/// Channels hold the names of microbatches; at most `depth` may be unread, the one being sent
/// included. Explores one maximal run: processes with private channels are confluent.
class Events {
 public:
  Events(const std::vector<Timeline>& lines, const Sizes& sizes, size_t depth)
      : lines_(lines), sizes_(sizes), depth_(depth), at_(lines.size(), 0) {}

  bool ends(laws::Dice random) {
    std::vector<size_t> order(lines_.size());
    for (size_t s = 0; s < order.size(); ++s) order[s] = s;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t s = order.size(); s > 1; --s) std::swap(order[s - 1], order[random() % s]);
      for (size_t s : order) moved = step(s) || moved;
    }
    for (size_t s = 0; s < lines_.size(); ++s)
      if (at_[s] < lines_[s].size() || out_.count(s)) return false;
    return true;
  }

 private:
  using Wire = std::tuple<size_t, size_t, char>;  // from, to, kind
  struct Message {
    int64_t m, layer;
  };

  int64_t layer(size_t s, int64_t c) const { return c * sizes_.p + static_cast<int64_t>(s); }
  size_t stage_of(int64_t layer) const { return static_cast<size_t>(layer % sizes_.p); }

  bool step(size_t s) {
    if (auto sending = out_.find(s); sending != out_.end()) {
      if (wires_[sending->second].size() > depth_) return false;
      out_.erase(sending);
      return true;
    }
    if (at_[s] >= lines_[s].size()) return false;
    const Work& work = lines_[s][at_[s]];
    const int64_t here = layer(s, work.c), last = sizes_.p * sizes_.C - 1;
    if (work.kind == 'B' && !done_.count({'F', work.m, here})) return false;
    if (work.kind == 'W' && !done_.count({'B', work.m, here})) return false;
    const int64_t from = work.kind == 'F' ? here - 1 : here + 1;
    if (work.kind != 'W' && from >= 0 && from <= last && !arrives(work, from, s)) return false;
    done_.insert({work.kind, work.m, here});
    ++at_[s];
    const int64_t to = work.kind == 'F' ? here + 1 : here - 1;
    if (work.kind != 'W' && to >= 0 && to <= last && stage_of(to) != s) {
      const Wire wire{s, stage_of(to), work.kind};
      wires_[wire].push_back({work.m, to});
      out_[s] = wire;
    }
    return true;
  }

  bool arrives(const Work& work, int64_t from, size_t s) {
    if (stage_of(from) == s) return done_.count({work.kind, work.m, from}) > 0;
    auto& wire = wires_[{stage_of(from), s, work.kind}];
    if (wire.empty() || wire.front().m != work.m || wire.front().layer != layer(s, work.c))
      return false;
    wire.pop_front();
    return true;
  }

  const std::vector<Timeline>& lines_;
  const Sizes& sizes_;
  size_t depth_;
  std::vector<size_t> at_;
  std::map<size_t, Wire> out_;
  std::map<Wire, std::deque<Message>> wires_;
  std::set<std::tuple<char, int64_t, int64_t>> done_;
};

/// Random orders near a right one, so that both outcomes are common.
std::vector<Timeline> random_lines(const Sizes& sizes, bool with_w, laws::Dice& random) {
  std::vector<Timeline> lines(static_cast<size_t>(sizes.p));
  for (size_t s = 0; s < lines.size(); ++s) {
    const int64_t ahead =
        static_cast<int64_t>(random() % 4) + sizes.p - 1 - static_cast<int64_t>(s);
    Timeline& line = lines[s];
    std::vector<std::pair<double, Work>> at;
    for (int64_t m = 0; m < sizes.A; ++m)
      for (int64_t c = 0; c < sizes.C; ++c) {
        const double f = static_cast<double>(c * sizes.p + m);
        const double b =
            static_cast<double>((sizes.C - 1) * sizes.p + m + ahead + (sizes.C - 1 - c) * sizes.p) +
            0.5;
        at.push_back({f, {'F', m, c, {}}});
        at.push_back({b, {'B', m, c, {}}});
        if (with_w) at.push_back({b + 0.25 + static_cast<double>(random() % 3), {'W', m, c, {}}});
      }
    std::stable_sort(at.begin(), at.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& each : at) line.push_back(each.second);
    for (size_t swaps = random() % 3; swaps > 0 && line.size() > 1; --swaps) {
      const size_t i = random() % (line.size() - 1);
      std::swap(line[i], line[i + 1]);
    }
  }
  return lines;
}

struct DrawnLines {
  Sizes sizes;
  std::vector<Timeline> lines;
  size_t depth = 1;
};
/// What RapidCheck prints of the smallest failure: what each stage does, in order.
void showValue(const DrawnLines& drawn, std::ostream& out) {
  out << "\np=" << drawn.sizes.p << " A=" << drawn.sizes.A << " C=" << drawn.sizes.C << ", depth "
      << drawn.depth << "\n";
  for (size_t s = 0; s < drawn.lines.size(); ++s) {
    out << "stage " << s << ":";
    for (const Work& work : drawn.lines[s]) out << " " << to_string(work, drawn.sizes.C);
    out << "\n";
  }
}
rc::Gen<DrawnLines> drawn_lines() {
  return rc::gen::map(laws::dice_words(60), [](std::vector<uint64_t> words) {
    laws::Dice random(std::move(words));
    const Sizes sizes{random.between(1, 4), random.between(1, 4), random.between(1, 3), {}};
    const size_t depth = 1 + random() % 2;
    return DrawnLines{sizes, random_lines(sizes, random() % 2 == 0, random), depth};
  });
}

TEST(Schedules, RandomOrdersEndWhereEventsEnd) {
  size_t ended = 0, stuck = 0, malformed = 0;
  EXPECT_TRUE(laws::holds("random orders end where events end", 20'000, 200'000, [&] {
    const auto [sizes, lines, depth] = *drawn_lines();
    const laws::Dice order(static_cast<uint64_t>(*laws::below(1 << 20)));
    const bool expected = Events(lines, sizes, depth).ends(order);
    if (well_formed(lines, sizes, {})) {
      RC_ASSERT(!expected);
      ++malformed;
      return;
    }
    const bool found = !simulate(lines, sizes, {}, static_cast<int64_t>(depth), {}).problem;
    RC_ASSERT(found == expected);
    ++(expected ? ended : stuck);
  }));
  EXPECT_GT(ended, 1000U);
  EXPECT_GT(stuck, 1000U);
  EXPECT_GT(malformed, 500U);
}

TEST(Schedules, TheCycleIsNamed) {
  const auto declaration = parsed(
      "schedule off {\n    let w = min(s, A)\n    for m in 0 .. w { F(m) }\n"
      "    for m in 0 .. A - w { F(m + w) B(m) }\n    for m in A - w .. A { B(m) }\n}\n",
      "off");
  const auto problem = check_all(declaration);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, "E0504");
  EXPECT_EQ(problem->message, "with p = 2, A = 2 the stages deadlock");
  ASSERT_EQ(problem->details.size(), 2U);
  EXPECT_EQ(problem->details[0], "stage 0 at step 2, B(0), waits for stage 1, which is at F(1)");
  EXPECT_EQ(problem->details[1], "stage 1 at step 2, F(1), waits for stage 0, which is at B(0)");
}

}  // namespace
}  // namespace shardproof::schedule
