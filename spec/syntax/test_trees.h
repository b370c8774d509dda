#pragma once
// Random expressions, types and statements, for the laws of this folder.
#include <rapidcheck.h>

#include "spec/syntax/parser.h"

namespace shardproof::syntax {

/// Every tree that it gives has a text: no name is reserved, no shape is beyond the grammar.
class TreeMaker {
 public:
  Expr expr(int depth) {
    if (depth <= 0) return leaf();
    switch (below(12)) {
      case 0:
        return call(depth);
      case 1:
        return cast(depth);
      case 2:
        return gradient(depth);
      case 3:
        return zeros();
      case 4:
        return field(depth);
      case 5:
        return entry(depth);
      case 6:
        return node(Expr::Kind::unary, "-", {expr(depth - 1)});
      case 7:
        return node(Expr::Kind::unary, "not", {expr(depth - 1)});
      case 8:
        return leaf();
      default:
        return node(Expr::Kind::binary, one_of(operators_), {expr(depth - 1), expr(depth - 1)});
    }
  }

  TypeExpr type() {
    TypeExpr result;
    const bool record = below(3) == 0;
    result.name = record ? one_of(records_) : one_of(dtypes_);
    result.has_dims = !record || coin();
    if (result.has_dims) result.dims = dims(true);
    if (below(3) == 0)
      for (int n = below(3); n > 0; --n) result.marks.push_back(mark());
    return result;
  }

  Statement statement(int depth) {
    Statement result;
    switch (below(9)) {
      case 5:
        result.node = assume();
        break;
      case 0:
        result.node = dim();
        break;
      case 1:
        result.node = Require{expr(2), {}};
        break;
      case 2:
        result.node = Return{exprs()};
        break;
      case 3:
        result.node = Next{exprs()};
        break;
      case 4:
        result.node = Emit{exprs()};
        break;
      default:
        result.node = bind(depth);
        break;
    }
    return result;
  }

 protected:
  using Words = std::vector<std::string>;

