// Every function of spec/ir/pointwise.def as a kernel of one step, beside the table's value.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/bf16.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/look_ups.h"
#include "kernels/number.h"

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

// Red if an entry's bits depend on its place in a block, or on the entries beside it: which those
// are depends on the number of ranks.
TEST(Pointwise, EntriesAloneHaveTheBitsThatTheyHaveAmongOthers) {
  std::mt19937 rng(3);
  std::uniform_real_distribution<double> near(-3, 3), far(-80, 80);
  std::vector<double> all{0.0, 1e9, -1e300, 1e-310, 5e4};
  while (all.size() < 99) all.push_back(all.size() % 2 ? near(rng) : far(rng));
  using enum PointwiseFn;
  for (PointwiseFn fn : {exp, log, sqrt, rsqrt, tanh, erf, sin, cos, floor, expm1, log1p}) {
    const std::vector<double> together = ran(fn, true, all, nullptr);
    for (size_t i = 0; i < all.size(); ++i) {
      const double alone = ran(fn, true, {all[i]}, nullptr)[0];
      const bool equal = std::isnan(alone) ? std::isnan(together[i]) : alone == together[i];
      EXPECT_TRUE(equal) << "step " << int(fn) << " of " << all[i] << ": " << together[i]
                         << " among others, alone " << alone;
    }
  }
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

float value_of(const PointwiseStep& step, const std::vector<float>& registers) {
  const auto x = [&](size_t i) { return registers[step.arguments[i]]; };
  if (step.fn == PointwiseFn::constant) return static_cast<float>(step.value);
  if (step.fn == PointwiseFn::neg) return -x(0);
  if (step.fn == PointwiseFn::round_bf16) return rounded_to_bf16(x(0));
  if (step.fn == PointwiseFn::add) return x(0) + x(1);
  if (step.fn == PointwiseFn::mul) return x(0) * x(1);
  return std::max(x(0), x(1));
}

/// Up to 30 steps, each of any registers before it, on up to 3 loops; operands may repeat along
/// some of them, have gaps between rows, and be bf16.
Pointwise random_chain(std::mt19937& rng) {
  using enum PointwiseFn;
  const auto below = [&](size_t n) { return static_cast<size_t>(rng() % n); };
  Pointwise op;
  const size_t inputs = 1 + below(4), loops = below(4);
  for (size_t i = 0; i < inputs; ++i) op.inputs.push_back(below(2) ? Element::f32 : Element::bf16);
  op.output = below(2) ? Element::f32 : Element::bf16;
  for (size_t i = 0, steps = below(30); i < steps; ++i) {
    const PointwiseFn fn =
        std::array{constant, neg, round_bf16, round_bf16, add, mul, maximum}[below(7)];
    PointwiseStep step{fn, true, {}, 0.25 * static_cast<double>(below(9)), {}};
    const size_t arguments = fn == constant ? 0 : fn == neg || fn == round_bf16 ? 1 : 2;
    for (size_t k = 0; k < arguments; ++k) {  // mostly one of the last three
      const size_t before = inputs + i, near = std::min<size_t>(before, 3);
      step.arguments.push_back(below(3) ? before - 1 - below(near) : below(before));
    }
    op.steps.push_back(step);
  }
  for (size_t d = 0; d < loops; ++d)
    op.nest.extents.push_back(
        1 + static_cast<int64_t>(below(d + 1 == loops ? 400 >> (3 * below(3)) : 9)));
  for (size_t k = 0; k <= inputs; ++k) {
    std::vector<int64_t> strides(loops);
    int64_t stride = 1 + static_cast<int64_t>(below(4) == 0);
    for (size_t d = loops; d-- > 0;) {
      strides[d] = k > 0 && below(3) == 0 ? 0 : stride;
      stride *= op.nest.extents[d] + static_cast<int64_t>(below(3) == 0);
    }
    op.nest.strides.push_back(strides);
  }
  if (op.steps.empty()) op.inputs.resize(1), op.nest.strides.resize(2);
  return op;
}

struct alignas(64) Line {
  std::byte bytes[64];
};

/// Whether the result can have the memory of the first operand.
bool replaces(const Pointwise& op) {
  return op.nest.strides.size() > 1 && op.output == op.inputs[0] &&
         op.nest.strides[0] == op.nest.strides[1];
}

// Red if a register is used again too early, a block of rows starts elsewhere, an operand that
// repeats is kept for other rows, or a result in an operand's memory is written before it is read.
TEST(Pointwise, ChainsOfAnyShapeAreComputedEntryByEntry) {
  std::mt19937 rng(3);
  for (int round = 0; round < 400; ++round) {
    const Pointwise op = random_chain(rng);
    std::vector<std::vector<float>> values;
    std::vector<std::vector<Line>> memory;
    const int unaligned = round % 3 == 0 ? 8 : 0;
    const auto entry = [&](size_t k, size_t i) {
      const Element element = k == 0 ? op.output : op.inputs[k - 1];
      return memory[k][0].bytes + unaligned + i * static_cast<size_t>(size_of(element));
    };
    for (size_t k = 0; k < op.nest.strides.size(); ++k) {
      size_t entries = 1;
      for (size_t d = 0; d < op.nest.extents.size(); ++d)
        entries += static_cast<size_t>((op.nest.extents[d] - 1) * op.nest.strides[k][d]);
      const bool narrow = (k == 0 ? op.output : op.inputs[k - 1]) == Element::bf16;
      values.emplace_back(entries);
      memory.emplace_back(entries / 16 + 2);
      for (size_t i = 0; i < entries; ++i) {
        float& x = values[k][i] = static_cast<float>(static_cast<int>(rng() % 4001) - 2000) / 256;
        const uint16_t bits = f32_to_bf16(x);
        if (narrow) x = bf16_to_f32(bits);
        std::memcpy(entry(k, i), narrow ? static_cast<const void*>(&bits) : &x, narrow ? 2 : 4);
      }
    }
    std::vector<const void*> inputs;
    for (size_t k = 1; k < memory.size(); ++k) inputs.push_back(entry(k, 0));
    if (round % 2 == 0 && replaces(op)) memory[1].swap(memory[0]), inputs[0] = entry(0, 0);
    run(op, entry(0, 0), inputs.data());
    const int64_t inner = op.nest.inner();
    for_each_row(op.nest, [&](const int64_t* at) {
      for (int64_t i = 0; i < inner; ++i) {
        std::vector<float> registers;
        const auto place = [&](size_t k) {
          return static_cast<size_t>(at[k] + i * op.nest.inner_stride(k));
        };
        for (size_t k = 1; k < values.size(); ++k) registers.push_back(values[k][place(k)]);
        for (const PointwiseStep& step : op.steps) registers.push_back(value_of(step, registers));
        float got = 0;
        if (op.output == Element::bf16) {
          uint16_t bits;
          std::memcpy(&bits, entry(0, place(0)), 2);
          got = bf16_to_f32(bits);
        } else {
          std::memcpy(&got, entry(0, place(0)), 4);
        }
        const float wanted =
            op.output == Element::bf16 ? rounded_to_bf16(registers.back()) : registers.back();
        ASSERT_TRUE(std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(wanted) ||
                    (std::isnan(got) && std::isnan(wanted)))
            << "chain " << round << ": " << got << ", not " << wanted;
      }
    });
  }
}

/// The same steps for another number of entries.
Pointwise part_of(const Pointwise& op, int64_t entries) {
  Pointwise part = op;
  part.nest.extents = {entries};
  return part;
}

// Red if a table has other bits than the steps that it replaces, is another input's, or is read at
// the place of another entry. What is too short for tables is computed step by step.
TEST(Pointwise, LookUpsHaveTheBitsOfTheirSteps) {
  constexpr int64_t entries = 9 * table_size + 5, short_ones = 4096;
  std::mt19937 rng(4);
  int looked_up = 0;
  for (int round = 0; round < 400; ++round) {
    limit_isa(
        std::array{Isa::amx, Isa::v3, Isa::v2, Isa::baseline}[static_cast<size_t>(round) % 4]);
    Pointwise op = random_chain(rng);
    if (round % 3 == 0) op.inputs.assign(op.inputs.size(), Element::bf16);
    op.nest.extents = {entries};
    for (size_t k = 0; k < op.nest.strides.size(); ++k)
      op.nest.strides[k] = {k == 0 ? 1 : static_cast<int64_t>(rng() % 4 != 0)};
    const std::optional<LookUps> found = look_ups(op);
    looked_up += found.has_value();
    if (!found) continue;
    std::vector<std::vector<Line>> memory(op.inputs.size());
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      memory[k].resize(entries * 4 / sizeof(Line) + 1);
      for (int64_t i = 0; i < entries; ++i)
        if (op.inputs[k] == Element::bf16)
          reinterpret_cast<uint16_t*>(memory[k].data())[i] = static_cast<uint16_t>(rng());
        else
          reinterpret_cast<float*>(memory[k].data())[i] = static_cast<float>(rng() % 999) / 64;
    }
    const auto size = static_cast<int64_t>(size_of(op.output));
    std::vector<std::byte> whole(static_cast<size_t>(entries * size)), parts(whole);
    const auto run_from = [&](int64_t first, int64_t count, std::vector<std::byte>& out) {
      std::vector<const void*> from;
      for (size_t k = 0; k < op.inputs.size(); ++k)
        from.push_back(reinterpret_cast<const std::byte*>(memory[k].data()) +
                       first * op.nest.strides[k + 1][0] *
                           static_cast<int64_t>(size_of(op.inputs[k])));
      run(part_of(op, count), out.data() + first * size, from.data());
    };
    run_from(0, entries, whole);
    for (int64_t first = 0; first < entries; first += short_ones)
      run_from(first, std::min(short_ones, entries - first), parts);
    int64_t different = 0;
    for (int64_t i = 0; i < entries; ++i) {
      const bool nan = std::isnan(number_at(op.output, whole.data(), i)) &&
                       std::isnan(number_at(op.output, parts.data(), i));
      different += !nan && std::memcmp(whole.data() + i * size, parts.data() + i * size,
                                       static_cast<size_t>(size)) != 0;
    }
    EXPECT_EQ(different, 0) << "chain " << round;
  }
  EXPECT_GT(looked_up, 10);
  limit_isa(Isa::amx);
}

