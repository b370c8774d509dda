// The laws: at random sizes and inputs, a lowered function has the values that spec/denote computes
// on one device, and its derivative along a random direction is their difference quotient.
#include <gtest/gtest.h>

#include "spec/denote/evaluate.h"
#include "spec/denote/scalar.h"
#include "spec/laws/holds.h"
#include "spec/lower/cases.h"
#include "spec/lower/lower.h"
#include "spec/lower/value_of.h"

namespace shardproof::lower {
namespace {

double draw(const std::string& name, double key, double index) {
  using Scalar = denote::Scalar<double>;
  const auto i = static_cast<int64_t>(index);
  if (name == "uniform") return Scalar::draw(ir::RandomFn::uniform, key, i);
  if (name == "normal") return Scalar::draw(ir::RandomFn::normal, key, i);
  if (name == "fold") return Scalar::fold(key, nullptr, index);
  const std::string tag = name.substr(6, name.size() - 7);  // fold "tag"
  return Scalar::fold(key, &tag, 0);
}

struct SmallFunctions : testing::Test {
  laws::Dice random{0};   ///< sizes, and the function's ops
  laws::Dice entries{0};  ///< numbers of inputs
  ir::Program p = test_program();
  denote::Sizes sizes;

  SmallFunctions() {
    using Kind = ir::Arith::Kind;
    auto size = [](const char* name) { return ir::Arith{Kind::size, name, ir::no_value, {}}; };
    ir::DimInfo z;
    z.kind = ir::DimInfo::Kind::sized, z.shown = "Z";
    const ir::Arith two{Kind::op, "+", ir::no_value, {size("L"), size("F")}};
    z.size = ir::Arith{Kind::op, "+", ir::no_value, {two, size("K")}};
    p.dims["Z"] = z;
  }

  void draw_sizes() {
    sizes.dims.clear();
    for (const char* dim : {"B", "L", "M", "F", "Q", "K", "N", "X"})
      sizes.dims[dim] = 1 + static_cast<int64_t>(random() % 4);
    sizes.dims["D"] = random() % 2 ? 2 : 4;
    sizes.dims["V"] = 2 + static_cast<int64_t>(random() % 3);
  }

  static int64_t count(const std::vector<int64_t>& shape) {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    return n;
  }
  std::vector<int64_t> base_shape(const Type& type) {
    std::vector<int64_t> shape;
    for (const Split& split : type.dims)
      for (const Name& base : p.base(split.dim)) shape.push_back(p.size(Dim{{base}}, sizes.dims));
    return shape;
  }

  /// Draws the case, smaller where it fails.
  template <class Check>
  void hold(const Case& each, int rounds, Check check) {
    EXPECT_TRUE(laws::holds(each.name, rounds, 20 * rounds, [&] {
      random = laws::Dice(*laws::dice_words(60));
      entries = laws::Dice(static_cast<uint64_t>(*laws::below(1 << 20)));
      check(each);
    })) << each.name;
  }
  std::string size_text() const {
    std::string text;
    for (const auto& [dim, size] : sizes.dims) text += " " + dim + "=" + std::to_string(size);
    return text;
  }

  /// The index variables at entry `at`, row-major.
  static ValueOf::Env at_entry(const TensorExpr& t, const std::vector<int64_t>& shape, size_t at) {
    ValueOf::Env env;
    for (size_t i = shape.size(); i-- > 0;) {
      env[t.index[i].id] = static_cast<int64_t>(at % static_cast<size_t>(shape[i]));
      at /= static_cast<size_t>(shape[i]);
    }
    return env;
  }
};

struct Law : SmallFunctions {
  double draw_entry(const ir::Value& value) {
    if (value.type.dtype == Dtype::boolean) return static_cast<double>(entries() % 2);
    if (value.type.dtype == Dtype::key) return denote::Scalar<double>::of_key(entries() >> 2);
    if (value.name == "ids") return static_cast<double>(entries() % 2);
    if (is_integer(value.type.dtype)) return static_cast<double>(entries() % 9) - 4;
    return 0.5 * static_cast<double>(entries() % 9) - 2;
  }