  static int below(int n) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, n)); }
  static bool coin() { return below(2) == 1; }
  static const std::string& one_of(const Words& words) {
    return words[static_cast<size_t>(below(static_cast<int>(words.size())))];
  }
  Words some(const Words& words, int most = 3) {
    Words result;
    for (int n = 1 + below(most); n > 0; --n) result.push_back(one_of(words));
    return result;
  }
  Words maybe(const Words& words) { return coin() ? some(words) : Words(); }

  static Expr node(Expr::Kind kind, std::string text, std::vector<Expr> args = {}) {
    Expr result;
    result.kind = kind;
    result.text = std::move(text);
    result.args = std::move(args);
    return result;
  }
  Expr leaf() {
    switch (below(5)) {
      case 0:
        return node(Expr::Kind::number, one_of(numbers_));
      case 1:
        return node(Expr::Kind::string, one_of(strings_));
      case 2:
        return node(Expr::Kind::boolean, coin() ? "true" : "false");
      case 3:
        return node(Expr::Kind::size, one_of(dims_));
      default:
        return node(Expr::Kind::name, one_of(values_));
    }
  }
  void arguments(Expr& call, int depth) {
    for (int n = below(4); n > 0; --n) {
      const bool dtype = below(6) == 0;
      call.args.push_back(dtype ? node(Expr::Kind::dtype, one_of(dtypes_)) : expr(depth - 1));
      call.arg_names.push_back(below(4) == 0 ? one_of(labels_) : "");
    }
  }
  Expr call(int depth) {
    Expr result = node(Expr::Kind::call, one_of(values_));
    result.each = below(4) == 0;
    arguments(result, depth);
    return result;
  }
  Expr cast(int depth) {
    Expr result = node(Expr::Kind::cast, one_of(dtypes_));
    arguments(result, depth);
    return result;
  }
  Expr gradient(int depth) {
    Expr result = node(coin() ? Expr::Kind::grad : Expr::Kind::value_and_grad, one_of(values_));
    result.names = maybe(values_);
    arguments(result, depth);
    return result;
  }
  Expr zeros() {
    Expr result = node(Expr::Kind::zeros, "");
    result.type.push_back(type());
    return result;
  }
  Expr field(int depth) { return node(Expr::Kind::field, one_of(values_), {expr(depth - 1)}); }
  Expr entry(int depth) {
    Expr result = node(Expr::Kind::entry, "", {expr(depth - 1)});
    result.names = some(values_);
    return result;
  }
  std::vector<Expr> exprs() {
    std::vector<Expr> result;
    for (int n = 1 + below(3); n > 0; --n) result.push_back(expr(below(4)));
    return result;
  }

  SplitExpr split() {
    SplitExpr result;
    const int kind = below(6);
    if (kind == 0)
      result.names = {one_of(dims_), one_of(dims_)};
    else if (kind == 1)
      result.names = {std::to_string(1 + below(20))};
    else
      result.names = {one_of(dims_)};
    if (coin()) result.axes = some(axes_, 2);
    return result;
  }
  std::vector<SplitExpr> dims(bool wild) {
    std::vector<SplitExpr> result;
    for (int n = below(4); n > 0; --n) {
      result.push_back(split());
      if (!wild || below(5) > 0) continue;
      result.back() = SplitExpr();
      result.back().kind = coin() ? SplitExpr::Kind::star : SplitExpr::Kind::ellipsis;
    }
    return result;
  }
  MarkExpr mark() {
    MarkExpr result{static_cast<Mark>(below(3)), one_of(axes_), {}};
    result.either = result.mark == Mark::I && coin();
    return result;
  }
  Group group() { return {some(values_), type(), {}}; }
  std::vector<Group> groups() {
    std::vector<Group> result;
    for (int n = below(5); n > 0; --n) result.push_back(group());
    return result;
  }

  Assume assume() {
    Assume result;
    const Words up = {"<", "<="}, down = {">", ">="};
    const Words& way = coin() ? up : down;
    for (int n = 1 + below(2); n > 0; --n) result.comparisons.push_back(one_of(way));
    if (result.comparisons.size() == 1 && coin()) result.comparisons = {coin() ? "==" : "!="};
    for (size_t n = 0; n <= result.comparisons.size(); ++n) result.terms.push_back(expr(2));
    return result;
  }
  DimDecl dim() {
    DimDecl result;
    result.names = some(dims_);
    result.kind = static_cast<DimDecl::Kind>(below(5));
    if (result.kind == DimDecl::Kind::alias || result.kind == DimDecl::Kind::pads)
      result.of = {one_of(dims_)};
    if (result.kind == DimDecl::Kind::group) result.of = {one_of(dims_), one_of(dims_)};
    if (result.kind == DimDecl::Kind::size) {
      // One dim's only; and a name alone is another dim.
      result.names.resize(1);
      Expr size = expr(3);
      result.size = size.kind == Expr::Kind::name ? node(Expr::Kind::number, "4") : std::move(size);
    }
    return result;
  }
  Bind bind(int depth) {
    Bind result;
    for (const Name& name : some(values_)) {
      result.targets.push_back({name, std::nullopt, {}});
      if (below(3) == 0) result.targets.back().type = type();
    }
    if (depth > 0 && below(3) == 0)
      result.loop.push_back(loop(depth));
    else
      result.value.push_back(expr(below(5)));
    return result;
  }
  Loop loop(int depth) {
    Loop result;
    result.kind = static_cast<Loop::Kind>(below(4));
    const bool stages = result.kind == Loop::Kind::stages;
    result.variables = stages ? some(values_) : Words{one_of(values_)};
    result.dims = stages ? some(dims_) : Words{one_of(dims_)};
    if (result.kind == Loop::Kind::scan) result.reverse = coin();
    if (result.kind == Loop::Kind::ring) {
      result.axis = one_of(axes_);
      result.block_dim = one_of(dims_);
    }
    if (result.kind == Loop::Kind::pipeline)
      schedule_call(result);
    else
      for (int n = below(3); n > 0; --n)
        result.carries.push_back({one_of(values_), type(), expr(2), {}});
    result.body = block(depth - 1);
    return result;
  }
  void schedule_call(Loop& loop) {
    loop.axis = one_of(axes_);
    loop.schedule = one_of(values_);
    loop.has_schedule_args = coin();
    Expr call;
    if (loop.has_schedule_args) arguments(call, 2);
    loop.schedule_args = std::move(call.args);
    loop.schedule_arg_names = std::move(call.arg_names);
  }
  Block block(int depth) {
    Block result;
    for (int n = below(4); n > 0; --n) result.push_back(statement(depth));
    return result;
  }

  const Words values_ = {
      "x", "y", "w_gate", "xN", "n", "_l", "by", "step", "a_rather_long_name_of_a_value"};
  const Words labels_ = {"at", "to", "by", "grad", "ln"};
  const Words dims_ = {"M", "L", "K", "D", "V", "kv", "two", "I", "Max"};
  const Words axes_ = {"d", "t", "p", "c"};
  const Words records_ = {"Ffn", "FfnShards", "Layer", "F", "B"};
  const Words dtypes_ = {"f64", "f32", "bf16", "f16", "f8", "i32", "u32", "bool", "key", "float"};
  const Words numbers_ = {"0", "1", "0.5", "1e-6", "4096", "1e10", "9223372036854775807"};
  const Words strings_ = {"", "; K", "B L M/t -> B L M", "-> {U_t}", "# no comment ' ; ..", "tag"};
  const Words operators_ = {
      "+", "-", "*", "/", "//", "%", "==", "!=", "<", ">", "<=", ">=", "and", "or"};
  const Words steps_ = {"F", "B", "W"};
};

}  // namespace shardproof::syntax
