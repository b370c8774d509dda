// What is disturbed is moved about as far as f32 moves it, and no farther.
#include "oracle/disturbed.h"

#include "oracle/testing.h"

namespace shardproof::oracle {
namespace {

constexpr const char* text =
    "dim N\nfn f(x y: f32[N]) -> f32[] { return tanh(einsum(\"N, N -> \", x, y) - sum(\"N -> \", "
    "x)) }";

double moved(const std::vector<Tensor>& inputs, const Sizes& sizes, double unit, unsigned seed) {
  const double exact = run(text, sizes, inputs).at(0).data.at(0);
  const Disturbed disturbed(unit, seed);
  return std::abs(run(text, sizes, inputs).at(0).data.at(0) - exact);
}

double farthest(const std::vector<Tensor>& inputs, const Sizes& sizes, double unit) {
  return std::max({moved(inputs, sizes, unit, 1), moved(inputs, sizes, unit, 2),
                   moved(inputs, sizes, unit, 3)});
}

/// By hand, in float.
double in_float(const Tensor& x, const Tensor& y) {
  float product = 0, sum = 0;
  for (size_t i = 0; i < x.data.size(); ++i) {
    product += static_cast<float>(x.data[i]) * static_cast<float>(y.data[i]);
    sum += static_cast<float>(x.data[i]);
  }
  return std::tanh(product - sum);
}

TEST(Disturbed, moves_as_far_as_float_rounds) {
  const int64_t n = 50;
  const Sizes sizes{{{"N", n}}, {}};
  for (unsigned seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    std::vector<Tensor> inputs{normal_tensor(random, {n}), normal_tensor(random, {n})};
    for (Tensor& input : inputs)
      for (double& each : input.data) each = static_cast<float>(each) / 8;
    const double exact = run(text, sizes, inputs).at(0).data.at(0);
    const double bound = 8 * farthest(inputs, sizes, 0x1p-24);
    EXPECT_LE(std::abs(in_float(inputs[0], inputs[1]) - exact), bound);
    EXPECT_LT(bound, 1e-4);
    EXPECT_NEAR(farthest(inputs, sizes, 0x1p-30) * 64, bound / 8, 0.01 * bound);  // it is linear
  }
}

TEST(Disturbed, moves_no_number_of_few_bits) {
  const char* exact =
      "dim N\nfn f(x: f32[N]) -> f32[] { return sum(\"N -> \", x * 0.5 + relu(x)) }";
  const Disturbed disturbed(0x1p-24, 1);
  EXPECT_EQ(run(exact, {{{"N", 3}}, {}}, {tensor({3}, {1, -5, 7})}).at(0).data.at(0), 9.5);
}

// As in float: (x + 3e7) - 3e7 is a multiple of 2, the square of 1e-25 is 0, and 0.1 one of two.
TEST(Disturbed, rounds_to_the_numbers_of_float) {
  const char* steps =
      "dim N\nfn f(x: f32[N]) -> (a b c d: f32[N]) {\n"
      "    return (x + 3e7) - 3e7, (1e-25 * x) * (1e-25 * x), x * 0.1, x * 0.5\n}";
  const float below = std::nextafter(0.1f, 0.0f);
  int low = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const Disturbed disturbed(0x1p-24, seed, Off::to_a_number);
    const auto results = run(steps, {{{"N", 1}}, {}}, {tensor({1}, {1})});
    EXPECT_TRUE(results.at(0).data.at(0) == 0 || results.at(0).data.at(0) == 2);
    EXPECT_EQ(results.at(1).data.at(0), 0);
    const double tenth = results.at(2).data.at(0);
    EXPECT_TRUE(tenth == static_cast<double>(0.1f) || tenth == static_cast<double>(below));
    low += tenth == static_cast<double>(below);
    EXPECT_EQ(results.at(3).data.at(0), 0.5);
  }
  EXPECT_GT(low, 5);  // 0.1 lies at a fifth of the way
  EXPECT_LT(low, 40);
}

TEST(Disturbed, moves_what_rounding_made_exact) {
  const char* saturated =
      "dim N\nfn f(x: f32[N]) -> (a b c: f32[N]) { return tanh(x), exp(-x), 1 + 1e-20 * x }";
  const Disturbed disturbed(0x1p-30, 1);
  const auto results = run(saturated, {{{"N", 2}}, {}}, {tensor({2}, {1000, 2000})});
  EXPECT_NE(results.at(0).data.at(0), 1);
  EXPECT_GT(results.at(1).data.at(0), 0);
  EXPECT_NE(results.at(1).data.at(0), results.at(1).data.at(1));
  EXPECT_NE(results.at(2).data.at(0), 1);
}

TEST(Disturbed, moves_gradients_as_well) {
  const auto loaded = load_text(text);
  const Sizes sizes{{{"N", 5}}, {}};
  Random random(1);
  const std::vector<Tensor> inputs{normal_tensor(random, {5}), normal_tensor(random, {5})};
  const auto slope = [&] {
    return gradient(loaded->program(), loaded->find("f"), sizes, inputs, {scalar(1)}, {0});
  };
  const auto exact = slope();
  std::optional<Disturbed> disturbed(std::in_place, 0x1p-24, 1);
  EXPECT_GT(distance(slope(), exact), 0x1p-26);
  EXPECT_LT(distance(slope(), exact), 0x1p-16);
  disturbed.reset();
  EXPECT_EQ(slope(), exact);
}

}  // namespace
}  // namespace shardproof::oracle
