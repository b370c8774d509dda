#include "spec/resolve/foreign_calls.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "spec/resolve/stated.h"
#include "spec/syntax/other_names.h"

namespace shardproof::resolution {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The name of an argument, `axis` of `axis=0`; empty for one without.
Name keyword(const syntax::Expr& call, size_t i) {
  return i < call.arg_names.size() ? call.arg_names[i] : "";
}

class ForeignCall {
 public:
  ForeignCall(const Body& body, const syntax::Expr& call) : body_(body), call_(call) {}

  std::vector<Fix> run() const {
    const Name& name = call_.text;
    if (call_.each || call_.args.empty()) return {};
    if (is_one_of(name, {"all_gather", "psum_scatter", "reduce_scatter"}) && !has_pattern())
      return collectives();
    const std::optional<Fix> fix = one();
    return fix ? std::vector{*fix} : std::vector<Fix>{};
  }

 private:
  std::optional<Fix> one() const {
    const std::string_view name = call_.text;
    if (is_one_of(name, {"len", "size", "numel"})) return size();
    if (name == "arange") return numbers();
    if (name == "mean") return mean();
    if (name == "log_softmax" && has_pattern())
      return instead("the logarithm of a softmax",
                     "log(softmax" + text(call_).substr(text(call_).find('(')) + ")");
    if (has_pattern()) return std::nullopt;
    if (is_one_of(name, {"psum", "pmax", "all_reduce"})) return reduction_over_devices();
    if (is_one_of(name, {"max", "min"}) && compares())
      return instead(name == "max" ? "the greater of two values" : "the smaller of two values",
                     call_.text + "imum(" + text(first()) + ", " + text(call_.args[1]) + ")");
    if (is_one_of(name, {"sum", "max", "min"}))
      return reduction(call_.text, "the dims are named in a pattern");
    if (is_one_of(name, {"softmax", "log_softmax", "cumsum", "argsort", "argmax"})) return along();
    if (is_one_of(name, {"t", "transpose", "swapaxes", "swapdims", "permute"})) return transposed();
    if (is_one_of(name, {"matmul", "dot", "mm", "bmm"})) return product();
    if (is_one_of(name, {"zeros_like", "ones_like"})) return constants();
    if (is_one_of(name, {"clamp", "clip"})) return between();
    return is_one_of(name, {"to", "astype", "type"}) ? cast() : alone();
  }

  /// `max(x, 0)` and `max(x, y)`, but not `max(x, -1)` and `x.max(0)`, which name a dim.
  bool compares() const {
    return call_.names.empty() && call_.args.size() == 2 && keyword(call_, 1).empty() &&
           (call_.args[1].kind == syntax::Expr::Kind::number ||
            call_.args[1].kind == syntax::Expr::Kind::name);
  }

  /// `softmax("B S; S", x)`, `argmax("B S -> B", x)`: along a dim that no axis splits.
  std::optional<Fix> along() const {
    const auto stated = stated_type(body_, first());
    const auto kept = stated ? kept_dims(*stated) : std::nullopt;
    if (!kept || !stated->marks.empty() || std::count(kept->begin(), kept->end(), false) != 1)
      return std::nullopt;
    const auto at =
        static_cast<size_t>(std::find(kept->begin(), kept->end(), false) - kept->begin());
    if (!stated->dims[at].axes.empty()) return std::nullopt;
    const bool log = call_.text == "log_softmax";
    const std::string name = log ? "softmax" : call_.text, dims = to_string(*stated);
    Stated own;
    if (name == "argmax")
      own = reduced(*stated, *kept, Mark::Max);
    else
      own.dims = {stated->dims[at]};
    const std::string text_of = name + "(\"" + dims + (name == "argmax" ? " -> " : "; ") +
                                to_string(own) + "\", " + text(first()) + ")";
    return instead("the dims are named in a pattern", log ? "log(" + text_of + ")" : text_of);
  }

