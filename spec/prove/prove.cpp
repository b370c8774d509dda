#include "spec/prove/prove.h"

#include <optional>

#include "spec/check/reached.h"
#include "spec/check/shown_names.h"
#include "spec/check/unknown.h"
#include "spec/prove/schedule_proof.h"
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
  if (!refuted)
    tell_what_is_known(diagnostic, "types, layouts and collectives",
                       "whether this moves each entry "
                       "to its place",
                       "write it in two steps, each of fewer dims");
  return diagnostic;
}

Diagnostic undecided_assumptions(const ir::Function& plan) {
  Diagnostic diagnostic;
  diagnostic.code = "U0003";
  diagnostic.range = plan.name_range;
  diagnostic.message = "whether its assumptions can hold together was not decided";
  tell_what_is_known(diagnostic,
                     "types, layouts, collectives, and the values where all of them hold",
                     "whether any values satisfy them all; if none do, the proof says nothing",
                     "remove a `require` that is not needed, or state it of one value alone");
  return diagnostic;
}

class Prover {
 public:
  Prover(const CheckedProgram& checked, smt::Solver& solver)
      : checked_(checked), solver_(solver), unread_(checked.verdict() == Verdict::invalid) {}

  PlanProof run(PlanReport& report) {
    PlanProof proof;
    proof.function = report.function;
    proof.name = report.name;
    if (report.verdict == Verdict::invalid) return proof;
    std::erase_if(report.schedules, [&](const ScheduleBound& each) {
      return each.own_chunks && right_at_all_sizes(each.schedule);
    });
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

  /// The sizes that the plan reaches: those of a large file's other dims would be kept per plan.
  Sizing of_plan(Sizing sizes, size_t plan) const {
    const std::set<Name> dims = ReachedDims(program()).of(plan);
    std::erase_if(sizes, [&](const auto& each) {
      return !dims.contains(each.first) && !program().axes.contains(each.first);
    });
    return sizes;
  }

  void assume(PlanReport& report, PlanProof& proof) {
    const ir::Function& plan = program().functions[report.function];
    Assumptions found = check_assumptions(program(), report.conditions, solver_, &plan);
    if (found.example) proof.smallest = of_plan(*found.example, report.function);
    if (found.kind == Assumptions::Kind::satisfiable) {
      if (!report.schedules.empty() && !was_run_at(found.example, report)) schedules(report, plan);
      return values(report);
    }
    // Errors that prevent reading the file come first: its sizes state no assumptions.
    if (unread_) return;
    const bool contradictory = found.kind == Assumptions::Kind::contradictory;
    if (contradictory) without_runs(report);
    report.diagnostics.push_back(contradictory ? *found.diagnostic : undecided_assumptions(plan));
    if (contradictory)
      report.verdict = Verdict::invalid;
    else if (report.verdict == Verdict::proved)
      report.verdict = Verdict::unknown;
  }

  bool right_at_all_sizes(const Name& schedule) {
    const auto [known, fresh] = schedules_.try_emplace(schedule, false);
    const auto declared = checked_.schedules().find(schedule);
    if (fresh && declared != checked_.schedules().end())
      known->second = prove_schedule(*declared->second, solver_).proved;
    return known->second;
  }

  static bool was_run_at(const std::optional<Sizing>& sizes, const PlanReport& report) {
    if (!sizes) return false;
    for (const ScheduleBound& bound : report.schedules)
      for (const auto& [name, most] : bound.up_to)
        if (!sizes->contains(name) || sizes->at(name) > most) return false;
    return true;
  }

  /// A schedule that was not run at any allowed size may deadlock.
  void schedules(PlanReport& report, const ir::Function& plan) {
    ir::Program bounded = program();
    for (const ScheduleBound& bound : report.schedules)
      for (const auto& [name, most] : bound.up_to) {
        const auto kind =
            program().axes.count(name) ? ir::Arith::Kind::axis : ir::Arith::Kind::size;
        const ir::Arith size{kind, name, ir::no_value, {}};
        const ir::Arith number{ir::Arith::Kind::number, std::to_string(most), ir::no_value, {}};
        const ir::Arith condition{ir::Arith::Kind::op, "<=", ir::no_value, {size, number}};
        bounded.requirements.push_back({condition, plan.name_range, to_string(bound)});
      }
    const Assumptions found = check_assumptions(bounded, report.conditions, solver_, &plan);
    if (found.kind == Assumptions::Kind::satisfiable) return;
    Diagnostic diagnostic;
    diagnostic.code = "U0011";
    diagnostic.range = plan.name_range;
    diagnostic.message = "the schedule cannot be run at any size that the plan allows";
    if (found.diagnostic) diagnostic.details = found.diagnostic->details;
    tell_what_is_known(diagnostic, "types, layouts, collectives and values",
                       "whether the stages end at the plan's sizes",
                       "let the plan allow one of those sizes, or state in the schedule when each "
                       "step is (`let time_F(k) = ..`): such a schedule is proved for all sizes");
    report.diagnostics.push_back(std::move(diagnostic));
    if (report.verdict == Verdict::proved) report.verdict = Verdict::unknown;
  }

  /// If the assumptions contradict each other, no run was possible: drop that message.
  static void without_runs(PlanReport& report) {
    std::erase_if(report.diagnostics, [](const Diagnostic& each) { return each.code == "U0010"; });
  }

  void contradict(PlanReport& report, std::string message, std::vector<std::string> words) {
    without_runs(report);
    Diagnostic diagnostic;
    diagnostic.code = "E0111";
    diagnostic.range = program().functions[report.function].name_range;
    diagnostic.message = std::move(message);
    diagnostic.details = std::move(words);
    add_help(diagnostic);
    report.diagnostics.push_back(std::move(diagnostic));
    report.verdict = Verdict::invalid;
  }

  /// Checks the `require`s on values, and what the proof assumed of values. Their part on sizes is
  /// known to be satisfiable.
  void values(PlanReport& report) {
    if (report.verdict == Verdict::invalid) return;
    for (const auto& each : report.of_values) {
      // Undecided: the runs before had values, at draws that no condition of measure 0 meets.
      if (!brief_) brief_.emplace(few);
      const auto conflict = conflict_of_values(*each, *brief_);
      if (!conflict || conflict->kind != smt::Satisfaction::Kind::unsat) continue;
      std::string needs;
      for (const std::string& word : conflict->words)
        needs += (needs.empty() ? "it needs " : " and ") + word;
      return contradict(report, "what the plan and its model assume never holds", {needs});
    }
    const auto conflict = conflict_of_values(program(), report.function, solver_);
    if (!conflict) return;
    const ir::Function& plan = program().functions[report.function];
    if (conflict->kind == smt::Satisfaction::Kind::unsat) {
      contradict(report, "no values satisfy all requirements of the plan and its model",
                 conflict->words);
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
  /// For questions that need no answer.
  static constexpr smt::Limits few{.milliseconds = 1000, .resources = 300'000, .seconds = 1};
  std::optional<smt::Solver> brief_;
  bool unread_;                     ///< the file has errors that prevent reading it
  std::map<Name, bool> schedules_;  ///< schedules already checked
};

}  // namespace

ProofStatistics prove(CheckedProgram& checked, const ProveOptions& options) {
  ProofStatistics statistics;
  smt::Solver solver(options.limits);
  Prover prover(checked, solver);
  for (PlanReport& report : checked.plans_) {
    statistics.plans.push_back(prover.run(report));
    show_names(checked.program(), report.diagnostics);
  }
  statistics.solver_seconds = solver.seconds();
  statistics.questions = solver.questions();
  return statistics;
}

}  // namespace shardproof
