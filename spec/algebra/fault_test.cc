// Each side condition, switched off, must be noticed by the value law; fixed seeds, so the outcome
// never varies.
#include <gtest/gtest.h>

#include "spec/algebra/builder.h"
#include "spec/algebra/generator.h"

namespace shardproof::algebra {
namespace {

struct Planted {
  Fault fault;
  Recipe recipe;
};

struct FaultTest : testing::TestWithParam<Planted> {};

TEST_P(FaultTest, TheLawFindsACounterexample) {
  const int seeds = 20000;
  std::string found;
  for (uint32_t seed = 0; seed < seeds && found.empty(); ++seed) {
    const bool later = GetParam().fault == Fault::opposites || GetParam().recipe == Recipe::guarded;
    const int limit = later ? 24 : 1;  // where the rule is at work
    const Drawn program = drawn(laws::Dice(seed), GetParam().recipe);
    EXPECT_EQ(mismatch(program, limit, Fault::none, nullptr), "");
    found = mismatch(program, limit, GetParam().fault, nullptr);
  }
  EXPECT_NE(found, "") << "the planted fault was not noticed by " << seeds << " programs";
}

INSTANTIATE_TEST_SUITE_P(
    SideConditions, FaultTest,
    testing::Values(
        Planted{Fault::every_atom_positive, Recipe::roots},
        Planted{Fault::always_in_range, Recipe::offsets},
        Planted{Fault::digit_stride, Recipe::digits},
        Planted{Fault::radix_integrality, Recipe::radix},
        Planted{Fault::radix_range, Recipe::radix}, Planted{Fault::step_content, Recipe::signs},
        Planted{Fault::integer_comparison, Recipe::signs},
        Planted{Fault::max_factor, Recipe::maxima}, Planted{Fault::absorption, Recipe::masks},
        Planted{Fault::telescoping, Recipe::masks}, Planted{Fault::threshold_range, Recipe::masks},
        Planted{Fault::equal_reals, Recipe::signs}, Planted{Fault::given_anywhere, Recipe::guarded},
        Planted{Fault::mirror_end, Recipe::mirrors}, Planted{Fault::open_circle, Recipe::rolls},
        Planted{Fault::one_turn, Recipe::rolls}, Planted{Fault::count_range, Recipe::between},
        Planted{Fault::sine_square, Recipe::circles}, Planted{Fault::log_of_power, Recipe::roots},
        Planted{Fault::opposites, Recipe::opposites},
        Planted{Fault::count_range, Recipe::opposites}, Planted{Fault::iota_stride, Recipe::values},
        Planted{Fault::nested_condition, Recipe::conditions},
        Planted{Fault::relu_from_any, Recipe::signs},
        Planted{Fault::extremum_condition, Recipe::conditions},
        Planted{Fault::closed_bound, Recipe::bounded},
        Planted{Fault::interval_end, Recipe::bounded}, Planted{Fault::square, Recipe::roots},
        Planted{Fault::compared_increasing, Recipe::signs},
        Planted{Fault::nested_floor, Recipe::floors}, Planted{Fault::max_of_power, Recipe::maxima},
        Planted{Fault::at_most_zero, Recipe::masks}, Planted{Fault::unused_range, Recipe::mixed}));

/// Not re-opening D at equal arguments keeps values, and loses the proof that the two ways of
/// building it agree.
TEST(FaultTest, CaptureLosesAProof) {
  for (Fault fault : {Fault::none, Fault::capture}) {
    Algebra a({}, fault);
    Nf K = a.size("K");
    Leaf x = a.leaf("x", {K, K});
    Var i = a.fresh(K, "i"), j = a.fresh(K, "j");
    Nf general = a.apply(Fn::exp, a.at(x, {a.var(i), a.var(j)}));
    Nf diagonal = a.apply(Fn::exp, a.at(x, {a.var(i), a.var(i)}));
    EXPECT_EQ(a.substitute(general, {{j, a.var(i)}}) == diagonal, fault == Fault::none);
  }
}

}  // namespace
}  // namespace shardproof::algebra
