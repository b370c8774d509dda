// Types, groups and what strings them together.
#include "spec/syntax/parser.h"
#include "spec/syntax/printer.h"

namespace shardproof::syntax {
namespace {

std::string print_split(const SplitExpr& split) {
  if (split.kind == SplitExpr::Kind::ellipsis) return "...";
  if (split.kind == SplitExpr::Kind::star) return "*";
  std::string text = join(split.names, " ");
  if (split.names.size() > 1) text = "(" + text + ")";
  for (const Axis& axis : split.axes) text += "/" + axis;
  return split.bracketed ? "[" + text + "]" : text;
}

std::string print_mark(const MarkExpr& mark) {
  return std::string(mark.either ? "?" : to_string(mark.mark)) + "_" + mark.axis;
}

}  // namespace

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? separator : "") + parts[i];
  return text;
}

std::string fill(const std::string& head, const std::vector<std::string>& parts,
                 const std::string& separator, size_t indent) {
  std::string text = head;
  size_t column = head.size();
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string tail = i + 1 < parts.size() ? separator : "";
    const size_t space = i > 0 ? 1 : 0;
    const bool breaks =
        column + space + parts[i].size() + tail.size() > line_width && column > indent;
    if (breaks) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (space > 0) {
      text += " ";
      ++column;
    }
    text += parts[i] + tail;
    column += parts[i].size() + tail.size();
  }
  return text;
}

std::string print_dims(const std::vector<SplitExpr>& dims) {
  std::vector<std::string> parts;
  for (const SplitExpr& split : dims) parts.push_back(print_split(split));
  return join(parts, " ");
}

std::string print_marks(const std::vector<MarkExpr>& marks) {
  if (marks.empty()) return "";
  std::vector<std::string> parts;
  for (const MarkExpr& mark : marks) parts.push_back(print_mark(mark));
  return "{" + join(parts, " ") + "}";
}

std::string print(const TypeExpr& type) {
  std::string text = type.name;
  if (type.has_dims) text += "[" + print_dims(type.dims) + "]";
  return text + print_marks(type.marks);
}

std::string print_group(const Group& group) {
  const std::string names = join(group.names, " ");
  return names.empty() ? print(group.type) : names + ": " + print(group.type);
}

std::string print_dim(const DimDecl& dim) {
  std::string text = "dim " + join(dim.names, " ");
  switch (dim.kind) {
    case DimDecl::Kind::plain:
      return text;
    case DimDecl::Kind::alias:
      return text + " = " + join(dim.of, " ");
    case DimDecl::Kind::group:
      return text + " = (" + join(dim.of, " ") + ")";
    case DimDecl::Kind::size:
      return text + " = " + print_sum(*dim.size);
    case DimDecl::Kind::pads:
      return text + " pads " + join(dim.of, " ");
  }
  return text;
}

}  // namespace shardproof::syntax
