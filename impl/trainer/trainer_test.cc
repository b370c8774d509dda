// The trainer on small programs: roles of parameters, choice of plans, errors.
#include "impl/trainer/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <thread>

#include "impl/comm/threads.h"
#include "impl/trainer/learning_rate.h"
#include "impl/trainer/sample.h"
#include "kernels/number.h"

namespace shardproof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A linear model of x, and its step of SGD with momentum.
const char* const text = R"(
mesh d t
dim B M F V
record W { up: f32[M F] }
layout WShard of W { up: f32[M F/t] }
fn init(k: key[]) -> W { return W(up = normal("M F", fold(k, "up")) * 0.1) }
plan init_sharded implements init(k: key[]) -> WShard { return WShard(up = normal("M F/t", fold(k, "up")) * 0.1) }
fn loss(w: W, x: f32[B M], y: f32[B F]) -> f32[] {
    e = einsum("B M, M F -> B F", x, w.up) - y
    return sum("B F -> ", e * e) / |B|
}
plan loss_sharded implements loss(w: WShard, x: f32[B/d M], y: f32[B/d F/t]) -> f32[]{U_d U_t} {
    e = einsum("B/d M, M F/t -> B/d F/t", x, w.up) - y
    return sum("B/d F/t -> {U_d U_t}", e * e) / |B|
}
fn step(w m: W, x: f32[B M], y: f32[B F], step lr: f32[]) -> (loss: f32[], norm: f32[], w1 m1: W) {
    l, g = value_and_grad(loss wrt w)(w, x, y)
    m1 = each add(each scale_by(m, 0.5), g)
    return l, step * total(each sumsq(g)), each sgd(w, m1, lr), m1
}
plan step_sharded implements step(w m: WShard, x: f32[B/d M], y: f32[B/d F/t], step lr: f32[])
        -> (loss: f32[]{U_d U_t}, norm: f32[], w1 m1: WShard) {
    l, g = value_and_grad(loss_sharded wrt w)(w, x, y)
    gr = all_reduce("WShard{U_d} -> WShard", g)
    m1 = each add(each scale_by(m, 0.5), gr)
    n  = all_reduce("{U_t} -> ", total(each sumsq(gr)))
    return l, step * n, each sgd(w, m1, lr), m1
}
)";
const DimSizes sizes{{"B", 4}, {"M", 3}, {"F", 2}};

/// x counts, y is x's sum: a function of the global index.
class Rows : public Batches {
 public:
  std::vector<Name> names() const override { return {"x", "y"}; }
  void fill(const Name& name, const Placement& placement, LocalTensor& to) override {
    for (int64_t i = 0; i < to.count(); ++i) {
      const int64_t row = placement.first(to.type.dims[0]) + i / to.extents[1],
                    column = placement.first(to.type.dims[1]) + i % to.extents[1];
      const auto x = [&](int64_t of) {
        return std::sin(static_cast<double>(7 * batch_ + 3 * row + of));
      };
      set_number(to.element, to.buffer.data(), i,
                 name == "x" ? x(column) : x(0) + static_cast<double>(column) * x(1));
    }
  }
  void next() override { ++batch_; }

 private:
  int64_t batch_ = 0;
};

std::vector<double> losses(const Program& program, const char* mesh_text, int steps,
                           uint64_t seed = 1) {
  const Mesh mesh = Mesh::parse(mesh_text);
  std::vector<double> all;
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& ranks) {
    Trainer trainer(program, mesh, sizes, ranks, {.seed = seed, .precision = Precision::f64});
    if (ranks.rank() == 0)
      trainer.on_step([&](const StepReport& report) { all.push_back(report.metrics.at(0).value); });
    Rows rows;
    trainer.init();
    for (int i = 0; i < steps; ++i) trainer.step(rows, 0.05);
    EXPECT_EQ(trainer.steps(), steps);
  });
  return all;
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Trainer, FindsWhatParametersAreFor) {
  const Program program = Program::from_text(text);
  ASSERT_EQ(program.verdict(), Verdict::proved) << program.report();
  const StepRoles roles = roles_of(program);
  ASSERT_EQ(roles.state.size(), 2u);
  EXPECT_EQ(roles.state[0].name, "w");
  EXPECT_EQ(roles.state[1].name, "m");
  EXPECT_EQ(roles.state[1].result, 3u);
  EXPECT_THAT(roles.data, ElementsAre(2, 3));
  EXPECT_EQ(roles.number, 4u);
  EXPECT_EQ(roles.learning_rate, 5u);
  EXPECT_THAT(roles.metrics, ElementsAre(0, 1));
  EXPECT_THAT(init_of(program, roles).groups, ElementsAre(0));
}