  /// Of `x.t()`, `transpose(x, 0, 1)`, `x.permute(1, 0)`.
  std::optional<Fix> transposed() const {
    const auto stated = stated_type(body_, first());
    if (!stated || stated->dims.size() < 2) return std::nullopt;
    Stated result = *stated;
    std::vector<size_t> order;
    for (size_t i = 1; i < call_.args.size(); ++i) {
      const auto at = position(call_.args[i], stated->dims.size());
      if (!at || *at >= stated->dims.size()) return std::nullopt;
      order.push_back(*at);
    }
    const bool all = call_.text == "permute";
    if (order.empty() && !all)
      std::reverse(result.dims.begin(), result.dims.end());
    else if (order.size() == 2 && !all)
      std::swap(result.dims[order[0]], result.dims[order[1]]);
    else if (order.size() == stated->dims.size() &&
             std::set(order.begin(), order.end()).size() == order.size())
      for (size_t i = 0; i < order.size(); ++i) result.dims[i] = stated->dims[order[i]];
    else
      return std::nullopt;
    return instead("a transposition names the dims", "rearrange(\"" + to_string(*stated) + " -> " +
                                                         to_string(result) + "\", " +
                                                         text(first()) + ")");
  }

  std::optional<Fix> product() const {
    if (call_.args.size() != 2) return std::nullopt;
    syntax::Expr product;
    product.kind = syntax::Expr::Kind::binary;
    product.text = "@";
    product.args = call_.args;
    product.range = call_.range;
    std::vector<Fix> fixes = product_in_the_notation(body_, product);
    return fixes[0].edits.empty() ? std::nullopt : std::optional(std::move(fixes[0]));
  }

  /// `zeros(f32[B/d M])`.
  std::optional<Fix> constants() const {
    const Binding* binding = body_.find(first().text);
    if (first().kind != syntax::Expr::Kind::name || !binding || binding->values.is_record() ||
        binding->values.leaf == ir::no_value || call_.args.size() != 1)
      return std::nullopt;
    const auto stated = stated_type(body_, first());
    if (!stated) return std::nullopt;
    const Dtype dtype = body_.type(binding->values.leaf).dtype;
    const std::string zeros =
        std::string("zeros(") + to_string(dtype) + "[" + to_string(Stated{stated->dims, {}}) + "])";
    return instead("zeros have a type",
                   call_.text == "zeros_like" ? zeros : alone_or_grouped(zeros + " + 1"));
  }

  /// `minimum(maximum(x, a), b)`.
  std::optional<Fix> between() const {
    if (call_.args.size() != 3) return std::nullopt;
    return instead("a value between two others", "minimum(maximum(" + text(first()) + ", " +
                                                     text(call_.args[1]) + "), " +
                                                     text(call_.args[2]) + ")");
  }

  /// `bf16(x)` for `x.to(torch.bfloat16)`.
  std::optional<Fix> cast() const {
    if (call_.args.size() != 2) return std::nullopt;
    const Name word = call_.args[1].text;
    const Name own = dtype_of(word) ? word : syntax::same_word(word);
    if (!dtype_of(own)) return std::nullopt;
    return instead("a cast is the dtype's name", own + "(" + text(first()) + ")");
  }

  /// What one argument alone is: `stop_grad(x)`, `f32(x)`, `x * x`, `x`.
  std::optional<Fix> alone() const {
    static const std::map<Name, Name> casts = {{"float", "f32"}, {"double", "f64"},
                                               {"half", "f16"},  {"bfloat16", "bf16"},
                                               {"int", "i32"},   {"bool", "bool"}};
    const Name& name = call_.text;
    const std::string x = text(first());
    const bool simple = first().kind == syntax::Expr::Kind::name;
    if (is_one_of(name, {"unsqueeze", "squeeze", "expand_dims"}))
      return instead("dims are matched by name: no dim of size 1 is needed",
                     simple ? x : alone_or_grouped(x));
    if (call_.args.size() != 1) return std::nullopt;
    if (is_one_of(name, {"detach", "stop_gradient"}))
      return instead("a value without gradient", "stop_grad(" + x + ")");
    if (name == "square")
      return instead("a square", simple ? alone_or_grouped(x + " * " + x) : "pow(" + x + ", 2)");
    const auto found = casts.find(name);
    if (found == casts.end()) return std::nullopt;
    return instead("a cast is the dtype's name", found->second + "(" + x + ")");
  }

