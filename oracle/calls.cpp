// Calls of functions and of their gradients.
#include "oracle/ops.h"
#include "spec/ir/claim.h"

namespace shardproof::oracle {
namespace {

std::vector<Tensor> values_of(const Vars& vars, size_t begin, size_t end) {
  std::vector<Tensor> result;
  for (size_t i = begin; i < end; ++i) result.push_back(vars.at(i)->value);
  return result;
}

// A trusted plan has no body: it is the model, or the model's gradient at its arguments.
Vars run_trusted(Run& run, const ir::Function& function, const Vars& arguments) {
  if (!function.model)
    throw std::domain_error("a trusted plan that implements nothing is no value");
  if (!function.implements_grad) return run_function(run, *function.model, arguments);
  for (const Var& argument : arguments)
    if (argument->followed)
      throw std::domain_error("`" + function.name + "` is a gradient, and has none itself");
  const size_t inputs = run.program.functions[*function.model].params.size();
  const std::vector<Tensor> upstream = values_of(arguments, inputs, function.params.size());
  Vars results;
  for (Tensor& gradient : differentiate(run.program, *function.model, run.sizes,
                                        values_of(arguments, 0, inputs), &upstream, function.wrt)
                              .gradients)
    results.push_back(constant(std::move(gradient)));
  return results;
}

std::string place(size_t flat, const Extents& shape) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    const auto extent = static_cast<size_t>(shape[d]);
    text = std::to_string(flat % extent) + (text.empty() ? "" : ", ") + text;
    flat /= extent;
  }
  return "[" + text + "]";
}

// The block of this shape at the origin.
Tensor first_entries(const Tensor& x, const Extents& shape) {
  Tensor block;
  block.shape = shape;
  for (size_t flat = 0; flat < x.data.size(); ++flat) {
    bool inside = true;
    for (size_t d = shape.size(), rest = flat; d-- > 0; rest /= static_cast<size_t>(x.shape[d]))
      inside = inside && rest % static_cast<size_t>(x.shape[d]) < static_cast<size_t>(shape[d]);
    if (inside) block.data.push_back(x.data[flat]);
  }
  return block;
}

// What the function assumes is a check here: every entry satisfies it.
void check_assumptions(Run& run, const ir::Function& function, const Vars& arguments) {
  for (const ir::Assumption& each : run.program.assumptions(function)) {
    const Tensor& argument = arguments.at(each.leaf)->value;
    const Name& name = function.values[function.params[each.leaf]].name;
    for (size_t i = 0; i < argument.data.size(); ++i)
      if (!run.table.holds(each, argument.data[i]))
        throw Error("assume", name, function.name, {argument.shape},
                    each.text(name) + " does not hold: " + name + place(i, argument.shape) +
                        " is " + std::to_string(argument.data[i]));
  }
}

}  // namespace

std::vector<ir::ValueId> all_params(const ir::Function& function) {
  std::vector<ir::ValueId> params = function.params;
  params.insert(params.end(), function.saved_params.begin(), function.saved_params.end());
  return params;
}

Vars run_function(Run& run, size_t index, const Vars& arguments) {
  const ir::Function& function = run.program.functions.at(index);
  check_assumptions(run, function, arguments);
  if (function.trusted) return run_trusted(run, function, arguments);
  Frame frame{function, run.table.shapes(function), Vars(function.values.size())};
  const std::vector<ir::ValueId> params = all_params(function);
  for (size_t i = 0; i < params.size(); ++i) frame.values[params[i]] = arguments.at(i);
  run_block(run, frame, function.body);
  Vars results;
  results.reserve(function.returned.size());
  for (ir::ValueId id : function.returned) results.push_back(frame.values.at(id));
  return results;
}

Vars apply(const ir::Call& op, Site& site) {
  return run_function(site.run, op.function, site.operands());
}

// The derivative of what the callee claims to be: a plan's model where it has one. It is computed
// on a tape of its own, and has itself no gradient.
Vars apply(const ir::Grad& op, Site& site) {
  const ir::Program& program = site.run.program;
  const Vars operands = site.operands();
  const size_t inputs = program.functions.at(op.function).params.size();
  std::vector<Tensor> upstream = values_of(operands, inputs, operands.size());
  const size_t claim = ir::claim_of(program, op.function);
  const std::vector<Type>& claimed = program.functions.at(claim).results;
  for (size_t i = 0; claim != op.function && i < upstream.size(); ++i)
    upstream[i] = first_entries(upstream[i], site.run.table.extents(claimed.at(i).dims));
  Differentiated done =
      differentiate(program, model_of(program, claim), site.run.sizes,
                    values_of(operands, 0, inputs), op.with_value ? nullptr : &upstream, op.wrt);
  std::vector<Tensor> all = std::move(done.gradients);
  if (op.with_value) all.insert(all.begin(), done.results.at(0));
  const bool followed = one_is_followed(operands);
  Vars results;
  for (Tensor& each : all)
    results.push_back(site.record(std::move(each), followed, [](const Node&) {
      throw std::domain_error("the gradient of a gradient is asked for, and it has none");
    }));
  return results;
}

size_t model_of(const ir::Program& program, size_t function) {
  while (program.functions.at(function).model && !program.functions[function].implements_grad)
    function = *program.functions[function].model;
  if (program.functions[function].implements_grad)
    throw std::domain_error("`" + program.functions[function].name + "` is a gradient itself");
  return function;
}

}  // namespace shardproof::oracle