  void check(const Case& each) {
    draw_sizes();
    Build b(random);
    const ValueId result = each.build(b);
    p.functions = {b.returns({result})};
    const ir::Function& f = p.functions[0];
    algebra::Algebra a(algebra::Budget{random() % 2 ? 1 : 24});
    Lowered lowered = lower_function(a, p, 0, {});
    ValueOf value{a.engine(), {sizes.dims.begin(), sizes.dims.end()}, {}, draw};
    std::vector<denote::Array<double>> inputs;
    for (ValueId v : f.params) {
      denote::Array<double> array;
      for (const Split& split : f.values[v].type.dims)
        array.shape.push_back(p.size(split.dim, sizes.dims));
      for (int64_t n = count(array.shape); n > 0; --n)
        array.data.push_back(draw_entry(f.values[v]));
      inputs.push_back(array);
      value.leaves[f.values[v].name] = {base_shape(f.values[v].type), array.data};
    }
    std::vector<denote::Array<double>> expected;
    try {
      expected = denote::evaluate<double>(p, 0, sizes, inputs);
    } catch (const denote::OutOfRange&) {
      return;
    } catch (const denote::Overflow&) {
      return;
    }
    ++compared;
    compare(each, lowered.results[0], expected[0], value, a);
  }

  void compare(const Case& each, const TensorExpr& t, const denote::Array<double>& expected,
               ValueOf& value, algebra::Algebra& a) {
    const std::vector<int64_t> shape =
        base_shape(p.functions[0].values[p.functions[0].returned[0]].type);
    RC_ASSERT(shape.size() == t.index.size());
    for (size_t at = 0; at < expected.data.size(); ++at) {
      const double want = expected.data[at], have = value(t.body, at_entry(t, shape, at));
      if (!std::isfinite(want)) continue;
      if (!(std::fabs(want - have) <= 1e-7 * (1 + std::fabs(want))))
        RC_FAIL(std::string(each.name) + " is " + std::to_string(want) + ", not " +
                std::to_string(have) + " at entry " + std::to_string(at) + ", sizes" + size_text() +
                ": " + a.show(t.body));
    }
  }

  void check_all(const std::vector<Case>& cases, int rounds) {
    for (const Case& each : cases) {
      compared = 0;
      hold(each, rounds, [&](const Case& one) { check(one); });
      EXPECT_GE(compared, rounds / 4) << each.name;  // the law is not empty
    }
  }
  int compared = 0;
};

TEST_F(Law, Pointwise) { check_all(pointwise_cases(), 40); }
TEST_F(Law, Mixed) { check_all(mixed_cases(), 40); }
TEST_F(Law, Structure) { check_all(structure_cases(), 40); }
TEST_F(Law, Grouped) { check_all(grouped_cases(), 20); }
TEST_F(Law, Index) { check_all(index_cases(), 40); }
TEST_F(Law, Loops) { check_all(loop_cases(), 4); }

using Arrays = std::vector<denote::Array<double>>;

struct DerivativeLaw : SmallFunctions {
  int compared = 0;

  double real() { return static_cast<double>(entries() % 100003) / 50001 - 1; }

  denote::Array<double> drawn(const ir::Value& value) {
    denote::Array<double> array;
    for (const Split& split : value.type.dims) array.shape.push_back(p.size(split.dim, sizes.dims));
    const Dtype dtype = value.type.dtype;
    for (int64_t n = count(array.shape); n > 0; --n)
      array.data.push_back(dtype == Dtype::key ? denote::Scalar<double>::of_key(entries() >> 2)
                           : is_float(dtype)   ? 1.5 * real()
                           : dtype == Dtype::boolean ? static_cast<double>(entries() % 2)
                           : value.name == "ids"     ? static_cast<double>(entries() % 2)
                                                     : static_cast<double>(entries() % 9) - 4);
    return array;
  }

  /// f, and who asks for its gradients.
  void add(ir::Function f, const Type& result) {
    ir::Function asks;
    asks.kind = ir::Function::Kind::plan, asks.implements_grad = true, asks.model = 0;
    asks.values = f.values, asks.params = f.params;
    asks.params.push_back(static_cast<ValueId>(asks.values.size()));
    asks.values.push_back({"g", result, {}, false});
    for (size_t i = 0; i < f.params.size(); ++i)
      if (is_float(f.values[f.params[i]].type.dtype)) asks.wrt.push_back(i);
    p.functions = {std::move(f), std::move(asks)};
  }

  /// The sum of the results, each times its cotangent.
  double value(const Arrays& inputs, const denote::Array<double>& cotangent) {
    const auto result = denote::evaluate<double>(p, 0, sizes, inputs)[0];
    double total = 0;
    for (size_t i = 0; i < result.data.size(); ++i) total += result.data[i] * cotangent.data[i];
    return total;
  }

  /// Differences of the value at steps to both sides: f(s) - f(-s), and f(s) + f(-s) - 2 f(0).
  struct Differences {
    double odd, even;
  };
  Differences differences(const Arrays& inputs, const Arrays& direction,
                          const denote::Array<double>& cotangent, double step) {
    const auto moved = [&](double by) {
      Arrays at = inputs;
      for (size_t i = 0; i < at.size(); ++i)
        for (size_t k = 0; k < at[i].data.size(); ++k) at[i].data[k] += by * direction[i].data[k];
      return value(at, cotangent);
    };
    const double after = moved(step), before = moved(-step);
    return {after - before, after + before - 2 * moved(0)};
  }