// Red if a table has the quotients of numbers that no entry is.
TEST(Pointwise, LookUpsDivideNoIntegers) {
  using enum PointwiseFn;
  Pointwise op;
  op.inputs = {Element::bf16};
  op.steps = {{to_integer, true, {0}, 0, {}},   {constant, false, {}, 60, {}},
              {floordiv, false, {2, 1}, 0, {}}, {to_real, true, {3}, 0, {}},
              {mul, true, {4, 4}, 0, {}},       {tanh, true, {4}, 0, {}},
              {exp, true, {6}, 0, {}},          {add, true, {5, 7}, 0, {}}};
  op.nest.extents = {8 * table_size};
  op.nest.strides = {{1}, {1}};
  const std::vector<uint16_t> x(8 * table_size, f32_to_bf16(4));
  std::vector<float> out(x.size());
  const void* inputs[] = {x.data()};
  run(op, out.data(), inputs);
  EXPECT_FLOAT_EQ(out.back(), 225 + std::exp(1.0f));
}

/// Two inputs, and steps that are often 1 / (1 + exp(-x)): with another number in place of a 1, a
/// rounding between, or a second reader of a step.
Pointwise near_a_logistic(std::mt19937& rng) {
  using enum PointwiseFn;
  const auto rarely = [&] { return rng() % 8 == 0; };
  Pointwise op;
  op.inputs = {Element::f32, Element::f32};
  op.output = rarely() ? Element::bf16 : Element::f32;
  const auto add_step = [&](PointwiseFn fn, std::vector<size_t> arguments, double value = 0) {
    op.steps.push_back({fn, true, std::move(arguments), value, {}});
    if (rarely()) op.steps.push_back({round_bf16, true, {1 + op.steps.size()}, 0, {}});
    return 1 + op.steps.size();
  };
  const size_t one = add_step(constant, {}, rarely() ? 2 : 1), x = rarely() ? one
                                                                   : rarely()
                                                                       ? add_step(mul, {0, 1})
                                                                       : 0;
  const size_t negated = add_step(rarely() ? abs : neg, {x}),
               between = rarely() ? add_step(mul, {0, 1}) : negated,
               grown = add_step(exp, {rarely() ? 1 : negated}), added = rarely() ? x : one,
               sum = rng() % 2 ? add_step(add, {added, grown}) : add_step(add, {grown, added}),
               share = add_step(div, {rarely() ? 1 : one, rarely() ? between : sum});
  const size_t other = std::array{x, negated, between, grown, sum, one}[rng() % 6];
  if (rng() % 2) add_step(mul, {share, rarely() ? other : 1});
  return op;
}

