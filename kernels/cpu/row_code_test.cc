// Machine code of chains has the bits of their steps.
#include "kernels/cpu/row_code.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/bf16.h"
#include "kernels/cpu/kernels.h"

namespace shardproof::cpu {
namespace {

size_t drawn_below(std::mt19937& rng, size_t n) { return static_cast<size_t>(rng() % n); }

/// Any bits, numbers near 1, and those at the ends of the functions.
float any_number(std::mt19937& rng) {
  using Limits = std::numeric_limits<float>;
  switch (drawn_below(rng, 4)) {
    case 0:
      return std::bit_cast<float>(static_cast<uint32_t>(rng()));
    case 1: {
      const std::array ends{0.0f,
                            -0.0f,
                            Limits::infinity(),
                            -Limits::infinity(),
                            88.8f,
                            -87.4f,
                            -103.9f,
                            Limits::quiet_NaN(),
                            0.0004f,
                            7.9f,
                            Limits::denorm_min(),
                            Limits::max()};
      return ends[drawn_below(rng, ends.size())];
    }
    default:
      return std::ldexp(static_cast<float>(rng()), -30) - 2;
  }
}

/// A chain of the functions that have code, along a row of n entries.
class ChainOfCode {
 public:
  ChainOfCode(std::mt19937& rng, int64_t n, size_t steps) : rng_(rng) {
    const std::array elements{Element::f32,  Element::bf16, Element::f32,
                              Element::bf16, Element::i32,  Element::u8};
    for (size_t i = 0, inputs = 1 + drawn_below(rng, 4); i < inputs; ++i) {
      op.inputs.push_back(elements[drawn_below(rng, elements.size())]);
      reals_.push_back(is_real(op.inputs.back()));
    }
    while (op.steps.size() < steps) add_step();
    op.output = reals_.back() ? std::array{Element::f32, Element::bf16}[drawn_below(rng, 2)]
                              : std::array{Element::i32, Element::u8}[drawn_below(rng, 2)];
    op.nest.extents = {n};
    op.nest.strides.assign(op.inputs.size() + 1, {1});
    for (size_t k = 1; k <= op.inputs.size(); ++k)
      if (drawn_below(rng, 4) == 0) op.nest.strides[k] = {0};
  }

  Pointwise op;

 private:
  size_t append(PointwiseFn fn, bool of_real, std::vector<size_t> arguments) {
    const double value =
        of_real ? 0.25 * static_cast<double>(drawn_below(rng_, 9)) : drawn_below(rng_, 3);
    op.steps.push_back({fn, of_real, std::move(arguments), value, {}});
    reals_.push_back(gives_real(op.steps.back()));
    return reals_.size() - 1;
  }
  /// Mostly a late one.
  size_t some(bool real) {
    for (int tries = 0; tries < 12; ++tries) {
      const size_t count = reals_.size(), near = std::min<size_t>(count, 5);
      const size_t at =
          drawn_below(rng_, 3) ? count - 1 - drawn_below(rng_, near) : drawn_below(rng_, count);
      if (reals_[at] == real) return at;
    }
    return append(PointwiseFn::constant, real, {});
  }

  void add_step() {
    using enum PointwiseFn;
    const auto one_of = [&](auto all) { return all[drawn_below(rng_, all.size())]; };
    switch (drawn_below(rng_, 12)) {
      case 0:
        return void(
            append(one_of(std::array{eq, ne, lt, gt, le, ge}), true, {some(true), some(true)}));
      case 1:
        return void(
            append(one_of(std::array{eq, ne, lt, gt, le, ge}), false, {some(false), some(false)}));
      case 2:
        return void(
            append(one_of(std::array{logical_and, logical_or}), false, {some(false), some(false)}));
      case 3:
        return void(append(one_of(std::array{logical_not, to_real}), false, {some(false)}));
      case 4: {
        const bool real = drawn_below(rng_, 3) > 0;
        return void(append(where, real, {some(false), some(real), some(real)}));
      }
      case 5:
      case 6:
      case 7:
        return void(append(
            one_of(std::array{neg, abs, exp, tanh, sqrt, rsqrt, round_f32, round_bf16, round_bf16}),
            true, {some(true)}));
      default:
        return void(append(one_of(std::array{add, sub, mul, div, maximum, minimum}), true,
                           {some(true), some(true)}));
    }
  }

