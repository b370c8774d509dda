// The kernels along rows are their definitions, at random sizes and numbers.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "properties/fused/emulated_fn.h"

namespace shardproof::properties {
namespace rows_law {

/// Sizes and numbers of one case.
struct Drawn {
  int64_t rows = *rc::gen::inRange<int64_t>(1, 12);
  /// Short rows; warps' multiples; long rows, which a block takes.
  int64_t length =
      *rc::gen::oneOf(rc::gen::inRange<int64_t>(1, 40), rc::gen::element<int64_t>(8, 32, 256, 1024),
                      rc::gen::inRange<int64_t>(1025, 2200));
  std::mt19937_64 rng{*rc::gen::arbitrary<unsigned>()};
  bool bf16 = *rc::gen::arbitrary<bool>();
  double magnitude = *rc::gen::element(0.01, 1.0, 40.0);
  bool scalar_is_input = *rc::gen::arbitrary<bool>();
  std::string element() const { return bf16 ? "bf16" : "f32"; }
  Element x() const { return bf16 ? Element::bf16 : Element::f32; }
};

void expect_same(const EmulatedFn& fn, const FusedOp& op) {
  const std::string difference = fn.difference(op);
  if (!difference.empty()) RC_FAIL(difference);
}

template <class Op>
void norm(const std::string& name) {
  const Drawn drawn;
  EmulatedFn fn("dim B K\nfn f(x: " + drawn.element() +
                    "[B K], eps: f32[]) -> f32[B K] {\n return " + name +
                    "(\"B K; K\", x, eps) }\n",
                {{"B", drawn.rows}, {"K", drawn.length}});
  auto rng = drawn.rng;
  fn.draw_floats(rng, drawn.magnitude);
  fn.draw(1, [&] { return drawn.magnitude * drawn.magnitude * 0.1; });
  expect_same(fn, Op{drawn.rows, drawn.length, drawn.x(), fn.scalar(1, drawn.scalar_is_input)});
}

template <class Op>
void norm_grad(const std::string& name) {
  const Drawn drawn;
  EmulatedFn fn("dim B K\nfn f(g: f32[B K], x: " + drawn.element() +
                    "[B K], eps: f32[]) -> f32[B K] {\n return " + name +
                    "(\"B K, B K; K\", g, x, eps) }\n",
                {{"B", drawn.rows}, {"K", drawn.length}});
  auto rng = drawn.rng;
  fn.draw_floats(rng, drawn.magnitude);
  fn.draw(2, [&] { return drawn.magnitude * drawn.magnitude * 0.1; });
  expect_same(fn, Op{drawn.rows, drawn.length, drawn.x(), fn.scalar(2, drawn.scalar_is_input)});
}

RC_GTEST_PROP(FusedRows, RmsNorm, ()) { norm<RmsNorm>("rms_norm"); }
RC_GTEST_PROP(FusedRows, LayerNorm, ()) { norm<LayerNorm>("layer_norm"); }
RC_GTEST_PROP(FusedRows, RmsNormGrad, ()) { norm_grad<RmsNormGrad>("rms_norm_grad"); }
RC_GTEST_PROP(FusedRows, LayerNormGrad, ()) { norm_grad<LayerNormGrad>("layer_norm_grad"); }

RC_GTEST_PROP(FusedRows, Softmax, ()) {
  const Drawn drawn;
  EmulatedFn fn("dim B K\nfn f(x: f32[B K]) -> f32[B K] { return softmax(\"B K; K\", x) }\n",
                {{"B", drawn.rows}, {"K", drawn.length}});
  auto rng = drawn.rng;
  fn.draw_floats(rng, drawn.magnitude * 3);  // exp of the largest is infinite
  expect_same(fn, Softmax{drawn.rows, drawn.length});
}

RC_GTEST_PROP(FusedRows, SoftmaxGrad, ()) {
  const Drawn drawn;
  EmulatedFn fn(
      "dim B K\nfn f(g y: f32[B K]) -> f32[B K] { return softmax_grad(\"B K, B K; K\", g, y) }\n",
      {{"B", drawn.rows}, {"K", drawn.length}});
  auto rng = drawn.rng;
  fn.draw_floats(rng, drawn.magnitude);
  expect_same(fn, SoftmaxGrad{drawn.rows, drawn.length});
}

/// Mostly entries of the row, sometimes none.
int64_t draw_target(std::mt19937_64& rng, int64_t length) {
  return std::uniform_int_distribution<int64_t>(-1, length)(rng);
}

RC_GTEST_PROP(FusedRows, CrossEntropy, ()) {
  const Drawn drawn;
  EmulatedFn fn(
      "dim B V\nfn f(x: f32[B V], t: i32[B]) -> f32[B] {\n"
      " return cross_entropy(\"B V, B; V\", x, t) }\n",
      {{"B", drawn.rows}, {"V", drawn.length}});
  auto rng = drawn.rng;
  fn.draw_floats(rng, drawn.magnitude * 3);
  fn.draw(1, [&] { return draw_target(rng, drawn.length); });
  expect_same(fn, CrossEntropy{drawn.rows, drawn.length});
}

RC_GTEST_PROP(FusedRows, CrossEntropyGrad, ()) {
  const Drawn drawn;
  EmulatedFn fn(
      "dim B V\nfn f(g: f32[B], x: f32[B V], t: i32[B]) -> f32[B V] {\n"
      " return cross_entropy_grad(\"B, B V, B; V\", g, x, t) }\n",
      {{"B", drawn.rows}, {"V", drawn.length}});
  auto rng = drawn.rng;
  fn.draw_floats(rng, drawn.magnitude * 3);
  fn.draw(2, [&] { return draw_target(rng, drawn.length); });
  expect_same(fn, CrossEntropyGrad{drawn.rows, drawn.length});
}

RC_GTEST_PROP(FusedRows, Rope, ()) {
  const Drawn drawn;
  const bool inverse = *rc::gen::arbitrary<bool>();
  const auto small = [](int64_t most) { return *rc::gen::inRange<int64_t>(1, most); };
  const int64_t b = small(4), l = small(9), h = small(4), d = 2 * small(20);
  EmulatedFn fn("dim B L H D\nfn f(x: " + drawn.element() +
                    "[B L H D], pos: i32[L], base: f32[]) -> " + drawn.element() +
                    "[B L H D] {\n return " + (inverse ? "rope_inverse" : "rope") +
                    "(\"B L H D; L D\", x, pos, base) }\n",
                {{"B", b}, {"L", l}, {"H", h}, {"D", d}});
  auto rng = drawn.rng;
  fn.draw_floats(rng, drawn.magnitude);
  const uint64_t positions = *rc::gen::element<uint64_t>(100, 2000000000);
  fn.draw(1, [&] { return static_cast<double>(rng() % positions); });
  fn.draw(2, [&] { return 10000.0; });
  expect_same(fn, Rope{b, l, h, d, drawn.x(), inverse, fn.scalar(2, drawn.scalar_is_input)});
}

RC_GTEST_PROP(FusedRows, AdamW, ()) {
  const Drawn drawn;
  const int64_t count = drawn.length * *rc::gen::element<int64_t>(1, 4);
  EmulatedFn fn(
      "dim N\nfn f(w: f32[N], g: " + drawn.element() +
          "[N], m v: f32[N], step lr decay b1 b2 eps scale: f32[]) -> (w1 m1 v1: f32[N]) {\n"
          " w1, m1, v1 = adamw(w, scale_by(f32(g), scale), m, v, step, lr, decay, b1, b2, eps)\n"
          " return w1, m1, v1 }\n",
      {{"N", count}});
  auto rng = drawn.rng;
  fn.draw_floats(rng, drawn.magnitude);
  for (double& each : fn.input(3).data) each = std::abs(each);
  const double scalars[] = {1.0 + static_cast<double>(rng() % 50), 0.01, 0.1, 0.9, 0.95, 1e-3,
                            *rc::gen::element(1.0, 0.3, 2.5)};
  AdamW op;
  op.count = count;
  op.gradient = drawn.x();
  Scalar* const given[] = {&op.step, &op.lr, &op.decay, &op.b1, &op.b2, &op.eps, &op.scale};
  for (size_t i = 0; i < 7; ++i) {
    fn.draw(4 + i, [&] { return scalars[i]; });
    *given[i] = fn.scalar(4 + i, *rc::gen::arbitrary<bool>());
  }
  expect_same(fn, op);
}

RC_GTEST_PROP(FusedRows, SumSquares, ()) {
  const Drawn drawn;
  EmulatedFn fn("dim N\nfn f(g: " + drawn.element() + "[N]) -> f32[] { return sumsq(g) }\n",
                {{"N", drawn.rows * drawn.length}});
  auto rng = drawn.rng;
  fn.draw_floats(rng, drawn.magnitude);
  expect_same(fn, SumSquares{drawn.rows * drawn.length, drawn.x()});
}

}  // namespace rows_law
}  // namespace shardproof::properties
