// The law: at random sizes and inputs, a lowered function has the values that spec/denote computes
// on one device.
#include "spec/lower/law.h"

namespace shardproof::lower {
namespace {

struct Law : SmallFunctions {
  double draw_entry(const ir::Value& value) {
    if (value.type.dtype == Dtype::boolean) return static_cast<double>(random() % 2);
    if (value.type.dtype == Dtype::key) return denote::Scalar<double>::of_key(random() >> 2);
    if (value.name == "ids") return static_cast<double>(random() % 2);
    if (is_integer(value.type.dtype)) return static_cast<double>(random() % 9) - 4;
    return 0.5 * static_cast<double>(random() % 9) - 2;
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

  void compare(const Case& each, const Tensor& t, const denote::Array<double>& expected,
               ValueOf& value, algebra::Algebra& a) {
    const std::vector<int64_t> shape =
        base_shape(p.functions[0].values[p.functions[0].returned[0]].type);
    ASSERT_EQ(shape.size(), t.index.size()) << each.name;
    for (size_t at = 0; at < expected.data.size(); ++at) {
      const double want = expected.data[at], have = value(t.body, at_entry(t, shape, at));
      if (!std::isfinite(want)) continue;
      ASSERT_NEAR(want, have, 1e-7 * (1 + std::fabs(want)))
          << each.name << " at " << at << ": " << a.show(t.body);
    }
  }

  void check_all(const std::vector<Case>& cases, int rounds) {
    for (const Case& each : cases) {
      compared = 0;
      const bool before = HasFatalFailure();
      for (int i = 0; i < rounds && (before || !HasFatalFailure()); ++i) check(each);
      EXPECT_GE(compared, rounds / 4) << each.name;  // the law is not empty
    }
  }
  int compared = 0;
};

TEST_F(Law, Pointwise) { check_all(pointwise_cases(), 40); }
TEST_F(Law, Mixed) { check_all(mixed_cases(), 40); }
TEST_F(Law, Structure) { check_all(structure_cases(), 40); }
TEST_F(Law, Index) { check_all(index_cases(), 40); }
TEST_F(Law, Loops) { check_all(loop_cases(), 4); }

}  // namespace
}  // namespace shardproof::lower