// Red if the steps of a logistic are computed as one where they are none, where one of them has
// another reader or is rounded, or with other bits.
TEST(Pointwise, LogisticsHaveTheBitsOfTheirSteps) {
  constexpr size_t n = 300;
  std::mt19937 rng(9);
  std::vector<std::vector<float>> inputs(2, std::vector<float>(n));
  for (int round = 0; round < 2000; ++round) {
    limit_isa(
        std::array{Isa::amx, Isa::v3, Isa::v2, Isa::baseline}[static_cast<size_t>(round) % 4]);
    for (std::vector<float>& each : inputs)
      for (float& x : each) x = static_cast<float>(static_cast<int>(rng() % 24001) - 12000) / 128;
    Pointwise op = near_a_logistic(rng);
    op.nest.extents = {n};
    op.nest.strides = {{1}, {1}, {1}};
    std::vector<std::vector<float>> values = inputs;
    for (const PointwiseStep& step : op.steps) {
      Pointwise alone;
      alone.output = Element::f32;
      alone.nest.extents = {n};
      alone.nest.strides = {{1}};
      alone.steps = {step};
      std::vector<const void*> from;
      for (size_t k = 0; k < step.arguments.size(); ++k) {
        alone.steps[0].arguments[k] = k;
        alone.inputs.push_back(Element::f32);
        alone.nest.strides.push_back({1});
        from.push_back(values[step.arguments[k]].data());
      }
      std::vector<float> result(n);
      run(alone, result.data(), from.data());
      values.push_back(std::move(result));
    }
    std::vector<std::byte> got(n * static_cast<size_t>(size_of(op.output)));
    const void* from[] = {inputs[0].data(), inputs[1].data()};
    run(op, got.data(), from);
    for (size_t i = 0; i < n; ++i) {
      const float wanted =
          op.output == Element::bf16 ? rounded_to_bf16(values.back()[i]) : values.back()[i];
      const double own = number_at(op.output, got.data(), static_cast<int64_t>(i));
      ASSERT_TRUE(own == wanted || (std::isnan(own) && std::isnan(wanted)))
          << "chain " << round << ": " << own << ", not " << wanted;
    }
  }
  limit_isa(Isa::amx);
}

// Red if a rounding has no case for the NaNs of an f32, whose bits it would carry into the sign.
TEST(Pointwise, AnyNanStaysOne) {
  using enum PointwiseFn;
  for (const uint32_t bits : {0x7fffffffu, 0xffffffffu, 0x7fc00001u, 0x7f800001u, 0xff80ffffu}) {
    Pointwise op;
    op.inputs = {Element::f32, Element::bf16};
    op.steps = {{mul, true, {0, 1}, 0, {}},
                {round_bf16, true, {2}, 0, {}},
                {mul, true, {1, 1}, 0, {}},
                {round_bf16, true, {4}, 0, {}},
                {maximum, true, {3, 5}, 0, {}}};
    op.output = Element::f32;
    op.nest.extents = {32};
    op.nest.strides = {{1}, {1}, {1}};
    const std::vector<float> x(32, std::bit_cast<float>(bits));
    const std::vector<uint16_t> y(32, f32_to_bf16(1.5f));
    std::vector<float> out(32);
    const void* inputs[] = {x.data(), y.data()};
    run(op, out.data(), inputs);
    for (const float each : out) EXPECT_TRUE(std::isnan(each)) << std::hex << bits;
  }
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
