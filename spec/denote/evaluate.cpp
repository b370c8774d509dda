#include "spec/denote/evaluate.h"

#include "spec/denote/evaluator.h"

namespace shardproof::denote {
namespace {

template <class S>
std::vector<Distributed<S>> on_one_device(const std::vector<Array<S>>& inputs) {
  std::vector<Distributed<S>> single;
  for (const Array<S>& input : inputs) single.push_back({input});
  return single;
}

/// Marks the functions that are called, also in loops. Returns false if there is a gradient, which
/// may need other functions.
bool mark_calls(const ir::Program& program, const ir::Block& block, std::vector<bool>& reached);

bool mark(const ir::Program& program, size_t function, std::vector<bool>& reached) {
  if (reached.at(function)) return true;
  reached[function] = true;
  const ir::Function& f = program.functions[function];
  return !f.implements_grad && (!f.model || mark(program, *f.model, reached)) &&
         mark_calls(program, f.body, reached);
}

bool mark_calls(const ir::Program& program, const ir::Block& block, std::vector<bool>& reached) {
  for (const ir::Instr& instr : block.instrs) {
    if (std::holds_alternative<ir::Grad>(instr.op)) return false;
    if (const auto* call = std::get_if<ir::Call>(&instr.op))
      if (!mark(program, call->function, reached)) return false;
    const bool inside = std::visit(
        [&](const auto& op) {
          if constexpr (requires { op.body; })
            return !op.body || mark_calls(program, *op.body, reached);
          return true;
        },
        instr.op);
    if (!inside) return false;
  }
  return true;
}

template <class S>
std::vector<Array<S>> of_one_device(const std::vector<Distributed<S>>& single) {
  std::vector<Array<S>> results;
  for (const Distributed<S>& result : single) results.push_back(result[0]);
  return results;
}

}  // namespace

Types types_of(const ir::Program& program) {
  Types types;
  for (const ir::Function& function : program.functions) {
    types.emplace_back();
    for (const ir::Value& value : function.values) types.back().push_back(value.type);
  }
  return types;
}

Types types_for(const ir::Program& program, size_t function) {
  std::vector<bool> reached(program.functions.size(), false);
  if (!mark(program, function, reached)) return types_of(program);
  Types types(reached.size());
  for (size_t f = 0; f < reached.size(); ++f)
    if (reached[f])
      for (const ir::Value& value : program.functions[f].values) types[f].push_back(value.type);
  return types;
}

template <class S>
std::vector<Distributed<S>> evaluate_on_mesh(const Geometry& geometry, const Types& types,
                                             size_t function,
                                             const std::vector<Distributed<S>>& inputs,
                                             const Backwards& backwards,
                                             const StandIn<S>& stand_in) {
  return Evaluator<S>(geometry, types, &backwards, stand_in).call(function, inputs);
}

template <class S>
std::vector<Array<S>> evaluate(const ir::Program& program, size_t function, const Sizes& sizes,
                               const std::vector<Array<S>>& inputs, const Watch<S>& watch) {
  const Geometry geometry(program, {{}, sizes.dims});
  const Types types = types_for(program, function);
  const Backwards none;
  return of_one_device(
      Evaluator<S>(geometry, types, &none, {}, watch).call(function, on_one_device(inputs)));
}

template <class S>
std::vector<Distributed<S>> saved_on_mesh(const Geometry& geometry, const Types& types,
                                          size_t backward,
                                          const std::vector<Distributed<S>>& inputs,
                                          const Backwards& backwards, const StandIn<S>& stand_in) {
  return Evaluator<S>(geometry, types, &backwards, stand_in).saved(backward, inputs);
}

template <class S>
std::vector<Array<S>> saved(const ir::Program& program, size_t backward, const Sizes& sizes,
                            const std::vector<Array<S>>& inputs) {
  return of_one_device(saved_on_mesh<S>(Geometry(program, {{}, sizes.dims}), types_of(program),
                                        backward, on_one_device(inputs)));
}

#define SHARDPROOF_INSTANTIATE(S)                                                              \
  template std::vector<Distributed<S>> evaluate_on_mesh(const Geometry&, const Types&, size_t, \
                                                        const std::vector<Distributed<S>>&,    \
                                                        const Backwards&, const StandIn<S>&);  \
  template std::vector<Array<S>> evaluate(const ir::Program&, size_t, const Sizes&,            \
                                          const std::vector<Array<S>>&, const Watch<S>&);      \
  template std::vector<Distributed<S>> saved_on_mesh(const Geometry&, const Types&, size_t,    \
                                                     const std::vector<Distributed<S>>&,       \
                                                     const Backwards&, const StandIn<S>&);     \
  template std::vector<Array<S>> saved(const ir::Program&, size_t, const Sizes&,               \
                                       const std::vector<Array<S>>&);
SHARDPROOF_INSTANTIATE(Rational)
SHARDPROOF_INSTANTIATE(Field)
SHARDPROOF_INSTANTIATE(double)
#undef SHARDPROOF_INSTANTIATE

}  // namespace shardproof::denote
