// The oracle's functions, which are its own, beside those of spec/ir/pointwise.def: values at
// points of the domain, and gradients against differences of the table's values.
#include "oracle/testing.h"

namespace shardproof::oracle {
namespace pointwise_test {

struct At {
  std::vector<Tensor> values, gradients;
};

/// f of scalars: its value, and its gradients where it has some.
At at(const std::string& expression, std::vector<double> x, const char* dtype, const char* result,
      bool gradients) {
  const std::string params = x.size() == 1 ? "a" : "a b";
  const auto loaded = load_text("fn f(" + params + ": " + dtype + "[]) -> " + result +
                                "[] { return " + expression + " }");
  std::vector<Tensor> inputs;
  std::vector<size_t> wrt;
  for (size_t i = 0; i < x.size(); ++i) inputs.push_back(scalar(x[i])), wrt.push_back(i);
  const size_t f = loaded->find("f");
  At found{evaluate(loaded->program(), f, {}, inputs), {}};
  if (gradients) found.gradients = gradient(loaded->program(), f, {}, inputs, {scalar(1)}, wrt);
  return found;
}

const char* dtype_of(ir::Takes takes) {
  if (takes == ir::Takes::booleans) return "bool";
  return takes == ir::Takes::integers ? "i32" : "f32";
}

template <class Fn>
double slope(Fn value) {
  constexpr double h = 1e-4;
  return (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h);
}

TEST(Pointwise, functions_of_one_number_are_those_of_the_table) {
  for (ir::UnaryFn fn : ir::unary_fns)
    for (double x : {-2.5, -0.75, 0.0, 0.5, 1.0, 1.5, 2.5}) {
      const ir::Domain domain = ir::domain(fn);
      if (domain.kind != ir::Domain::everywhere && x <= domain.least) continue;
      if (takes(fn) == ir::Takes::booleans) x = x > 0;
      const bool smooth = has_gradient(fn) && x != 0;
      const std::string name = ir::name_of(fn), open = binds(fn) == ir::Binds::call ? "(" : " ";
      const At own = at(name + open + "a" + (open == "(" ? ")" : ""), {x}, dtype_of(takes(fn)),
                        gives_truth(fn) ? "bool" : "f32", smooth);
      EXPECT_DOUBLE_EQ(own.values[0].data[0], ir::value(fn, x)) << name << " at " << x;
      if (!smooth) continue;
      EXPECT_NEAR(own.gradients[0].data[0], slope([&](double by) { return ir::value(fn, x + by); }),
                  1e-8)
          << name << " at " << x;
    }
}

TEST(Pointwise, functions_of_two_numbers_are_those_of_the_table) {
  for (ir::BinaryFn fn : ir::binary_fns)
    for (double a : {0.0, 0.5, 1.5, 2.0})
      for (double b : {-1.5, 0.75, 2.0}) {
        if (takes(fn) == ir::Takes::integers) a = std::floor(a), b = std::floor(b);
        if (takes(fn) == ir::Takes::booleans) a = a > 1, b = b > 1;
        const bool smooth = has_gradient(fn) && a != b && a > 0;
        if (fn == ir::BinaryFn::pow && a == 0) continue;
        if (takes(fn) == ir::Takes::integers && b == 0) continue;
        const std::string name = ir::name_of(fn);
        const std::string text =
            binds(fn) == ir::Binds::call ? name + "(a, b)" : "a " + name + " b";
        const char* dtype = dtype_of(takes(fn));
        const At own = at(text, {a, b}, dtype, gives_truth(fn) ? "bool" : dtype, smooth);
        EXPECT_DOUBLE_EQ(own.values[0].data[0], ir::value(fn, a, b))
            << text << " " << a << " " << b;
        if (!smooth) continue;
        EXPECT_NEAR(own.gradients[0].data[0],
                    slope([&](double by) { return ir::value(fn, a + by, b); }), 1e-8)
            << text << " " << a << " " << b;
        EXPECT_NEAR(own.gradients[1].data[0],
                    slope([&](double by) { return ir::value(fn, a, b + by); }), 1e-8)
            << text << " " << a << " " << b;
      }
}

}  // namespace pointwise_test
}  // namespace shardproof::oracle
