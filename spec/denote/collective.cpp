#include "spec/denote/collective.h"

#include <algorithm>

namespace shardproof::denote {

std::vector<Move> moves(const Shape& shape, const Shape& other) {
  if (shape.dims.size() != other.dims.size()) throw Mismatch("a pattern that loses or gains a dim");
  std::vector<Move> result;
  for (size_t i = 0; i < shape.dims.size(); ++i)
    for (const Axis& axis : shape.dims[i].axes) {
      const std::vector<Axis>& others = other.dims[i].axes;
      if (std::find(others.begin(), others.end(), axis) == others.end())
        result.push_back({axis, i});
    }
  return result;
}

std::vector<Axis> marked(const Shape& shape, const Shape& other, Mark mark) {
  std::vector<Axis> result;
  for (const auto& [axis, each] : shape.marks) {
    auto there = other.marks.find(axis);
    if (each == mark && (there == other.marks.end() || there->second != mark))
      result.push_back(axis);
  }
  return result;
}

}  // namespace shardproof::denote
