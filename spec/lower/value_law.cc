// The law: at random sizes and inputs, a lowered function has the values that spec/denote computes
// on one device.
#include <gtest/gtest.h>

#include "spec/denote/evaluate.h"
#include "spec/denote/scalar.h"
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

struct Law : testing::Test {
  Random random{20240607};
  ir::Program p = test_program();
  denote::Sizes sizes;

  Law() {
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

  void compare(const Case& each, const Tensor& t, const denote::Array<double>& expected,
               ValueOf& value, algebra::Algebra& a) {
    const std::vector<int64_t> shape =
        base_shape(p.functions[0].values[p.functions[0].returned[0]].type);
    ASSERT_EQ(shape.size(), t.index.size()) << each.name;
    for (size_t at = 0; at < expected.data.size(); ++at) {
      ValueOf::Env env;
      size_t rest = at;
      for (size_t i = shape.size(); i-- > 0;) {
        env[t.index[i].id] = static_cast<int64_t>(rest % static_cast<size_t>(shape[i]));
        rest /= static_cast<size_t>(shape[i]);
      }
      const double want = expected.data[at], have = value(t.body, env);
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
