// Laws of layouts: index maps and their inverses, and represented(distribute(x)) == x.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "spec/denote/candidates.h"
#include "spec/denote/testing.h"
#include "spec/types/layout.h"

namespace shardproof::denote {
namespace {

RC_GTEST_PROP(Layout, LocalAndGlobalIndicesAreInverse, ()) {
  const auto radices = *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(1, 5));
  const auto local_size = *rc::gen::inRange<int64_t>(1, 7);
  const int n = static_cast<int>(radices.size());
  RC_PRE(n <= 6);
  int64_t blocks = 1;
  for (int64_t radix : radices) blocks *= radix;
  const auto global = *rc::gen::inRange<int64_t>(0, blocks * local_size);
  std::vector<int64_t> digits(radices.size());
  const int64_t local = layout::to_local(global, radices.data(), n, local_size, digits.data());
  RC_ASSERT(layout::global_index<int64_t>(digits.data(), radices.data(), n, local_size, local, 0) ==
            global);
  for (size_t i = 0; i < digits.size(); ++i) RC_ASSERT(0 <= digits[i] && digits[i] < radices[i]);
}

TEST(Layout, AGroupIsItsFlatDim) {  // (K D)/t, |t| = 2, |K| = 4, |D| = 3
  for (int64_t t = 0, flat = 0; t < 2; ++t)
    for (int64_t k = 0; k < 2; ++k)
      for (int64_t d = 0; d < 3; ++d, ++flat) {
        const int64_t radix = 2, sizes[] = {2, 3}, at[] = {k, d};
        EXPECT_EQ(layout::group_index<int64_t>(&t, &radix, 1, sizes, at, 2, 0), flat);
      }
}

template <class S>
void round_trips(const std::string& dims) {
  const ir::Program program = testing::program({"d", "t"});
  const Sizes sizes{{{"d", 2}, {"t", 3}}, {{"M", 6}, {"K", 6}, {"D", 2}, {"F", 6}}};
  const Geometry geometry(program, sizes);
  RandomBits rng(3);
  for (const Type& type : candidate_types(testing::type(dims), {"d", "t"}, true)) {
    Array<S> x{geometry.global_shape(type), {}};
    int64_t entries = 1;
    for (int64_t extent : x.shape) entries *= extent;
    for (int64_t i = 0; i < entries; ++i) x.data.push_back(S(static_cast<int64_t>(rng() % 19) - 9));
    const Distributed<S> parts = distribute(geometry, type, x, rng);
    const auto back = represented(geometry, type, parts);
    ASSERT_TRUE(back && same(*back, x)) << to_string(type);
    for (const Type& other : candidate_types(testing::type(dims), {"d", "t"})) {
      if (other.marks == type.marks && other.dims == type.dims) continue;
      if (!type.marks.empty() || split_axes(type).size() < 2) continue;
      const auto wrong = represented(geometry, other, parts);
      EXPECT_FALSE(wrong && same(*wrong, x)) << to_string(type) << " as " << to_string(other);
    }
  }
}

TEST(Represent, DistributedValuesRepresentTheirTensor) {
  round_trips<Rational>("M F");
  round_trips<Rational>("(K D)");
  round_trips<Rational>("H");
  round_trips<Field>("M F");
  round_trips<double>("M F");
}

TEST(Represent, AxesThatDoNotDivide) {
  const ir::Program program = testing::program({"t"});
  const Geometry geometry(program, {{{"t", 2}}, {{"K", 3}, {"D", 2}, {"M", 4}}});
  EXPECT_THROW(geometry.local_shape(testing::shape("(K D)/t")), Mismatch);  // 2 divides 6, not |K|
  EXPECT_EQ(geometry.local_shape(testing::shape("M/t H")), (std::vector<int64_t>{2, 6}));
}

}  // namespace
}  // namespace shardproof::denote
