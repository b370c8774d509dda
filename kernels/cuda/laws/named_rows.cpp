#include "kernels/cuda/laws/named_rows.h"

namespace shardproof::laws {
namespace {

using Fn = PointwiseFn;

/// Builds a Rowwise; add inputs first.
class Rows {
 public:
  Rows(int64_t rows, int64_t length) {
    op_.rows = rows;
    op_.length = length;
  }
  size_t input(Element element, Per per = Per::entry) {
    op_.inputs.push_back({element, per});
    return op_.inputs.size() - 1;
  }
  size_t constant(double value) { return append({{Fn::constant, true, {}, value, {}}}); }
  size_t of(PointwiseFn fn, std::vector<size_t> arguments, bool real = true) {
    return append({{fn, real, std::move(arguments), 0, {}}});
  }
  size_t along(RowFn fn, std::vector<size_t> arguments) {
    return append({{Fn::constant, true, std::move(arguments), 0, {}}, fn});
  }
  void output(size_t from, Element element, Per per = Per::entry) {
    op_.outputs.push_back({from, element, per});
  }
  Rowwise take() { return std::move(op_); }

  size_t mul(size_t a, size_t b) { return of(Fn::mul, {a, b}); }
  size_t add(size_t a, size_t b) { return of(Fn::add, {a, b}); }
  size_t sub(size_t a, size_t b) { return of(Fn::sub, {a, b}); }
  /// The mean of a b.
  size_t mean(size_t a, size_t b) {
    const size_t sum = along(RowFn::sum, {mul(a, b)});
    return mul(sum, constant(1.0 / static_cast<double>(op_.length)));
  }

 private:
  size_t append(RowStep step) {
    op_.steps.push_back(std::move(step));
    return op_.inputs.size() + op_.steps.size() - 1;
  }

  Rowwise op_;
};

}  // namespace

Rowwise rms_norm_rows(int64_t rows, int64_t length) {
  Rows of(rows, length);
  const size_t x = of.input(Element::bf16), w = of.input(Element::f32, Per::column),
               eps = of.input(Element::f32, Per::all);
  const size_t r = of.of(Fn::rsqrt, {of.add(of.mean(x, x), eps)});
  of.output(of.mul(of.mul(x, r), w), Element::bf16);
  return of.take();
}

Rowwise rms_norm_backward_rows(int64_t rows, int64_t length) {
  Rows of(rows, length);
  const size_t g = of.input(Element::bf16), x = of.input(Element::bf16),
               more = of.input(Element::bf16), w = of.input(Element::f32, Per::column),
               eps = of.input(Element::f32, Per::all);
  const size_t up = of.mul(g, w), r = of.of(Fn::rsqrt, {of.add(of.mean(x, x), eps)});
  const size_t by_x = of.mul(of.mean(up, x), of.mul(r, of.mul(r, r)));
  const size_t own = of.sub(of.mul(up, r), of.mul(x, by_x));
  of.output(of.add(own, more), Element::bf16);
  of.output(of.mul(g, of.mul(x, r)), Element::f32, Per::column);
  return of.take();
}

Rowwise swiglu_backward_rows(int64_t rows, int64_t length) {
  Rows of(rows, length);
  const size_t g = of.input(Element::bf16), gate = of.input(Element::bf16),
               up = of.input(Element::bf16);
  const size_t one = of.constant(1), falling = of.of(Fn::exp, {of.of(Fn::neg, {gate})});
  const size_t s = of.of(Fn::div, {one, of.add(one, falling)}), silu = of.mul(gate, s);
  const size_t slope = of.add(s, of.mul(silu, of.sub(one, s)));
  of.output(of.mul(silu, up), Element::bf16);
  of.output(of.mul(of.mul(g, up), slope), Element::bf16);
  of.output(of.mul(g, silu), Element::bf16);
  return of.take();
}

Rowwise cross_entropy_backward_rows(int64_t rows, int64_t length) {
  Rows of(rows, length);
  const size_t g = of.input(Element::f32, Per::row), logits = of.input(Element::f32),
               target = of.input(Element::i32, Per::row);
  const size_t log_sum = of.along(RowFn::log_sum_exp, {logits});
  const size_t is_target = of.of(Fn::eq, {of.along(RowFn::column, {}), target}, false);
  const size_t hit = of.of(Fn::where, {is_target, of.constant(1), of.constant(0)});
  const size_t probability = of.of(Fn::exp, {of.sub(logits, log_sum)});
  of.output(of.mul(of.sub(probability, hit), g), Element::f32);
  const size_t hit_logit = of.of(Fn::where, {is_target, logits, of.constant(0)});
  of.output(of.sub(log_sum, of.along(RowFn::sum, {hit_logit})), Element::f32, Per::row);
  return of.take();
}

}  // namespace shardproof::laws
