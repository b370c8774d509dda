#include "impl/plan/chain_text.h"

#include <cstdio>

namespace shardproof::plan {
namespace {

/// An infix operator, or the name of a function.
struct Written {
  const char* text;
  bool infix = false;
};

Written written(PointwiseFn fn) {
  constexpr bool call = false, sums = true, products = true, comparisons = true,
                 conjunctions = true, disjunctions = true;
  switch (fn) {
    case PointwiseFn::constant:
      return {"constant"};
    case PointwiseFn::where:
      return {"where"};
    case PointwiseFn::to_real:
      return {"float"};
    case PointwiseFn::to_integer:
      return {"int"};
    case PointwiseFn::to_boolean:
      return {"bool"};
    case PointwiseFn::round_f32:
      return {"f32"};
    case PointwiseFn::round_bf16:
      return {"bf16"};
    case PointwiseFn::fold:
      return {"fold"};
    case PointwiseFn::fold_tag:
      return {"fold_tag"};
#define SHARDPROOF_UNARY(id, text, ...) \
  case PointwiseFn::id:                 \
    return {text};
#define SHARDPROOF_BINARY(id, text, binds, ...) \
  case PointwiseFn::id:                         \
    return {text, binds};
#include "spec/ir/pointwise.def"
  }
  return {"?"};
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

const char* name_of(RowFn fn) {
  switch (fn) {
    case RowFn::none:
      return "";
    case RowFn::sum:
      return "row_sum";
    case RowFn::maximum:
      return "row_max";
    case RowFn::log_sum_exp:
      return "row_log_sum_exp";
    case RowFn::column:
      return "column";
  }
  return "";
}

/// Registers as expressions; a register with several readers gets a name.
class Chain {
 public:
  Chain(std::vector<RowStep> steps, const std::vector<std::string>& operands,
        const std::vector<size_t>& outputs)
      : steps_(std::move(steps)), operands_(operands) {
    uses_.resize(operands.size() + steps_.size());
    for (size_t output : outputs) ++uses_.at(output);
    for (const RowStep& each : steps_)
      for (size_t argument : each.step.arguments) ++uses_.at(argument);
    names_.resize(uses_.size());
  }

  /// The definitions of registers with several readers.
  std::string lets() {
    std::string text;
    for (size_t i = operands_.size(); i < uses_.size(); ++i) {
      if (uses_[i] < 2 || is_constant(i)) continue;
      const std::string made = expression(i, false);
      names_[i] = next_name();
      text += "let " + names_[i] + " = " + made + "; ";
    }
    return text;
  }

  std::string expression(size_t at, bool inner) const {
    if (at < operands_.size()) return operands_[at];
    if (!names_[at].empty()) return names_[at];
    const RowStep& row = steps_[at - operands_.size()];
    const PointwiseStep& step = row.step;
    if (row.along == RowFn::column) return "column";
    if (row.along != RowFn::none)
      return std::string(name_of(row.along)) + "(" + expression(step.arguments.at(0), false) + ")";
    if (step.fn == PointwiseFn::constant) return number_text(step.value);
    return apply(step, inner);
  }

 private:
  bool is_constant(size_t at) const {
    const RowStep& row = steps_[at - operands_.size()];
    return row.along == RowFn::none && row.step.fn == PointwiseFn::constant;
  }

  std::string next_name() {
    const size_t i = named_++;
    return std::string(1, static_cast<char>('a' + i % 26)) + (i < 26 ? "" : std::to_string(i / 26));
  }

  std::string apply(const PointwiseStep& step, bool inner) const {
    const Written how = written(step.fn);
    const auto argument = [&](size_t i, bool within) {
      return expression(step.arguments.at(i), within);
    };
    if (how.infix) {
      const std::string text = argument(0, true) + " " + how.text + " " + argument(1, true);
      return inner ? "(" + text + ")" : text;
    }
    if (step.fn == PointwiseFn::neg || step.fn == PointwiseFn::logical_not)
      return how.text + argument(0, true);
    std::string text = std::string(how.text) + "(";
    for (size_t i = 0; i < step.arguments.size(); ++i) text += (i ? ", " : "") + argument(i, false);
    if (step.fn == PointwiseFn::fold_tag) text += ", \"" + step.tag + "\"";
    return text + ")";
  }

  const std::vector<RowStep> steps_;
  const std::vector<std::string>& operands_;
  std::vector<size_t> uses_;
  std::vector<std::string> names_;
  size_t named_ = 0;
};

}  // namespace

std::string chain_text(const Pointwise& op, const std::vector<std::string>& operands) {
  std::vector<RowStep> steps;
  for (const PointwiseStep& each : op.steps) steps.push_back({each, RowFn::none});
  if (steps.empty()) return std::string(name_of(op.output)) + "(" + operands.at(0) + ")";
  const size_t last = operands.size() + steps.size() - 1;
  Chain chain(std::move(steps), operands, {last});
  const std::string lets = chain.lets();
  return lets + chain.expression(last, false);
}

std::string chain_text(const Rowwise& op, const std::vector<std::string>& operands) {
  std::vector<size_t> roots;
  for (const Rowwise::Output& each : op.outputs) roots.push_back(each.from);
  Chain chain(op.steps, operands, roots);
  std::string text = chain.lets();
  for (size_t i = 0; i < roots.size(); ++i) {
    const std::string made = chain.expression(roots[i], false);
    text +=
        (i ? ", " : "") + (op.outputs[i].per == Per::column ? "column_sum(" + made + ")" : made);
  }
  return text;
}

}  // namespace shardproof::plan