  const syntax::Expr& first() const { return call_.args[0]; }
  bool has_pattern() const { return first().kind == syntax::Expr::Kind::string; }
  std::string text(const syntax::Expr& expr) const {
    return std::string(body_.world.sources.text(expr.range));
  }
  Fix instead(const std::string& message, const std::string& text) const {
    return {message + ": `" + text + "`", {{call_.range, text}}, false, ""};
  }
  /// A sum or product in place of the call: in parentheses where a sign or a point beside it binds
  /// as tightly.
  std::string alone_or_grouped(const std::string& text) const {
    const std::string& file = body_.world.sources.file(call_.range.file).text;
    size_t before = call_.range.begin, after = call_.range.end;
    while (before > 0 && file[before - 1] == ' ') --before;
    while (after < file.size() && file[after] == ' ') ++after;
    const auto binds = [](char c, std::string_view signs) { return signs.find(c) != signs.npos; };
    const bool grouped = (before > 0 && binds(file[before - 1], "*/%-@")) ||
                         (after < file.size() && binds(file[after], "*/%@.["));
    return grouped ? "(" + text + ")" : text;
  }
  bool is_dim(const syntax::Expr& expr) const {
    return expr.kind == syntax::Expr::Kind::name && body_.file().dims.count(expr.text) > 0;
  }

  std::optional<Fix> size() const {
    if (is_dim(first())) return instead("the size of a dim", "|" + first().text + "|");
    const auto stated = stated_type(body_, first());
    if (!stated) return std::nullopt;
    const bool all = call_.text == "numel";
    const auto at = call_.args.size() > 1 ? position(call_.args[1], stated->dims.size()) : 0;
    if (!at || (!all && *at >= stated->dims.size())) return std::nullopt;
    std::vector<bool> kept(stated->dims.size(), !all);
    if (!all) kept[*at] = false;
    return instead("the size of a dim", sizes(*stated, kept));
  }

  std::optional<Fix> numbers() const {
    if (!is_dim(first()) && first().kind != syntax::Expr::Kind::size) return std::nullopt;
    return instead("the numbers of a dim", "iota(\"" + first().text + "\")");
  }

  std::optional<Fix> reduction_over_devices() const {
    const auto stated = stated_type(body_, first());
    if (!stated || stated->marks.empty()) return std::nullopt;
    const bool same = call_.text == "all_reduce";
    return instead(
        same ? "what is unreduced is named in a pattern" : "`" + call_.text + "` is `all_reduce`",
        "all_reduce(\"" + to_string(*stated) + " -> " + to_string(stated->whole()) + "\", " +
            text(first()) + ")");
  }

  /// Whether the call names this axis, or none: `all_gather(x, "t")`, `all_gather(x, axis_name=t)`.
  bool over(const Axis& axis) const {
    bool none = true;
    for (size_t i = 1; i < call_.args.size(); ++i) {
      const bool known = body_.file().axes.count(call_.args[i].text) > 0;
      if (known && call_.args[i].text == axis) return true;
      none = none && !known;
    }
    return none;
  }

  /// Each dim that may be gathered, or split by what is summed.
  std::vector<Fix> collectives() const {
    const auto stated = stated_type(body_, first());
    if (!stated) return {};
    const bool gathers = call_.text == "all_gather";
    const Name name = gathers ? "all_gather" : "psum_scatter";
    std::vector<Fix> fixes;
    const auto add = [&](const Stated& result) {
      fixes.push_back(instead("its pattern says what each device has before and after",
                              name + "(\"" + to_string(*stated) + " -> " + to_string(result) +
                                  "\", " + text(first()) + ")"));
    };
    for (size_t i = 0; i < stated->dims.size(); ++i) {
      for (const Axis& axis : stated->dims[i].axes) {
        if (!gathers || !over(axis)) continue;
        Stated result = *stated;
        std::erase(result.dims[i].axes, axis);
        add(result);
      }
      for (size_t k = 0; !gathers && k < stated->marks.size(); ++k) {
        const syntax::MarkExpr mark = stated->marks[k];
        if (mark.mark != Mark::U || !over(mark.axis)) continue;
        Stated result = *stated;
        result.marks.erase(result.marks.begin() + static_cast<std::ptrdiff_t>(k));
        result.dims[i].axes.push_back(mark.axis);
        add(result);
      }
    }
    return fixes;
  }

