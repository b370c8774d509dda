#include "spec/denote/show.h"

#include "spec/denote/array.h"

namespace shardproof::denote {
namespace {

std::string nested(const Array<double>& x, size_t dim, size_t& next) {
  if (dim == x.shape.size()) return Scalar<double>::text(x.data.at(next++));
  std::string text;
  for (int64_t i = 0; i < x.shape[dim]; ++i) text += (i ? ", " : "") + nested(x, dim + 1, next);
  return "[" + text + "]";
}

std::string place(const Geometry& geometry, int64_t device, const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes)
    text += (text.empty() ? "" : " ") + axis + "=" + std::to_string(geometry.digit(device, axis));
  return text;
}

/// The axes of the mesh along which a value of the type may differ.
std::vector<Axis> varying(const Geometry& geometry, const Type& type) {
  std::vector<Axis> axes;
  for (const auto& [axis, size] : geometry.sizes().mesh) {
    const int64_t last = geometry.line(axis).with_digit(0, size - 1);
    if (leader(geometry, type, last, false, true) != 0 && size > 1) axes.push_back(axis);
  }
  return axes;
}

bool has_mark(const Type& type, Mark wanted) {
  for (const auto& [axis, mark] : type.marks)
    if (mark == wanted) return true;
  return false;
}

std::string show_extents(const Extents& shape) {
  std::string text;
  for (const int64_t extent : shape) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text.empty() ? "1" : text;
}

/// Why the arrays represent no value together: a part of another shape, or copies that differ.
std::string not_together(const Geometry& geometry, const Type& type, const Array<double>& x,
                         bool stated) {
  const Extents part = geometry.local_shape(type);
  if (x.shape == part) return "; copies that should be equal";
  if (!stated) return "; no type fits that";
  return "; each device holds " + show_extents(x.shape) +
         (x.data.size() == 1 ? " entry" : " entries") + ", not " + show_extents(part);
}

/// What the devices' arrays represent together: `, sum 1`, `, put together [1, 2]`.
std::string together(const Geometry& geometry, const Type& type, const Distributed<double>& x,
                     bool stated) {
  const auto whole = represented(geometry, type, x);
  const bool sum = has_mark(type, Mark::U), maximum = has_mark(type, Mark::Max);
  const bool split = !split_axes(type).empty();
  if (!whole) return not_together(geometry, type, x[0], stated);
  if (sum) return ", sum " + show(*whole);
  if (maximum) return ", maximum " + show(*whole);
  return split ? ", put together " + show(*whole) : "";
}

/// The value that `device` should hold; empty if only all devices together can be compared.
std::vector<double> expected_on(const Geometry& geometry, const Type& type,
                                const Distributed<double>& x, int64_t device,
                                const Array<double>* wanted) {
  if (!wanted) return {};
  const Array<double> own = x[static_cast<size_t>(device)];
  std::vector<double> expected;
  if (has_mark(type, Mark::U) || has_mark(type, Mark::Max)) {
    const auto copied = static_cast<size_t>(leader(geometry, type, device, false, true));
    if (!same(x[copied], own)) expected = x[copied].data;
  } else if (own.shape == geometry.local_shape(type) &&
             wanted->shape == geometry.global_shape(type)) {
    for (int64_t index : geometry.global_indices(type, device))
      expected.push_back(at(*wanted, index));
  }
  return expected;
}

std::string name_of(const Trial& trial, size_t operand) {
  const Input& input = trial.inputs()[operand];
  return !input.name.empty() ? input.name : "operand " + std::to_string(operand + 1);
}

std::string operand_line(const Trial& trial, const Values<double>& operands, size_t i) {
  const Input& input = trial.inputs()[i];
  const std::string held = show_held(trial.geometry(), input.type, operands[i]);
  std::string line = trial.inputs().size() > 1 ? name_of(trial, i) + ": " + held : held;
  if (!varying(trial.geometry(), input.type).empty())
    line += ": the value is " + show(trial.value(operands, i));
  return line;
}

/// The type of the sum that the devices should compute from an unreduced operand.
Type summed(const Trial& trial, Type result) {
  for (const Input& input : trial.inputs())
    for (const auto& [axis, mark] : input.type.marks)
      if (mark == Mark::U) result.marks[axis] = mark;
  return result;
}

}  // namespace

std::string show(const Array<double>& x) {
  size_t next = 0;
  if (x.data.size() == 1) return Scalar<double>::text(x.data[0]);
  return nested(x, 0, next);
}

