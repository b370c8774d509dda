#include "kernels/cuda/laws/cases.h"

namespace shardproof::laws {
namespace {

/// The possible contents of a register, so that every op on it is defined.
struct Content {
  enum Kind { real, integer, truth, key } kind = real;
  bool exact = true;  ///< same bits on every machine
};

/// A row of spec/ir/pointwise.def.
struct Function {
  PointwiseFn fn;
  int operands;
  bool of_reals, truth, exact;
  bool bounded = false;  ///< defined only above `least`
  double least = 0;
};

enum class Takes { numbers, signed_numbers, reals, integers, booleans, all_but_keys };
enum class Domain { everywhere, root, inverse_root, logarithm };
constexpr bool same = false, truth = true, exact = true, close = false;

const std::vector<Function> functions = {
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, roles, strict, bits, ...) \
  {PointwiseFn::id,                                                                       \
   1,                                                                                     \
   Takes::takes != Takes::booleans,                                                       \
   gives,                                                                                 \
   bits,                                                                                  \
   Domain::domain != Domain::everywhere,                                                  \
   least},
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, role_a, role_b, strict, bits, ...) \
  {PointwiseFn::id, 2, Takes::takes != Takes::booleans, gives, bits},
#include "spec/ir/pointwise.def"
};

class ChainWriter {
 public:
  explicit ChainWriter(Dice& dice) : dice_(dice) {}

  RandomChain write() {
    chain_.op.f64 = dice_.percent(15);
    const int64_t inputs = dice_.between(1, 5), steps = dice_.between(1, 12);
    for (int64_t i = 0; i < inputs; ++i) add_input();
    for (int64_t i = 0; i < steps; ++i) add_step();
    finish();
    return chain_;
  }

 private:
  using Kind = Content::Kind;

  template <class Good>
  Function any_of(Good good) {
    for (;;) {
      const Function& each =
          functions[static_cast<size_t>(dice_.below(static_cast<int64_t>(functions.size())))];
      if (good(each)) return each;
    }
  }

  void add_input() {
    const Element element =
        dice_.one_of({Element::f32, Element::f32, Element::bf16, Element::bf16, Element::i32,
                      Element::u32, Element::u8, Element::u64, Element::f64});
    const Kind kind = element == Element::u8                               ? Content::truth
                      : element == Element::u64                            ? Content::key
                      : element == Element::i32 || element == Element::u32 ? Content::integer
                                                                           : Content::real;
    chain_.op.inputs.push_back(element == Element::f64 && !chain_.op.f64 ? Element::f32 : element);
    values_.push_back({kind, true});
  }

  size_t append(PointwiseFn fn, bool real, std::vector<size_t> arguments, Content result,
                double value = 0, std::string tag = {}) {
    chain_.op.steps.push_back({fn, real, std::move(arguments), value, std::move(tag)});
    values_.push_back(result);
    return values_.size() - 1;
  }

  /// An exact register of this kind: an existing one, or a new constant.
  size_t exact(Kind kind) {
    for (int tries = 0; tries < 6; ++tries) {
      const auto at = static_cast<size_t>(dice_.below(static_cast<int64_t>(values_.size())));
      if (values_[at].kind == kind && values_[at].exact) return at;
    }
    return fixed(kind);
  }
  size_t fixed(Kind kind) {
    using enum PointwiseFn;
    if (kind == Content::truth) {
      const size_t a = fixed(Content::integer), b = fixed(Content::integer);
      return append(dice_.one_of({eq, lt, ge}), false, {a, b}, {Content::truth, true});
    }
    if (kind == Content::key)
      return append(fold_tag, false, {fixed(Content::integer)}, {Content::key, true}, 0, "tag");
    const double value = static_cast<double>(dice_.between(-40, 40));
    return append(PointwiseFn::constant, kind == Content::real, {}, {kind, true},
                  kind == Content::real ? value / 16 : value);
  }

  void add_step() {
    switch (dice_.below(8)) {
      case 0:
      case 1:
        return real_arithmetic();
      case 2:
        return approximate();
      case 3:
        return integers();
      case 4:
        return comparison();
      case 5:
        return choice();
      case 6:
        return conversion();
      default:
        return carried();
    }
  }

  void real_arithmetic() {
    const Function f =
        any_of([](const Function& each) { return each.exact && !each.truth && each.of_reals; });
    const size_t x = exact(Content::real);
    if (f.operands == 1) return void(append(f.fn, true, {x}, {Content::real, true}));
    append(f.fn, true, {x, exact(Content::real)}, {Content::real, true});
  }

  /// Adds functions whose last bits differ between libraries, for arguments near 1.
  void approximate() {
    const Function f = any_of([](const Function& each) { return !each.exact; });
    const size_t x = exact(Content::real),
                 least = append(PointwiseFn::constant, true, {}, {}, -2.5),
                 most = append(PointwiseFn::constant, true, {}, {}, 2.5);
    size_t at = append(PointwiseFn::maximum, true, {x, least}, {});
    at = append(PointwiseFn::minimum, true, {at, most}, {});
    if (f.bounded || f.fn == PointwiseFn::pow) {
      at = append(PointwiseFn::abs, true, {at}, {});
      const size_t inside = append(PointwiseFn::constant, true, {}, {}, f.least + 0.125);
      at = append(PointwiseFn::add, true, {at, inside}, {});
    }
    if (f.operands == 2)
      append(f.fn, true, {at, fixed(Content::real)}, {Content::real, false});
    else
      append(f.fn, true, {at}, {Content::real, false});
  }

