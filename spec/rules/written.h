#pragma once
// For tests: reads operands and patterns from text. `f32[B/d L]{U_t}`, with a final `!` for a value
// without gradient; a number is an operand too.
#include <cctype>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "spec/rules/rule.h"

namespace shardproof::written {

inline std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  while (!text.empty() && text.front() == ' ') text.erase(0, 1);
  return text;
}

inline Marks marks(const std::string& text) {
  Marks result;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t line = word.find('_');
    const std::string kind = word.substr(0, line);
    result[word.substr(line + 1)] = kind == "U" ? Mark::U : kind == "I" ? Mark::I : Mark::Max;
  }
  return result;
}

/// Reads dims and marks; stores the position of the bracketed dim in `bracket`.
inline Shape shape(const std::string& text, std::optional<size_t>* bracket = nullptr) {
  Shape result;
  const size_t brace = text.find('{');
  if (brace != std::string::npos)
    result.marks = marks(text.substr(brace + 1, text.find('}') - brace - 1));
  bool group = false;
  Split split;
  auto finish = [&](std::string word) {
    if (word.empty()) return;
    if (word.front() == '[') {
      if (bracket) *bracket = result.dims.size();
      word = word.substr(1, word.size() - 2);
    }
    const bool opens = word.front() == '(';
    if (opens) word.erase(0, 1), group = true;
    const size_t close = word.find(')');
    std::string name = word.substr(0, std::min(word.find('/'), close));
    split.dim.factors.push_back(name);
    if (group && close == std::string::npos) return;
    group = false;
    std::istringstream axes(word.substr(std::min(word.find('/'), word.size())));
    for (std::string axis; std::getline(axes, axis, '/');)
      if (!axis.empty()) split.axes.push_back(axis);
    result.dims.push_back(split);
    split = {};
  };
  std::istringstream words(text.substr(0, brace));
  for (std::string word; words >> word;) finish(word);
  return result;
}

inline Dtype dtype(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(Dtype::number); ++i)
    if (text == to_string(static_cast<Dtype>(i))) return static_cast<Dtype>(i);
  throw std::invalid_argument("dtype " + text);
}

inline Type type(const std::string& text) {
  const size_t open = text.find('['), close = text.find(']');
  Type result;
  static_cast<Shape&>(result) =
      shape(text.substr(open + 1, close - open - 1) + text.substr(close + 1));
  result.dtype = dtype(text.substr(0, open));
  return result;
}

inline Operand operand(std::string text) {
  text = trimmed(text);
  Operand result;
  if (std::isdigit(static_cast<unsigned char>(text[0]))) {
    result.number = std::stod(text);
    result.type.dtype = Dtype::number;
    return result;
  }
  if (text.back() == '!') {
    result.has_gradient = false;
    text.pop_back();
  }
  result.type = type(text);
  return result;
}

inline std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> result;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) result.push_back(trimmed(part));
  return result;
}

inline std::vector<Operand> operands(const std::string& text) {
  std::vector<Operand> result;
  for (const std::string& part : parts(text, ',')) result.push_back(operand(part));
  return result;
}

inline ir::Pattern pattern(const std::string& text) {
  ir::Pattern result;
  const size_t arrow = text.find("->");
  const std::vector<std::string> left = parts(text.substr(0, arrow), ',');
  for (const std::string& part : left) {
    std::optional<size_t> bracket;
    result.left.push_back(shape(part, &bracket));
    if (bracket) result.left_bracket = bracket, result.bracket_operand = result.left.size() - 1;
  }
  if (left.empty()) result.left.push_back({});
  result.right = shape(text.substr(arrow + 2), &result.right_bracket);
  return result;
}

/// Axes d t x y, and `one` of size 1. Dims B L M F V K G D Q N; S and T have the size of L, H is (K
/// D), J has size 1.
inline ir::Program program() {
  ir::Program result;
  for (const char* axis : {"d", "t", "x", "y"}) result.axes[axis] = {};
  result.axes["one"].size = 1;
  for (const char* dim : {"B", "L", "M", "F", "V", "K", "G", "D", "Q", "N"}) result.dims[dim] = {};
  for (const char* dim : {"S", "T"}) {
    result.dims[dim].kind = ir::DimInfo::Kind::alias;
    result.dims[dim].of = {"L"};
  }
  result.dims["H"].kind = ir::DimInfo::Kind::group;
  result.dims["H"].of = {"K", "D"};
  result.dims["J"].kind = ir::DimInfo::Kind::sized;
  result.dims["J"].size = ir::Arith{ir::Arith::Kind::number, "1", ir::no_value, {}};
  return result;
}

}  // namespace shardproof::written
