// Lowers what a hand-written backward is compared with: the model's gradient, and the saved values.
#include "spec/lower/derivative.h"

namespace shardproof::lower {

namespace {

Context context(algebra::Algebra& algebra, const ir::Program& program, const Options& options,
                const Request& request) {
  return {algebra, program, options, *request.variables, request.reach};
}

/// The cotangents of the model's results: the claimant's parameters after those of the model.
std::vector<TensorExpr> seeds(Context& c, const ir::Function& claimant, const ir::Function& model) {
  std::vector<TensorExpr> result;
  for (size_t i = 0; i < model.returned.size(); ++i) {
    const ir::Value& g = claimant.values.at(claimant.params.at(model.params.size() + i));
    result.push_back(c.leaf(g.name, g.type));
  }
  return result;
}

ir::ValueId saved_value(const ir::Function& plan, const Name& name) {
  for (const ir::Instr& instr : plan.body.instrs)
    if (std::holds_alternative<ir::Save>(instr.op) &&
        plan.values.at(instr.results.at(0)).name == name)
      return instr.results[0];
  throw Unsupported("save inside a loop", {plan.name_range, {}, {}});
}

}  // namespace

Lowered lower_gradient(algebra::Algebra& algebra, const ir::Program& program,
                       const Request& request, const Options& options) {
  const ir::Function& claimant = program.functions.at(request.function);
  Context c = context(algebra, program, options, request);
  Request forward = request;
  forward.function = claimant.model.value(), forward.arguments = nullptr;
  Frame frame = c.top_frame(forward);
  frame.taped = true;
  const ir::Function& model = frame.function;
  c.block(model.body, frame, model.returned);
  std::vector<size_t> wrt, places;
  for (size_t i = 0; i < claimant.wrt.size(); ++i)
    if (request.wanted == nullptr || request.wanted->at(i))
      wrt.push_back(claimant.wrt[i]), places.push_back(i);
  const std::vector<TensorExpr> found = gradients(c, frame, seeds(c, claimant, model), wrt);
  std::vector<TensorExpr> results(claimant.wrt.size(), TensorExpr{{}, algebra.number(0)});
  for (size_t k = 0; k < places.size(); ++k) results[places[k]] = found[k];
  return c.finish(std::move(results));
}

Lowered lower_saved(algebra::Algebra& algebra, const ir::Program& program, const Request& request,
                    const Options& options) {
  const ir::Function& claimant = program.functions.at(request.function);
  Context c = context(algebra, program, options, request);
  Request forward = request;
  forward.function = claimant.after.value(), forward.arguments = nullptr;
  Frame frame = c.top_frame(forward);
  std::vector<ir::ValueId> values;
  for (ir::ValueId v : claimant.saved_params)
    values.push_back(saved_value(frame.function, claimant.values.at(v).name));
  c.block(frame.function.body, frame, values);
  std::vector<TensorExpr> results;
  for (ir::ValueId v : values) results.push_back(*frame.values.at(v));
  return c.finish(std::move(results));
}

}  // namespace shardproof::lower
