#include "spec/resolve/foreign_calls.h"

#include <algorithm>
#include <cstdlib>

#include "spec/resolve/stated.h"

namespace shardproof::resolution {
namespace {

bool is_one_of(const Name& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* each) { return name == each; });
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
    const Name& name = call_.text;
    if (is_one_of(name, {"len", "size", "numel"})) return size();
    if (name == "arange") return numbers();
    if (is_one_of(name, {"psum", "pmax", "all_reduce"}) && !has_pattern())
      return reduction_over_devices();
    if (is_one_of(name, {"sum", "max", "min"}) && !has_pattern())
      return reduction(name, "the dims are named in a pattern");
    if (name == "mean") return mean();
    return std::nullopt;
  }

  const syntax::Expr& first() const { return call_.args[0]; }
  bool has_pattern() const { return first().kind == syntax::Expr::Kind::string; }
  std::string text(const syntax::Expr& expr) const {
    return std::string(body_.world.sources.text(expr.range));
  }
  Fix instead(const std::string& message, const std::string& text) const {
    return {message + ": `" + text + "`", {{call_.range, text}}, false, ""};
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
      return instead(
          what, "sum(\"" + first().text + "\", " + text(operand) + ") / " + sizes(*from, kept));
    }
    const auto stated = stated_type(body_, first());
    const auto kept = stated ? kept_dims(*stated) : std::nullopt;
    const auto sum = kept ? reduced_text("sum", *stated, *kept) : std::nullopt;
    if (!sum || std::count(kept->begin(), kept->end(), false) == 0) return std::nullopt;
    return instead(what, *sum + " / " + sizes(*stated, *kept));
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
      const Name name = i < call_.arg_names.size() ? call_.arg_names[i] : "";
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
