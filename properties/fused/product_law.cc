// A product with a bias is its definition, rounded once.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "properties/fused/emulated_fn.h"

namespace shardproof::properties {
namespace product_law {

struct Drawn {
  bool bf16 = *rc::gen::arbitrary<bool>();
  bool by_row = *rc::gen::arbitrary<bool>(), turned_a = *rc::gen::arbitrary<bool>(),
       turned_b = *rc::gen::arbitrary<bool>();
  /// f32 of bf16 entries.
  bool wide = *rc::gen::arbitrary<bool>();
  int64_t m = *rc::gen::inRange<int64_t>(2, 40), n = *rc::gen::inRange<int64_t>(2, 40),
          k = *rc::gen::inRange<int64_t>(1, 50);
  std::mt19937_64 rng{*rc::gen::arbitrary<unsigned>()};

  std::string text() const {
    const std::string e = bf16 ? "bf16" : "f32", c = bf16 && !wide ? "bf16" : "f32";
    const std::string a = turned_a ? "P I" : "I P", b = turned_b ? "J P" : "P J",
                      to = by_row ? "J I" : "I J", v = by_row ? "I" : "J";
    const std::string sum = "einsum(\"" + a + ", " + b + " -> " + to +
                            "\", a, b, to=f32) + expand(\"" + v + " -> " + to + "\", f32(v))";
    return "dim I J P\nfn f(a: " + e + "[" + a + "], b: " + e + "[" + b + "], v: " + c + "[" + v +
           "]) -> " + c + "[" + to + "] { return " + (c == "bf16" ? "bf16(" + sum + ")" : sum) +
           " }\n";
  }
  BiasedProduct op() const {
    const Element e = bf16 ? Element::bf16 : Element::f32, c = bf16 && !wide ? e : Element::f32;
    BiasedProduct op;
    op.product.m = m;
    op.product.n = n;
    op.product.k = k;
    op.product.a = turned_a ? MatrixStrides{1, m} : MatrixStrides{k, 1};
    op.product.b = turned_b ? MatrixStrides{1, k} : MatrixStrides{n, 1};
    op.product.c = by_row ? MatrixStrides{1, m} : MatrixStrides{n, 1};
    op.product.batch.strides.resize(3);
    op.product.elements = {c, e, e};
    op.by_row = by_row;
    op.bias = c;
    return op;
  }
};

RC_GTEST_PROP(FusedProduct, WithABias, ()) {
  const Drawn drawn;
  EmulatedFn fn(drawn.text(), {{"I", drawn.m}, {"J", drawn.n}, {"P", drawn.k}});
  auto rng = drawn.rng;
  fn.draw_floats(rng, 1);
  RC_ASSERT(drawn.op().fits());
  const std::string difference = fn.difference(drawn.op());
  if (!difference.empty()) RC_FAIL(difference);
}

}  // namespace product_law
}  // namespace shardproof::properties
