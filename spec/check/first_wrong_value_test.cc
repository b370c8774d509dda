// The part of a wrong plan that is underlined, what is written there, and the fix: each row needs
// one rule of the search for the first wrong value.
#include "spec/check/expect_fix.h"

namespace shardproof {
namespace first_wrong_value_test {

struct Row {
  std::string file, plan;  ///< of the golden files
  std::string part, label, fix;
};

class FirstWrongValue : public testing::TestWithParam<Row> {};

TEST_P(FirstWrongValue, IsShownWithItsFix) {
  const Row& row = GetParam();
  Sources sources;
  CheckOptions options;
  options.patience = 20;
  options.only = row.plan;
  const CheckedProgram checked =
      check(sources, SHARDPROOF_SOURCE_DIR "/spec/tests/" + row.file, disk_reader(), options);
  ASSERT_EQ(checked.plans().size(), 1u);
  ASSERT_FALSE(checked.plans()[0].diagnostics.empty());
  const Diagnostic& error = checked.plans()[0].diagnostics[0];
  EXPECT_THAT(std::string(sources.text(error.range)), testing::StartsWith(row.part));
  EXPECT_THAT(error.label, testing::HasSubstr(row.label));
  ASSERT_FALSE(error.fixes.empty());
  EXPECT_THAT(error.fixes[0].message, testing::HasSubstr(row.fix));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, FirstWrongValue,
    testing::Values(
        // A change has to be right at other inputs too.
        Row{"values/choices_of_values_broken.shard", "spec_t", "", "", "operands of `/` exchanged"},
        // The model's gradient, as taken by `grad`, is no value to write in place of another.
        Row{"messages/steps_broken.shard", "step_s_4", "", "without `+ g1`", "without `+ g1`"},
        // The whole value that the model has, not a part of it.
        Row{"codes/e0403_summand.shard", "p", "exp(x)", "missing term", "compute it as `f` does"},
        // Only what is left out of a sum is not seen in another value.
        Row{"values/operand_broken.shard", "p", "", "operand differs", "compute it as `f` does"},
        // A change inside of what a loop ends with.
        Row{"rings/log_sum_broken.shard", "forgets", "", "", "without `0.5 *`"},
        // A condition has two values only: another condition may make the numbers right as well.
        Row{"rings/backward_travels_broken.shard", "local", "iota(",
            "condition [W <= S] instead of", ""}));

}  // namespace first_wrong_value_test
}  // namespace shardproof