TEST(Trainer, TrainsAlikeOnEveryMeshAndAddsUpMetrics) {
  const Program program = Program::from_text(text);
  const std::vector<double> alone = losses(program, "", 20);
  ASSERT_EQ(alone.size(), 20u);
  EXPECT_LT(alone.back(), 0.1 * alone.front());
  for (const char* mesh : {"d=2", "t=2", "d=2,t=2", "t=2,d=4"}) {
    const std::vector<double> here = losses(program, mesh, 20);
    for (size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(here[i], alone[i], 1e-12 * alone[0]);
  }
}

TEST(Trainer, SeveralInOneProcessDoNotMeet) {
  const Program program = Program::from_text(text);
  const std::vector<double> one = losses(program, "d=2", 6, 1), two = losses(program, "d=2", 6, 2);
  EXPECT_NE(one, two);
  std::vector<double> first, second;
  std::thread other([&] { first = losses(program, "d=2", 6, 1); });
  second = losses(program, "d=2", 6, 2);
  other.join();
  EXPECT_EQ(first, one);
  EXPECT_EQ(second, two);
  // And two on one rank, in turns.
  run_on_threads(2, [&](Communicator& ranks) {
    const TrainerOptions how{.seed = 1, .precision = Precision::f64};
    Trainer a(program, Mesh::parse("d=2"), sizes, ranks, how),
        b(program, Mesh::parse("d=2"), sizes, ranks, how);
    Rows of_a, of_b;
    a.init();
    b.init();
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(a.step(of_a, 0.05).metrics.at(0).value, one[i]);
      EXPECT_EQ(b.step(of_b, 0.05).metrics.at(0).value, one[i]);
    }
  });
}

TEST(Trainer, RunsOtherPlansOnItsState) {
  const Program program = Program::from_text(text);
  run_on_threads(4, [&](Communicator& ranks) {
    Trainer trainer(program, Mesh::parse("d=2,t=2"), sizes, ranks, {.precision = Precision::f64});
    Rows rows;
    trainer.init();
    const double loss = trainer.value(trainer.run("loss_sharded", rows).at(0));
    EXPECT_EQ(loss, trainer.step(rows, 0.05).metrics.at(0).value);
    EXPECT_THAT(refusal([&] { trainer.run("init_sharded", rows); }),
                HasSubstr("init_sharded takes k, and the data are x, y"));
  });
}

TEST(Trainer, DrawsAKeyForEachStepThatIsTheSameOnEveryMesh) {
  const Program program = Program::from_text(R"(
mesh d
dim B
fn init(k: key[]) -> f32[B] { return normal("B", k) }
plan init_sharded implements init(k: key[]) -> f32[B/d] { return normal("B/d", k) }
fn loss(w: f32[B], k: key[]) -> f32[] { return sum("B -> ", dropout("B", w, k, p=0.5)) }
plan loss_sharded implements loss(w: f32[B/d], k: key[]) -> f32[]{U_d} {
    return sum("B/d -> {U_d}", dropout("B/d", w, k, p=0.5))
}
fn step(w: f32[B], mask: key[]) -> (loss: f32[], w1: f32[B]) {
    l, g = value_and_grad(loss wrt w)(w, mask)
    return l, sgd(w, g, 0.0)
}
plan step_sharded implements step(w: f32[B/d], mask: key[]) -> (loss: f32[]{U_d}, w1: f32[B/d]) {
    l, g = value_and_grad(loss_sharded wrt w)(w, mask)
    return l, sgd(w, g, 0.0)
}
)");
  ASSERT_EQ(program.verdict(), Verdict::proved) << program.report();
  const auto drawn = [&](const char* text, int64_t from, uint64_t seed) {
    const Mesh mesh = Mesh::parse(text);
    std::vector<double> all;
    run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& ranks) {
      Trainer trainer(program, mesh, {{"B", 64}}, ranks,
                      {.seed = seed, .precision = Precision::f64});
      Rows nothing;
      trainer.init();
      trainer.resume(from);
      for (int i = 0; i < 3; ++i) {
        const double loss = trainer.step(nothing, 0).metrics.at(0).value;
        if (ranks.rank() == 0) all.push_back(loss);
      }
    });
    return all;
  };
  const std::vector<double> alone = drawn("", 0, 1), later = drawn("", 1, 1);
  EXPECT_NE(alone[0], alone[1]);
  EXPECT_NE(alone[1], alone[2]);
  EXPECT_EQ(later[0], alone[1]);  // a resume goes on with the masks of its steps
  EXPECT_NE(drawn("", 0, 2)[0], alone[0]);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(drawn("d=4", 0, 1)[i], alone[i], 1e-12);
}

