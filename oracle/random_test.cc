// Philox against the known answers of its authors, and what the notation makes of it.
#include "oracle/random.h"

#include "oracle/testing.h"

namespace shardproof::oracle {
namespace {

// The kat_vectors file of Random123, philox4x32 10.
TEST(Philox, known_answers) {
  EXPECT_EQ(philox(Words{0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(Words{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(Words{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, counter_and_key_have_their_low_words_first) {
  EXPECT_EQ(philox(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, uniform_takes_the_words_in_turn) {
  const auto got = run("dim A B\nfn f(k: key[]) -> f32[A B] { return uniform(\"A B\", k) }",
                       {{{"A", 2}, {"B", 3}}, {}}, {key(0)});
  const Words first = philox(0, 0, 0), second = philox(1, 0, 0);
  for (size_t i = 0; i < 6; ++i) {
    const uint32_t word = i < 4 ? first[i] : second[i - 4];
    EXPECT_EQ(got[0].data[i], static_cast<double>(word >> 8) / 16777216.0);
  }
  EXPECT_EQ(got[0].data[0], 0x6627e8 / 16777216.0);
}

TEST(Philox, normal_is_box_muller) {
  const uint64_t k = 0xfedcba9876543210;
  const auto got = run("dim A\nfn f(k: key[]) -> f32[A] { return normal(\"A\", k) }",
                       {{{"A", 4000}}, {}}, {key(k)})[0];
  for (uint64_t i : {0, 1, 3999}) {
    const Words words = philox(Words{static_cast<uint32_t>(i), 0, 1, 0}, {0x76543210, 0xfedcba98});
    const double u = (words[0] + 0.5) / 4294967296.0, v = (words[1] + 0.5) / 4294967296.0;
    EXPECT_FLOAT_EQ(static_cast<float>(got.data[i]),
                    static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v)));
  }
  double mean = 0, square = 0;
  for (double entry : got.data) {
    mean += entry / 4000;
    square += entry * entry / 4000;
    EXPECT_EQ(entry, static_cast<float>(entry));
  }
  EXPECT_NEAR(mean, 0, 0.06);  // four standard deviations
  EXPECT_NEAR(square, 1, 0.09);
}

TEST(Philox, fold_makes_another_key) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8u);
  const Words by_number = philox(Words{7, 0, 2, 0}, {1, 2});
  const auto got =
      run("fn f(k: key[], n: i32[]) -> (key[], key[]) { return fold(k, n), fold(k, \"foobar\") }",
          {}, {key(0x0000000200000001), scalar(7)});
  EXPECT_EQ(got[0].keys, (std::vector<uint64_t>{by_number[0] | uint64_t{by_number[1]} << 32}));
  const Words by_tag = philox(Words{0xf73967e8, 0x85944171, 3, 0}, {1, 2});
  EXPECT_EQ(got[1].keys, (std::vector<uint64_t>{by_tag[0] | uint64_t{by_tag[1]} << 32}));
}

TEST(Philox, keys_keep_their_64_bits_in_records_and_loops) {
  const auto got =
      run("dim N\nfn f(k: key[N]) -> (key[], key[N]) { l, ks = scan n in N reverse, c: key[] = "
          "read(\"[N] -> \", k, at=0) { next k[n] emit c } return l, ks }",
          {{{"N", 2}}, {}}, {{{2}, {}, {0xfedcba9876543211, 0x8000000000000003}}});
  EXPECT_EQ(got[0].keys, (std::vector<uint64_t>{0xfedcba9876543211}));
  EXPECT_EQ(got[1].keys, (std::vector<uint64_t>{0x8000000000000003, 0xfedcba9876543211}));
}

}  // namespace
}  // namespace shardproof::oracle
