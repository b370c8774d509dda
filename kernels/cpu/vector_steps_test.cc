// Every level of instructions that this machine has, against std:: in double and against the table
// of functions. Red if a level rounds otherwise, a function is beyond its bound, a NaN or an
// infinity is lost, or the last entries of a block are left out.
#include "kernels/cpu/vector_steps.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace shardproof::cpu {
namespace vector_steps_test {

std::vector<Isa> levels() {
  std::vector<Isa> all;
  for (Isa isa : machine_levels())
    if (isa <= Isa::v4 && vector_steps(isa)) all.push_back(isa);  // higher ones have v4's steps
  return all;
}

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Of any size and sign, and what has no size.
std::vector<float> any_floats() {
  std::vector<float> all{0.0f,     -0.0f,      infinity,   -infinity, std::nanf(""), 1e-40f,
                         -1e-40f,  88.72f,     88.73f,     89.5f,     -87.4f,        -103.9f,
                         -104.1f,  3.4e38f,    -3.4e38f,   1e-30f,    0.5f,          1.0f,
                         0x1p-12f, 1.0000001f, 18.714973f, 18.7150f,  0.34657f,      0.34658f};
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> small(-1, 1), middle(-20, 20), large(-110, 110);
  while (all.size() < 300000) {
    all.push_back(small(rng));
    all.push_back(middle(rng));
    all.push_back(large(rng));
    all.push_back(std::bit_cast<float>(static_cast<uint32_t>(rng())));
  }
  return all;
}

struct Function {
  PointwiseFn fn;
  size_t arguments;
};

/// The results of a step on blocks of these entries, whose last is not full.
std::vector<float> ran(const VectorSteps& vectors, const Function& what,
                       const std::vector<float>& a, const std::vector<float>& b, bool truth,
                       Rounding rounding = Rounding::none) {
  std::vector<float> results;
  const PointwiseStep step{what.fn, true, std::vector<size_t>(what.arguments), 0, {}};
  for (size_t first = 0; first < a.size(); first += block_size - 3) {
    const auto n = std::min<int64_t>(block_size - 3, static_cast<int64_t>(a.size() - first));
    Block<float> x{}, y{}, to{};
    std::copy_n(a.begin() + static_cast<int64_t>(first), n, x.real);
    std::copy_n(b.begin() + static_cast<int64_t>(first), n, y.real);
    const Block<float>* arguments[] = {&x, &y};
    EXPECT_TRUE(vectors.step(step, arguments, to, n, rounding));
    for (int64_t i = 0; i < n; ++i)
      results.push_back(truth ? static_cast<float>(to.integer[i]) : to.real[i]);
  }
  return results;
}

/// How many floats lie between.
double ulps(float got, double wanted) {
  const double size = std::max(std::abs(wanted), 0x1p-126);
  return std::abs(got - wanted) / std::ldexp(1, std::max(std::ilogb(size), -126) - 23);
}

template <class Fn>
void expect_within(PointwiseFn fn, double most, Fn wanted) {
  const std::vector<float> all = any_floats();
  for (Isa isa : levels()) {
    const std::vector<float> got = ran(*vector_steps(isa), {fn, 1}, all, all, false);
    double worst = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const double exact = wanted(static_cast<double>(all[i]));
      const auto rounded = static_cast<float>(exact);
      if (std::isnan(exact) || std::isinf(rounded)) {
        ASSERT_TRUE(std::isnan(exact) ? std::isnan(got[i]) : got[i] == rounded)
            << name_of(isa) << " of " << all[i] << ": " << got[i];
        continue;
      }
      worst = std::max(worst, ulps(got[i], exact));
      ASSERT_LE(ulps(got[i], exact), most) << name_of(isa) << " of " << all[i] << ": " << got[i];
    }
    std::printf("%s: %.2f ulp\n", name_of(isa), worst);
  }
}