std::string show_mesh(const Sizes& sizes) {
  std::string text;
  for (const auto& [axis, size] : sizes.mesh)
    text += (text.empty() ? "" : " ") + axis + "=" + std::to_string(size);
  return text;
}

std::string show_dims(const ir::Program& program, const Sizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes.dims) {
    auto found = program.dims.find(name);
    const bool other = found != program.dims.end() && !found->second.shown.empty();
    text += (text.empty() ? "" : " ") + (other ? found->second.shown : name) + "=" +
            std::to_string(size);
  }
  return text;
}

std::string show_held(const Geometry& geometry, const Type& type, const Distributed<double>& x) {
  const std::vector<Axis> axes = varying(geometry, type);
  if (axes.empty()) return "each device holds " + show(x[0]);
  const std::vector<int64_t> copied = leaders(geometry, type, false, true);
  std::string text;
  for (int64_t device = 0; device < geometry.devices(); ++device) {
    if (copied[static_cast<size_t>(device)] != device) continue;
    text += (text.empty() ? "device " : ", ") + place(geometry, device, axes) + " holds " +
            show(x[static_cast<size_t>(device)]);
  }
  return text;
}

std::string show_each(const Geometry& geometry, const Distributed<double>& x) {
  if (x.size() == 2) return show(x[0]) + " and " + show(x[1]);
  std::vector<Axis> axes;
  for (const auto& [axis, size] : geometry.sizes().mesh)
    if (size > 1) axes.push_back(axis);
  std::string text;
  for (int64_t device = 0; device < geometry.devices(); ++device)
    text += (text.empty() ? "" : ", ") + place(geometry, device, axes) + ": " +
            show(x[static_cast<size_t>(device)]);
  return text;
}

std::string show_device(const Geometry& geometry, int64_t device) {
  std::vector<Axis> axes;
  for (const auto& [axis, size] : geometry.sizes().mesh) axes.push_back(axis);
  return axes.empty() ? "device" : place(geometry, device, axes);
}

HeldValue held_value(const Geometry& geometry, const Type& type, const Distributed<double>& x,
                     const std::string& name, const Array<double>* wanted) {
  HeldValue value{name, wanted != nullptr, {}};
  for (int64_t device = 0; device < geometry.devices(); ++device) {
    const Array<double> own = x[static_cast<size_t>(device)];
    value.held.push_back({show_device(geometry, device), own.shape, own.data,
                          expected_on(geometry, type, x, device, wanted)});
  }
  const auto whole = represented(geometry, type, x);
  const bool sum = has_mark(type, Mark::U), maximum = has_mark(type, Mark::Max);
  if (whole && (sum || maximum || !split_axes(type).empty()))
    value.held.push_back(
        {sum       ? "sum"
         : maximum ? "maximum"
                   : "put together",
         whole->shape, whole->data,
         wanted && wanted->shape == whole->shape ? wanted->data : std::vector<double>{}});
  if (wanted) value.held.push_back({"wanted", wanted->shape, wanted->data});
  return value;
}

Counterexample explain(const Trial& trial, const Values<double>& operands,
                       const std::vector<Type>& results, bool stated, size_t wrong) {
  const Geometry& geometry = trial.geometry();
  const std::string name = ir::name_of(trial.op());
  Counterexample example{
      show_mesh(geometry.sizes()), show_dims(geometry.program(), geometry.sizes()), {}, {}};
  for (size_t i = 0; i < operands.size(); ++i) {
    if (trial.inputs()[i].number || trial.inputs()[i].same_as) continue;
    example.lines.push_back(operand_line(trial, operands, i));
    example.values.push_back(
        held_value(geometry, trial.inputs()[i].type, operands[i], name_of(trial, i)));
  }
  const Distributed<double> got = trial.outcome(operands, results).at(wrong);
  const Type as = stated ? results.at(wrong) : summed(trial, results.at(wrong));
  example.lines.push_back(name + " on each: " + show_each(geometry, got) +
                          together(geometry, as, got, stated));
  const Array<double> value = trial.wanted(operands, results).at(wrong);
  example.values.push_back(held_value(geometry, as, got, name, &value));
  const std::string wanted = show(value);
  const bool moves = std::holds_alternative<ir::Collective>(trial.op());
  const std::string of = trial.inputs().size() == 1 ? " of the value: " : " of the values: ";
  example.lines.push_back(moves ? "the value, which " + name + " keeps: " + wanted
                                : name + of + wanted);
  return example;
}

}  // namespace shardproof::denote
