// The law: at random sizes and inputs, the derivative of a lowered function along a random
// direction is the difference quotient of the values that spec/denote computes.
#include "spec/lower/law.h"

namespace shardproof::lower {
namespace {

using Arrays = std::vector<denote::Array<double>>;

struct DerivativeLaw : SmallFunctions {
  int compared = 0;

  double real() { return static_cast<double>(random() % 100003) / 50001 - 1; }

  denote::Array<double> drawn(const ir::Value& value) {
    denote::Array<double> array;
    for (const Split& split : value.type.dims) array.shape.push_back(p.size(split.dim, sizes.dims));
    const Dtype dtype = value.type.dtype;
    for (int64_t n = count(array.shape); n > 0; --n)
      array.data.push_back(dtype == Dtype::key       ? denote::Scalar<double>::of_key(random() >> 2)
                           : is_float(dtype)         ? 1.5 * real()
                           : dtype == Dtype::boolean ? static_cast<double>(random() % 2)
                           : value.name == "ids"     ? static_cast<double>(random() % 2)
                                                     : static_cast<double>(random() % 9) - 4);
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

  double quotient(Arrays inputs, const Arrays& direction, const denote::Array<double>& cotangent,
                  double step) {
    const auto moved = [&](double by) {
      Arrays at = inputs;
      for (size_t i = 0; i < at.size(); ++i)
        for (size_t k = 0; k < at[i].data.size(); ++k) at[i].data[k] += by * direction[i].data[k];
      return value(at, cotangent);
    };
    return (moved(step) - moved(-step)) / (2 * step);
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

  double along(const Tensor& gradient, const denote::Array<double>& direction,
               const ir::Function& asks, size_t leaf, ValueOf& of) {
    const auto shape = base_shape(asks.values[asks.params[leaf]].type);
    double total = 0;
    for (size_t at = 0; at < direction.data.size(); ++at)
      total += direction.data[at] * of(gradient.body, at_entry(gradient, shape, at));
    return total;
  }

  /// Where two steps disagree there is a corner between them, and nothing is said.
  void compare(const Case& each, const Arrays& inputs, const Arrays& direction,
               const denote::Array<double>& cotangent, double have) {
    double coarse = 0, fine = 0;
    try {
      coarse = quotient(inputs, direction, cotangent, 2e-5);
      fine = quotient(inputs, direction, cotangent, 1e-5);
    } catch (const denote::OutOfRange&) {
      return;
    } catch (const denote::Overflow&) {
      return;
    }
    const double scale = 1 + std::fabs(fine);
    if (!std::isfinite(fine) || std::fabs(fine - coarse) > 1e-5 * scale || scale > 1e4) return;
    ++compared;
    ASSERT_NEAR(fine, have, 1e-4 * scale) << each.name;
  }

  /// Every case that has a gradient is compared, some of them rarely.
  void check_all(const std::vector<Case>& cases, int rounds,
                 const std::set<std::string>& without = {}) {
    for (const Case& each : cases) {
      if (without.count(each.name)) continue;
      const int before = compared;
      for (int i = 0; i < rounds && !HasFatalFailure(); ++i) check(each);
      silent += before == compared;
    }
  }
  int silent = 0;  ///< cases of which nothing was said: integers, conditions
};

TEST_F(DerivativeLaw, Pointwise) {
  check_all(pointwise_cases(), 30);
  EXPECT_LE(silent, 18);
}
TEST_F(DerivativeLaw, Mixed) {
  check_all(mixed_cases(), 30);
  EXPECT_LE(silent, 4);
}
TEST_F(DerivativeLaw, Structure) {
  check_all(structure_cases(), 30);
  EXPECT_EQ(silent, 0);
}
TEST_F(DerivativeLaw, Index) {
  check_all(index_cases(), 30, {"cumsum", "cumsum group"});
  EXPECT_LE(silent, 9);
}
TEST_F(DerivativeLaw, Loops) {
  check_all(loop_cases(), 6);
  EXPECT_EQ(silent, 0);
}

}  // namespace
}  // namespace shardproof::lower