  void integers() {
    using enum PointwiseFn;
    const PointwiseFn fn =
        dice_.one_of({add, sub, mul, floordiv, mod, maximum, minimum, neg, abs, floor});
    const bool one = fn == neg || fn == abs || fn == floor;
    const size_t a = exact(Content::integer);
    if (one) return void(append(fn, false, {a}, {Content::integer, true}));
    size_t b = exact(Content::integer);
    if (fn == floordiv || fn == mod) {
      b = append(PointwiseFn::constant, false, {}, {Content::integer, true},
                 static_cast<double>(dice_.one_of({-7, -2, -1, 1, 3, 5})));
    } else if (fn == mul) {  // a product of products may exceed 64 bits
      const size_t seven = append(PointwiseFn::constant, false, {}, {Content::integer, true}, 7);
      b = append(mod, false, {b, seven}, {Content::integer, true});
    }
    append(fn, false, {a, b}, {Content::integer, true});
  }

  void comparison() {
    using enum PointwiseFn;
    if (dice_.percent(30)) {
      const size_t a = exact(Content::truth);
      if (dice_.percent(30)) return void(append(logical_not, false, {a}, {Content::truth, true}));
      const size_t b = exact(Content::truth);
      append(dice_.one_of({logical_and, logical_or}), false, {a, b}, {Content::truth, true});
      return;
    }
    const Kind kind = dice_.one_of({Content::real, Content::integer});
    const size_t a = exact(kind), b = exact(kind);
    append(dice_.one_of({eq, ne, lt, gt, le, ge}), kind == Content::real, {a, b},
           {Content::truth, true});
  }

  void choice() {
    const Kind kind = dice_.one_of({Content::real, Content::real, Content::integer});
    const size_t c = exact(Content::truth), a = exact(kind), b = exact(kind);
    append(PointwiseFn::where, kind == Content::real, {c, a, b}, {kind, true});
  }

  void conversion() {
    using enum PointwiseFn;
    switch (dice_.below(5)) {
      case 0:
        return void(append(to_real, true, {exact(Content::integer)}, {Content::real, true}));
      case 1: {  // of a number that fits in an integer, like the inputs
        const auto at =
            static_cast<size_t>(dice_.below(static_cast<int64_t>(chain_.op.inputs.size())));
        if (values_[at].kind != Content::real) return;
        return void(append(to_integer, true, {at}, {Content::integer, true}));
      }
      case 2:
        return void(append(to_boolean, true, {exact(Content::real)}, {Content::truth, true}));
      case 3:
        return void(append(to_boolean, false, {exact(Content::integer)}, {Content::truth, true}));
      default: {
        const size_t key = exact(Content::key);
        if (dice_.percent(50))
          return void(append(fold_tag, false, {key}, {Content::key, true}, 0, "layer"));
        append(fold, false, {key, exact(Content::integer)}, {Content::key, true});
      }
    }
  }

  /// Adds steps that keep the exactness of the last register.
  void carried() {
    using enum PointwiseFn;
    const size_t last = values_.size() - 1;
    if (values_[last].kind != Content::real) return;
    PointwiseFn fn = dice_.one_of({neg, abs, round_bf16, round_f32});
    const bool rounds = fn == round_bf16;
    if (!values_[last].exact && rounds) rounded_ = true;
    append(fn, true, {last}, {Content::real, values_[last].exact});
  }

  void finish() {
    if (chain_.op.steps.empty() && dice_.percent(50)) carried();
    const Content& last = values_.back();
    Pointwise& op = chain_.op;
    switch (last.kind) {
      case Content::real:
        op.output = op.f64 && dice_.percent(50) ? Element::f64
                                                : dice_.one_of({Element::f32, Element::bf16});
        break;
      case Content::integer:
        op.output = dice_.one_of({Element::i32, Element::u32});
        break;
      case Content::truth:
        op.output = Element::u8;
        break;
      case Content::key:
        op.output = Element::u64;
        break;
    }
    if (last.kind != Content::real || last.exact) return;
    const double own = op.f64 ? 0x1p-51 : 0x1p-21;  // 4 ulp
    const double stored = op.output == Element::bf16 || rounded_ ? 0x1p-7
                          : op.output == Element::f32            ? 0x1p-22
                                                                 : 0;
    chain_.close = {own + stored, own};
  }

  Dice& dice_;
  RandomChain chain_;
  std::vector<Content> values_;
  bool rounded_ = false;
};

}  // namespace

RandomChain random_chain(Dice& dice) { return ChainWriter(dice).write(); }

}  // namespace shardproof::laws
