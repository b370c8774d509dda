#include "spec/prove/rule_proofs.h"

#include <algorithm>
#include <functional>

#include "spec/denote/runner.h"
#include "spec/prove/symbolic.h"

namespace shardproof {

using smt::Term;
using Local = denote::Distributed<Symbolic>;

namespace {

/// Local values of one operand and the whole tensor that they represent.
struct Represented {
  denote::Array<Symbolic> whole;
  Local local;
  std::vector<Term> assumptions;
};

std::optional<Mark> reducing(const Type& type, const Axis& axis) {
  auto mark = type.marks.find(axis);
  if (mark == type.marks.end() || mark->second == Mark::I) return std::nullopt;
  return mark->second;
}

/// "whole is the sum, or the maximum, of parts".
std::vector<Term> combines(const Term& whole, const std::vector<Term>& parts, Mark mark) {
  if (mark == Mark::U) {
    Term sum(0);
    for (const Term& part : parts) sum = sum + part;
    return {equal(whole, sum)};
  }
  std::vector<Term> result, one;
  for (const Term& part : parts) {
    result.push_back(less_equal(part, whole));
    one.push_back(equal(part, whole));
  }
  result.push_back(smt::disj(one));
  return result;
}

Represented represent(const denote::Geometry& geometry, const Type& type, size_t operand) {
  Represented result;
  result.whole.shape = geometry.global_shape(type);
  const std::string stem = "x" + std::to_string(operand) + ".";
  const auto mark = reducing(type, "t");
  for (int64_t i = 0; i < denote::count(result.whole.shape); ++i)
    result.whole.data.push_back(Symbolic(smt::real(stem + std::to_string(i))));
  for (int64_t d = 0; d < geometry.devices(); ++d) {
    denote::Array<Symbolic> local{geometry.local_shape(type), {}};
    for (int64_t i : geometry.global_indices(type, d))
      local.data.push_back(
          mark ? Symbolic(smt::real(stem + std::to_string(i) + ".on" + std::to_string(d)))
               : denote::at(result.whole, i));
    result.local.push_back(local);
  }
  for (size_t i = 0; mark && i < result.whole.data.size(); ++i) {
    std::vector<Term> parts;
    for (size_t d = 0; d < result.local.size(); ++d) parts.push_back(result.local.on(d)[i].term());
    for (Term& each : combines(result.whole.data[i].term(), parts, *mark))
      result.assumptions.push_back(std::move(each));
  }
  return result;
}

/// The local values represent `whole` at `type`.
Term represents(const denote::Geometry& geometry, const Type& type, const Local& local,
                const denote::Array<Symbolic>& whole) {
  const auto mark = reducing(type, "t");
  if (local.shape() != geometry.local_shape(type)) return Term::truth(false);
  std::vector<Term> result;
  for (size_t d = 0; d < local.size() && !mark; ++d) {
    const auto indices = geometry.global_indices(type, static_cast<int64_t>(d));
    for (size_t k = 0; k < indices.size(); ++k)
      result.push_back(equal(local.on(d)[k].term(), denote::at(whole, indices[k]).term()));
  }
  for (size_t i = 0; mark && i < whole.data.size(); ++i) {
    std::vector<Term> parts;
    for (size_t d = 0; d < local.size(); ++d) parts.push_back(local.on(d)[i].term());
    for (Term& each : combines(whole.data[i].term(), parts, *mark))
      result.push_back(std::move(each));
  }
  return smt::conj(result);
}

denote::Sizes sizes(int64_t axis, int64_t dims) {
  denote::Sizes result;
  result.mesh = {{"t", axis}};
  for (const auto& [name, info] : rule_program().dims) result.dims[name] = dims;
  return result;
}

/// The op's results for the operands' local values.
Local run_on(const denote::Geometry& geometry, const RuleCase& rule,
             const std::vector<Local>& values) {
  std::vector<denote::Held<Symbolic>> held;
  for (size_t i = 0; i < values.size(); ++i) held.push_back({rule.operands[i], values[i]});
  return denote::run<Symbolic>(geometry, rule.instr, held, {rule.result}).at(0);
}

}  // namespace

smt::Obligation rule_obligation(const RuleCase& rule, int64_t devices) {
  const denote::Geometry mesh(rule_program(), sizes(devices, devices));
  const denote::Geometry one(rule_program(), sizes(1, devices));
  smt::Obligation result{rule.text(),
                         smt::Kind::rule,
                         rule.text() + ", on " + std::to_string(devices) + " devices, all values",
                         {},
                         Term::truth(true),
                         false,
                         {}};
  std::vector<Local> locals, wholes;
  for (size_t i = 0; i < rule.operands.size(); ++i) {
    Represented operand = represent(mesh, rule.operands[i], i);
    result.assumptions.insert(result.assumptions.end(), operand.assumptions.begin(),
                              operand.assumptions.end());
    locals.push_back(std::move(operand.local));
    wholes.push_back({std::move(operand.whole)});
  }
  std::vector<Term> goals;
  Path::explore([&](Path& path) {
    // On one device a collective does nothing, so the op is its own erasure there.
    const Local whole = run_on(one, rule, wholes);
    const Local local = run_on(mesh, rule, locals);
    std::vector<Term> alternatives{represents(mesh, rule.result, local, whole[0])};
    for (const auto* formulas : {&path.answers(), &path.definitions()})
      for (const Term& each : *formulas) alternatives.push_back(negate(each));
    goals.push_back(smt::disj(alternatives));
  });
  result.goal = smt::conj(goals);
  for (const Term& each : variables_of(asserted(result))) result.example[each.name()] = {0, 1};
  return result;
}

std::vector<smt::Obligation> accepted_obligations(const std::string& op) {
  std::vector<smt::Obligation> result;
  for (const RuleTuple& tuple : rule_table())
    for (size_t i = 0; i < tuple.candidates.size(); ++i)
      if (tuple.accepted[i] && tuple.base.op == op)
        result.push_back(rule_obligation(tuple.candidates[i], 2));
  return result;
}

namespace {

/// Another collective computes this result from the operand.
bool another_collective_does(const RuleCase& rule) {
  using enum ir::CollectiveFn;
  for (ir::CollectiveFn fn : {all_gather, all_reduce, psum_scatter, slice, zero_nonroot, zero_pad})
    for (bool invariant_operand : {false, true}) {
      Operand operand{rule.operands.at(0), true, {}};
      if (invariant_operand && operand.type.marks.empty()) operand.type.marks["t"] = Mark::I;
      ir::Pattern pattern;
      pattern.left = {operand.type};
      pattern.right = rule.result;
      const ir::Op op = elaborated(ir::Collective{fn, pattern}, {operand.type});
      if (!apply_rule(rule_program(), op, {operand}).refusal) return true;
    }
  return false;
}

}  // namespace

std::string stricter_than_values(const RuleCase& rule) {
  const auto has_max = [](const Type& type) { return reducing(type, "t") == Mark::Max; };
  if (has_max(rule.result) || std::any_of(rule.operands.begin(), rule.operands.end(), has_max))
    return "Max";
  const Type& from = rule.operands.at(0);
  const bool moves = std::holds_alternative<ir::Collective>(rule.instr);
  if (moves && from.dims == rule.result.dims && reducing(from, "t") == reducing(rule.result, "t"))
    return "nothing to do";
  if (moves && another_collective_does(rule)) return "another collective";
  return "";
}

namespace {

/// The candidates that spec/rules accepts must hold for all values.
void check_accepted(const RuleTuple& tuple, smt::Solver& solver, RuleOutcome& outcome) {
  for (size_t i = 0; i < tuple.candidates.size(); ++i) {
    if (!tuple.accepted[i]) continue;
    const RuleCase& rule = tuple.candidates[i];
    const smt::Answer answer = solver.prove(rule_obligation(rule, 2));
    if (answer.result == smt::Result::proved)
      ++outcome.proved;
    else
      outcome.failures.push_back(rule.text() + " accepted: " + to_string(answer.result) + " " +
                                 answer.why);
  }
}

/// No candidate is accepted: each needs a counterexample, or a reason for the refusal of a right
/// value.
void check_refused(const RuleTuple& tuple, smt::Solver& solver, RuleOutcome& outcome) {
  bool has_value = false, gradient = false, stricter = false;
  for (const RuleCase& rule : tuple.candidates) {
    try {
      const smt::Answer answer = solver.prove(rule_obligation(rule, 2));
      has_value = true;
      if (answer.result == smt::Result::refuted) continue;
      const bool right = answer.result == smt::Result::proved;
      if (right && tuple.gradient_only)
        gradient = true;
      else if (right && !stricter_than_values(rule).empty())
        stricter = true;
      else
        outcome.failures.push_back(rule.text() + " refused: " + to_string(answer.result) + " " +
                                   answer.why);
    } catch (const denote::Error&) {  // the arrays do not fit: no value
    }
  }
  ++(gradient    ? outcome.gradient
     : stricter  ? outcome.stricter
     : has_value ? outcome.refuted
                 : outcome.meaningless);
}

}  // namespace

RuleOutcome check_rule(const std::vector<RuleTuple>& table, const std::string& op,
                       smt::Solver& solver) {
  RuleOutcome outcome;
  for (const RuleTuple& tuple : table) {
    if (tuple.base.op != op) continue;
    const bool any = std::count(tuple.accepted.begin(), tuple.accepted.end(), true) > 0;
    any ? check_accepted(tuple, solver, outcome) : check_refused(tuple, solver, outcome);
  }
  return outcome;
}

}  // namespace shardproof
