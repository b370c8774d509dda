#include "spec/resolve/dim_order.h"

#include <algorithm>
#include <string_view>

#include "spec/syntax/parser.h"

namespace shardproof::resolution {
namespace {

/// For each dim of `wanted` where it stands in `actual`.
std::optional<std::vector<size_t>> order_of(const Type& wanted, const Type& actual) {
  if (wanted.dims.size() != actual.dims.size()) return std::nullopt;
  std::vector<size_t> order;
  for (const Split& split : wanted.dims) {
    size_t found = actual.dims.size();
    for (size_t i = 0; i < actual.dims.size(); ++i)
      if (actual.dims[i].dim == split.dim) {
        if (found != actual.dims.size()) return std::nullopt;
        found = i;
      }
    if (found == actual.dims.size()) return std::nullopt;
    order.push_back(found);
  }
  return order;
}

/// The edit in the first pattern of the text at `range` whose result has the dims of `actual`.
std::optional<Edit> in_pattern(const Type& actual, const std::vector<size_t>& order,
                               const Sources& sources, SourceRange range) {
  const std::string_view text = sources.text(range);
  for (size_t quote = text.find('"'); quote != text.npos;) {
    const size_t end = text.find('"', quote + 1);
    if (end == text.npos) return std::nullopt;
    SourceRange inside = range;
    inside.begin = range.begin + static_cast<uint32_t>(quote + 1);
    inside.end = range.begin + static_cast<uint32_t>(end);
    std::vector<Diagnostic> unused;
    const auto pattern = syntax::parse_pattern(std::string(sources.text(inside)), inside, unused);
    quote = text.find('"', end + 1);
    if (!pattern || !pattern->right || pattern->has_working) continue;
    const std::vector<syntax::SplitExpr>& dims = pattern->right->dims;
    if (std::equal(dims.begin(), dims.end(), actual.dims.begin(), actual.dims.end(),
                   [](const syntax::SplitExpr& dim, const Split& split) {
                     return dim.kind == syntax::SplitExpr::Kind::dim && !dim.bracketed &&
                            dim.names == split.dim.factors;
                   }))
      return reordered(sources, dims, order);
  }
  return std::nullopt;
}

}  // namespace

Edit reordered(const Sources& sources, const std::vector<syntax::SplitExpr>& dims,
               const std::vector<size_t>& order) {
  std::string text;
  for (const size_t i : order)
    text += (text.empty() ? "" : " ") + std::string(sources.text(dims[i].range));
  SourceRange range = dims.front().range;
  range.end = dims.back().range.end;
  return {range, text};
}

std::optional<Fix> in_order_of(const Type& wanted, const Type& actual, const Sources& sources,
                               SourceRange range) {
  const auto order = order_of(wanted, actual);
  if (!order || std::is_sorted(order->begin(), order->end())) return std::nullopt;
  Fix fix;
  if (auto edit = in_pattern(actual, *order, sources, range)) {
    fix.message = "name the dims of the result in the order of its type";
    fix.edits = {*edit};
    return fix;
  }
  // Its axes are most likely those that the type says.
  Shape from = wanted;
  for (size_t i = 0; i < order->size(); ++i) from.dims[(*order)[i]] = wanted.dims[i];
  fix.message = "put the dims into the order of the type";
  fix.edits = {{range, "rearrange(\"" + to_string(from) + " -> " +
                           to_string(static_cast<const Shape&>(wanted)) + "\", " +
                           std::string(sources.text(range)) + ")"}};
  return fix;
}

}  // namespace shardproof::resolution
