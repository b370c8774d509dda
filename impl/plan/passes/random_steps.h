#pragma once
// Random steps for the laws about passes, from choices that RapidCheck shrinks, or from a plan's
// text: a law prints its smallest failure as text, which TEST(Overlap, OfPastedPlans) accepts.
#include <rapidcheck.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "impl/plan/memory.h"
#include "impl/plan/passes/passes.h"
#include "impl/plan/text.h"

namespace shardproof::plan {

constexpr size_t entries = 40;  ///< per buffer, in f32

inline float* floats(StepContext& context, BufferId id) {
  return reinterpret_cast<float*>(context.buffers[id]);
}

/// Steps that are the same on all ranks. Buffer 0 is the input.
struct Drafted {
  std::vector<Step> steps;
  std::vector<Piece> pieces;
  std::vector<BufferId> given{0};  ///< the input, then results
  size_t loops = 0;
};

/// Without source locations.
inline std::string text_of(const Drafted& drafted) {
  std::istringstream lines(text_of(drafted.steps, drafted.pieces));
  std::string text;
  for (std::string line; std::getline(lines, line);)
    text += line.substr(0, line.find("  #")) + "\n";
  return text;
}

/// The step's computation depends only on its op: einsum, update, a collective (all are sums over
/// ranks), or a copy.
inline Step step_of(const std::string& op, std::vector<BufferId> reads, BufferId to, int number) {
  Step step;
  step.op = op;
  step.place = "step " + std::to_string(number);
  const BufferId a = reads.at(0), b = reads.back();
  step.reads = std::move(reads);
  step.writes = {to};
  if (is_collective(step))
    step.run = [=](const Step& own, StepContext& f) {
      f.communicator->all_reduce(*f.groups[0], floats(f, a), floats(f, to), entries, Element::f32,
                                 Reduction::sum, own.place);
    };
  else
    step.run = [=](const Step&, StepContext& f) {
      float total = 0;
      for (size_t i = 0; i < entries; ++i) {
        total += floats(f, a)[i];
        floats(f, to)[i] = op == "einsum"   ? 0.5f * total - floats(f, b)[i]
                           : op == "update" ? 0.25f * (floats(f, to)[i] + floats(f, a)[i])
                                            : floats(f, a)[i] + 0.25f;
      }
    };
  return step;
}

/// One step of a draft, or a loop over the following ones.
struct Choice {
  int kind = 0, a = 0, b = 0, op = 0;
};
using Choices = std::vector<Choice>;

class Draft {
 public:
  explicit Draft(const Choices& choices) : choices_(choices) {}

  Drafted take() {
    create(0);
    live_.push_back(0);
    block(choices_.size(), made_.steps, true);
    for (int i = 0; i < 4; ++i) {
      made_.given.push_back(create(0));
      add(made_.steps, "result", {late(i)}, made_.given.back());
    }
    return std::move(made_);
  }

 private:
  BufferId create(size_t bytes = entries * sizeof(float)) {
    made_.pieces.push_back({bytes});
    return made_.pieces.size() - 1;
  }
  /// One of the most recently created buffers.
  BufferId late(int i) const {
    return live_[live_.size() - 1 - static_cast<size_t>(i) % std::min<size_t>(live_.size(), 6)];
  }
  void add(std::vector<Step>& steps, const char* op, std::vector<BufferId> reads, BufferId to) {
    steps.push_back(step_of(op, std::move(reads), to, ++steps_));
  }

  void block(size_t end, std::vector<Step>& steps, bool outer) {
    static const char* const sums[] = {"all_reduce", "psum_scatter", "all_gather"};
    while (next_ < end) {
      const Choice& choice = choices_[next_++];
      const int kind = choice.kind % (outer ? 10 : 9);
      const BufferId a = late(choice.a), b = late(choice.b);
      if (kind == 9) {
        loop(choice, end, steps);
      } else if (kind == 8 && a != b && b != 0) {
        add(steps, "update", {a, b}, b);  // which started collectives may be reading
      } else {
        const BufferId to = create();
        const char* op = kind < 3 ? sums[choice.op % 3] : kind < 5 ? "pack" : "einsum";
        const bool weights = kind < 3 && op == sums[2] && choice.op % 2;
        if (kind < 5)
          add(steps, op, {weights ? 0 : a}, to);
        else
          add(steps, op, {a, b}, to);
        live_.push_back(to);
      }
    }
  }

  void loop(const Choice& choice, size_t end, std::vector<Step>& steps) {
    const BufferId carry = create();
    add(steps, "carry", {late(choice.a)}, carry);
    Step loop;
    loop.is_loop = true;
    loop.loop = made_.loops++;
    loop.times = choice.op % 4;
    loop.writes = {carry};
    const std::vector<BufferId> before = live_;
    live_.push_back(carry);
    block(std::min(end, next_ + 6), loop.body, false);
    add(loop.body, "carry", {late(choice.b)}, carry);
    live_ = before;
    live_.push_back(carry);
    steps.push_back(std::move(loop));
  }

