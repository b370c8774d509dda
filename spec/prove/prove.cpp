#include "spec/prove/prove.h"

#include "spec/prove/value_conditions.h"

namespace shardproof {
namespace {

std::string model_text(const smt::Model& model) {
  std::string text;
  for (const auto& [name, value] : model)
    text += (text.empty() ? "" : " ") + name + "=" + smt::to_string(value);
  return text;
}

Diagnostic failed(const PlacedObligation& placed, const smt::Answer& answer) {
  Diagnostic diagnostic;
  const bool refuted = answer.result == smt::Result::refuted;
  const bool rearranges = placed.obligation.name.starts_with("rearrange");
  diagnostic.code = !refuted ? "U0003" : rearranges ? "E0212" : "E0206";
  diagnostic.range = placed.range;
  diagnostic.message = refuted ? "this index map is wrong: " + placed.obligation.claim
                               : "the solver exceeded its budget: " + placed.obligation.claim;
  diagnostic.details.push_back(refuted ? "with " + model_text(answer.model) : answer.why);
  return diagnostic;
}

Diagnostic undecided_assumptions(const ir::Function& plan) {
  Diagnostic diagnostic;
  diagnostic.code = "U0003";
  diagnostic.range = plan.name_range;
  diagnostic.message = "whether its assumptions can hold together was not decided";
  return diagnostic;
}

class Prover {
 public:
  Prover(const CheckedProgram& checked, smt::Solver& solver) : checked_(checked), solver_(solver) {}

  PlanProof run(PlanReport& report) {
    PlanProof proof;
    proof.function = report.function;
    proof.name = report.name;
    if (report.verdict == Verdict::invalid) return proof;
    reduce(report, proof);
    assume(report, proof);
    if (report.verdict == Verdict::proved) facts(report, proof);
    return proof;
  }

 private:
  const ir::Program& program() const { return checked_.program(); }

  void reduce(PlanReport& report, PlanProof& proof) {
    const size_t before = report.conditions.size();
    report.conditions = reduce_by_implication(program(), std::move(report.conditions), solver_);
    proof.conditions_dropped = before - report.conditions.size();
  }

  void assume(PlanReport& report, PlanProof& proof) {
    const ir::Function& plan = program().functions[report.function];
    Assumptions found = check_assumptions(program(), report.conditions, solver_, &plan);
    proof.smallest = found.example;
    if (found.kind == Assumptions::Kind::satisfiable) return values(report);
    // What cannot be read is told first: its sizes are no assumptions.
    if (checked_.verdict() == Verdict::invalid) return;
    const bool contradictory = found.kind == Assumptions::Kind::contradictory;
    if (contradictory) without_runs(report);
    report.diagnostics.push_back(contradictory ? *found.diagnostic : undecided_assumptions(plan));
    if (contradictory)
      report.verdict = Verdict::invalid;
    else if (report.verdict == Verdict::proved)
      report.verdict = Verdict::unknown;
  }

  /// Where nothing satisfies the assumptions, there was nothing to be run.
  static void without_runs(PlanReport& report) {
    std::erase_if(report.diagnostics, [](const Diagnostic& each) { return each.code == "U0010"; });
  }

  /// Requires over values: sizes that satisfy their part are there.
  void values(PlanReport& report) {
    if (report.verdict == Verdict::invalid) return;
    const auto conflict = conflict_of_values(program(), report.function, solver_);
    if (!conflict) return;
    const ir::Function& plan = program().functions[report.function];
    if (conflict->kind == smt::Satisfaction::Kind::unsat) {
      Diagnostic diagnostic;
      without_runs(report);
      diagnostic.code = "E0111";
      diagnostic.range = plan.name_range;
      diagnostic.message = "no values satisfy all that the plan, or its model, requires";
      diagnostic.details = conflict->words;
      report.diagnostics.push_back(std::move(diagnostic));
      report.verdict = Verdict::invalid;
    } else if (report.verdict == Verdict::proved) {
      report.diagnostics.push_back(undecided_assumptions(plan));
      report.verdict = Verdict::unknown;
    }
  }

  void facts(PlanReport& report, PlanProof& proof) {
    for (const PlacedObligation& placed :
         plan_obligations(program(), report.function, checked_.types(report.function))) {
      const smt::Answer answer = solver_.prove(placed.obligation);
      (answer.result == smt::Result::proved    ? proof.proved
       : answer.result == smt::Result::refuted ? proof.refuted
                                               : proof.unknown)++;
      if (answer.result != smt::Result::proved)
        report.diagnostics.push_back(failed(placed, answer));
    }
    if (proof.refuted > 0)
      report.verdict = Verdict::refuted;
    else if (proof.unknown > 0)
      report.verdict = Verdict::unknown;
  }

  const CheckedProgram& checked_;
  smt::Solver& solver_;
};

}  // namespace

ProofStatistics prove(CheckedProgram& checked, const ProveOptions& options) {
  ProofStatistics statistics;
  smt::Solver solver(options.limits);
  Prover prover(checked, solver);
  for (PlanReport& report : checked.plans_) statistics.plans.push_back(prover.run(report));
  statistics.solver_seconds = solver.seconds();
  statistics.questions = solver.questions();
  return statistics;
}

}  // namespace shardproof