  /// `sum("B/d M -> M {U_d}", x)`.
  std::optional<std::string> reduced_text(const Name& function, const Stated& stated,
                                          const std::vector<bool>& kept) const {
    const Mark mark = function == "max" ? Mark::Max : Mark::U;
    const Stated result = reduced(stated, kept, mark);
    if (function == "min" && result.marks.size() > stated.marks.size()) return std::nullopt;
    return function + "(\"" + to_string(stated) + " -> " + to_string(result) + "\", " +
           text(first()) + ")";
  }

  std::optional<Fix> reduction(const Name& function, const std::string& message) const {
    const auto stated = stated_type(body_, first());
    const auto kept = stated ? kept_dims(*stated) : std::nullopt;
    const auto reduced = kept ? reduced_text(function, *stated, *kept) : std::nullopt;
    return reduced ? std::optional(instead(message, *reduced)) : std::nullopt;
  }

  std::optional<Fix> mean() const {
    constexpr const char* what = "a mean is a sum divided by the size";
    if (has_pattern()) {
      const syntax::Expr operand = call_.args.size() == 2 ? call_.args[1] : syntax::Expr{};
      const auto from = stated_type(body_, operand), to = stated_type(body_, call_);
      if (!from || !to) return std::nullopt;
      std::vector<bool> kept;
      for (const syntax::SplitExpr& dim : from->dims)
        kept.push_back(std::any_of(to->dims.begin(), to->dims.end(),
                                   [&](const auto& each) { return each.names == dim.names; }));
      if (std::count(kept.begin(), kept.end(), false) == 0) return std::nullopt;
      return instead(what, alone_or_grouped("sum(\"" + first().text + "\", " + text(operand) +
                                            ") / " + sizes(*from, kept)));
    }
    const auto stated = stated_type(body_, first());
    const auto kept = stated ? kept_dims(*stated) : std::nullopt;
    const auto sum = kept ? reduced_text("sum", *stated, *kept) : std::nullopt;
    if (!sum || std::count(kept->begin(), kept->end(), false) == 0) return std::nullopt;
    return instead(what, alone_or_grouped(*sum + " / " + sizes(*stated, *kept)));
  }

  /// `|B|`, `(|B| * |M|)`: of the dims that are not kept.
  std::string sizes(const Stated& stated, const std::vector<bool>& kept) const {
    std::string product;
    size_t count = 0;
    for (size_t i = 0; i < kept.size(); ++i)
      for (const Name& name : stated.dims[i].names)
        if (!kept[i]) {
          product += (product.empty() ? "" : " * ") + (is_number(name) ? name : "|" + name + "|");
          ++count;
        }
    return count > 1 ? "(" + product + ")" : product;
  }

  /// Without `axis=` or `dim=` no dim is kept.
  std::optional<std::vector<bool>> kept_dims(const Stated& stated) const {
    std::vector<bool> kept(stated.dims.size(), false);
    for (size_t i = 1; i < call_.args.size(); ++i) {
      const Name name = keyword(call_, i);
      if (is_one_of(name, {"keepdim", "keepdims"})) continue;
      if (!is_one_of(name, {"", "axis", "dim"})) return std::nullopt;
      const auto at = position(call_.args[i], kept.size());
      if (!at || *at >= kept.size()) return std::nullopt;
      kept.assign(kept.size(), true);
      kept[*at] = false;
    }
    return kept;
  }

  /// 0, 1, -1.
  static std::optional<size_t> position(const syntax::Expr& expr, size_t count) {
    const bool negative = expr.kind == syntax::Expr::Kind::unary && expr.text == "-";
    const syntax::Expr& number = negative ? expr.args[0] : expr;
    if (number.kind != syntax::Expr::Kind::number || number.text.size() > 2) return std::nullopt;
    const auto value = static_cast<size_t>(std::atoi(number.text.c_str()));
    if (!negative) return value;
    return value > count ? std::nullopt : std::optional(count - value);
  }

  const Body& body_;
  const syntax::Expr& call_;
};

}  // namespace

std::vector<Fix> in_the_notation(const Body& body, const syntax::Expr& call) {
  return ForeignCall(body, call).run();
}

