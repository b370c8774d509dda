// A grouped product is the product with the gathered matrices, and a grouped sum adds the gathered
// products. Red if a row of a tile meets the matrix of another row, or an entry is left out.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "properties/fused/emulated_fn.h"

namespace shardproof::properties {
namespace grouped_law {

/// Entries, rows of each, terms, columns, and matrices.
struct Drawn {
  int64_t entries = *rc::gen::inRange<int64_t>(1, 150), rows = *rc::gen::inRange<int64_t>(1, 4),
          terms = *rc::gen::inRange<int64_t>(1, 80), columns = *rc::gen::inRange<int64_t>(1, 80),
          matrices = *rc::gen::inRange<int64_t>(1, 12);
  bool bf16 = *rc::gen::arbitrary<bool>(), turned_a = *rc::gen::arbitrary<bool>(),
       turned_table = *rc::gen::arbitrary<bool>(), turned_c = *rc::gen::arbitrary<bool>();
  /// f32 of bf16 entries.
  bool wide = *rc::gen::arbitrary<bool>();
  /// The ids are below it.
  int64_t used = *rc::gen::inRange<int64_t>(1, matrices + 1);
  std::mt19937_64 rng{*rc::gen::arbitrary<unsigned>()};

  Element element() const { return bf16 ? Element::bf16 : Element::f32; }
  std::string element_name() const { return bf16 ? "bf16" : "f32"; }
  std::map<Name, int64_t> dims() const {
    return {{"B", entries}, {"R", rows}, {"M", terms}, {"F", columns}, {"E", matrices}};
  }
  std::string difference(const std::string& text, size_t ids, const FusedOp& op) const {
    EmulatedFn fn("dim B R M F E\n" + text, dims());
    auto drawn = rng;
    fn.draw_floats(drawn, 1);
    std::uniform_int_distribution<int64_t> id(0, used - 1);
    fn.draw(ids, [&] { return static_cast<double>(id(drawn)); });
    return on_gpus(op) ? fn.difference(op) : "GPUs have no kernel for it";
  }
};

RC_GTEST_PROP(Grouped, ProductIsThatOfGatheredMatrices, ()) {
  const Drawn drawn;
  const Element c = drawn.wide ? Element::f32 : drawn.element();
  const std::string e = drawn.element_name(), a = drawn.turned_a ? "B M R" : "B R M",
                    table = drawn.turned_table ? "F M" : "M F",
                    to = drawn.turned_c ? "B F R" : "B R F";
  const std::string made = "einsum(\"" + a + ", B " + table + " -> " + to + "\", x, index(\"[E] " +
                           table + ", B -> B " + table + "\", w, ids), to=f32)";
  const std::string text = "fn f(x: " + e + "[" + a + "], w: " + e + "[E " + table +
                           "], ids: i32[B]) -> " + name_of(c) + "[" + to + "] { return " +
                           name_of(c) + "(" + made + ") }\n";
  const int64_t m = drawn.rows, n = drawn.columns, k = drawn.terms;
  GroupedProduct op;
  op.product.m = m;
  op.product.n = n;
  op.product.k = k;
  op.product.a = drawn.turned_a ? MatrixStrides{1, m} : MatrixStrides{k, 1};
  op.product.b = drawn.turned_table ? MatrixStrides{1, k} : MatrixStrides{n, 1};
  op.product.c = drawn.turned_c ? MatrixStrides{1, m} : MatrixStrides{n, 1};
  op.product.elements = {c, drawn.element(), drawn.element()};
  op.product.batch = {{drawn.entries}, {{m * n}, {m * k}, {1}}};
  op.window = {0, drawn.matrices, k * n, false};
  const std::string difference = drawn.difference(text, 2, op);
  if (!difference.empty()) RC_FAIL(difference);
}

RC_GTEST_PROP(Grouped, SumAddsGatheredProducts, ()) {
  const Drawn drawn;
  const std::string e = drawn.element_name(), a = drawn.turned_a ? "M B" : "B M",
                    b = drawn.turned_table ? "F B" : "B F";
  const std::string text = "fn f(ids: i32[B], x: " + e + "[" + a + "], y: " + e + "[" + b +
                           "]) -> f32[E M F] { return index_add(\"B, B M F -> [E] M F\", ids, "
                           "einsum(\"" +
                           a + ", " + b + " -> B M F\", x, y, to=f32)) }\n";
  const int64_t m = drawn.terms, n = drawn.columns, entries = drawn.entries;
  GroupedSum op;
  op.product.m = m;
  op.product.n = n;
  op.product.a.row = drawn.turned_a ? entries : 1;
  op.product.b.column = drawn.turned_table ? entries : 1;
  op.product.c = {n, 1};
  op.product.elements = {Element::f32, drawn.element(), drawn.element()};
  op.product.batch = {{entries}, {{1}, {drawn.turned_a ? 1 : m}, {drawn.turned_table ? 1 : n}}};
  op.window = {0, drawn.matrices, m * n, false};
  op.count = drawn.matrices * m * n;
  const std::string difference = drawn.difference(text, 0, op);
  if (!difference.empty()) RC_FAIL(difference);
}

}  // namespace grouped_law
}  // namespace shardproof::properties