  const Choices& choices_;
  size_t next_ = 0;
  Drafted made_;
  std::vector<BufferId> live_;
  int steps_ = 0;
};

/// Parses the output of text_of(Drafted).
class DraftReader {
 public:
  explicit DraftReader(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (const size_t indent = line.find_first_not_of(' ');
          indent != std::string::npos && indent > 0)
        lines_.push_back({indent, line.substr(indent)});
  }

  Drafted take() {
    block(lines_.empty() ? 0 : lines_[0].first, made_.steps);
    made_.pieces.resize(last_ + 1, {entries * sizeof(float)});
    for (BufferId each : made_.given) made_.pieces[each].bytes = 0;
    return std::move(made_);
  }

 private:
  void block(size_t indent, std::vector<Step>& steps) {
    std::optional<size_t> waits;
    for (; next_ < lines_.size() && lines_[next_].first == indent;) {
      std::string line = lines_[next_++].second;
      if (line.starts_with("wait for all")) {
        const size_t but = line.find("but ");
        waits = but == std::string::npos ? 0 : std::stoul(line.substr(but + 4));
        continue;
      }
      const bool starts = line.starts_with("start ");
      steps.push_back(line.starts_with("for ") ? loop(line, indent)
                                               : step(line.substr(starts ? 6 : 0)));
      steps.back().starts = starts;
      steps.back().waits = std::exchange(waits, std::nullopt);
    }
  }

  Step loop(const std::string& line, size_t indent) {  // for i0 in 0..3:
    Step loop;
    loop.is_loop = true;
    loop.loop = std::stoul(line.substr(5));
    loop.times = std::stoll(line.substr(line.find("..") + 2));
    made_.loops = std::max(made_.loops, loop.loop + 1);
    if (next_ < lines_.size() && lines_[next_].first > indent)
      block(lines_[next_].first, loop.body);
    for (const Step& each : loop.body)
      if (each.op == "carry") loop.writes = each.writes;
    return loop;
  }

  Step step(const std::string& line) {  // %2 = einsum(%0, %1)
    const size_t op = line.find("= ") + 2, open = line.find('(');
    std::vector<BufferId> reads = numbers(line.substr(open));
    const BufferId to = numbers(line.substr(0, op)).at(0);
    const std::string name = line.substr(op, open - op);
    if (name == "result") made_.given.push_back(to);
    return step_of(name, std::move(reads), to, ++steps_);
  }

  std::vector<BufferId> numbers(const std::string& text) {
    std::vector<BufferId> all;
    for (size_t at = 0; (at = text.find('%', at)) != std::string::npos;) {
      all.push_back(std::stoul(text.substr(++at)));
      last_ = std::max(last_, all.back());
    }
    return all;
  }

  std::vector<std::pair<size_t, std::string>> lines_;  ///< indent and text
  size_t next_ = 0, last_ = 0;
  Drafted made_;
  int steps_ = 0;
};

inline Drafted read_drafted(const std::string& text) { return DraftReader(text).take(); }

/// The draft with started collectives and lifetimes.
inline Drafted planned(Drafted made, bool with_overlap) {
  if (with_overlap) overlap(made.steps);
  find_lifetimes(made.steps, made.pieces);
  return made;
}

inline Choices random_choices(unsigned seed) {
  std::mt19937 rng(seed);
  const auto below = [&](unsigned n) { return static_cast<int>(rng() % n); };
  Choices choices;
  for (int i = 0; i < 30; ++i) choices.push_back({below(10), below(6), below(6), below(12)});
  return choices;
}

struct Program {
  Choices choices;
  Drafted drafted() const { return Draft(choices).take(); }
};

/// Called by RapidCheck to print the smallest failure.
inline void showValue(const Program& program, std::ostream& out) {
  out << "\n" << text_of(program.drafted());
}

inline rc::Gen<Program> arbitrary_program() {
  using rc::gen::inRange;
  const auto below = [](int n) { return rc::gen::resize(rc::kNominalSize, inRange(0, n)); };
  return rc::gen::map(
      rc::gen::resize(
          40, rc::gen::container<Choices>(rc::gen::build<Choice>(
                  rc::gen::set(&Choice::kind, below(10)), rc::gen::set(&Choice::a, below(6)),
                  rc::gen::set(&Choice::b, below(6)), rc::gen::set(&Choice::op, below(12))))),
      [](Choices choices) { return Program{std::move(choices)}; });
}

}  // namespace shardproof::plan