  void check(const Case& each) {
    draw_sizes();
    Build b(random);
    const ValueId result = each.build(b);
    if (!is_float(b.type_of(result).dtype)) return;
    add(b.returns({result}), b.type_of(result));
    const ir::Function& asks = p.functions[1];
    algebra::Algebra a(algebra::Budget{random() % 2 ? 1 : 24});
    Variables variables;
    Request request;
    request.function = 1, request.variables = &variables;
    const Lowered lowered = lower_gradient(a, p, request, {});
    ValueOf of{a.engine(), {sizes.dims.begin(), sizes.dims.end()}, {}, draw};
    Arrays inputs, direction;
    for (ValueId v : asks.params) {
      const ir::Value& value = asks.values[v];
      inputs.push_back(drawn(value));
      direction.push_back(inputs.back());
      for (double& x : direction.back().data) x = is_float(value.type.dtype) ? real() : 0;
      of.leaves[value.name] = {base_shape(value.type), inputs.back().data};
    }
    const auto cotangent = inputs.back();
    inputs.pop_back();
    double have = 0;
    for (size_t k = 0; k < asks.wrt.size(); ++k)
      have += along(lowered.results[k], direction[asks.wrt[k]], asks, asks.wrt[k], of);
    compare(each, inputs, direction, cotangent, have);
  }

  double along(const TensorExpr& gradient, const denote::Array<double>& direction,
               const ir::Function& asks, size_t leaf, ValueOf& of) {
    const auto shape = base_shape(asks.values[asks.params[leaf]].type);
    double total = 0;
    for (size_t at = 0; at < direction.data.size(); ++at)
      total += direction.data[at] * of(gradient.body, at_entry(gradient, shape, at));
    return total;
  }

  /// Compares nothing if two step sizes disagree: then the function has a kink between them. A kink
  /// at the inputs themselves, where entries tie, makes the even difference linear in the step.
  void compare(const Case& each, const Arrays& inputs, const Arrays& direction,
               const denote::Array<double>& cotangent, double have) {
    constexpr double step = 1e-5;
    double coarse = 0, fine = 0, kink = 0;
    try {
      const Differences one = differences(inputs, direction, cotangent, step);
      const Differences two = differences(inputs, direction, cotangent, 2 * step);
      coarse = two.odd / (4 * step), fine = one.odd / (2 * step);
      kink = (4 * one.even - two.even) / (2 * step);
    } catch (const denote::OutOfRange&) {
      return;
    } catch (const denote::Overflow&) {
      return;
    }
    const double scale = 1 + std::fabs(fine);
    if (!std::isfinite(fine) || std::fabs(fine - coarse) > 1e-5 * scale || scale > 1e4) return;
    if (std::fabs(kink) > 1e-5 * scale) return;
    ++compared;
    if (!(std::fabs(fine - have) <= 1e-4 * scale))
      RC_FAIL("the derivative of " + std::string(each.name) + " is " + std::to_string(fine) +
              ", not " + std::to_string(have) + ", sizes" + size_text());
  }

  /// Compares every case that has a gradient, some of them rarely.
  void check_all(const std::vector<Case>& cases, int rounds,
                 const std::set<std::string>& without = {}) {
    for (const Case& each : cases) {
      if (without.count(each.name)) continue;
      const int before = compared;
      hold(each, rounds, [&](const Case& one) { check(one); });
      silent += before == compared;
    }
  }
  int silent = 0;  ///< cases that were never compared: integers, conditions
};

TEST_F(DerivativeLaw, Pointwise) {
  check_all(pointwise_cases(), 30);
  EXPECT_LE(silent, 20);
}
TEST_F(DerivativeLaw, Mixed) {
  check_all(mixed_cases(), 30);
  EXPECT_LE(silent, 4);
}
TEST_F(DerivativeLaw, Structure) {
  check_all(structure_cases(), 30);
  EXPECT_EQ(silent, 0);
}
TEST_F(DerivativeLaw, Grouped) {
  check_all(grouped_cases(), 15);
  EXPECT_EQ(silent, 0);
}
TEST_F(DerivativeLaw, Index) {
  check_all(
      index_cases(), 30,
      {"cumsum", "cumsum group", "cumsum of a group beside its factor", "cumsum beside its group"});
  EXPECT_LE(silent, 10);
}
TEST_F(DerivativeLaw, Loops) {
  check_all(loop_cases(), 6);
  EXPECT_EQ(silent, 0);
}

}  // namespace
}  // namespace shardproof::lower
