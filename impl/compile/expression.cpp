#include "impl/compile/expression.h"

#include <algorithm>
#include <map>

#include "kernels/bf16.h"

namespace shardproof::compile {

ExpressionPtr leaf_of(View view) {
  auto leaf = std::make_shared<Expression>();
  leaf->kind = Expression::Kind::leaf;
  leaf->element = view.ref.element;
  leaf->view = std::move(view);
  return leaf;
}

ExpressionPtr constant_of(double value, Element element, bool number) {
  auto constant = std::make_shared<Expression>();
  constant->element = element;
  constant->value = value;
  constant->number = number;
  return constant;
}

ExpressionPtr apply_to(PointwiseFn fn, bool real, Element element,
                       std::vector<ExpressionPtr> arguments, std::string tag) {
  auto result = std::make_shared<Expression>();
  result->kind = Expression::Kind::apply;
  result->fn = fn;
  result->real = real;
  result->element = element;
  result->tag = std::move(tag);
  result->arguments = std::move(arguments);
  return result;
}

namespace {

/// Keeps sharing: a subexpression that is used twice stays one.
using Placed = std::map<ExpressionPtr, ExpressionPtr>;

ExpressionPtr place(const ExpressionPtr& expression, const Ids& to, Placed& done) {
  if (expression->kind == Expression::Kind::constant) return expression;
  ExpressionPtr& made = done[expression];
  if (made) return made;
  Expression copy = *expression;
  for (IndexId& id : copy.view.ids) id = to.at(id);
  for (ExpressionPtr& argument : copy.arguments) argument = place(argument, to, done);
  return made = std::make_shared<const Expression>(std::move(copy));
}

}  // namespace

ExpressionPtr placed(const ExpressionPtr& expression, const Ids& to) {
  size_t moved = 0;
  while (moved < to.size() && to[moved] == moved) ++moved;
  if (moved == to.size()) return expression;
  Placed done;
  return place(expression, to, done);
}

size_t ops_of(const Expression& expression) {
  size_t count = expression.kind == Expression::Kind::apply;
  for (const ExpressionPtr& argument : expression.arguments) count += ops_of(*argument);
  return count;
}

namespace {

bool any_f64(const Expression& expression) {
  if (expression.element == Element::f64 && !expression.number) return true;
  return std::any_of(expression.arguments.begin(), expression.arguments.end(),
                     [](const ExpressionPtr& each) { return any_f64(*each); });
}

bool same_view(const View& a, const View& b) {
  return a.ids == b.ids && compile::same_view(a.ref, b.ref);
}

/// Collects each view once.
void collect_leaves(const Expression& expression, std::vector<const Expression*>& leaves) {
  const auto same = [&](const Expression* each) { return same_view(each->view, expression.view); };
  if (expression.kind == Expression::Kind::leaf && std::none_of(leaves.begin(), leaves.end(), same))
    leaves.push_back(&expression);
  for (const ExpressionPtr& argument : expression.arguments) collect_leaves(*argument, leaves);
}

class Writer {
 public:
  explicit Writer(Chain& chain) : chain_(chain) {}

  /// The register of the expression, converted to a real if needed.
  size_t write(const Expression& expression, bool real) {
    const bool constant = expression.kind == Expression::Kind::constant;
    for (const Written& each : written_)
      if (each.expression == &expression && each.real == (constant && real))
        return as_wanted(expression, each.at, real);
    const auto keep = [&](size_t at) {
      written_.push_back({&expression, constant && real, at});
      return at;
    };
    if (expression.kind == Expression::Kind::leaf)
      return as_wanted(expression, keep(input(expression)), real);
    PointwiseStep step;
    if (constant) {
      step = {PointwiseFn::constant, real, {}, expression.value, {}};
      return keep(append(std::move(step)));
    }
    if (const Expression* same = without_factor(expression)) {
      const size_t at = write(*same, true);
      const bool rounds = same->element != expression.element;
      return keep(rounds ? rounded(expression, at) : at);
    }
    step = {expression.fn, expression.real, {}, 0, expression.tag};
    for (size_t i = 0; i < expression.arguments.size(); ++i)
      step.arguments.push_back(write(*expression.arguments[i], wants_real(expression, i)));
    const size_t at = append(std::move(step));
    return as_wanted(expression, keep(rounded(expression, at)), real);
  }

