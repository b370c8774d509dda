// Every function of spec/ir/pointwise.def as a kernel of one step, beside the table's value.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/kernels.h"
namespace shardproof::cpu {
namespace {

using R = double;
constexpr bool same = true, truth = false;

struct Domain {
  enum Kind { everywhere, root, inverse_root, logarithm };
};

/// One step in double at 3 entries, which are not all of a block.
std::vector<double> ran(PointwiseFn fn, bool gives_real, const std::vector<double>& a,
                        const std::vector<double>* b) {
  Pointwise op;
  op.f64 = true;
  op.inputs.assign(b ? 2 : 1, Element::f64);
  op.steps.push_back({fn, true, b ? std::vector<size_t>{0, 1} : std::vector<size_t>{0}, 0, {}});
  if (!gives_real) op.steps.push_back({PointwiseFn::to_real, true, {op.inputs.size()}, 0, {}});
  op.output = Element::f64;
  op.nest.extents = {static_cast<int64_t>(a.size())};
  op.nest.strides.assign(op.inputs.size() + 1, {1});
  std::vector<double> out(a.size());
  const void* inputs[] = {a.data(), b ? b->data() : nullptr};
  run(op, out.data(), inputs);
  return out;
}

void expect_close(double got, double wanted, const char* name) {
  EXPECT_NEAR(got, wanted, 1e-14 * (1 + std::abs(wanted))) << name;
}

#define LIBM(f, ...) std::f(__VA_ARGS__)

TEST(Pointwise, EveryFunctionOfOneNumber) {
  const auto entries = [](Domain::Kind kind, double least) {
    return kind == Domain::everywhere ? std::vector<double>{-2.5, 0.3, 3.5}
                                      : std::vector<double>{least + 0.125, least + 1, least + 7.5};
  };
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, roles, strict, bits, grows, \
                         of_real, of_whole, block, exact, algebra, pull)                    \
  {                                                                                         \
    const std::vector<double> all = entries(Domain::domain, least);                         \
    const std::vector<double> got = ran(PointwiseFn::id, gives, all, nullptr);              \
    for (size_t i = 0; i < all.size(); ++i) {                                               \
      const double x = all[i];                                                              \
      expect_close(got[i], of_real, text);                                                  \
    }                                                                                       \
  }
#include "spec/ir/pointwise.def"
}

TEST(Pointwise, EveryFunctionOfTwoNumbers) {
  const std::vector<double> left{0.5, 2, 3.25}, right{2, 2, -0.5};
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, role_a, role_b, strict, bits, of_real, \
                          of_whole, exact, algebra, pull_a, pull_b)                             \
  {                                                                                             \
    const std::vector<double> got = ran(PointwiseFn::id, gives, left, &right);                  \
    for (size_t i = 0; i < left.size(); ++i) {                                                  \
      const double a = left[i], b = right[i];                                                   \
      expect_close(got[i], of_real, text);                                                      \
    }                                                                                           \
  }
#include "spec/ir/pointwise.def"
}

TEST(Pointwise, IntegersAndTheEndsOfAFunction) {
  const auto whole = [](PointwiseFn fn, int32_t a, int32_t b) {
    Pointwise op;
    op.inputs = {Element::i32, Element::i32};
    op.steps.push_back({fn, false, {0, 1}, 0, {}});
    op.output = Element::i32;
    op.nest.strides.resize(3);
    int32_t out = 0;
    const void* inputs[] = {&a, &b};
    run(op, &out, inputs);
    return out;
  };
  EXPECT_EQ(whole(PointwiseFn::floordiv, -7, 2), -4);
  EXPECT_EQ(whole(PointwiseFn::mod, -7, 2), 1);
  EXPECT_EQ(whole(PointwiseFn::maximum, -7, 2), 2);
  EXPECT_THROW(whole(PointwiseFn::mod, 1, 0), std::domain_error);
  const std::vector<double> halves{-2.5, -1.5, -0.5, 0.5, 1.5, 2.5};
  EXPECT_EQ(ran(PointwiseFn::round, true, halves, nullptr),
            (std::vector<double>{-2, -2, 0, 0, 2, 2}));
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(ran(PointwiseFn::sign, true, {nan}, nullptr)[0]));
  const std::vector<double> one{1};
  EXPECT_TRUE(std::isnan(ran(PointwiseFn::maximum, true, {nan}, &one)[0]));
}

}  // namespace
}  // namespace shardproof::cpu
