#pragma once
// For tests: shapes and patterns from text, and a program with dims and axes.
#include <sstream>

#include "spec/denote/represent.h"
#include "spec/elaborate/elaborate.h"

namespace shardproof::denote::testing {

/// Reads `B/d [V] (K D)/t {U_p I_q}`.
inline Shape shape(std::string text, std::optional<size_t>* bracket = nullptr) {
  Shape result;
  for (char& c : text)
    if (c == '{' || c == '}') c = ' ';
  std::string word;
  for (std::istringstream in(text); in >> word;) {
    const size_t mark = word.find('_');
    if (mark != std::string::npos) {
      const std::string kind = word.substr(0, mark);
      result.marks[word.substr(mark + 1)] = kind == "U"   ? Mark::U
                                            : kind == "I" ? Mark::I
                                                          : Mark::Max;
      continue;
    }
    Split split;
    if (word[0] == '(') {
      for (std::string part; word.find(')') == std::string::npos; word = part) {
        split.dim.factors.push_back(word.substr(word[0] == '(' ? 1 : 0));
        in >> part;
      }
      split.dim.factors.push_back(word.substr(0, word.find(')')));
      word = word.substr(word.find(')') + 1);
    } else {
      if (word[0] == '[') {
        if (bracket) *bracket = result.dims.size();
        std::erase(word, '[');
        std::erase(word, ']');
      }
      split.dim.factors.push_back(word.substr(0, word.find('/')));
      word = word.find('/') == std::string::npos ? "" : word.substr(word.find('/'));
    }
    std::istringstream axes(word);
    for (std::string axis; std::getline(axes, axis, '/');)
      if (!axis.empty()) split.axes.push_back(axis);
    result.dims.push_back(split);
  }
  return result;
}

inline Type type(const std::string& text, Dtype dtype = Dtype::f32) {
  Type result;
  static_cast<Shape&>(result) = shape(text);
  result.dtype = dtype;
  return result;
}

/// Reads `[V] M, B L -> B L M`.
inline ir::Pattern pattern(const std::string& text) {
  ir::Pattern result;
  const size_t arrow = text.find("->");
  std::istringstream left(text.substr(0, arrow));
  for (std::string each; std::getline(left, each, ',');) {
    std::optional<size_t> bracket;
    result.left.push_back(shape(each, &bracket));
    if (!bracket) continue;
    result.left_bracket = bracket;
    result.bracket_operand = result.left.size() - 1;
  }
  result.right = shape(text.substr(arrow + 2), &result.right_bracket);
  return result;
}

inline ir::Program program(const std::vector<Axis>& axes) {
  ir::Program result;
  for (const Axis& axis : axes) result.axes[axis] = {};
  result.dims["H"] = {ir::DimInfo::Kind::group, {"K", "D"}, {}, "", false, {}};
  result.dims["S"] = {ir::DimInfo::Kind::alias, {"L"}, {}, "", false, {}};
  result.dims["T"] = {ir::DimInfo::Kind::alias, {"L"}, {}, "", false, {}};
  return result;
}

/// The op with the indices of its pattern.
inline ir::Op elaborated(const ir::Program& program, ir::Op op, const std::vector<Type>& operands) {
  const std::vector<Shape> shapes(operands.begin(), operands.end());
  if (const auto problem = elaborate::elaborate(program, op, shapes))
    throw std::logic_error(problem->message);
  return op;
}

}  // namespace shardproof::denote::testing
