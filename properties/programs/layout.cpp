#include "properties/programs/layout.h"

#include <algorithm>
#include <utility>

namespace shardproof::programs {

const Piece* Layout::find(const Word& dim) const {
  const auto found =
      std::find_if(dims.begin(), dims.end(), [&](const Piece& each) { return each.dim == dim; });
  return found == dims.end() ? nullptr : &*found;
}

Piece* Layout::find(const Word& dim) {
  return const_cast<Piece*>(static_cast<const Layout*>(this)->find(dim));
}

const Piece* Layout::holder(char axis) const {
  for (const Piece& each : dims)
    if (each.axes.find(axis) != Letters::npos) return &each;
  return nullptr;
}

char Layout::state(char axis) const {
  if (holder(axis)) return 'S';
  const auto found = marks.find(axis);
  return found == marks.end() ? 'R' : found->second;
}

bool Layout::has(char mark) const {
  return std::any_of(marks.begin(), marks.end(),
                     [&](const auto& each) { return each.second == mark; });
}

void Layout::add_dims(std::string& text, const Word& bracketed) const {
  for (const Piece& each : dims) {
    if (&each != &dims.front()) text += ' ';
    if (each.dim == bracketed) text += '[';
    text += each.dim;
    for (char axis : each.axes) (text += '/') += axis;
    if (each.dim == bracketed) text += ']';
  }
}

void Layout::add_marks(std::string& text) const {
  char before = '{';
  for (const auto& [axis, mark] : marks) {
    text += std::exchange(before, ' ');
    if (mark == 'M')
      text += "Max";
    else
      text += mark;
    (text += '_') += axis;
  }
  if (!marks.empty()) text += '}';
}

std::string Layout::dims_text() const {
  std::string text;
  add_dims(text);
  return text;
}

std::string Layout::marks_text() const {
  std::string text;
  add_marks(text);
  return text;
}

std::string Layout::text(const Word& bracketed) const {
  std::string text;
  add_dims(text, bracketed);
  if (!dims.empty() && !marks.empty()) text += ' ';
  add_marks(text);
  return text;
}

std::string Layout::type(const std::string& dtype) const {
  std::string text = dtype + "[";
  add_dims(text);
  text += ']';
  add_marks(text);
  return text;
}

std::string Layout::whole() const {
  std::string text;
  for (const Piece& each : dims) {
    if (!text.empty()) text += ' ';
    text += each.dim;
  }
  return text;
}

Layout dual(const Layout& layout, const Letters& mesh) {
  Layout gradient{layout.dims, {}};
  for (char axis : mesh) {
    const char state = layout.state(axis);
    if (state == 'R') gradient.marks[axis] = 'U';
    if (state == 'I') gradient.marks[axis] = 'I';
  }
  return gradient;
}

}  // namespace shardproof::programs
