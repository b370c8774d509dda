// Red if two buffers in use share memory, a dropped one is not used again, more is kept than
// allowed, or a buffer may not outlive its plan.
#include "impl/run/result_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

namespace shardproof {
namespace {

constexpr size_t large = size_t{1} << 20;

TEST(ResultMemory, IsUsedAgainWhenItIsDropped) {
  ResultMemory memory(2 * large);
  Buffer a = memory.take(large);
  const Buffer b = memory.take(large);
  std::byte* const first = a.data();
  EXPECT_NE(first, b.data());
  a = Buffer();
  const Buffer other = memory.take(2 * large);
  EXPECT_NE(other.data(), first) << "of another size";
  const Buffer again = memory.take(large), more = memory.take(large);
  EXPECT_EQ(again.data(), first);
  EXPECT_NE(more.data(), first);
}

TEST(ResultMemory, KeepsNoMoreThanAllowed) {
  ResultMemory memory(large);
  {
    const Buffer a = memory.take(large), b = memory.take(large);
    EXPECT_NE(a.data(), b.data());
    EXPECT_EQ(memory.kept(), 0);
  }
  EXPECT_EQ(memory.kept(), large);
  const Buffer again = memory.take(large);
  EXPECT_EQ(memory.kept(), 0);
}

TEST(ResultMemory, MayBeOutlived) {
  auto memory = std::make_optional<ResultMemory>(large);
  Buffer a = memory->take(large);
  memory.reset();
  std::memset(a.data(), 1, large);
  EXPECT_EQ(a.data()[large - 1], std::byte{1});
}

}  // namespace
}  // namespace shardproof