TEST(VectorSteps, AreWithinTheirBounds) {
  expect_within(PointwiseFn::exp, 2, [](double x) { return std::exp(x); });
  expect_within(PointwiseFn::tanh, 6, [](double x) { return std::tanh(x); });
  expect_within(PointwiseFn::erf, 2, [](double x) { return std::erf(x); });
  expect_within(PointwiseFn::log, 4, [](double x) { return std::log(x); });
  expect_within(PointwiseFn::log1p, 4, [](double x) { return std::log1p(x); });
  expect_within(PointwiseFn::expm1, 4, [](double x) { return std::expm1(x); });
  expect_within(PointwiseFn::sin, 4, [](double x) { return std::sin(x); });
  expect_within(PointwiseFn::cos, 4, [](double x) { return std::cos(x); });
  expect_within(PointwiseFn::sqrt, 0.5, [](double x) { return std::sqrt(x); });
  expect_within(PointwiseFn::rsqrt, 1.5, [](double x) { return 1 / std::sqrt(x); });
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// Red if an angle that is too large for a vector changes how its neighbours are computed: which
// neighbours an entry has depends on the number of ranks.
TEST(VectorSteps, NoEntryChangesTheBitsOfAnother) {
  using enum PointwiseFn;
  const std::vector<float> all = any_floats(), back(all.rbegin(), all.rend());
  for (Isa isa : levels())
    for (PointwiseFn fn : {exp, tanh, erf, log, log1p, expm1, sin, cos, sqrt, rsqrt}) {
      const std::vector<float> got = ran(*vector_steps(isa), {fn, 1}, all, all, false);
      const std::vector<float> other = ran(*vector_steps(isa), {fn, 1}, back, back, false);
      for (size_t i = 0; i < all.size(); ++i)
        ASSERT_TRUE(same(got[i], other[all.size() - 1 - i]))
            << name_of(isa) << " step " << int(fn) << " of " << all[i];
    }
}

template <class Fn>
void expect_exact(const Function& step, bool truth, Fn wanted) {
  const std::vector<float> a = any_floats();
  std::vector<float> b(a.rbegin(), a.rend());
  std::copy_n(a.begin(), 1000, b.begin());  // equal ones too
  for (Isa isa : levels()) {
    const std::vector<float> got = ran(*vector_steps(isa), step, a, b, truth);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_TRUE(same(got[i], static_cast<float>(wanted(a[i], b[i]))))
          << name_of(isa) << " step " << int(step.fn) << " of " << a[i] << " and " << b[i] << ": "
          << got[i];
  }
}

TEST(VectorSteps, HaveTheSameBitsAtEveryLevel) {
  using enum PointwiseFn;
  expect_exact({neg, 1}, false, [](float a, float) { return -a; });
  expect_exact({abs, 1}, false, [](float a, float) { return std::fabs(a); });
  expect_exact({round_bf16, 1}, false, [](float a, float) { return bf16_to_f32(f32_to_bf16(a)); });
  expect_exact({add, 2}, false, [](float a, float b) { return a + b; });
  expect_exact({sub, 2}, false, [](float a, float b) { return a - b; });
  expect_exact({mul, 2}, false, [](float a, float b) { return a * b; });
  expect_exact({div, 2}, false, [](float a, float b) { return a / b; });
  expect_exact({maximum, 2}, false, [](float a, float b) { return a < b || b != b ? b : a; });
  expect_exact({minimum, 2}, false, [](float a, float b) { return b < a || b != b ? b : a; });
  expect_exact({eq, 2}, true, [](float a, float b) { return a == b; });
  expect_exact({ne, 2}, true, [](float a, float b) { return a != b; });
  expect_exact({lt, 2}, true, [](float a, float b) { return a < b; });
  expect_exact({gt, 2}, true, [](float a, float b) { return a > b; });
  expect_exact({le, 2}, true, [](float a, float b) { return a <= b; });
  expect_exact({ge, 2}, true, [](float a, float b) { return a >= b; });
}

/// What the inputs of a program in bf16 are.
std::vector<float> rounded(std::vector<float> all) {
  for (float& each : all) each = rounded_to_bf16(each);
  return all;
}

// Red if the rounding in a step's own pass differs from a step that rounds, also without a case for
// NaN where no operand has one that is wider than a bf16.
TEST(VectorSteps, RoundInTheSamePass) {
  using enum PointwiseFn;
  const std::vector<float> a = any_floats(), b(a.rbegin(), a.rend()), narrow_a = rounded(a),
                           narrow_b(narrow_a.rbegin(), narrow_a.rend());
  for (Isa isa : levels())
    for (const Function& each :
         {Function{neg, 1}, {abs, 1},   {exp, 1},       {tanh, 1},       {erf, 1},
          {log, 1},         {log1p, 1}, {expm1, 1},     {sin, 1},        {cos, 1},
          {sqrt, 1},        {rsqrt, 1}, {round_f32, 1}, {round_bf16, 1}, {add, 2},
          {sub, 2},         {mul, 2},   {div, 2},       {maximum, 2},    {minimum, 2}}) {
      for (const Rounding rounding : {Rounding::bf16, Rounding::bf16_of_narrow_nans}) {
        const bool any = rounding == Rounding::bf16;
        const std::vector<float>&x = any ? a : narrow_a, &y = any ? b : narrow_b;
        const std::vector<float> wide = ran(*vector_steps(isa), each, x, y, false),
                                 got = ran(*vector_steps(isa), each, x, y, false, rounding);
        for (size_t i = 0; i < x.size(); ++i)
          ASSERT_TRUE(same(got[i], rounded_to_bf16(wide[i])))
              << name_of(isa) << " step " << int(each.fn) << " of " << x[i] << " and " << y[i];
      }
    }
}

// Red if a row starts at another place, or entries between rows are written.
TEST(VectorSteps, PackAndUnpackRows) {
  const std::vector<float> all = any_floats();
  for (Isa isa : levels())
    for (int64_t n : {1, 3, 16, 37}) {
      const VectorSteps& vectors = *vector_steps(isa);
      const PackedRows rows{5, n + 2, n};
      std::vector<float> packed(static_cast<size_t>(5 * n)),
          back(static_cast<size_t>(5 * (n + 2)), 7);
      std::vector<uint16_t> narrow(back.size(), 7);
      vectors.load_rows_f32(packed.data(), all.data(), rows);
      vectors.store_rows_f32(back.data(), packed.data(), rows);
      vectors.store_rows_bf16(narrow.data(), packed.data(), rows);
      std::vector<float> wide(packed.size());
      vectors.load_rows_bf16(wide.data(), narrow.data(), rows);
      for (int64_t r = 0; r < 5; ++r)
        for (int64_t i = 0; i < n + 2; ++i) {
          const auto at = static_cast<size_t>(r * (n + 2) + i), in = static_cast<size_t>(r * n + i);
          if (i >= n) {
            EXPECT_EQ(back[at], 7);
            EXPECT_EQ(narrow[at], 7);
            continue;
          }
          EXPECT_TRUE(same(packed[in], all[at]) && same(back[at], all[at]));
          EXPECT_TRUE(same(wide[in], rounded_to_bf16(all[at])));
          EXPECT_EQ(narrow[at], f32_to_bf16(all[at]));
        }
    }
}

TEST(VectorSteps, ChooseEntryByEntry) {
  for (Isa isa : levels()) {
    Block<float> c{}, a{}, b{}, to{};
    for (int64_t i = 0; i < block_size; ++i) {
      c.integer[i] = i % 3 == 0 ? int64_t{1} << (i % 40) : 0;
      a.real[i] = static_cast<float>(i);
      b.real[i] = static_cast<float>(-i);
    }
    const Block<float>* arguments[] = {&c, &a, &b};
    ASSERT_TRUE(vector_steps(isa)->step({PointwiseFn::where, true, {0, 1, 2}, 0, {}}, arguments, to,
                                        block_size, Rounding::none));
    for (int64_t i = 0; i < block_size; ++i)
      EXPECT_EQ(to.real[i], i % 3 == 0 ? a.real[i] : b.real[i]);
  }
}

TEST(VectorSteps, Bf16InMemory) {
  const std::vector<float> all = any_floats();
  const PackedRows whole{1, 0, static_cast<int64_t>(all.size())};
  for (Isa most : {Isa::amx, Isa::v4})  // with and without an instruction for it
    for (Isa isa : levels()) {
      limit_isa(most);
      std::vector<uint16_t> narrow(all.size() + 1, 77);
      std::vector<float> wide(all.size());
      vector_steps(isa)->store_rows_bf16(narrow.data(), all.data(), whole);
      vector_steps(isa)->load_rows_bf16(wide.data(), narrow.data(), whole);
      EXPECT_EQ(narrow.back(), 77);
      for (size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(narrow[i], f32_to_bf16(all[i])) << all[i];
        ASSERT_TRUE(same(wide[i], bf16_to_f32(narrow[i]))) << all[i];
      }
    }
  limit_isa(Isa::amx);
}

TEST(VectorSteps, OthersAreLeft) {
  Block<float> x{}, to{};
  const Block<float>* arguments[] = {&x, &x};
  for (Isa isa : levels()) {
    EXPECT_FALSE(vector_steps(isa)->step({PointwiseFn::add, false, {0, 1}, 0, {}}, arguments, to, 4,
                                         Rounding::none));
    EXPECT_FALSE(vector_steps(isa)->step({PointwiseFn::pow, true, {0, 1}, 0, {}}, arguments, to, 4,
                                         Rounding::none));
  }
  EXPECT_EQ(vector_steps(Isa::baseline), nullptr);
}

TEST(Isa, NamesAreReadBack) {
  for (Isa each : {Isa::baseline, Isa::neon, Isa::v2, Isa::v3, Isa::v4, Isa::bf16, Isa::amx})
    EXPECT_EQ(isa_of(name_of(each)), each);
  EXPECT_FALSE(isa_of("x86-64-v9"));
  EXPECT_LE(isa(), machine_isa());
  EXPECT_EQ(machine_levels().front(), Isa::baseline);
}

}  // namespace vector_steps_test
}  // namespace shardproof::cpu
