// Random sizes and inputs of a small function, for the laws.
#pragma once

#include <gtest/gtest.h>

#include "spec/denote/evaluate.h"
#include "spec/denote/scalar.h"
#include "spec/lower/cases.h"
#include "spec/lower/lower.h"
#include "spec/lower/value_of.h"

namespace shardproof::lower {

inline double draw(const std::string& name, double key, double index) {
  using Scalar = denote::Scalar<double>;
  const auto i = static_cast<int64_t>(index);
  if (name == "uniform") return Scalar::draw(ir::RandomFn::uniform, key, i);
  if (name == "normal") return Scalar::draw(ir::RandomFn::normal, key, i);
  if (name == "fold") return Scalar::fold(key, nullptr, index);
  const std::string tag = name.substr(6, name.size() - 7);  // fold "tag"
  return Scalar::fold(key, &tag, 0);
}

struct SmallFunctions : testing::Test {
  Random random{20240607};
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

  /// The index variables at entry `at`, row-major.
  static ValueOf::Env at_entry(const Tensor& t, const std::vector<int64_t>& shape, size_t at) {
    ValueOf::Env env;
    for (size_t i = shape.size(); i-- > 0;) {
      env[t.index[i].id] = static_cast<int64_t>(at % static_cast<size_t>(shape[i]));
      at /= static_cast<size_t>(shape[i]);
    }
    return env;
  }
};

}  // namespace shardproof::lower
