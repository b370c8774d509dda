// A numeric example of a right value with a wrong gradient: I mixed with another state.
#include "spec/denote/adjoint.h"
#include "spec/denote/array.h"
#include "spec/denote/counterexample.h"
#include "spec/denote/show.h"

namespace shardproof::denote {
namespace {

constexpr size_t most_inputs = 64;

/// Operands with arbitrary values: they enter a gradient only as factors.
Values<double> some_operands(const Trial& trial) {
  std::vector<double> numbers;
  for (const FreeEntry& entry : trial.free_entries())
    numbers.push_back(is_float(trial.inputs()[entry.operand].type.dtype) ? 1 : 0);
  return trial.operands(numbers);
}

/// 1, 2, ... on the devices where values may differ.
Distributed<double> some_gradient(const Geometry& geometry, const Type& type) {
  Distributed<double> gradient(static_cast<size_t>(geometry.devices()), geometry.local_shape(type));
  const std::vector<int64_t> copied = leaders(geometry, type, false, true);
  double next = 1;
  for (size_t device = 0; device < copied.size(); ++device) {
    const auto from = static_cast<size_t>(copied[device]);
    if (from != device) std::ranges::copy(gradient.on(from), gradient.on(device).begin());
    for (size_t k = 0; k < gradient.on(device).size() && from == device; ++k)
      gradient.on(device)[k] = next++;
  }
  return gradient;
}

bool value_fits(const Trial& trial, const Values<double>& operands,
                const std::vector<Type>& results) {
  const auto got =
      represented(trial.geometry(), results.at(0), trial.outcome(operands, results).at(0));
  return got && same(*got, trial.wanted(operands, results).at(0));
}

std::string lower(const Type& type, const std::string& wanted) {
  for (const auto& [axis, mark] : type.marks)
    if (mark == Mark::I) return "each device should hold all of it, " + wanted;
  return "it should be " + wanted;
}

std::optional<Counterexample> gradients(const Trial& trial, const std::vector<Type>& results) {
  const Geometry& geometry = trial.geometry();
  const std::vector<Axis> axes = axes_of(shapes_of(trial.op(), types_of(trial.inputs()), results));
  const Values<double> operands = some_operands(trial);
  if (!value_fits(trial, operands, results)) return {};
  const Type incoming = dual(results.at(0), axes);
  const Distributed<double> gradient = some_gradient(geometry, incoming);
  const Array<double> whole = represented(geometry, incoming, gradient).value();
  for (size_t i = 0; i < operands.size(); ++i) {
    const Input& input = trial.inputs()[i];
    if (!takes_gradient(input)) continue;
    const Type outgoing = dual(input.type, axes);
    const auto own = local_adjoint(trial, operands, results, i, gradient);
    const auto got = represented(geometry, outgoing, own);
    const auto wanted = whole_adjoint(trial, operands, results, i, whole);
    if (got && same(*got, wanted)) continue;
    const std::string name = input.name.empty() ? "operand " + std::to_string(i + 1) : input.name;
    std::string sum = got && !outgoing.marks.empty() ? ", sum " + show(*got) : "";
    return Counterexample{
        show_mesh(geometry.sizes()),
        show_dims(geometry.program(), geometry.sizes()),
        {"gradient of the result: " + show_held(geometry, incoming, gradient) +
             (leader(geometry, incoming, geometry.devices() - 1, false, true) == 0
                  ? ""
                  : ": it is " + show(whole)),
         "each device's gradient of " + name + ": " + show_each(geometry, own) + sum,
         "the gradient of " + name + ": " + lower(outgoing, show(wanted))},
        {held_value(geometry, incoming, gradient, "gradient of the result"),
         held_value(geometry, outgoing, own, "gradient of " + name, &wanted)}};
  }
  return {};
}

}  // namespace

std::optional<Counterexample> find_adjoint_counterexample(const ir::Program& program,
                                                          const ir::Op& op,
                                                          const std::vector<Input>& operands,
                                                          const std::vector<Type>& stated,
                                                          const Axis& about) {
  try {
    const std::vector<Type> types = types_of(operands);
    const std::vector<Type> whole = stated.empty() ? whole_results(op, types) : stated;
    std::vector<Type> results = stated;
    if (results.empty()) {
      constexpr size_t most_axes = 5;  // their types are exponentially many
      const std::vector<Axis> axes = axes_of(shapes_of(op, types, whole));
      if (axes.size() > most_axes) return {};
      results = candidate_types(whole.at(0), axes, true);
    }
    const Sizings sizings(program, shapes_of(op, types, whole), about);
    for (const Sizes& sizes : sizings.all()) {
      const Geometry geometry(sizings.program(), sizes);
      const Trial trial(geometry, op, operands);
      if (trial.free_entries().size() > most_inputs) continue;
      for (const Type& result : results) try {
          if (auto example = gradients(trial, {result})) return example;
        } catch (const Error&) {  // these sizes do not fit
        }
    }
  } catch (const std::exception&) {  // the op has no denotation
  }
  return {};
}

}  // namespace shardproof::denote
