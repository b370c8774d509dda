#include <algorithm>

#include "kernels/cuda/laws/named_rows.h"
#include "kernels/cuda/laws/rows.h"

namespace shardproof::laws {
namespace {

/// Writes programs whose numbers stay between about -8 and 8 and whose comparisons are exact.
class RowsWriter {
 public:
  explicit RowsWriter(Dice& dice) : dice_(dice) {}

  Rowwise write() {
    extents();
    const int64_t inputs = dice_.between(1, 6), steps = dice_.between(2, 14);
    for (int64_t k = 0; k < inputs; ++k) add_input();
    for (int64_t s = 0; s < steps; ++s) add_step();
    const int64_t outputs = dice_.between(1, 5);
    for (int64_t o = 0; o < outputs; ++o) add_output();
    return op_;
  }

 private:
  enum Kind { real, exact_real, integer, truth };
  /// same: equal for all entries of a row
  struct Content {
    Kind kind;
    bool same;
  };

  void extents() {
    op_.length = dice_.one_of<int64_t>({dice_.between(1, 40), 8 * dice_.between(1, 40),
                                        dice_.between(41, 700), 1024, 1032,
                                        8 * dice_.between(130, 375), dice_.between(1025, 3000)});
    op_.rows = dice_.between(1, std::clamp<int64_t>(30000 / op_.length, 1, 70));
  }

  void add_input() {
    const Element element = dice_.one_of({Element::f32, Element::f32, Element::bf16, Element::bf16,
                                          Element::i32, Element::u8, Element::u32});
    const Per per =
        dice_.one_of({Per::entry, Per::entry, Per::entry, Per::row, Per::column, Per::all});
    op_.inputs.push_back({element, per});
    values_.push_back({is_real(element)         ? exact_real
                       : element == Element::u8 ? truth
                                                : integer,
                       per == Per::row || per == Per::all});
  }

  size_t append(PointwiseFn fn, bool of_real, std::vector<size_t> arguments, Kind kind,
                double value = 0) {
    bool same = true;
    for (size_t argument : arguments) same = same && values_[argument].same;
    op_.steps.push_back({{fn, of_real, std::move(arguments), value, {}}, RowFn::none});
    values_.push_back({kind, same});
    return values_.size() - 1;
  }
  size_t fixed(double value) { return append(PointwiseFn::constant, true, {}, exact_real, value); }
  size_t along(RowFn fn, std::vector<size_t> arguments) {
    const bool column = fn == RowFn::column;
    op_.steps.push_back({{PointwiseFn::constant, !column, std::move(arguments), 0, {}}, fn});
    values_.push_back({column ? integer : real, !column});
    return values_.size() - 1;
  }

  bool is(size_t at, Kind kind) const {
    return values_[at].kind == kind || (kind == real && values_[at].kind == exact_real);
  }
  /// A register of this kind, preferably a late one; or a new constant.
  size_t some(Kind kind) {
    for (int tries = 0; tries < 8; ++tries) {
      const auto count = static_cast<int64_t>(values_.size());
      const auto at = static_cast<size_t>(dice_.percent(50) ? dice_.between(count / 2, count - 1)
                                                            : dice_.below(count));
      if (is(at, kind)) return at;
    }
    if (kind == truth) return append(PointwiseFn::to_boolean, false, {some(integer)}, truth);
    if (kind == integer)
      return append(PointwiseFn::constant, false, {}, integer,
                    static_cast<double>(dice_.between(-9, 9)));
    return fixed(static_cast<double>(dice_.between(-40, 40)) / 16);
  }

  bool is_constant(size_t at) const {
    if (at < op_.inputs.size()) return false;
    const RowStep& step = op_.steps[at - op_.inputs.size()];
    return step.along == RowFn::none && step.step.arguments.empty();
  }

  size_t tamed(size_t x) {
    const size_t most = append(PointwiseFn::minimum, true, {x, fixed(4)}, real);
    return append(PointwiseFn::maximum, true, {most, fixed(-4)}, real);
  }
  size_t positive(size_t x) {
    const size_t size = append(PointwiseFn::abs, true, {x}, real);
    return append(PointwiseFn::add, true, {size, fixed(0.5)}, real);
  }

  void add_step() {
    using enum PointwiseFn;
    switch (dice_.below(9)) {
      case 0:
      case 1:
        append(dice_.one_of({add, sub, maximum, minimum}), true, {some(real), some(real)}, real);
        return;
      case 2:
        return void(tamed(append(mul, true, {some(real), some(real)}, real)));
      case 3:
        return function();
      case 4:
        return integers();
      case 5:
        return conversion();
      default:
        return reduction();
    }
  }

