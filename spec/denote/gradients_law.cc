// The states of gradients: what the devices compute of a gradient at the dual of the result's type
// is the gradient at the dual of the operand's.
#include <set>

#include "spec/denote/adjoint.h"
#include "spec/denote/law.h"
#include "spec/rules/rule.h"

namespace shardproof::denote::law {
namespace {

/// Gradients: a rule that accepts operands with gradient is right for it too, and one that refuses
/// them for it alone has no type of the result that would do.
bool gradient_right(const Trial& trial, const std::vector<Type>& results,
                    const std::vector<Axis>& axes, RandomBits& rng) {
  int right = 0;
  for (int attempt = 0; attempt < 40 && right < 3; ++attempt) try {
      const auto operands = trial.operands(random_numbers(trial, rng));
      const auto wanted = trial.wanted(operands, results);
      Array<Rational> whole = wanted.at(0);
      for (Rational& x : whole.data) x = Scalar<Rational>::random(rng);
      const Type incoming = dual(results[0], axes);
      const auto gradient = distribute(trial.geometry(), incoming, whole, rng);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (!takes_gradient(trial.inputs()[i])) continue;
        const auto own = local_adjoint(trial, operands, results, i, gradient);
        const auto got = represented(trial.geometry(), dual(trial.inputs()[i].type, axes), own);
        if (!got || !same(*got, whole_adjoint(trial, operands, results, i, whole))) return false;
      }
      ++right;
    } catch (const OutOfRange&) {
    } catch (const Overflow&) {
    }
  return right > 0;
}

void check_gradients(const OpCase& op, const World& world, const std::vector<Type>& operands,
                     Tally& tally, RandomBits& rng) {
  if (any_max(operands)) return;
  std::vector<Input> inputs;
  for (const Type& type : operands) inputs.push_back({type, {}, {}, op.constant != inputs.size()});
  const Geometry geometry(world.program, world.sizes);
  const Type bare =
      whole_results(written(op, operands, Type{op.pattern ? op.pattern->right : Shape{}}), operands)
          .at(0);
  bool accepted_any = false;
  std::vector<Type> fitting;
  for (const Type& result : candidate_types(bare, world.axes, true)) try {
      if (any_max({result})) continue;
      const ir::Op filled = written(op, operands, result);
      const Trial trial(geometry, filled, inputs);
      const RuleResult rule = apply(world, filled, operands, true, op.constant);
      const bool accepted = !rule.refusal && same_type(world.program, rule.types.at(0), result);
      accepted_any = accepted_any || accepted;
      const std::vector<Type> results = all_results(op, operands, result);
      if (!accepted && accepted_any) continue;
      const bool value = value_outcome(trial, results, rng) == Outcome::right;
      const bool right = value && gradient_right(trial, results, world.axes, rng);
      if (right && !accepted) fitting.push_back(result);
      if (!accepted) continue;
      ++tally.accepted;
      if (right) continue;
      ++tally.unsound;
      tally.find((value ? "UNSOUND gradient " : "UNSOUND value ") + describe(op, operands, result));
    } catch (const Mismatch&) {
    }
  if (accepted_any) return;
  ++tally.refused;
  if (fitting.empty()) return;
  ++tally.conservative;
  tally.find("conservative gradient " + describe(op, operands, fitting[0]));
}

TEST(RulesAreRight, GradientsOfLinearOps) {
  std::vector<OpCase> cases = linear_cases();
  for (OpCase& op : cases) op.two_axes = false;
  // The adjoint of a marked total is that of zero_nonroot, not each device's own transpose.
  std::erase_if(cases, [](const OpCase& op) { return op.name == "total d"; });
  for (OpCase op :
       std::vector<OpCase>(cases))  // the last operand has no gradient: its copies go with I
    if (op.operands.size() > 1 && is_float(op.operands.back().dtype)) {
      op.constant = op.operands.size() - 1;
      cases.push_back(op);
    }
  const Tally tally = over_all(cases, true, check_gradients);
  report("gradients of linear ops", tally);
  EXPECT_EQ(tally.unsound, 0);
  EXPECT_EQ(tally.conservative, 0);
}

/// The collective that the table of adjoints gives for one axis, by the gradient's states; none:
/// the gradient is passed on as it is.
std::optional<ir::CollectiveFn> adjoint(char from, char to) {
  using enum ir::CollectiveFn;
  const std::map<std::string, ir::CollectiveFn> table{
      {"US", psum_scatter}, {"IS", slice},        {"RS", slice},      {"UR", all_reduce},
      {"UI", all_reduce},   {"SR", all_gather},   {"SI", all_gather}, {"SU", zero_pad},
      {"RU", zero_nonroot}, {"IU", zero_nonroot}, {"SS", all_to_all}};
  auto found = table.find({from, to});
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

char state(const Shape& shape, const Axis& axis) {
  const std::vector<Axis> split = split_axes(shape);
  if (std::find(split.begin(), split.end(), axis) != split.end()) return 'S';
  auto mark = shape.marks.find(axis);
  return mark == shape.marks.end() ? 'R' : mark->second == Mark::U ? 'U' : 'I';
}

/// The adjoints of an accepted collective take a gradient at the dual of its result's type to the
/// same gradient at the dual of its operand's, and are accepted themselves.
void check_adjoint(const World& world, const Type& from, const Type& to, Tally& tally,
                   RandomBits& rng) {
  const Geometry geometry(world.program, world.sizes);
  const Type start = dual(to, world.axes), end = dual(from, world.axes);
  std::set<ir::CollectiveFn> steps;
  for (const Axis& axis : world.axes) {
    if (start.dims == end.dims ? state(start, axis) == state(end, axis)
                               : state(from, axis) == state(to, axis) && state(from, axis) != 'S')
      continue;
    if (auto fn = adjoint(state(start, axis), state(end, axis))) steps.insert(*fn);
  }
  if (steps.size() > 1 && steps.contains(ir::CollectiveFn::all_to_all))
    steps.erase(ir::CollectiveFn::all_to_all);
  if (steps.size() > 1) return;  // one collective to R on one axis and to I on another
  Array<Rational> whole{geometry.global_shape(start), std::vector<Rational>(36)};
  for (Rational& x : whole.data) x = Scalar<Rational>::random(rng);
  Distributed<Rational> gradient = distribute(geometry, start, whole, rng);
  if (!steps.empty()) {
    const ir::Op op = testing::elaborated(
        world.program,
        ir::Collective{*steps.begin(), {{start}, end, {}, 0, {}, false, false, {}, {}}}, {start});
    const RuleResult rule = apply(world, op, {start}, false);
    if (rule.refusal)
      tally.find("refused adjoint " + to_string(from) + " -> " + to_string(to) + ": " +
                 rule.refusal->message);
    tally.unsound += rule.refusal ? 1 : 0;
    gradient = run<Rational>(geometry, op, {{start, gradient}}, {end})[0];
  }
  const auto got = represented(geometry, end, gradient);
  ++tally.accepted;
  if (got && same(*got, whole)) return;
  ++tally.unsound;
  tally.find("UNSOUND adjoint " + to_string(from) + " -> " + to_string(to));
}

TEST(RulesAreRight, AdjointsOfCollectives) {
  Tally tally;
  RandomBits rng(11);
  const World world = law::world({{"d", 2}, {"t", 3}}, 6);
  for (const OpCase& op : collective_cases())
    for (const Type& from : candidate_types(op.operands[0], world.axes, true))
      for (const Type& to : candidate_types(op.operands[0], world.axes, true)) {
        if (any_max({from, to})) continue;
        const RuleResult rule = apply(world, written(op, {from}, to), {from}, true);
        if (!rule.refusal && same_type(world.program, rule.types.at(0), to))
          check_adjoint(world, from, to, tally, rng);
      }
  report("adjoints of collectives", tally);
  EXPECT_EQ(tally.unsound, 0);
  EXPECT_GT(tally.accepted, 100);
}

}  // namespace
}  // namespace shardproof::denote::law