TEST(Trainer, IsResumedWithItsState) {
  const Program program = Program::from_text(text);
  run_on_threads(1, [&](Communicator& ranks) {
    Trainer one(program, Mesh(), sizes, ranks), two(program, Mesh(), sizes, ranks, {.seed = 9});
    Rows rows, again;
    one.init();
    one.step(rows, 0.05);
    again.next();
    const auto from = one.state(), to = two.state();
    ASSERT_EQ(from.size(), 2u);
    EXPECT_EQ(from[0].name, "w.up");
    for (size_t i = 0; i < from.size(); ++i)
      std::memcpy(to[i].tensor->buffer.data(), from[i].tensor->buffer.data(),
                  from[i].tensor->buffer.bytes());
    two.resume(one.steps());
    const StepReport wanted = one.step(rows, 0.05), got = two.step(again, 0.05);
    EXPECT_EQ(got.step, 2);
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(got.metrics[i].value, wanted.metrics[i].value);
  });
}

TEST(Trainer, RefusesWhatItCannotFeedOrFind) {
  const Program program = Program::from_text(text);
  class Nothing : public Batches {
    std::vector<Name> names() const override { return {"ids"}; }
    void fill(const Name&, const Placement&, LocalTensor&) override {}
  };
  run_on_threads(1, [&](Communicator& ranks) {
    Trainer trainer(program, Mesh(), sizes, ranks);
    Nothing nothing;
    trainer.init();
    EXPECT_THAT(refusal([&] { trainer.step(nothing, 1); }),
                HasSubstr("step_sharded takes x, and the data are ids"));
    Rows rows;
    EXPECT_THAT(refusal([&] {
                  while (true) trainer.step(rows, 1e20);
                }),
                HasSubstr("is "));
    EXPECT_THAT(refusal([&] { Trainer(program, Mesh::parse("q=1"), sizes, ranks); }),
                HasSubstr("no mesh axis q"));
  });
  EXPECT_THAT(refusal([&] { roles_of(program, "loss_sharded"); }),
              HasSubstr("is not a training step"));
  EXPECT_THAT(refusal([&] { roles_of(program, "steps"); }), HasSubstr("it has"));
  EXPECT_THAT(refusal([&] { init_of(program, roles_of(program), "loss_sharded"); }),
              HasSubstr("does not give the first w of step_sharded"));
}

/// The program with some of its text replaced.
Program changed(const std::string& from, const std::string& to) {
  std::string edited = text;
  edited.replace(edited.find(from), from.size(), to);
  return Program::from_text(edited);
}

TEST(Trainer, NamesTheCandidates) {
  const std::string whole = text, rest = whole.substr(whole.find("plan init"));
  const std::string plan = rest.substr(0, rest.find('\n'));
  std::string other = plan;
  other.replace(other.find("init_sharded"), 12, "init_again");
  const Program two = changed(plan, plan + "\n" + other);
  EXPECT_THAT(
      refusal([&] { init_of(two, roles_of(two)); }),
      HasSubstr("several plans give the first state of step_sharded: init_sharded, init_again"));
  const Program none = changed(plan, "");
  EXPECT_THAT(refusal([&] { init_of(none, roles_of(none)); }),
              HasSubstr("write plan init_... implements init(k: key[]) -> WShard"));
  EXPECT_THAT(refusal([&] { roles_of(changed("fn loss", "fnloss")); }), HasSubstr("error["));
  const Program no_step =
      Program::from_text("mesh d\ndim B\nfn f(x: f32[B]) -> f32[B] { return x }");
  EXPECT_THAT(refusal([&] { roles_of(no_step); }), HasSubstr("there is no training step"));
}

TEST(Trainer, RunsNothingThatIsNotProved) {
  const Program wrong = changed("sgd(w, m1, lr), m1\n}\n", "sgd(w, m1, lr * 2), m1\n}\n");
  ASSERT_EQ(wrong.verdict(), Verdict::refuted);
  const std::string what = refusal([&] {
    run_on_threads(1, [&](Communicator& ranks) { Trainer(wrong, Mesh(), sizes, ranks); });
  });
  EXPECT_THAT(what, HasSubstr("step_sharded is refuted; only proved plans run"));
}

TEST(LearningRate, WarmsUpAndFalls) {
  const LearningRate cosine{Schedule::cosine, 2, 10, 100, 0.1};
  EXPECT_DOUBLE_EQ(cosine.at(5), 1);
  EXPECT_DOUBLE_EQ(cosine.at(10), 2);
  EXPECT_DOUBLE_EQ(cosine.at(55), 2 * 0.55);
  EXPECT_DOUBLE_EQ(cosine.at(100), 0.2);
  const LearningRate wsd{Schedule::wsd, 2, 10, 100, 0, 0.2};
  EXPECT_DOUBLE_EQ(wsd.at(80), 2);
  EXPECT_DOUBLE_EQ(wsd.at(90), 1);
  EXPECT_DOUBLE_EQ(wsd.at(100), 0);
  const LearningRate constant{Schedule::constant, 2, 0, 100};
  EXPECT_DOUBLE_EQ(constant.at(1), 2);
  EXPECT_DOUBLE_EQ(constant.at(1000), 2);
}

}  // namespace
}  // namespace shardproof
