#include "spec/denote/dual.h"

#include <gmock/gmock.h>

#include <cmath>

#include "spec/denote/evaluate.h"
#include "spec/denote/pointwise.h"
#include "spec/denote/testing.h"

namespace shardproof::denote {
namespace {

using ::testing::ElementsAre;
using testing::pattern;
using testing::type;

/// x moves along direction 0, with speed `along`.
Dual moving(double x, double along = 1) { return Dual::of(x, {along}); }

template <class Fn>
void expect_slope(Fn fn, double x, double found, const char* what) {
  const double h = 1e-5, scale = 1 + std::abs(found);
  EXPECT_NEAR(found, (fn(x + h) - fn(x - h)) / (2 * h), 1e-8 * scale) << what << " at " << x;
}

TEST(Dual, SlopesOfFunctionsAreDifferences) {
  for (ir::UnaryFn fn : ir::unary_fns) {
    for (double x : {-0.7, 0.3, 0.8, 1.7}) {
      if (domain(fn).kind != ir::Domain::everywhere && x <= domain(fn).least) continue;
      expect_slope([&](double at) { return apply(fn, at); }, x, apply(fn, moving(x)).tangent[0],
                   ir::name_of(fn));
    }
  }
  for (ir::BinaryFn fn : ir::binary_fns) {
    if (takes(fn) == ir::Takes::integers) continue;
    for (double a : {0.3, 1.7})
      for (double b : {0.8, 2.4}) {  // along the line a + s, b - 2 s
        const double found = apply(fn, moving(a), moving(b, -2)).tangent[0];
        expect_slope([&](double s) { return apply(fn, a + s, b - 2 * s); }, 0, found,
                     ir::name_of(fn));
      }
  }
}

TEST(Dual, PowersOfAnyBase) {
  const auto power = [](double a, double b) {
    return apply(ir::BinaryFn::pow, moving(a), Dual::of(b)).tangent[0];
  };
  EXPECT_EQ(power(-2, 3), 12);
  EXPECT_EQ(power(0, 1), 1);
  EXPECT_EQ(power(0, 0), 0);
  EXPECT_EQ(apply(ir::BinaryFn::pow, Dual::of(-2), Dual::of(3)).tangent[0], 0);
}

TEST(Dual, TiesGoToTheSecondOperandAndTheLowestIndex) {
  using enum ir::BinaryFn;
  EXPECT_EQ(apply(maximum, moving(0), Dual(0)).tangent[0], 0);  // relu'(0) = 0
  EXPECT_EQ(apply(maximum, Dual(0), moving(0)).tangent[0], 1);
  EXPECT_EQ(apply(minimum, moving(0), Dual(0)).tangent[0], 0);
  EXPECT_EQ(apply(minimum, Dual(0), moving(0)).tangent[0], 1);
  const ir::Program program = testing::program({});
  const Geometry geometry(program, {{}, {{"M", 3}}});
  const Type line = type("M"), none = type("");
  const auto reduced = [&](ir::ReduceFn fn, const std::vector<Dual>& entries) {
    const ir::Op op = testing::elaborated(program, ir::Reduce{fn, pattern("M -> "), {}}, {line});
    const Distributed<Dual> x{{{3}, entries}};
    return run<Dual>(geometry, op, {{line, x}}, {none})[0].on(0)[0].tangent[0];
  };
  EXPECT_EQ(reduced(ir::ReduceFn::max, {moving(1, 5), moving(2, 7), moving(2, 9)}), 7);
  EXPECT_EQ(reduced(ir::ReduceFn::min, {moving(2, 5), moving(1, 7), moving(1, 9)}), 7);
  EXPECT_EQ(apply(ir::UnaryFn::abs, moving(0)).tangent[0], 0);
}

TEST(Dual, WhatDoesNotMove) {
  const ir::Program program = testing::program({});
  const Geometry geometry(program, {{}, {{"M", 1}}});
  const auto run_one = [&](const ir::Op& op) {
    const Type x = type("M");
    const Distributed<Dual> value{{{1}, {moving(1.5)}}};
    return run<Dual>(geometry, op, {{x, value}}, {x})[0][0].data[0];
  };
  EXPECT_EQ(run_one(ir::StopGrad{}).tangent[0], 0);
  EXPECT_EQ(run_one(ir::StopGrad{}).value, 1.5);
  EXPECT_EQ(run_one(ir::Save{}).tangent[0], 1);
  EXPECT_EQ(run_one(ir::Cast{Dtype::bf16, {}}).tangent[0], 1);
  EXPECT_EQ(run_one(ir::Cast{Dtype::i32, {}}).tangent[0], 0);
  EXPECT_EQ(run_one(ir::Cast{Dtype::i32, {}}).value, 1);
  EXPECT_EQ(run_one(ir::Cast{Dtype::boolean, {}}).tangent[0], 0);
  EXPECT_EQ((moving(0) * Dual::of(INFINITY)).tangent[1], 0);  // nothing moves along direction 1
}

}  // namespace
}  // namespace shardproof::denote
