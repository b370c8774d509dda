#include "spec/elaborate/text.h"

#include <cstdint>

namespace shardproof::elaborate {
namespace {

std::string with_bracket(const ir::Program& program, const Shape& shape, size_t bracket) {
  std::string text;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const std::string dim = show(program, shape.dims[i]);
    text += (i ? " " : "") + (bracket == i ? "[" + dim + "]" : dim);
  }
  const std::string marks = to_string(shape.marks);
  return text + (text.empty() || marks.empty() ? "" : " ") + marks;
}

}  // namespace

std::string show(const ir::Program& program, const Dim& dim) {
  Dim shown = dim;
  for (Name& factor : shown.factors) {
    auto found = program.dims.find(factor);
    if (found != program.dims.end() && !found->second.shown.empty()) factor = found->second.shown;
  }
  return to_string(shown);
}

std::string show(const ir::Program& program, const Split& split) {
  return show(program, split.dim) + to_string(Split{{{""}}, split.axes});
}

std::string show(const ir::Program& program, const Shape& shape) {
  return with_bracket(program, shape, SIZE_MAX);
}

std::string left_text(const ir::Program& program, const ir::Pattern& pattern) {
  std::string text;
  for (size_t i = 0; i < pattern.left.size(); ++i)
    text += (i ? ", " : "") + with_bracket(program, pattern.left[i],
                                           i == pattern.bracket_operand
                                               ? pattern.left_bracket.value_or(SIZE_MAX)
                                               : SIZE_MAX);
  return text;
}

std::string pattern_text(const ir::Program& program, const ir::Pattern& pattern) {
  const std::string left = left_text(program, pattern);
  return left + (left.empty() ? "" : " ") + "-> " +
         with_bracket(program, pattern.right, pattern.right_bracket.value_or(SIZE_MAX));
}

}  // namespace shardproof::elaborate
