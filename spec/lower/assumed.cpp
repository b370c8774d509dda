// `assume` in a fn: facts of its parameters, and what its callers owe.
#include <algorithm>

#include "spec/lower/context.h"

namespace shardproof::lower {

void Context::declare_assumptions(const Frame& frame) {
  for (const ir::Assumption& each : program.assumptions(frame.function)) {
    const ir::ValueId param = frame.function.params.at(each.leaf);
    const Nf entry = frame.values.at(param)->body;
    for (const ir::Assumption::Bound& bound : each.bounds)
      if (bound.op != "==" && bound.op != "!=") declare(entry, bound.op, arith(bound.to, nullptr));
    assume(each.text(frame.function.values.at(param).name));
  }
}

namespace {

bool known(algebra::Algebra& a, Nf l, const std::string& op, Nf r) {
  if (op == "==") return a.is_zero(a.sub(l, r));
  if (op == "!=") return a.known_positive(a.sub(l, r)) || a.known_positive(a.sub(r, l));
  const Nf gap = op[0] == '>' ? a.sub(l, r) : a.sub(r, l);
  if (op.size() == 1) return a.known_positive(gap);
  return a.known_nonnegative(gap) ||
         (a.known_integer(gap) && a.known_positive(a.add(gap, a.number(1))));
}

}  // namespace

void Context::check_call(size_t callee, const Site& site) {
  if (!site.frame.top || quiet()) return;
  for (ir::Assumption& each : program.assumptions(program.functions.at(callee))) {
    const ir::ValueId argument = site.instr.operands.at(each.leaf);
    const Nf entry = as_index(site.frame.values.at(argument)->body);
    const bool met = std::all_of(each.bounds.begin(), each.bounds.end(), [&](const auto& bound) {
      return known(a, entry, bound.op, arith(bound.to, nullptr));
    });
    if (met) continue;
    const SourceRange range = site.instr.place.range;
    const bool told = std::any_of(unmet.begin(), unmet.end(), [&](const Unmet& other) {
      return other.range == range && other.callee == callee &&
             other.assumption.range == each.range && other.argument == argument;
    });
    if (!told) unmet.push_back({range, callee, argument, std::move(each)});
  }
}

}  // namespace shardproof::lower
