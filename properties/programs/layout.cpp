#include "properties/programs/layout.h"

#include <algorithm>

namespace shardproof::programs {

const Piece* Layout::find(const Word& dim) const {
  const auto found =
      std::find_if(dims.begin(), dims.end(), [&](const Piece& each) { return each.dim == dim; });
  return found == dims.end() ? nullptr : &*found;
}

Piece* Layout::find(const Word& dim) {
  return const_cast<Piece*>(static_cast<const Layout*>(this)->find(dim));
}

const Piece* Layout::holder(const Word& axis) const {
  for (const Piece& each : dims)
    if (std::count(each.axes.begin(), each.axes.end(), axis)) return &each;
  return nullptr;
}

char Layout::state(const Word& axis) const {
  if (holder(axis)) return 'S';
  const auto found = marks.find(axis);
  return found == marks.end() ? 'R' : found->second;
}

bool Layout::has(char mark) const {
  return std::any_of(marks.begin(), marks.end(),
                     [&](const auto& each) { return each.second == mark; });
}

std::string Layout::dims_text(const Word& bracketed) const {
  std::string text;
  for (const Piece& each : dims) {
    std::string own = each.dim;
    for (const Word& axis : each.axes) own += "/" + axis;
    text += (text.empty() ? "" : " ") + (each.dim == bracketed ? "[" + own + "]" : own);
  }
  return text;
}

std::string Layout::marks_text() const {
  std::string text;
  for (const auto& [axis, mark] : marks)
    text += (text.empty() ? "" : " ") + (mark == 'M' ? "Max" : std::string(1, mark)) + "_" + axis;
  return text.empty() ? "" : "{" + text + "}";
}

std::string Layout::text(const Word& bracketed) const {
  const std::string dims = dims_text(bracketed), marks = marks_text();
  return dims + (dims.empty() || marks.empty() ? "" : " ") + marks;
}

std::string Layout::type(const std::string& dtype) const {
  return dtype + "[" + dims_text() + "]" + marks_text();
}

std::string Layout::whole() const {
  std::string text;
  for (const Piece& each : dims) text += (text.empty() ? "" : " ") + each.dim;
  return text;
}

Layout dual(const Layout& layout, const std::vector<Word>& mesh) {
  Layout gradient{layout.dims, {}};
  for (const Word& axis : mesh) {
    const char state = layout.state(axis);
    if (state == 'R') gradient.marks[axis] = 'U';
    if (state == 'I') gradient.marks[axis] = 'I';
  }
  return gradient;
}

}  // namespace shardproof::programs
