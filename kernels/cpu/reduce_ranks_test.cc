#include "kernels/cpu/reduce_ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/bf16.h"

namespace shardproof {
namespace {

TEST(Bf16, EveryValueSurvives) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16_to_f32(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(value))));
    else
      EXPECT_EQ(f32_to_bf16(value), bits);
  }
}

TEST(Bf16, RoundsToNearestTiesToEven) {
  const auto rounded = [](float value) { return bf16_to_f32(f32_to_bf16(value)); };
  EXPECT_EQ(rounded(257), 256);
  EXPECT_EQ(rounded(259), 260);
  EXPECT_EQ(rounded(257.001f), 258);
  EXPECT_EQ(rounded(-257), -256);
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
}

/// NaN whose upper half alone would be an infinity.
TEST(Bf16, KeepsNaN) {
  const uint32_t bits = 0x7f800001;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(value))));
}

template <class T>
std::vector<T> reduced(Element element, Reduction reduction,
                       const std::vector<std::vector<T>>& rows) {
  std::vector<const void*> sources;
  for (const std::vector<T>& row : rows) sources.push_back(row.data());
  std::vector<T> out(rows[0].size());
  reduce_ranks(element, reduction, sources.data(), static_cast<int>(rows.size()), out.data(),
               out.size());
  return out;
}

TEST(ReduceRanks, InOrder) {
  const std::vector<double> sum =
      reduced<double>(Element::f64, Reduction::sum, {{1e30, 1e30}, {-1e30, 1}, {1, -1e30}});
  EXPECT_EQ(sum, (std::vector<double>{1, 0}));
}

TEST(ReduceRanks, LongRowsAndOneRow) {
  const std::vector<float> row(5001, 2);
  EXPECT_EQ(reduced<float>(Element::f32, Reduction::sum, {row}), row);
  EXPECT_EQ(reduced<float>(Element::f32, Reduction::sum, {row, row, row}),
            std::vector<float>(5001, 6));
}

TEST(ReduceRanks, IntegersWrapAndCompareSigned) {
  constexpr int32_t most = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(reduced<int32_t>(Element::i32, Reduction::sum, {{most}, {1}})[0], -most - 1);
  EXPECT_EQ(reduced<int32_t>(Element::i32, Reduction::max, {{-1}, {1}})[0], 1);
  EXPECT_EQ(reduced<uint32_t>(Element::u32, Reduction::max, {{~0u}, {1}})[0], ~0u);
  EXPECT_EQ(reduced<uint8_t>(Element::u8, Reduction::min, {{1}, {0}})[0], 0);
}

}  // namespace
}  // namespace shardproof
