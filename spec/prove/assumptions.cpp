// Whether the assumptions of a plan on its sizes can hold together.
#include <algorithm>
#include <stdexcept>

#include "spec/prove/size_conditions.h"
#include "spec/prove/size_terms.h"

namespace shardproof {
namespace {

std::vector<SizeFact> facts_of(const ir::Program& program,
                               const std::vector<Divisibility>& conditions,
                               const ir::Function* function) {
  SizeTerms terms(program);
  std::vector<SizeFact> facts;
  const auto numbers = function ? literals_of(*function) : std::map<ir::ValueId, std::string>{};
  for (const ir::Requirement& each : requirements_of(program, function))
    facts.push_back({terms.requirement(each.condition, numbers),
                     each.words.empty() ? "require " + ir::to_string(each.condition) : each.words,
                     each.range, true});
  for (const Divisibility& condition : conditions)
    facts.push_back({terms.condition(condition), to_string(condition), {}, false});
  for (const auto& [name, info] : program.dims)
    if (info.size) terms.size(Dim{{name}});
  for (const SizeFact& definition : terms.definitions()) facts.push_back(definition);
  return facts;
}

/// Drops facts that the contradiction does not need.
std::vector<size_t> minimal(const std::vector<SizeFact>& facts, std::vector<size_t> core,
                            smt::Solver& solver) {
  for (size_t i = 0; i < core.size();) {
    std::vector<smt::Term> rest;
    for (size_t k = 0; k < core.size(); ++k)
      if (k != i) rest.push_back(facts[core[k]].formula);
    if (solver.satisfy(rest).kind == smt::Satisfaction::Kind::unsat)
      core.erase(core.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
  return core;
}

Diagnostic contradiction(const std::vector<SizeFact>& facts, const std::vector<size_t>& core,
                         const ir::Function* function) {
  Diagnostic diagnostic;
  diagnostic.code = "E0111";
  diagnostic.message = "these assumptions contradict each other: no mesh and no sizes satisfy them";
  if (function) diagnostic.range = function->name_range;
  for (size_t i : core) {
    if (facts[i].stated) diagnostic.range = facts[i].range;
    diagnostic.details.push_back(facts[i].words);
  }
  diagnostic.label = "it cannot hold together with what is listed below";
  add_help(diagnostic);
  return diagnostic;
}

}  // namespace

Assumptions check_assumptions(const ir::Program& program,
                              const std::vector<Divisibility>& conditions, smt::Solver& solver,
                              const ir::Function* function) {
  Assumptions result;
  result.obligation = {"assumptions",
                       smt::Kind::size,
                       "some mesh and sizes satisfy everything that is assumed",
                       {},
                       smt::Term::truth(true),
                       true,
                       {}};
  std::vector<SizeFact> facts;
  try {
    facts = facts_of(program, conditions, function);
  } catch (const std::domain_error&) {
    return result;
  } catch (const std::out_of_range&) {
    return result;
  }
  for (const SizeFact& fact : facts) result.obligation.assumptions.push_back(fact.formula);
  result.example = smallest_sizes(program, conditions, function);
  if (result.example) {
    result.kind = Assumptions::Kind::satisfiable;
    return result;
  }
  smt::Satisfaction found = solver.satisfy(result.obligation.assumptions);
  if (found.kind == smt::Satisfaction::Kind::sat) result.kind = Assumptions::Kind::satisfiable;
  if (found.kind != smt::Satisfaction::Kind::unsat) return result;
  result.kind = Assumptions::Kind::contradictory;
  result.diagnostic = contradiction(facts, minimal(facts, found.core, solver), function);
  return result;
}

}  // namespace shardproof
