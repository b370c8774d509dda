// The index maths of kernels.
#include "kernels/cuda/loops.h"

#include <gtest/gtest.h>

#include "kernels/cuda/laws/cases.h"
#include "kernels/cuda/wide.h"

namespace shardproof::emulated {
namespace {

TEST(Divisor, Divides) {
  laws::Dice dice(1);
  const uint32_t most = INT32_MAX;
  for (int i = 0; i < 20000; ++i) {
    const auto bits = [&] { return static_cast<uint32_t>(dice.word()) >> dice.between(1, 31); };
    const uint32_t divisor = i % 50 == 0 ? most - static_cast<uint32_t>(i) : std::max(bits(), 1u);
    const Divisor by = divisor_of(divisor);
    for (const uint32_t n : {bits(), divisor - 1, divisor, most / divisor * divisor, most, 0u})
      ASSERT_EQ(by.quotient(n), n / divisor) << n << " / " << divisor;
  }
}

/// At every step where nested loops stand, whatever the divisions are done by.
TEST(Loops, StandWhereTheLoopsDo) {
  laws::Dice dice(2);
  for (int i = 0; i < 300; ++i) {
    Nest nest;
    nest.extents = laws::random_extents(dice, 6);
    for (int k = 0; k < 3; ++k)
      nest.strides.push_back(laws::random_strides(dice, nest.extents, laws::Layout::view));
    Loops<3> loops = loops_of<3>(nest);
    loops.narrow = loops.narrow && dice.percent(70);
    ASSERT_EQ(loops.count, nest.count());
    int64_t step = 0;
    for_each_row(nest, [&](const int64_t* at) {
      for (int64_t j = 0; j < nest.inner(); ++j, ++step) {
        int64_t found[3];
        loops.find(step, found);
        for (size_t k = 0; k < 3; ++k)
          ASSERT_EQ(found[k], at[k] + j * nest.inner_stride(k)) << "step " << step;
      }
    });
    ASSERT_EQ(step, loops.count);
  }
}

TEST(Loops, SayThatThereAreTooMany) {
  Nest nest{std::vector<int64_t>(9, 2), {{1, 2, 4, 8, 16, 32, 64, 128, 256}}};
  try {
    loops_of<1>(nest);
    FAIL() << "nine loops";
  } catch (const std::length_error& error) {
    EXPECT_STREQ(error.what(), "a nest of 9 loops: kernels have at most 8");
  }
}

TEST(Wide, TakesWhatEveryStrideAndPointerAllow) {
  alignas(64) char memory[64];
  const Nest rows{{5, 24}, {{24, 1}, {48, 1}}};
  EXPECT_EQ(joined(rows, {2, 2, {memory, memory}}), 8);
  EXPECT_EQ(joined(rows, {2, 4, {memory, memory}}), 4);
  EXPECT_EQ(joined(rows, {2, 4, {memory, memory + 8}}), 2);
  EXPECT_EQ(joined(rows, {2, 4, {memory, memory}, 6}), 2);
  EXPECT_EQ(joined(Nest{{5, 6}, {{6, 1}, {6, 1}}}, {2, 4, {memory, memory}}), 2);
  EXPECT_EQ(joined(Nest{{5, 24}, {{24, 1}, {1, 5}}}, {2, 4, {memory, memory}}), 1);
  EXPECT_EQ(joined(Nest{{5, 24}, {{24, 1}, {24, 1}, {1, 1}}}, {2, 4, {memory, memory}}), 1);
}

}  // namespace
}  // namespace shardproof::emulated