  void function() {
    using enum PointwiseFn;
    const PointwiseFn fn = dice_.one_of({exp, log, sqrt, rsqrt, tanh, neg, abs, div});
    const size_t x = tamed(some(real));
    if (fn == div)
      tamed(append(div, true, {x, positive(some(real))}, real));
    else if (fn == exp)
      tamed(append(exp, true, {x}, real));
    else
      append(fn, true, {fn == log || fn == sqrt || fn == rsqrt ? positive(x) : x}, real);
  }

  void integers() {
    using enum PointwiseFn;
    if (dice_.percent(30)) return void(along(RowFn::column, {}));
    const size_t a = some(integer);
    if (dice_.percent(40))
      return void(append(dice_.one_of({eq, lt, ge}), false, {a, some(integer)}, truth));
    const size_t b =
        append(constant, false, {}, integer, 1.0 + static_cast<double>(dice_.below(7)));
    const size_t small = append(mod, false, {a, b}, integer);
    append(dice_.one_of({add, sub, mul, maximum}), false, {small, b}, integer);
  }

  void conversion() {
    using enum PointwiseFn;
    switch (dice_.below(4)) {
      case 0:
        return void(tamed(append(to_real, true, {some(integer)}, exact_real)));
      case 1:
        return void(
            append(dice_.one_of({lt, ge}), true, {some(exact_real), some(exact_real)}, truth));
      case 2:
        return void(append(where, true, {some(truth), some(real), some(real)}, real));
      default:
        append(round_bf16, true, {some(real)}, real);
    }
  }

  void reduction() {
    const RowFn fn = dice_.one_of({RowFn::sum, RowFn::sum, RowFn::maximum, RowFn::log_sum_exp});
    const size_t x = along(fn, {some(real)});
    if (fn != RowFn::sum) return void(tamed(x));
    tamed(append(PointwiseFn::mul, true, {x, fixed(2.0 / static_cast<double>(op_.length))}, real));
  }

  void add_output() {
    const Per per = dice_.one_of({Per::entry, Per::entry, Per::entry, Per::row, Per::column});
    for (int tries = 0; tries < 20; ++tries) {
      const size_t at = some(dice_.one_of({real, real, real, integer, truth}));
      const Content value = values_[at];
      const bool is_float = is(at, real);
      if (is_constant(at) && tries < 18) continue;
      if ((per == Per::row && !value.same) || (per == Per::column && !is_float)) continue;
      const Element element = is_float              ? dice_.one_of({Element::f32, Element::bf16})
                              : value.kind == truth ? Element::u8
                                                    : Element::i32;
      return op_.outputs.push_back({at, element, per});
    }
    op_.outputs.push_back({some(real), Element::f32, Per::entry});
  }

  Dice& dice_;
  Rowwise op_;
  std::vector<Content> values_;
};

}  // namespace

Rowwise random_rows(Dice& dice) { return RowsWriter(dice).write(); }

RowwiseCase random_rowwise(uint64_t seed) {
  Dice dice(seed * 977 + 5);
  Rowwise op = random_rows(dice);
  return rowwise_case(std::move(op), dice);
}

std::vector<Rowwise> named_rows() {
  return {rms_norm_rows(9, 48),
          rms_norm_rows(3, 1032),
          rms_norm_backward_rows(40, 64),
          rms_norm_backward_rows(12, 1040),
          rms_norm_backward_rows(6, 16384),
          rms_norm_backward_rows(7, 33),
          swiglu_backward_rows(5, 160),
          cross_entropy_backward_rows(6, 100),
          cross_entropy_backward_rows(3, 2048)};
}

std::vector<RowwiseCase> compiled_rows() {
  constexpr uint64_t random = 16;
  std::vector<RowwiseCase> cases;
  for (uint64_t seed = 0; seed < random; ++seed) cases.push_back(random_rowwise(seed));
  Dice dice(random);
  for (Rowwise& op : named_rows()) cases.push_back(rowwise_case(std::move(op), dice));
  return cases;
}

std::vector<RowwiseCase> rows_in_place() {
  Dice dice(6);
  std::vector<RowwiseCase> all;
  for (int64_t length : {33, 64, 2048}) {
    all.push_back(rowwise_case(swiglu_backward_rows(5, length), dice));
    all.back().outputs = {1, 2, 0};
    all.push_back(rowwise_case(rms_norm_backward_rows(5, length), dice));
    all.back().outputs[0] = 1;
  }
  return all;
}

}  // namespace shardproof::laws
