// The law: at random sizes and inputs, a lowered function has the values that spec/denote computes
// on one device.
#include <gtest/gtest.h>

#include "spec/denote/evaluate.h"
#include "spec/denote/scalar.h"
#include "spec/lower/builder.h"
#include "spec/lower/lower.h"
#include "spec/lower/value_of.h"

namespace shardproof::lower {
namespace {

using ir::BinaryFn;
using ir::UnaryFn;
using ir::ValueId;
using Random = std::mt19937_64;

struct Build : FunctionBuilder {
  Random& random;
  explicit Build(Random& r) : FunctionBuilder("f"), random(r) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  template <class T>
  T one_of(std::vector<T> v) {
    return v[static_cast<size_t>(below(static_cast<int64_t>(v.size())))];
  }
  /// A parameter, or something made of one, so that ops meet leaves and derived tensors.
  ValueId real(const std::string& dims) {
    ValueId x = param("x" + std::to_string(f.params.size()), dims);
    switch (below(4)) {
      case 0:
        return add(mul(x, x), number("0.5"));
      case 1:
        return unary(one_of<UnaryFn>({UnaryFn::exp, UnaryFn::sin, UnaryFn::abs}), x);
      default:
        return x;
    }
  }
  ValueId whole(const std::string& dims) {
    return param("i" + std::to_string(f.params.size()), dims, Dtype::i32);
  }
  ValueId condition(const std::string& dims) {
    return param("b" + std::to_string(f.params.size()), dims, Dtype::boolean);
  }
  ValueId key() { return param("k" + std::to_string(f.params.size()), "", Dtype::key); }
};

double draw(const std::string& name, double key, double index) {
  using Scalar = denote::Scalar<double>;
  const auto i = static_cast<int64_t>(index);
  if (name == "uniform") return Scalar::draw(ir::RandomFn::uniform, key, i);
  if (name == "normal") return Scalar::draw(ir::RandomFn::normal, key, i);
  if (name == "fold") return Scalar::fold(key, nullptr, index);
  const std::string tag = name.substr(6, name.size() - 7);  // fold "tag"
  return Scalar::fold(key, &tag, 0);
}

struct Case {
  const char* name;
  std::function<ValueId(Build&)> build;
};

std::vector<Case> pointwise_cases() {
  std::vector<Case> cases;
  for (UnaryFn fn : {UnaryFn::neg, UnaryFn::exp, UnaryFn::tanh, UnaryFn::erf, UnaryFn::sin,
                     UnaryFn::cos, UnaryFn::abs, UnaryFn::floor})
    cases.push_back({"unary", [fn](Build& b) { return b.unary(fn, b.real("B L")); }});
  for (UnaryFn fn : {UnaryFn::log, UnaryFn::sqrt, UnaryFn::rsqrt})
    cases.push_back({"root", [fn](Build& b) {
                       ValueId x = b.real("B L");
                       ValueId square = b.mul(x, x);
                       return b.unary(fn, b.below(2) ? square : b.add(square, b.number("0.1")));
                     }});
  for (BinaryFn fn : {BinaryFn::add, BinaryFn::sub, BinaryFn::mul, BinaryFn::div, BinaryFn::maximum,
                      BinaryFn::minimum, BinaryFn::lt, BinaryFn::le, BinaryFn::gt, BinaryFn::ge,
                      BinaryFn::eq, BinaryFn::ne})
    cases.push_back({"binary", [fn](Build& b) {
                       ValueId x = b.real("B L");
                       return b.binary(
                           fn, x,
                           b.below(4) ? b.real(b.one_of<std::string>({"L", "L B", "B", ""})) : x);
                     }});
  for (BinaryFn fn : {BinaryFn::add, BinaryFn::sub, BinaryFn::mul, BinaryFn::floordiv,
                      BinaryFn::mod, BinaryFn::maximum, BinaryFn::lt, BinaryFn::le, BinaryFn::gt,
                      BinaryFn::ge, BinaryFn::eq, BinaryFn::ne})
    cases.push_back({"integers", [fn](Build& b) {
                       ValueId x = b.below(2) ? b.whole("B L") : b.iota("B L", 1);
                       ValueId y =
                           b.below(2) ? b.add(b.iota("L", 0), b.number("1")) : b.number("3");
                       return b.binary(fn, x, y);
                     }});
  for (BinaryFn fn : {BinaryFn::logical_and, BinaryFn::logical_or, BinaryFn::eq, BinaryFn::ne})
    cases.push_back({"conditions", [fn](Build& b) {
                       ValueId x = b.binary(fn, b.condition("B L"), b.condition("L"));
                       return b.below(2) ? x : b.unary(UnaryFn::logical_not, x);
                     }});
  cases.push_back({"pow", [](Build& b) {
                     ValueId x = b.real("B");
                     ValueId base = b.add(b.mul(x, x), b.number("0.5"));
                     return b.binary(BinaryFn::pow, base,
                                     b.below(2) ? b.number("1.5") : b.real(""));
                   }});
  cases.push_back({"where", [](Build& b) {
                     return b.where(b.condition("B L"), b.real("L"),
                                    b.below(2) ? b.real("B L") : b.number("0"));
                   }});
  cases.push_back({"cast", [](Build& b) {
                     switch (b.below(4)) {
                       case 0:
                         return b.cast(Dtype::f32, b.condition("B"));
                       case 1:
                         return b.cast(Dtype::i32, b.add(b.real("B"), b.number("0.25")));
                       case 2:
                         return b.cast(Dtype::boolean, b.whole("B"));
                       default:
                         return b.cast(Dtype::bf16, b.cast(Dtype::f32, b.whole("B")));
                     }
                   }});
  cases.push_back({"total", [](Build& b) {
                     ValueId x = b.real("");
                     return b.emit(ir::Total{}, {x, b.real(""), x}, b.type_of(x));
                   }});
  return cases;
}

std::vector<Case> structure_cases() {
  return {
      {"einsum",
       [](Build& b) {
         return b.einsum("B S D, B T D -> B S T", {b.real("B L D"), b.real("B L D")});
       }},
      {"einsum3",
       [](Build& b) {
         return b.einsum("B L, L M, M -> B", {b.real("B L"), b.real("L M"), b.real("M")});
       }},
      {"einsum group",
       [](Build& b) {
         return b.einsum("B (K D), K D -> D B", {b.real("B (K D)"), b.real("K D")});
       }},
      {"sum", [](Build& b) { return b.sum("B L M -> L", b.real("B L M")); }},
      {"max", [](Build& b) { return b.max("B L M -> L", b.real("B L M")); }},
      {"min",
       [](Build& b) {
         return b.op("B L -> B", {b.real("B L")}, ir::Reduce{ir::ReduceFn::min, {}, {}});
       }},
      {"expand", [](Build& b) { return b.expand("S -> B S T", b.real("L")); }},
      {"rearrange",
       [](Build& b) {
         return b.op<ir::Rearrange>("B L (K D) -> K (L D) B", {b.real("B L (K D)")});
       }},
      {"alias", [](Build& b) { return b.op<ir::Rearrange>("H S -> T K D", {b.real("H L")}); }},
      {"collective",
       [](Build& b) {
         return b.collective(ir::CollectiveFn::all_to_all, "B L/t K -> B L K/t", b.real("B L K"));
       }},
      {"read entry",
       [](Build& b) {
         return b.op<ir::Read>("[kv] B -> B", {b.real("kv B"), b.number("1")});
       }},
      {"read",
       [](Build& b) {
         return b.op<ir::Read>("B [Z] -> B F", {b.real("B Z"), b.size("L")});
       }},
      {"read group",
       [](Build& b) {
         return b.op<ir::Read>("B [H] -> B", {b.real("B H"), b.number("1")});
       }},
      {"write",
       [](Build& b) {
         return b.op<ir::Write>("B [Z] D, B F D -> B Z D",
                                {b.real("B Z D"), b.real("B F D"), b.size("L")});
       }},
      {"write at",
       [](Build& b) {  // at = a value
         ValueId at = b.cast(Dtype::i32, b.cast(Dtype::boolean, b.whole("")));
         return b.op<ir::Write>("B [Z], B F -> B Z", {b.real("B Z"), b.real("B F"), at});
       }},
      {"write entry",
       [](Build& b) {
         return b.op<ir::Write>("[Z] B, B -> Z B", {b.real("Z B"), b.real("B"), b.number("2")});
       }},
      {"concat",
       [](Build& b) {
         return b.op<ir::Concat>("B L, B F, B K -> [Z] B",
                                 {b.real("B L"), b.real("B F"), b.real("B K")});
       }},
      {"concat halves",
       [](Build& b) {
         return b.op<ir::Concat>("B h, h B -> B [D]", {b.real("B h"), b.real("h B")});
       }},
      {"stack",
       [](Build& b) {
         return b.op<ir::Concat>("B, B -> B [kv]", {b.real("B"), b.real("B")});
       }},
      {"roll",
       [](Build& b) {
         ValueId by = b.below(2) ? b.number(b.one_of<std::string>({"1", "2", "0"})) : b.whole("");
         return b.op<ir::Roll>("B [L] -> B [L]", {b.real("B L"), by});
       }},
      {"roll group",
       [](Build& b) {
         return b.op<ir::Roll>("B [H] -> B [H]",
                               {b.real("B H"), b.unary(UnaryFn::neg, b.number("1"))});
       }},
      {"entry",
       [](Build& b) {
         Values r = b.scan("N", {}, [&](ValueId n, Values) {
           return std::make_pair(Values{},
                                 Values{b.add(b.entry(b.real("N B"), n), b.cast(Dtype::f32, n))});
         });
         return r[0];
       }},
  };
}

std::vector<Case> index_cases() {
  auto ids = [](Build& b, const char* dims) { return b.param("ids", dims, Dtype::i32); };
  auto zeros = [](Build& b) {
    ir::Zeros op{{read_shape("B L"), false, {}}, Dtype::f32};
    return b.emit(op, {}, Build::type(op.created.shape, Dtype::f32));
  };
  auto draw = [](ir::RandomFn fn, const char* dims) {
    return [fn, dims](Build& b) {
      ValueId k = b.key();
      if (b.below(2)) k = b.emit(ir::Fold{"tag"}, {k}, b.type_of(k));
      if (b.below(2)) k = b.emit(ir::Fold{}, {k, b.number("3")}, b.type_of(k));
      ir::Random op{fn, {read_shape(dims), false, {}}};
      return b.emit(op, {k}, Build::type(op.created.shape, Dtype::f32));
    };
  };
  auto ordered = [](ir::OrderedFn fn, const char* pattern, size_t dim) {
    return [=](Build& b) {
      const std::string p = pattern;
      ValueId x = b.real(p.substr(0, p.find(" ->")));
      ir::Ordered op{fn, read_pattern(p), dim};
      Type t = b.type_of(x);
      if (fn == ir::OrderedFn::argsort) t.dtype = Dtype::i32;
      return b.emit(op, {x}, t);
    };
  };
  auto top = [](size_t which) {
    return [which](Build& b) {
      ValueId x = b.real("B Z");
      ir::TopK op{read_pattern("B Z -> B kv")};
      Values r = {b.value(Build::type(op.pattern.right, Dtype::f32)),
                  b.value(Build::type(op.pattern.right, Dtype::i32))};
      b.open.back()->instrs.push_back({op, {x}, r, {}, {}});
      return r[which];
    };
  };
  return {
      {"index",
       [=](Build& b) {
         return b.op<ir::Index>("[V] M, B L -> B L M", {b.real("V M"), ids(b, "B L")});
       }},
      {"paired",
       [=](Build& b) {
         return b.op<ir::Index>("B [V], B L -> L B", {b.real("B V"), ids(b, "B L")});
       }},
      {"index group",
       [=](Build& b) {
         return b.op<ir::Index>("[H] M, V -> V M", {b.real("H M"), ids(b, "V")});
       }},
      {"unreduced",
       [=](Build& b) {
         return b.op<ir::IndexUnreduced>("[V/t] M, B -> B M", {b.real("V M"), ids(b, "B")});
       }},
      {"index_add",
       [=](Build& b) {
         return b.op<ir::IndexAdd>("B L, B L M -> [V] M", {ids(b, "B L"), b.real("B L M")}, {}, 1);
       }},
      {"index_add paired",
       [=](Build& b) {
         return b.op<ir::IndexAdd>("B L, B L -> B [V]", {ids(b, "B L"), b.real("B L")}, {}, 1);
       }},
      {"iota", [](Build& b) { return b.iota("B L", static_cast<size_t>(b.below(2))); }},
      {"iota group", [](Build& b) { return b.mul(b.iota("H B", 0), b.iota("H B", 1)); }},
      {"uniform", draw(ir::RandomFn::uniform, "B L (K D)")},
      {"normal", draw(ir::RandomFn::normal, "L B")},
      {"zeros", zeros},
      {"cumsum", ordered(ir::OrderedFn::cumsum, "B L -> B L", 1)},
      {"cumsum group", ordered(ir::OrderedFn::cumsum, "H B -> H B", 0)},
      {"argsort", ordered(ir::OrderedFn::argsort, "B L -> B L", 1)},
      {"argmax",
       [](Build& b) {
         ir::Argmax op{read_pattern("B L Z -> B L")};
         return b.emit(op, {b.real("B L Z")}, Build::type(op.pattern.right, Dtype::i32));
       }},
      {"top_k", top(0)},
      {"top_k index", top(1)},
  };
}

/// Two carries, one of them with dims, an emit that follows them, and a loop within the loop.
ValueId loop(Build& b, size_t result, bool reverse, bool nested) {
  ValueId x = b.real("B L"), s = b.real(""), w = b.real("N L M");
  return b.scan(
      "N", {x, s},
      [&](ValueId n, Values c) {
        ValueId v = b.einsum("B L, L M -> B M", {c[0], b.entry(w, n)});
        ValueId back = b.einsum("B M, M L -> B L", {v, b.param("p", "M L")});
        if (nested)
          back = b.scan("K", {back}, [&](ValueId k, Values inner) {
            ValueId scaled = b.mul(inner[0], b.add(b.cast(Dtype::f32, k), c[1]));
            return std::make_pair(Values{b.unary(UnaryFn::tanh, b.add(scaled, c[0]))}, Values{});
          })[0];
        ValueId next = b.add(b.mul(b.number("0.5"), back), c[0]);
        ValueId total = b.add(b.mul(c[1], b.number("0.5")), b.cast(Dtype::f32, n));
        return std::make_pair(Values{b.unary(UnaryFn::tanh, next), total}, Values{b.mul(v, c[1])});
      },
      reverse)[result];
}

std::vector<Case> loop_cases() {
  std::vector<Case> cases;
  for (size_t result : {0, 1, 2})
    for (bool reverse : {false, true})
      for (bool nested : {false, true})
        cases.push_back({"scan", [=](Build& b) { return loop(b, result, reverse, nested); }});
  return cases;
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
TEST_F(Law, Structure) { check_all(structure_cases(), 40); }
TEST_F(Law, Index) { check_all(index_cases(), 40); }
TEST_F(Law, Loops) { check_all(loop_cases(), 4); }

}  // namespace
}  // namespace shardproof::lower
