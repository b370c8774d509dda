#include "spec/check/devices.h"

#include "spec/check/derived.h"
#include "spec/check/mesh_points.h"
#include "spec/denote/represent.h"

namespace shardproof {

Devices::Values Devices::run(const World& world, size_t function, const Values& inputs) const {
  return denote::evaluate_on_mesh<double>(geometry(world), world.types, function, inputs, {},
                                          stand_in(world));
}

Devices::Values Devices::saved(const World& world, size_t backward, const Values& inputs) const {
  return denote::saved_on_mesh<double>(geometry(world), world.types, backward, inputs, {},
                                       stand_in(world));
}

const denote::Geometry& Devices::geometry(const World& world) const {
  const ir::Program& program = to_run_(world.program);
  auto& known = geometries_[&program];
  if (!known) known = std::make_unique<denote::Geometry>(program, sizes_);
  return *known;
}

denote::StandIn<double> Devices::stand_in(const World& world) const {
  return [this, world](const ir::Op& op, const Values& operands) -> std::optional<Values> {
    if (auto* grad = std::get_if<ir::Grad>(&op)) return gradient(world, *grad, operands);
    const size_t callee = std::get<ir::Call>(op).function;
    const ir::Function& function = world.program.functions.at(callee);
    const bool stands = use_models && function.model && world.proved.at(callee);
    if (!function.trusted && !stands) return std::nullopt;
    return as_model(world, callee, operands);
  };
}

std::vector<denote::Array<double>> Devices::whole(const World& world, size_t function,
                                                  const Values& inputs) const {
  const denote::Geometry& geometry = this->geometry(world);
  const ir::Function& named = geometry.program().functions.at(function);
  std::vector<denote::Array<double>> arrays;
  for (size_t i = 0; i < named.params.size(); ++i) {
    const Type& type = world.types.at(function).at(named.params[i]);
    auto array = denote::represented(geometry, type, inputs.at(i));
    if (!array)
      throw denote::Mismatch("the devices hold no value of " + to_string(type) + " for `" +
                             named.values.at(named.params[i]).name + "` of " + named.name);
    arrays.push_back(std::move(*array));
  }
  return arrays;
}

Devices::Values Devices::laid_out(const World& world, const std::vector<oracle::Tensor>& values,
                                  const std::vector<Type>& types) const {
  const denote::Geometry& geometry = this->geometry(world);
  Values results;
  for (size_t r = 0; r < values.size(); ++r) {
    denote::Array<double> array = array_of(values[r]);
    results.push_back(lay_out(geometry, types.at(r), array, rng_));
  }
  return results;
}

/// A trusted plan has no body: it runs as its model.
Devices::Values Devices::as_model(const World& world, size_t function, const Values& inputs) const {
  const ir::Program& program = to_run_(world.program);
  if (!program.functions.at(function).model)
    throw denote::Unsupported(program.functions[function].name +
                              " is trusted and has no model to run");
  const PointOfPlan point{&program, &world.types, function, sizes_, whole(world, function, inputs),
                          {}};
  return laid_out(world, claimed(point), point.plan().results);
}

/// For a plan and a derived backward that are proved: the model's value and gradients, once.
Devices::Values Devices::as_gradient_of_model(const World& world, const ir::Grad& op,
                                              const CheckedBackward& derived,
                                              const Values& inputs) const {
  const ir::Program& program = to_run_(world.program);
  const PointOfPlan point{
      &program, &world.types, op.function, sizes_, whole(world, op.function, inputs), {}};
  const oracle::Differentiated done = value_and_gradient_of_model(point, op.wrt);
  const CheckedProgram& checked = *derived.checked;
  const World own{checked.program(), checked.types(), checked.backwards()};
  Values results = laid_out(world, done.results, point.plan().results);
  for (auto& each : laid_out(own, done.gradients,
                             checked.program().functions.at(derived.report()->function).results))
    results.push_back(std::move(each));
  return results;
}

std::optional<Devices::Values> Devices::gradient(const World& world, const ir::Grad& op,
                                                 Values operands) const {
  const auto found = world.backwards.find({op.function, op.wrt});
  if (found == world.backwards.end() || !found->second->report()) return std::nullopt;
  const ir::Function& plan = world.program.functions.at(op.function);
  const bool stands = use_models && plan.model && world.proved.at(op.function);
  if (op.with_value && stands && found->second->verdict() == Verdict::proved)
    return as_gradient_of_model(world, op, *found->second, operands);
  Values results;
  if (op.with_value) {
    results = stands ? as_model(world, op.function, operands) : run(world, op.function, operands);
    operands.emplace_back(static_cast<size_t>(sizes_.devices()), denote::Extents{}, 1.0);
  }
  for (auto& each : backward(*found->second, plan.params.size(), std::move(operands)))
    results.push_back(std::move(each));
  return results;
}

/// The derived backward belongs to another program; there its model is its claim.
Devices::Values Devices::backward(const CheckedBackward& derived, size_t params,
                                  Values operands) const {
  const CheckedProgram& checked = *derived.checked;
  const World own{checked.program(), checked.types(), checked.backwards(),
                  std::vector<bool>(checked.program().functions.size())};
  const size_t function = derived.report()->function;
  if (use_models && derived.verdict() == Verdict::proved) return as_model(own, function, operands);
  const Values primal(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(params));
  for (auto& each : saved(own, function, primal)) operands.push_back(std::move(each));
  return run(own, function, operands);
}

}  // namespace shardproof
