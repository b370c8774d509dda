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
    if (!world.program.functions.at(callee).trusted) return std::nullopt;
    return trusted(world, callee, operands);
  };
}

/// A trusted plan has no body: it runs as its model.
Devices::Values Devices::trusted(const World& world, size_t function, const Values& inputs) const {
  const ir::Program& program = to_run_(world.program);
  const denote::Geometry geometry(program, sizes_);
  PointOfPlan point{&program, &world.types, function, sizes_, {}, {}};
  if (!point.plan().model)
    throw denote::Unsupported(point.plan().name + " is trusted and has no model to run");
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto whole = denote::represented(geometry, point.param_type(i), inputs[i]);
    if (!whole) throw denote::Mismatch("the devices hold no value of the parameter's type");
    point.whole.push_back(std::move(*whole));
  }
  Values results;
  const std::vector<oracle::Tensor> values = claimed(point);
  for (size_t r = 0; r < values.size(); ++r) {
    denote::Array<double> array = array_of(values[r]);
    results.push_back(lay_out(geometry, point.plan().results.at(r), array, rng_));
  }
  return results;
}

/// By the derived backward, which stands in a program of its own.
std::optional<Devices::Values> Devices::gradient(const World& world, const ir::Grad& op,
                                                 Values operands) const {
  const auto found = world.backwards.find({op.function, op.wrt});
  if (found == world.backwards.end() || !found->second->report()) return std::nullopt;
  const CheckedProgram& checked = *found->second->checked;
  const World own{checked.program(), checked.types(), checked.backwards()};
  const size_t backward = found->second->report()->function;
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

}  // namespace shardproof
