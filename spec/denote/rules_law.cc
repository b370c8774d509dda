// Every rule against the meaning of types: on small meshes, for all states of the operands and all
// types of the result, a rule accepts just what is right for random exact values.
#include "spec/denote/law.h"
#include "spec/rules/rule.h"

namespace shardproof::denote::law {
namespace {

/// Why a rule may refuse what is right for every value: the list of all such refusals.
std::string allowance(const OpCase& op, const std::vector<Type>& operands, const Type& result,
                      const Refusal&) {
  const bool moves =
      std::holds_alternative<ir::Collective>(op.make(op.pattern.value_or(ir::Pattern{})));
  if (any_max(operands)) return "an op on a Max value: the maximum is reduced first";
  if (any_max({result})) return "a copy is its own maximum; its type is R";
  if (moves && static_cast<const Shape&>(operands[0]) == result)
    return "a collective with nothing to do";
  if (op.name.starts_with("all_to_all") && split_axes(operands[0]).size() > 1)
    return "an all_to_all between several dims: one dim gives, one dim takes";
  if (op.name.starts_with("cumsum"))
    return "cumsum of U: linear, but its rule is that of the ops along a whole dim";
  return "?";
}

/// Values: an operand without gradient has no I, so all refusals are for the value's sake.
void check_values(const OpCase& op, const World& world, const std::vector<Type>& operands,
                  Tally& tally, RandomBits& rng) {
  std::vector<Input> inputs;
  for (const Type& type : operands) inputs.push_back({type});
  const Geometry geometry(world.program, world.sizes);
  const Type bare =
      whole_results(written(op, operands, Type{op.pattern ? op.pattern->right : Shape{}}), operands)
          .at(0);
  for (const Type& result : candidate_types(bare, world.axes)) try {
      const ir::Op filled = written(op, operands, result);
      const Trial trial(geometry, filled, inputs);
      const RuleResult rule = apply(world, filled, operands, false);
      const bool accepted = !rule.refusal && same_type(world.program, rule.types.at(0), result);
      const Outcome outcome = value_outcome(trial, all_results(op, operands, result), rng);
      ++(accepted ? tally.accepted : tally.refused);
      if (accepted && outcome != Outcome::right) {
        ++tally.unsound;
        tally.find("UNSOUND " + describe(op, operands, result));
      }
      if (accepted || outcome != Outcome::right) continue;
      const std::string reason = rule.refusal ? allowance(op, operands, result, *rule.refusal)
                                              : allowance(op, operands, result, {});
      ++tally.reasons[reason];
      if (reason != "?") {
        ++tally.allowed;
        continue;
      }
      ++tally.conservative;
      tally.find("conservative " + describe(op, operands, result) + "  [" +
                 (rule.refusal ? rule.refusal->code + " " + rule.refusal->message
                               : "is " + to_string(rule.types[0])) +
                 "]");
    } catch (const Mismatch&) {  // axes that do not divide
    }
}

void values(const std::string& what, const std::vector<OpCase>& cases) {
  const Tally tally = over_all(cases, false, check_values);
  report(what, tally);
  EXPECT_EQ(tally.unsound, 0);
  EXPECT_EQ(tally.conservative, 0);
}

TEST(RulesAreRight, EinsumAcceptsJustTheRightPairs) {  // by hand and brute force: 39 of 324
  const World world = law::world({{"d", 2}, {"t", 3}}, 6);
  const OpCase op = linear_cases().at(8);
  int pairs = 0, accepted = 0;
  for (const auto& operands : tuples(op.operands, world.axes, false)) {
    if (any_max(operands)) continue;
    ++pairs;
    for (const Type& result : candidate_types(testing::type("B F"), world.axes)) {
      const RuleResult rule = apply(world, written(op, operands, result), operands, false);
      accepted += !rule.refusal && same_type(world.program, rule.types.at(0), result);
    }
  }
  EXPECT_EQ(pairs, 324);
  EXPECT_EQ(accepted, 39);
}

TEST(RulesAreRight, ValuesOfLinearOps) { values("values of linear ops", linear_cases()); }
TEST(RulesAreRight, ValuesOfOtherOps) { values("values of other ops", other_cases()); }
TEST(RulesAreRight, ValuesOfCollectives) { values("values of collectives", collective_cases()); }

}  // namespace
}  // namespace shardproof::denote::law