std::vector<Fix> by_its_name(const Body& body, const syntax::Expr& call) {
  std::vector<Fix> fixes = in_the_notation(body, call);
  if (!fixes.empty()) return fixes;
  const std::string what =
      call.names[0].empty() ? "there are no methods: " : "there are no modules: ";
  if (auto other = syntax::other_name(call.text)) {
    other->message = what + other->message;
    return {*std::move(other)};
  }
  std::string text;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Name name = keyword(call, i);
    text += (text.empty() ? "" : ", ") + (name.empty() ? "" : name + "=") +
            std::string(body.world.sources.text(call.args[i].range));
  }
  text = call.text + "(" + text + ")";
  return {{what + "`" + text + "`", {{call.range, text}}, false, ""}};
}

bool names_a_position(const syntax::Expr& call) {
  if (call.args.size() != 2 || call.args[0].kind == syntax::Expr::Kind::string) return false;
  const Name name = keyword(call, 1);
  const syntax::Expr& at = call.args[1];
  const bool number = at.kind == syntax::Expr::Kind::number || at.kind == syntax::Expr::Kind::unary;
  return number && is_one_of(name, {"", "axis", "dim"});
}

namespace {

/// The text of an expression with `einsum` for each `@` in it.
std::optional<std::string> with_einsums(const Body& body, const syntax::Expr& expr);

std::optional<std::string> einsum_of(const Body& body, const syntax::Expr& product,
                                     const Stated& result) {
  const auto left = stated_type(body, product.args[0]), right = stated_type(body, product.args[1]);
  const auto one = with_einsums(body, product.args[0]), two = with_einsums(body, product.args[1]);
  if (!left || !right || !one || !two) return std::nullopt;
  return "einsum(\"" + to_string(*left) + ", " + to_string(*right) + " -> " + to_string(result) +
         "\", " + *one + ", " + *two + ")";
}

std::optional<std::string> with_einsums(const Body& body, const syntax::Expr& expr) {
  if (expr.kind == syntax::Expr::Kind::binary && expr.text == "@") {
    const auto result = stated_type(body, expr);
    return result ? einsum_of(body, expr, *result) : std::nullopt;
  }
  std::string text(body.world.sources.text(expr.range));
  for (size_t i = expr.args.size(); i-- > 0;) {
    const syntax::Expr& part = expr.args[i];
    const auto inner = with_einsums(body, part);
    if (!inner) return std::nullopt;
    if (part.range.begin >= expr.range.begin && part.range.end <= expr.range.end)
      text.replace(part.range.begin - expr.range.begin, part.range.end - part.range.begin, *inner);
  }
  return text;
}

}  // namespace

std::vector<Fix> product_in_the_notation(const Body& body, const syntax::Expr& product) {
  const auto left = stated_type(body, product.args[0]), right = stated_type(body, product.args[1]);
  std::vector<Fix> fixes;
  if (left && right)
    for (const Stated& result : products(*left, *right))
      if (const auto text = einsum_of(body, product, result))
        fixes.push_back({"a product of matrices is an `einsum`: `" + *text + "`",
                         {{product.range, *text}},
                         false,
                         ""});
  if (fixes.empty()) fixes.push_back({"a product of matrices is an `einsum`", {}, false, ""});
  return fixes;
}

std::vector<Fix> transposed_in_the_notation(const Body& body, const syntax::Expr& field) {
  const SourceRange of = field.args[0].range, whole = field.range;
  const std::string text(body.world.sources.text(of));
  std::vector<Fix> fixes{{"a pattern names the dims in any order: leave out `." + field.text + "`",
                          {{{of.file, of.end, whole.end}, ""}},
                          false,
                          ""}};
  if (const auto stated = stated_type(body, field.args[0]); stated && stated->dims.size() == 2) {
    Stated swapped = *stated;
    std::swap(swapped.dims[0], swapped.dims[1]);
    const std::string other =
        "rearrange(\"" + to_string(*stated) + " -> " + to_string(swapped) + "\", " + text + ")";
    fixes.push_back(
        {"a transposition names the dims: `" + other + "`", {{whole, other}}, false, ""});
  }
  return fixes;
}

}  // namespace shardproof::resolution
