#include "spec/types/type.h"

#include <algorithm>

namespace shardproof {

const char* to_string(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return "f64";
    case Dtype::f32:
      return "f32";
    case Dtype::bf16:
      return "bf16";
    case Dtype::f16:
      return "f16";
    case Dtype::f8:
      return "f8";
    case Dtype::i32:
      return "i32";
    case Dtype::u32:
      return "u32";
    case Dtype::boolean:
      return "bool";
    case Dtype::key:
      return "key";
    case Dtype::number:
      return "number";
  }
  return "?";
}

bool is_float(Dtype dtype) { return dtype <= Dtype::f8; }
bool is_integer(Dtype dtype) { return dtype == Dtype::i32 || dtype == Dtype::u32; }

std::string to_string(const Dim& dim) {
  if (!dim.is_group()) return dim.factors.empty() ? "()" : dim.factors[0];
  std::string text = "(";
  for (size_t i = 0; i < dim.factors.size(); ++i) text += (i ? " " : "") + dim.factors[i];
  return text + ")";
}

std::string to_string(const Split& split) {
  std::string text = to_string(split.dim);
  for (const Axis& axis : split.axes) text += "/" + axis;
  return text;
}

const char* to_string(Mark mark) {
  switch (mark) {
    case Mark::U:
      return "U";
    case Mark::I:
      return "I";
    case Mark::Max:
      return "Max";
  }
  return "?";
}

std::string to_string(const Marks& marks) {
  if (marks.empty()) return "";
  std::string text = "{";
  for (const auto& [axis, mark] : marks) {
    if (text.size() > 1) text += " ";
    text += std::string(to_string(mark)) + "_" + axis;
  }
  return text + "}";
}

static std::string dims_text(const Shape& shape) {
  std::string text;
  for (const Split& split : shape.dims) text += (text.empty() ? "" : " ") + to_string(split);
  return text;
}

std::string to_string(const Shape& shape) {
  std::string text = dims_text(shape), marks = to_string(shape.marks);
  return text.empty() || marks.empty() ? text + marks : text + " " + marks;
}

std::string to_string(const Type& type) {
  return std::string(to_string(type.dtype)) + "[" + dims_text(type) + "]" + to_string(type.marks);
}

std::vector<Axis> split_axes(const Shape& shape) {
  std::vector<Axis> axes;
  for (const Split& split : shape.dims)
    axes.insert(axes.end(), split.axes.begin(), split.axes.end());
  return axes;
}

bool same_dims(const Shape& a, const Shape& b) {
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [](const Split& x, const Split& y) { return x.dim == y.dim; });
}

const Split* find(const Shape& shape, const Dim& dim) {
  for (const Split& split : shape.dims)
    if (split.dim == dim) return &split;
  return nullptr;
}

Type dual(const Type& type, const std::vector<Axis>& axes) {
  Type result = type;
  const std::vector<Axis> split = split_axes(type);
  result.marks.clear();
  for (const Axis& axis : axes) {
    if (std::find(split.begin(), split.end(), axis) != split.end()) continue;
    auto mark = type.marks.find(axis);
    if (mark == type.marks.end()) result.marks[axis] = Mark::U;
    if (mark != type.marks.end() && mark->second == Mark::I) result.marks[axis] = Mark::I;
  }
  return result;
}

}  // namespace shardproof
