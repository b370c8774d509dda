// Every rule against the meaning of types: on small meshes, for all states of the operands and all
// types of the result, a rule accepts just what is right for random exact values.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "spec/denote/adjoint.h"
#include "spec/denote/testing.h"
#include "spec/rules/rule.h"

namespace shardproof::denote {
namespace {

using testing::pattern;
using testing::shape;

struct Tally {
  int64_t accepted = 0, refused = 0, unsound = 0, conservative = 0, allowed = 0;
  std::map<std::string, int> reasons;
  std::vector<std::string> findings;
  void find(const std::string& text) {
    if (std::find(findings.begin(), findings.end(), text) == findings.end() && findings.size() < 40)
      findings.push_back(text);
  }
};

/// An op over dims without axes; the axes of operands and result are gone through.
struct OpCase {
  std::string name;
  std::function<ir::Op(const ir::Pattern&)> make;
  std::vector<Type> operands;  ///< dims and dtypes
  std::optional<ir::Pattern> pattern;
  bool two_axes = true;  ///< also over two axes
};

struct World {
  std::vector<std::pair<Axis, int64_t>> mesh;
  ir::Program program;
  Sizes sizes;
  std::vector<Axis> axes;
};

World world(std::vector<std::pair<Axis, int64_t>> mesh, int64_t size) {
  World result;
  for (const auto& [axis, n] : mesh) result.axes.push_back(axis);
  result.program = testing::program(result.axes);
  result.sizes.mesh = mesh;
  for (const char* dim : {"B", "L", "M", "F", "V", "K", "G"}) result.sizes.dims[dim] = size;
  for (const char* dim : {"D", "A"}) result.sizes.dims[dim] = 2;
  return result;
}

std::vector<World> worlds(bool two_axes) {
  std::vector<World> result{world({{"d", 2}}, 4), world({{"d", 3}}, 6)};
  if (two_axes) result.push_back(world({{"d", 2}, {"t", 3}}, 6));
  return result;
}

bool natural(Dtype dtype) { return !is_float(dtype); }

std::vector<Rational> random_numbers(const Trial& trial, std::mt19937_64& rng) {
  std::vector<Rational> numbers;
  for (const Slot& slot : trial.slots()) {
    const Dtype dtype = trial.inputs()[slot.operand].type.dtype;
    const bool scalar = trial.inputs()[slot.operand].type.dims.empty();
    numbers.push_back(dtype == Dtype::boolean ? Rational(static_cast<int64_t>(rng() % 2))
                      : natural(dtype) ? Rational(static_cast<int64_t>(rng() % (scalar ? 3 : 4)))
                                       : Scalar<Rational>::random(rng) / 2);
  }
  return numbers;
}

/// Whether the devices end with the op's value at `results`, for random numbers.
enum class Outcome { right, wrong, undecided };
Outcome value_outcome(const Trial& trial, const std::vector<Type>& results, std::mt19937_64& rng) {
  int right = 0;
  for (int attempt = 0; attempt < 60 && right < 8; ++attempt) try {
      const auto operands = trial.operands(random_numbers(trial, rng));
      const auto wanted = trial.wanted(operands, results);
      try {
        const auto got = trial.outcome(operands, results);
        for (size_t i = 0; i < got.size(); ++i) {
          const auto value = represented(trial.geometry(), results.at(i), got[i]);
          if (!value || !same(*value, wanted.at(i))) return Outcome::wrong;
        }
        ++right;
      } catch (const Error&) {
        return Outcome::wrong;  // one device can, the others cannot
      }
    } catch (const OutOfRange&) {
    } catch (const Overflow&) {
    }
  return right ? Outcome::right : Outcome::undecided;
}

std::string describe(const OpCase& op, const std::vector<Type>& operands, const Type& result) {
  std::string text = op.name + "(";
  for (const Type& type : operands) text += (text.back() == '(' ? "" : ", ") + to_string(type);
  return text + ") -> " + to_string(result);
}

std::vector<std::vector<Type>> tuples(const std::vector<Type>& bare, const std::vector<Axis>& axes,
                                      bool copies) {
  std::vector<std::vector<Type>> result{{}};
  for (const Type& type : bare) {
    std::vector<std::vector<Type>> longer;
    for (const auto& tuple : result)
      for (const Type& each : candidate_types(type, axes, copies)) {
        longer.push_back(tuple);
        longer.back().push_back(each);
      }
    result = std::move(longer);
  }
  return result;
}

/// The op with the operands' and the result's axes written into its pattern.
ir::Op written(const OpCase& op, const std::vector<Type>& operands, const Type& result) {
  if (!op.pattern) return op.make({});
  ir::Pattern filled = *op.pattern;
  for (size_t i = 0; i < filled.left.size(); ++i) {
    for (size_t k = 0; k < filled.left[i].dims.size(); ++k)
      filled.left[i].dims[k].axes = operands[i].dims[k].axes;
    filled.left[i].marks = operands[i].marks;
  }
  for (size_t k = 0; k < filled.right.dims.size(); ++k)
    filled.right.dims[k].axes = result.dims[k].axes;
  filled.right.marks = result.marks;
  return op.make(filled);
}

std::vector<Type> all_results(const OpCase& op, const std::vector<Type>& operands,
                              const Type& first) {
  std::vector<Type> results = whole_results(written(op, operands, first), operands);
  for (Type& type : results) static_cast<Shape&>(type) = first;
  return results;
}

RuleResult apply(const World& world, const ir::Op& op, const std::vector<Type>& types,
                 bool gradient) {
  std::vector<Operand> operands;
  for (const Type& type : types)
    operands.push_back({type, gradient && is_float(type.dtype), std::nullopt});
  return apply_rule(world.program, op, operands);
}

bool any_max(const std::vector<Type>& types) {
  for (const Type& type : types)
    for (const auto& [axis, mark] : type.marks)
      if (mark == Mark::Max) return true;
  return false;
}

/// Why a rule may refuse what is right for every value: the list of all such refusals.
std::string allowance(const OpCase& op, const std::vector<Type>& operands, const Type& result,
                      const Refusal& refusal);

/// Values: an operand without gradient has no I, so all refusals are for the value's sake.
void check_values(const OpCase& op, const World& world, const std::vector<Type>& operands,
                  Tally& tally, std::mt19937_64& rng) {
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

/// Gradients: a rule that accepts operands with gradient is right for it too, and one that refuses
/// them for it alone has no type of the result that would do.
bool gradient_right(const Trial& trial, const std::vector<Type>& results,
                    const std::vector<Axis>& axes, std::mt19937_64& rng) {
  for (int attempt = 0, right = 0; attempt < 40 && right < 3; ++attempt) try {
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
  return true;
}

void check_gradients(const OpCase& op, const World& world, const std::vector<Type>& operands,
                     Tally& tally, std::mt19937_64& rng) {
  if (any_max(operands)) return;
  std::vector<Input> inputs;
  for (const Type& type : operands) inputs.push_back({type});
  const Geometry geometry(world.program, world.sizes);
  const Type bare =
      whole_results(written(op, operands, Type{op.pattern ? op.pattern->right : Shape{}}), operands)
          .at(0);
  bool accepted_any = false, gradient_only = false;
  std::vector<Type> fitting;
  for (const Type& result : candidate_types(bare, world.axes, true)) try {
      if (any_max({result})) continue;
      const ir::Op filled = written(op, operands, result);
      const Trial trial(geometry, filled, inputs);
      const RuleResult rule = apply(world, filled, operands, true);
      const bool accepted = !rule.refusal && same_type(world.program, rule.types.at(0), result);
      gradient_only = gradient_only || (rule.refusal && rule.refusal->gradient_only);
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

Type bare(const std::string& dims, Dtype dtype = Dtype::f32) { return testing::type(dims, dtype); }

OpCase pointwise(const std::string& name, const ir::Op& op, std::vector<Type> operands,
                 bool two_axes = true) {
  return {name, [op](const ir::Pattern&) { return op; }, std::move(operands), {}, two_axes};
}

template <class Make>
OpCase patterned(const std::string& name, const std::string& text, Make make,
                 std::vector<Dtype> dtypes = {}, bool two_axes = false) {
  const ir::Pattern parsed = pattern(text);
  OpCase result{name + " " + text,
                [make](const ir::Pattern& p) { return ir::Op(make(p)); },
                {},
                parsed,
                two_axes};
  for (size_t i = 0; i < parsed.left.size(); ++i) {
    Type type;
    static_cast<Shape&>(type) = parsed.left[i];
    type.dtype = i < dtypes.size() ? dtypes[i] : Dtype::f32;
    result.operands.push_back(type);
  }
  for (size_t i = parsed.left.size(); i < dtypes.size(); ++i)
    result.operands.push_back(bare("", dtypes[i]));
  return result;
}

std::vector<OpCase> linear_cases() {
  using enum ir::BinaryFn;
  using P = const ir::Pattern&;
  auto einsum = [](P p) { return ir::Einsum{p, {}}; };
  auto f = Dtype::f32, i = Dtype::i32, b = Dtype::boolean;
  std::vector<OpCase> cases{
      pointwise("neg", ir::Unary{ir::UnaryFn::neg}, {bare("M F")}),
      pointwise("cast", ir::Cast{Dtype::bf16, {}}, {bare("M F")}),
      pointwise("add", ir::Binary{add}, {bare("M F"), bare("M F")}),
      pointwise("add", ir::Binary{add}, {bare("M F"), bare("F")}),
      pointwise("sub", ir::Binary{sub}, {bare("M F"), bare("M")}, false),
      pointwise("mul", ir::Binary{mul}, {bare("M F"), bare("F")}),
      pointwise("mul", ir::Binary{mul}, {bare("M"), bare("")}),
      pointwise("where", ir::Where{}, {bare("M", b), bare("M"), bare("M")}),
      patterned("einsum", "B M, M F -> B F", einsum),
      patterned("einsum", "M, M -> ", einsum, {}, true),
      patterned("einsum", "M, F -> M F", einsum, {}, true),
      patterned("einsum", "M, M -> M", einsum, {}, true),
      patterned("einsum", "M, M, M -> ", einsum),
      patterned(
          "sum", "M F -> F",
          [](P p) {
            return ir::Reduce{ir::ReduceFn::sum, p, {}};
          },
          {}, true),
      patterned(
          "expand", "M -> M F", [](P p) { return ir::Expand{p}; }, {}, true),
      patterned(
          "rearrange", "M F -> F M", [](P p) { return ir::Rearrange{p}; }, {}, true),
      patterned("rearrange", "(K D) F -> K D F", [](P p) { return ir::Rearrange{p}; }),
      patterned(
          "rearrange", "K D -> H", [](P p) { return ir::Rearrange{p}; }, {}, true),
      patterned("read", "[G] M -> M", [](P p) { return ir::Read{p}; }, {f, i}),
      patterned("read", "M [G] -> M A", [](P p) { return ir::Read{p}; }, {f, i}),
      patterned("write", "M [G], M A -> M G", [](P p) { return ir::Write{p}; }, {f, f, i}),
      patterned("concat", "M, M -> [2] M", [](P p) { return ir::Concat{p}; }),
      patterned("roll", "M [L] -> M L", [](P p) { return ir::Roll{p}; }, {f, i}),
      patterned("index", "[V] M, B -> B M", [](P p) { return ir::Index{p}; }, {f, i}),
      patterned("index", "B [V], B -> B", [](P p) { return ir::Index{p}; }, {f, i}),
      patterned("index_unreduced", "[V] M, B -> B M", [](P p) { return ir::IndexUnreduced{p}; },
                {f, i}),
      patterned("index_add", "B, B M -> [V] M", [](P p) { return ir::IndexAdd{p}; }, {i, f}),
      patterned("index_add", "B L, B L -> B [V]", [](P p) { return ir::IndexAdd{p}; }, {i, f}),
      pointwise("total", ir::Total{{}}, {bare(""), bare("")}),
      pointwise("total d", ir::Total{{{"d", Mark::U}}}, {bare(""), bare("")}),
  };
  return cases;
}

std::vector<OpCase> other_cases() {
  using enum ir::BinaryFn;
  using P = const ir::Pattern&;
  auto f = Dtype::f32;
  return {
      pointwise("div", ir::Binary{div}, {bare("M F"), bare("F")}),
      pointwise("maximum", ir::Binary{maximum}, {bare("M"), bare("M")}, false),
      pointwise("lt", ir::Binary{lt}, {bare("M"), bare("M")}, false),
      pointwise("abs", ir::Unary{ir::UnaryFn::abs}, {bare("M F")}),
      pointwise("floor", ir::Unary{ir::UnaryFn::floor},
                {
                    bare("M"),
                },
                false),
      pointwise("i32", ir::Cast{Dtype::i32, {}}, {bare("M")}, false),
      patterned("max", "M F -> F",
                [](P p) {
                  return ir::Reduce{ir::ReduceFn::max, p, {}};
                }),
      patterned("min", "M F -> F",
                [](P p) {
                  return ir::Reduce{ir::ReduceFn::min, p, {}};
                }),
      patterned("cumsum", "M L -> M L",
                [](P p) {
                  return ir::Ordered{ir::OrderedFn::cumsum, p, 1};
                }),
      patterned("argsort", "M L -> M L",
                [](P p) {
                  return ir::Ordered{ir::OrderedFn::argsort, p, 1};
                }),
      patterned("argmax", "M F -> M", [](P p) { return ir::Argmax{p}; }),
      patterned("top_k", "M F -> M A", [](P p) { return ir::TopK{p}; }),
      patterned("ppermute", "M [L] -> M [L]", [](P p) { return ir::Ppermute{p}; }, {f, Dtype::i32}),
  };
}

std::vector<OpCase> collective_cases() {
  std::vector<OpCase> cases;
  for (auto fn :
       {ir::CollectiveFn::all_gather, ir::CollectiveFn::all_reduce, ir::CollectiveFn::psum_scatter,
        ir::CollectiveFn::all_to_all, ir::CollectiveFn::slice, ir::CollectiveFn::fan_out,
        ir::CollectiveFn::zero_nonroot, ir::CollectiveFn::zero_pad})
    cases.push_back(patterned(
        ir::name_of(ir::Collective{fn, {}}), "M F -> M F",
        [fn](const ir::Pattern& p) {
          return ir::Collective{fn, p};
        },
        {}, true));
  return cases;
}

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

void report(const std::string& what, const Tally& tally) {
  std::cout << what << ": accepted " << tally.accepted << ", unsound " << tally.unsound
            << ", refused " << tally.refused << ", of these right but allowed " << tally.allowed
            << ", unexplained " << tally.conservative << "\n";
  for (const auto& [reason, times] : tally.reasons)
    std::cout << "    " << times << "  " << reason << "\n";
  for (const std::string& finding : tally.findings) std::cout << "    " << finding << "\n";
}

template <class Check>
Tally over_all(const std::vector<OpCase>& cases, bool copies, Check check) {
  Tally tally;
  std::mt19937_64 rng(7);
  for (const OpCase& op : cases)
    for (const World& world : worlds(op.two_axes))
      for (const auto& operands : tuples(op.operands, world.axes, copies))
        check(op, world, operands, tally, rng);
  return tally;
}

void values(const std::string& what, const std::vector<OpCase>& cases) {
  const Tally tally = over_all(cases, false, check_values);
  report(what, tally);
  EXPECT_EQ(tally.unsound, 0);
  EXPECT_EQ(tally.conservative, 0);
}

TEST(RulesAreRight, ValuesOfLinearOps) { values("values of linear ops", linear_cases()); }
TEST(RulesAreRight, ValuesOfOtherOps) { values("values of other ops", other_cases()); }
TEST(RulesAreRight, ValuesOfCollectives) { values("values of collectives", collective_cases()); }

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
                   std::mt19937_64& rng) {
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
    const ir::Op op = ir::Collective{*steps.begin(), {{start}, end, {}, 0, {}, false, {}}};
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
  std::mt19937_64 rng(11);
  const World world = denote::world({{"d", 2}, {"t", 3}}, 6);
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

TEST(RulesAreRight, GradientsOfLinearOps) {
  std::vector<OpCase> cases = linear_cases();
  for (OpCase& op : cases) op.two_axes = false;
  // The adjoint of a marked total is that of zero_nonroot, not each device's own transpose.
  std::erase_if(cases, [](const OpCase& op) { return op.name == "total d"; });
  const Tally tally = over_all(cases, true, check_gradients);
  report("gradients of linear ops", tally);
  EXPECT_EQ(tally.unsound, 0);
  EXPECT_EQ(tally.conservative, 0);
}

}  // namespace
}  // namespace shardproof::denote
