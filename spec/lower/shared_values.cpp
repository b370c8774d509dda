// Values that plan and model share, as leaves: a loss is compared for any advantage, once both have
// computed the same one.
#include "spec/lower/shared_values.h"

#include "spec/algebra/engine.h"
#include "spec/lower/aligned.h"

namespace shardproof::lower {

namespace {

using algebra::Algebra;
using algebra::Fault;
using algebra::Nf;

/// Whether a leaf in its place makes a term simpler.
bool is_composed(Algebra& a, Nf e) {
  algebra::Engine& g = a.engine();
  if (a.variables(e).empty() && a.as_number(e)) return false;
  const auto alone = g.single_atom(e);
  return !alone || g.derived(*alone) != nullptr;
}

bool equal(Algebra& a, const TensorExpr& plan, const TensorExpr& model) {
  if (!same_ranges(a, plan, model)) return false;
  return a.engine().fault == Fault::shared_unequal || aligned(a, plan, model) == model.body;
}

}  // namespace

SharedValues shared_values(Algebra& a, const ir::Program& program,
                           std::pair<size_t, const Lowered*> plan,
                           std::pair<size_t, const Lowered*> model, Shared which) {
  SharedValues shared;
  const auto value_of = [&](size_t function, ir::ValueId v) -> const ir::Value& {
    return program.functions.at(function).values.at(v);
  };
  std::vector<std::pair<TensorExpr, SharedLeaf>> known;
  const auto leaf_of = [&](const TensorExpr& value) {
    for (const auto& [other, leaf] : known)
      if (equal(a, value, other)) return leaf;
    const bool positive = a.known_positive(value.body) || a.engine().fault == Fault::shared_sign;
    known.push_back(
        {value,
         {"shared " + std::to_string(known.size()), positive, a.known_nonnegative(value.body)}});
    return known.back().second;
  };
  for (const auto& [own, value] : plan.second->values) {
    const ir::Value& here = value_of(plan.first, own);
    if (!is_float(here.type.dtype) || !is_composed(a, value.body)) continue;
    for (const auto& [other, meant] : model.second->values) {
      const ir::Value& there = value_of(model.first, other);
      if (which == Shared::named && here.name.empty() && there.name.empty()) continue;
      if (!is_float(there.type.dtype) || !equal(a, value, meant)) continue;
      shared.plan[own] = shared.model[other] = leaf_of(meant);
    }
  }
  return shared;
}

}  // namespace shardproof::lower