 private:
  static bool wants_real(const Expression& expression, size_t argument) {
    using enum PointwiseFn;
    if (expression.fn == where && argument == 0) return false;
    return expression.real && expression.fn != to_real && expression.fn != fold &&
           expression.fn != fold_tag;
  }

  /// x of `x * 1`, which is also how a cast between floats is written; null for others.
  static const Expression* without_factor(const Expression& expression) {
    if (expression.fn != PointwiseFn::mul || !expression.real) return nullptr;
    const auto is_one = [](const Expression& each) {
      return each.kind == Expression::Kind::constant && each.value == 1;
    };
    const Expression &a = *expression.arguments[0], &b = *expression.arguments[1];
    return is_one(b) ? &a : is_one(a) ? &b : nullptr;
  }

  /// Whether every value of the register is a bf16 number: rounding does not change it.
  bool is_bf16(size_t at) const {
    const Pointwise& program = chain_.program;
    if (at < program.inputs.size()) return program.inputs[at] == Element::bf16;
    const PointwiseStep& step = program.steps[at - program.inputs.size()];
    const auto all_from = [&](size_t first) {
      return step.real &&
             std::all_of(step.arguments.begin() + static_cast<std::ptrdiff_t>(first),
                         step.arguments.end(), [&](size_t each) { return is_bf16(each); });
    };
    using enum PointwiseFn;
    if (step.fn == round_bf16) return true;
    if (step.fn == constant) {
      const auto value = static_cast<float>(step.value);
      return step.real && step.value == value && rounded_to_bf16(value) == value;
    }
    if (step.fn == where) return all_from(1);
    const bool keeps = step.fn == neg || step.fn == abs || step.fn == maximum || step.fn == minimum;
    return keeps && all_from(0);
  }

  size_t input(const Expression& leaf) const {
    size_t at = 0;
    while (!same_view(chain_.inputs.at(at), leaf.view)) ++at;
    return at;
  }

  size_t append(PointwiseStep step) {
    chain_.program.steps.push_back(std::move(step));
    return chain_.program.inputs.size() + chain_.program.steps.size() - 1;
  }

  size_t as_wanted(const Expression& expression, size_t at, bool real) {
    if (real && !is_real(expression.element))
      return append({PointwiseFn::to_real, true, {at}, 0, {}});
    return at;
  }

  size_t rounded(const Expression& expression, size_t at) {
    if (expression.element == Element::bf16 && !is_bf16(at))
      return append({PointwiseFn::round_bf16, true, {at}, 0, {}});
    if (expression.element == Element::f32 && chain_.program.f64)
      return append({PointwiseFn::round_f32, true, {at}, 0, {}});
    return at;
  }

  /// An expression that has a register; a constant may have one as a real and one as an integer.
  struct Written {
    const Expression* expression;
    bool real;
    size_t at;
  };

  Chain& chain_;
  std::vector<Written> written_;  ///< few: long chains are computed in parts
};

}  // namespace

Chain chain_of(const ExpressionPtr& expression, Element output) {
  Chain chain;
  std::vector<const Expression*> leaves;
  collect_leaves(*expression, leaves);
  chain.inputs.reserve(leaves.size());
  for (const Expression* leaf : leaves) {
    chain.inputs.push_back(leaf->view);
    chain.program.inputs.push_back(leaf->element);
  }
  chain.program.output = output;
  chain.program.f64 = output == Element::f64 || any_f64(*expression);
  Writer(chain).write(*expression, is_real(output));  // its register is the last one
  return chain;
}

}  // namespace shardproof::compile
