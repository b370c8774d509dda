#include "spec/check/devices.h"

#include "spec/check/derived.h"
#include "spec/check/mesh_points.h"
#include "spec/denote/represent.h"

namespace shardproof {

Devices::Values Devices::run(const World& world, size_t function, const Values& inputs) const {
  return denote::evaluate_on_mesh<double>(to_run_(world.program), world.types, function, sizes_,
                                          inputs, {}, stand_in(world));
}

Devices::Values Devices::saved(const World& world, size_t backward, const Values& inputs) const {
  return denote::saved_on_mesh<double>(to_run_(world.program), world.types, backward, sizes_,
                                       inputs, {}, stand_in(world));
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
  const ir::Program& program = to_run_(world.program);
  const denote::Geometry geometry(program, sizes_);
  const ir::Function& named = program.functions.at(function);
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
  const denote::Geometry geometry(to_run_(world.program), sizes_);
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

std::optional<Devices::Values> Devices::gradient(const World& world, const ir::Grad& op,
                                                 const Values& operands) const {
  const auto found = world.backwards.find({op.function, op.wrt});
  if (found == world.backwards.end() || !found->second->report()) return std::nullopt;
  const CheckedProgram& checked = *found->second->checked;
  const size_t backward = found->second->report()->function;
  const World own{checked.program(), checked.types(), checked.backwards(),
                  std::vector<bool>(checked.program().functions.size())};
  const bool stands = use_models && found->second->verdict() == Verdict::proved &&
                      world.program.functions.at(op.function).model.has_value();
  return stands ? by_model(world, own, op, backward, operands)
                : by_backward(world, own, op, backward, operands);
}

/// The derived backward stands in a program of its own.
Devices::Values Devices::by_backward(const World& world, const World& own, const ir::Grad& op,
                                     size_t backward, Values operands) const {
  Values results;
  if (op.with_value) {
    results = run(world, op.function, operands);
    const denote::Array<double> one{{}, {1.0}};
    operands.push_back({static_cast<size_t>(sizes_.devices()), one});
  }
  const size_t params = world.program.functions.at(op.function).params.size();
  const Values primal(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(params));
  for (auto& each : saved(own, backward, primal)) operands.push_back(std::move(each));
  for (auto& each : run(own, backward, operands)) results.push_back(std::move(each));
  return results;
}

/// The gradient of the model, at the types of the backward's results.
Devices::Values Devices::by_model(const World& world, const World& own, const ir::Grad& op,
                                  size_t backward, const Values& operands) const {
  const ir::Program& program = to_run_(world.program);
  const ir::Function& plan = program.functions.at(op.function);
  const ir::Function& derived = own.program.functions.at(backward);
  const denote::Geometry geometry(program, sizes_);
  PointOfPlan point{&program, &world.types, op.function, sizes_, {}, {}};
  point.whole = whole(world, op.function, operands);
  Values results;
  if (op.with_value) results = laid_out(world, claimed(point), plan.results);
  std::vector<oracle::Tensor> upstream;
  if (op.with_value) upstream.push_back(oracle::scalar(1));
  for (size_t i = plan.params.size(); i < operands.size(); ++i) {
    const Type& type = own.types.at(backward).at(derived.params.at(i));
    const auto array = denote::represented(geometry, type, operands[i]);
    if (!array) throw denote::Mismatch("the devices hold no gradient of " + to_string(type));
    upstream.push_back(whole_tensor(*array, type.dtype));
  }
  for (auto& each : laid_out(world, model_gradient(point, op.wrt, upstream), derived.results))
    results.push_back(std::move(each));
  return results;
}

}  // namespace shardproof
