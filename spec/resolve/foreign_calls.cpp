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

  std::optional<Fix> run() const {
    const Name& name = call_.text;
    if (call_.each || call_.args.empty()) return std::nullopt;
    if (is_one_of(name, {"len", "size", "numel"})) return size();
    if (name == "arange") return numbers();
    if (is_one_of(name, {"psum", "pmax", "all_reduce"}) && !has_pattern())
      return reduction_over_devices();
    if (is_one_of(name, {"sum", "max", "min"}) && !has_pattern())
      return reduction(name, "the dims are named in a pattern");
    if (name == "mean") return mean();
    return std::nullopt;
  }

 private:
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

std::optional<Fix> in_the_notation(const Body& body, const syntax::Expr& call) {
  return ForeignCall(body, call).run();
}

std::optional<Fix> product_in_the_notation(const Body& body, const syntax::Expr& product) {
  const auto left = stated_type(body, product.args[0]), right = stated_type(body, product.args[1]);
  if (!left || !right || left->dims.empty() || right->dims.empty()) return std::nullopt;
  std::vector<bool> kept(left->dims.size(), true);
  kept.back() = false;
  if (left->dims.back().names != right->dims.front().names) return std::nullopt;
  Stated result = reduced(*left, kept, Mark::U);
  result.dims.insert(result.dims.end(), right->dims.begin() + 1, right->dims.end());
  const auto text = [&](size_t i) {
    return std::string(body.world.sources.text(product.args[i].range));
  };
  const std::string whole = "einsum(\"" + to_string(*left) + ", " + to_string(*right) + " -> " +
                            to_string(result) + "\", " + text(0) + ", " + text(1) + ")";
  return Fix{"a product of matrices is an `einsum`", {{product.range, whole}}, false, ""};
}

std::optional<Fix> transposed_in_the_notation(const Body& body, const syntax::Expr& field) {
  const auto stated = stated_type(body, field.args[0]);
  if (!stated || stated->dims.size() != 2) return std::nullopt;
  Stated swapped = *stated;
  std::swap(swapped.dims[0], swapped.dims[1]);
  const std::string whole = "rearrange(\"" + to_string(*stated) + " -> " + to_string(swapped) +
                            "\", " + std::string(body.world.sources.text(field.args[0].range)) +
                            ")";
  return Fix{"a transposition names the dims: `" + whole + "`", {{field.range, whole}}, false, ""};
}

}  // namespace shardproof::resolution
