#include "spec/resolve/dim_order.h"

#include <algorithm>
#include <vector>

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

/// The dims of one side of a pattern, with their axes, and its marks.
struct Side {
  std::vector<std::string> dims;
  std::string marks;
};

Side side_of(const std::string& text) {
  Side side;
  std::string word;
  int open = 0;
  for (const char c : text + " ") {
    open += (c == '(' || c == '{' || c == '[') - (c == ')' || c == '}' || c == ']');
    if (c != ' ' || open > 0) {
      word += c;
      continue;
    }
    if (word.empty()) continue;
    if (word[0] == '{')
      side.marks = word;
    else
      side.dims.push_back(word);
    word.clear();
  }
  return side;
}

bool names(const std::string& word, const Dim& dim) {
  const std::string name = to_string(dim);
  return word == name || word.starts_with(name + "/");
}

std::string joined(const Side& side, const std::vector<size_t>& order) {
  std::string text;
  for (const size_t i : order) text += (text.empty() ? "" : " ") + side.dims[i];
  return text + (side.marks.empty() ? "" : " " + side.marks);
}

/// The result of the first pattern in `text` that has the dims of `actual`, in the order wanted.
std::optional<Edit> in_pattern(const Type& actual, const std::vector<size_t>& order,
                               const std::string& text, SourceRange range) {
  for (size_t quote = text.find('"'); quote != text.npos;) {
    const size_t end = text.find('"', quote + 1);
    if (end == text.npos) return std::nullopt;
    const std::string pattern = text.substr(quote + 1, end - quote - 1);
    const size_t arrow = pattern.rfind("->");
    quote = text.find('"', end + 1);
    if (arrow == pattern.npos || pattern.find(';') != pattern.npos) continue;
    const Side right = side_of(pattern.substr(arrow + 2));
    if (!std::equal(
            right.dims.begin(), right.dims.end(), actual.dims.begin(), actual.dims.end(),
            [](const std::string& word, const Split& split) { return names(word, split.dim); }))
      continue;
    SourceRange result = range;
    result.end = range.begin + static_cast<decltype(range.begin)>(end);
    result.begin = result.end - static_cast<decltype(range.begin)>(pattern.size() - arrow - 2);
    return Edit{result, " " + joined(right, order)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Fix> in_order_of(const Type& wanted, const Type& actual, const std::string& text,
                               SourceRange range) {
  const auto order = order_of(wanted, actual);
  if (!order || std::is_sorted(order->begin(), order->end())) return std::nullopt;
  Fix fix;
  if (auto edit = in_pattern(actual, *order, text, range)) {
    fix.message = "name the dims of the result in the order of its type";
    fix.edits = {*edit};
    return fix;
  }
  // Its axes are most likely those that the type says.
  Shape from = wanted;
  for (size_t i = 0; i < order->size(); ++i) from.dims[(*order)[i]] = wanted.dims[i];
  fix.message = "put the dims into the order of the type";
  fix.edits = {{range, "rearrange(\"" + to_string(from) + " -> " +
                           to_string(static_cast<const Shape&>(wanted)) + "\", " + text + ")"}};
  return fix;
}

}  // namespace shardproof::resolution
