// Red if a number differs from the standard engine's.
#include "spec/denote/few_draws.h"

#include <gtest/gtest.h>

namespace shardproof::denote {
namespace few_draws_test {

template <class Standard>
void expect_the_numbers_of() {
  for (unsigned seed : {0u, 1u, 7u, 5489u, 1'000'003u, 0xffffffffu}) {
    FewDraws<Standard> few(seed);
    Standard all(seed);
    for (int i = 0; i < 3000; ++i) ASSERT_EQ(few(), all()) << "number " << i << " of seed " << seed;
  }
}

TEST(FewDraws, AreThoseOfTheStandardEngines) {
  expect_the_numbers_of<std::mt19937>();
  expect_the_numbers_of<std::mt19937_64>();
}

}  // namespace few_draws_test
}  // namespace shardproof::denote