  std::mt19937& rng_;
  std::vector<bool> reals_;  ///< by value
};

using RowBytes = std::vector<unsigned char>;

RowBytes any_numbers(std::mt19937& rng, Element element, int64_t n) {
  RowBytes bytes(static_cast<size_t>(n) * size_of(element));
  for (int64_t i = 0; i < n; ++i) {
    const float x = any_number(rng);
    if (element == Element::f32)
      reinterpret_cast<float*>(bytes.data())[i] = x;
    else if (element == Element::bf16)
      reinterpret_cast<uint16_t*>(bytes.data())[i] = f32_to_bf16(x);
    else if (element == Element::i32)
      reinterpret_cast<int32_t*>(bytes.data())[i] =
          drawn_below(rng, 2) ? static_cast<int32_t>(drawn_below(rng, 4)) - 1
                              : static_cast<int32_t>(rng());
    else
      bytes[static_cast<size_t>(i)] = static_cast<unsigned char>(drawn_below(rng, 3));
  }
  return bytes;
}

/// The bits of an entry, equal for all NaNs: which operand's NaN is kept is the compiler's choice.
uint32_t bits_or_nan(const RowBytes& bytes, Element element, int64_t i) {
  if (element == Element::u8) return bytes[static_cast<size_t>(i)];
  if (element == Element::i32) return reinterpret_cast<const uint32_t*>(bytes.data())[i];
  const uint32_t bits =
      element == Element::f32
          ? reinterpret_cast<const uint32_t*>(bytes.data())[i]
          : static_cast<uint32_t>(reinterpret_cast<const uint16_t*>(bytes.data())[i]) << 16;
  return std::isnan(std::bit_cast<float>(bits)) ? 0x7fc00000u : bits;
}

RowCode code_of(const Pointwise& op) {
  RowChain chain{{}, op.steps, {{op.result(), RowChain::To::entries, op.output}}};
  for (size_t k = 0; k < op.inputs.size(); ++k)
    chain.inputs.push_back({op.inputs[k], op.nest.strides[k + 1][0] == 0});
  return row_code(chain);
}

/// The processor has AVX-512, the build Xbyak, and the system allows new code.
bool runs_code() {
  return row_code({{{Element::f32, false}}, {}, {{0, RowChain::To::entries, Element::f32}}}) !=
         nullptr;
}

TEST(RowCode, HasTheBitsOfTheSteps) {
  if (!runs_code()) GTEST_SKIP() << "no machine code on this processor";
  std::mt19937 rng(5);
  int ran = 0;
  for (int round = 0; round < 3'000 && !HasFailure(); ++round) {
    const int64_t n =
        1 + static_cast<int64_t>(drawn_below(rng, 150));  // too few for code of a Pointwise
    const Pointwise op = ChainOfCode(rng, n, 1 + drawn_below(rng, 30)).op;
    const RowCode code = code_of(op);
    if (!code) continue;  // too many values at once
    ++ran;
    std::vector<RowBytes> arrays;
    std::vector<const void*> inputs;
    std::vector<void*> operands;
    for (Element element : op.inputs) arrays.push_back(any_numbers(rng, element, n));
    for (RowBytes& each : arrays) inputs.push_back(each.data()), operands.push_back(each.data());
    RowBytes wanted(static_cast<size_t>(n) * size_of(op.output)), got(wanted.size() + 64, 0xa5);
    operands.push_back(got.data());
    run(op, wanted.data(), inputs.data());
    code(operands.data(), n);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(bits_or_nan(got, op.output, i), bits_or_nan(wanted, op.output, i))
          << "entry " << i << " of " << n << ", round " << round;
    for (size_t i = wanted.size(); i < got.size(); ++i) ASSERT_EQ(got[i], 0xa5) << "beyond the end";
  }
  EXPECT_GT(ran, 2'500);
}

/// A chain that a Pointwise runs as code, in rows with gaps, beside the same in short pieces.
TEST(RowCode, RunsLongChains) {
  std::mt19937 rng(6);
  for (int round = 0; round < 40 && !HasFailure(); ++round) {
    const int64_t n = 100 + static_cast<int64_t>(drawn_below(rng, 300)), rows = 90, gap = 5;
    Pointwise op = ChainOfCode(rng, n, 1 + drawn_below(rng, 12)).op;
    op.nest.extents = {rows, n};
    for (std::vector<int64_t>& strides : op.nest.strides)
      strides = {strides[0] == 0 ? 1 : n + gap, strides[0]};
    std::vector<RowBytes> arrays;
    std::vector<const void*> inputs;
    for (Element element : op.inputs) arrays.push_back(any_numbers(rng, element, rows * (n + gap)));
    for (const RowBytes& each : arrays) inputs.push_back(each.data());
    RowBytes got(static_cast<size_t>(rows * (n + gap)) * size_of(op.output), 0xa5), wanted = got;
    run(op, got.data(), inputs.data());
    Pointwise one = op;
    one.nest.extents = {1, n};
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<const void*> from;
      for (size_t k = 0; k < arrays.size(); ++k)
        from.push_back(arrays[k].data() + static_cast<size_t>(row * op.nest.strides[k + 1][0]) *
                                              size_of(op.inputs[k]));
      run(one,
          wanted.data() + static_cast<size_t>(row * op.nest.strides[0][0]) * size_of(op.output),
          from.data());
    }
    for (int64_t i = 0; i < rows * (n + gap); ++i)
      ASSERT_EQ(bits_or_nan(got, op.output, i), bits_or_nan(wanted, op.output, i)) << "entry " << i;
  }
}

/// The same entries in any order of the chain's inputs and results: sums, one entry, columns.
TEST(RowCode, SumsAndColumns) {
  if (!runs_code()) GTEST_SKIP() << "no machine code on this processor";
  const RowChain chain{{{Element::f32, false}, {Element::bf16, true}},
                       {{PointwiseFn::mul, true, {0, 1}, 0, {}}},
                       {{2, RowChain::To::sum, Element::f32},
                        {2, RowChain::To::columns, Element::f64},
                        {0, RowChain::To::sum, Element::f32},
                        {1, RowChain::To::one, Element::f32}}};
  const RowCode code = row_code(chain);
  ASSERT_TRUE(code);
  EXPECT_EQ(row_code(chain), code);
  for (int64_t n : {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 100, 512}) {
    std::vector<float> x(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
    const uint16_t by = f32_to_bf16(-2);
    double products = 0.5, sum = 0.25;
    std::vector<double> columns(static_cast<size_t>(n) + 1, 0.125);
    float one = 0;
    void* operands[] = {x.data(), const_cast<uint16_t*>(&by), &products, columns.data(), &sum,
                        &one};
    code(operands, n);
    const double all = static_cast<double>(n * (n + 1)) / 2;
    EXPECT_EQ(sum, 0.25 + all) << n;
    EXPECT_EQ(products, 0.5 - 2 * all) << n;
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(columns[i], 0.125 - 2.0 * x[i]);
    EXPECT_EQ(columns.back(), 0.125);
    EXPECT_EQ(one, n == 0 ? 0 : -2);
  }
}

/// An f32 input and a bf16 result of value 0 once had the same word in a chain's key.
TEST(RowCode, ChainsOfOtherInputsHaveOtherCode) {
  if (!runs_code()) GTEST_SKIP() << "no machine code on this processor";
  const std::vector<PointwiseStep> steps{{PointwiseFn::neg, true, {0}, 0, {}}};
  const RowChain::Input f32{Element::f32, false};
  const RowChain::Result one{1, RowChain::To::entries, Element::f32},
      zero{0, RowChain::To::entries, Element::bf16};
  EXPECT_NE(row_code({{f32, f32}, steps, {one}}), row_code({{f32}, steps, {zero, one}}));
}

TEST(RowCode, OfOtherStepsIsNotMade) {
  using enum PointwiseFn;
  const auto made = [](const PointwiseStep& step, Element element = Element::f32) {
    return row_code({{{element, false}}, {step}, {{1, RowChain::To::entries, Element::f32}}}) !=
           nullptr;
  };
  EXPECT_EQ(made({exp, true, {0}, 0, {}}), runs_code());
  EXPECT_FALSE(made({sin, true, {0}, 0, {}}));
  EXPECT_FALSE(made({eq, true, {0, 0}, 0, {}}));  // no float
  EXPECT_FALSE(made({add, false, {0, 0}, 0, {}}, Element::i32));
  EXPECT_EQ(made({to_real, false, {0}, 0, {}}, Element::i32), runs_code());
  EXPECT_FALSE(made({to_real, false, {0}, 0, {}}, Element::u32));
  EXPECT_FALSE(made({exp, true, {0}, 0, {}}, Element::f64));
}

}  // namespace
}  // namespace shardproof::cpu
