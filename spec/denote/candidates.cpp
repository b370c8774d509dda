#include "spec/denote/candidates.h"

#include <algorithm>

#include "spec/denote/array.h"

namespace shardproof::denote {
namespace {

bool mixes(const Type& type) {
  bool sum = false, maximum = false;
  for (const auto& [axis, mark] : type.marks) {
    sum = sum || mark == Mark::U;
    maximum = maximum || mark == Mark::Max;
  }
  return sum && maximum;
}

/// Adds the types with one more axis, at every place of every list and with every mark.
void with_axis(const Type& type, const Axis& axis, bool copies, std::vector<Type>& result) {
  result.push_back(type);
  for (Mark mark : {Mark::U, Mark::Max, Mark::I}) {
    if (mark == Mark::I && !copies) continue;
    result.push_back(type);
    result.back().marks[axis] = mark;
    if (mixes(result.back())) result.pop_back();
  }
  for (size_t i = 0; i < type.dims.size(); ++i)
    for (size_t place = 0; place <= type.dims[i].axes.size(); ++place) {
      result.push_back(type);
      std::vector<Axis>& list = result.back().dims[i].axes;
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), axis);
    }
}

Type bare(const Shape& shape, Dtype dtype) {
  Type type;
  type.dtype = dtype;
  for (const Split& split : shape.dims) type.dims.push_back({split.dim, {}});
  return type;
}

struct WholeResults {
  const std::vector<Type>& operands;
  using Result = std::vector<Type>;

  Dtype dtype() const {
    for (const Type& type : operands)
      if (type.dtype != Dtype::number) return type.dtype;
    return Dtype::f32;
  }
  Result widest_operand(Dtype dtype) const {
    const Type* best = &operands.at(0);
    for (const Type& type : operands)
      if (type.dims.size() > best->dims.size()) best = &type;
    return {bare(*best, dtype)};
  }
  Result operator()(const ir::Unary&) const { return widest_operand(dtype()); }
  Result operator()(const ir::Binary& op) const {
    return widest_operand(gives_truth(op.fn) ? Dtype::boolean : dtype());
  }
  Result operator()(const ir::Where&) const { return widest_operand(operands.at(1).dtype); }
  Result operator()(const ir::Cast& op) const { return widest_operand(op.to); }
  Result operator()(const ir::Argmax& op) const { return {bare(op.pattern.right, Dtype::i32)}; }
  Result operator()(const ir::TopK& op) const {
    return {bare(op.pattern.right, dtype()), bare(op.pattern.right, Dtype::i32)};
  }
  Result operator()(const ir::Ordered& op) const {
    return {bare(operands.at(0), op.fn == ir::OrderedFn::argsort ? Dtype::i32 : dtype())};
  }
  Result operator()(const ir::IndexAdd& op) const {
    return {bare(op.pattern.right, operands.at(1).dtype)};
  }
  Result operator()(const ir::Iota& op) const { return {bare(op.created.shape, Dtype::i32)}; }
  Result operator()(const ir::Random& op) const { return {bare(op.created.shape, Dtype::f32)}; }
  Result operator()(const ir::Zeros& op) const { return {bare(op.created.shape, op.dtype)}; }
  Result operator()(const ir::Entry& op) const {
    Type type = bare(operands.at(0), dtype());
    std::erase_if(type.dims, [&](const Split& split) { return split.dim == op.dim; });
    return {type};
  }
  template <class Op>
  Result operator()(const Op& op) const {
    if constexpr (requires { op.pattern.right; }) return {bare(op.pattern.right, dtype())};
    return operands.empty() ? Result{} : widest_operand(dtype());
  }
};

}  // namespace

std::vector<Type> candidate_types(const Type& type, const std::vector<Axis>& axes, bool copies) {
  std::vector<Type> types{bare(type, type.dtype)};
  for (const Axis& axis : axes) {
    std::vector<Type> longer;
    for (const Type& each : types) with_axis(each, axis, copies, longer);
    types = std::move(longer);
  }
  return types;
}

std::vector<Type> whole_results(const ir::Op& op, const std::vector<Type>& operands) {
  return std::visit(WholeResults{operands}, op);
}

std::vector<Axis> axes_of(const std::vector<Shape>& shapes) {
  std::vector<Axis> axes;
  auto add = [&](const Axis& axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  };
  for (const Shape& shape : shapes) {
    for (const Axis& axis : split_axes(shape)) add(axis);
    for (const auto& [axis, mark] : shape.marks) add(axis);
  }
  return axes;
}

std::vector<Shape> shapes_of(const ir::Op& op, const std::vector<Type>& operands,
                             const std::vector<Type>& results) {
  std::vector<Shape> shapes(operands.begin(), operands.end());
  shapes.insert(shapes.end(), results.begin(), results.end());
  if (const ir::Pattern* pattern = ir::pattern_of(op)) {
    shapes.insert(shapes.end(), pattern->left.begin(), pattern->left.end());
    shapes.push_back(pattern->right);
  }
  if (auto* total = std::get_if<ir::Total>(&op)) shapes.push_back({{}, total->marks});
  return shapes;
}

ir::Op whole_op(const ir::Op& op) {
  if (auto* permute = std::get_if<ir::Ppermute>(&op)) return ir::Roll{permute->pattern};
  return op;
}

}  // namespace shardproof::denote
