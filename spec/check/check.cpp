#include "spec/check/check.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "spec/check/after.h"
#include "spec/check/aliases_told.h"
#include "spec/check/bounds.h"
#include "spec/check/budget.h"
#include "spec/check/comparison.h"
#include "spec/check/conditions.h"
#include "spec/check/derived.h"
#include "spec/check/fixes.h"
#include "spec/check/instances_told.h"
#include "spec/check/known_operands.h"
#include "spec/check/library_call.h"
#include "spec/check/library_claims.h"
#include "spec/check/long_texts.h"
#include "spec/check/needs.h"
#include "spec/check/notes.h"
#include "spec/check/owed.h"
#include "spec/check/padded_claim.h"
#include "spec/check/pipelines.h"
#include "spec/check/reached.h"
#include "spec/check/said_of.h"
#include "spec/check/second_leg.h"
#include "spec/check/shown_indices.h"
#include "spec/check/shown_names.h"
#include "spec/check/tried_fixes.h"
#include "spec/check/unchecked.h"
#include "spec/check/unknown.h"
#include "spec/denote/counterexample.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

bool contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

Verdict verdict_of(const std::vector<Diagnostic>& diagnostics) {
  Verdict verdict = Verdict::proved;
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::error)
      verdict = worse(verdict, info(diagnostic.code).verdict);
  return verdict;
}

bool inside(const SourceRange& inner, const SourceRange& outer) {
  return inner.file >= 0 && inner.file == outer.file && inner.begin >= outer.begin &&
         inner.end <= outer.end;
}

std::string claim_of(const ir::Program& program, const ir::Function& plan) {
  if (!plan.model) return "same on every mesh, no model stated";
  const Name& model = program.functions[*plan.model].name;
  if (!plan.implements_grad) return "implements " + model;
  return "implements grad(" + model + ")" +
         (plan.after ? " after " + program.functions[*plan.after].name : "");
}

/// Checks one plan after another, callees first.
class PlanChecker {
 public:
  PlanChecker(Sources& sources, const std::string& path, const FileReader& reader,
              const CheckOptions& options, Resolved& resolved,
              std::vector<std::vector<Type>>& types, CheckedBackwards& backwards,
              std::map<size_t, ir::Function>& written)
      : sources_(sources),
        path_(path),
        reader_(reader),
        options_(options),
        resolved_(resolved),
        backwards_(backwards),
        written_(written),
        types_(types),
        budget_(options.patience),
        steps_(find_steps(resolved.program)),
        alone_(plans_that_nobody_calls(resolved.program)),
        runs_(resolved.program) {
    verdicts_.assign(resolved.program.functions.size(), Verdict::proved);
    assumes_.assign(verdicts_.size(), false);
    trusting_.resize(verdicts_.size());
    undecided_.assign(verdicts_.size(), "");
    note_broken();
    owing_.assign(verdicts_.size(), false);
    doubted_.assign(verdicts_.size(), false);
  }

  PlanReport run(size_t f, std::vector<Diagnostic> own) {
    const ir::Function& plan = program().functions[f];
    PlanReport report = report_of(f);
    report.diagnostics = std::move(own);
    note_undecided(f);
    if (budget_.ended()) return not_reached(f, std::move(report));
    report.read_whole = !depends_on_broken(f, report);
    if (report.read_whole)
      check_types(f, report);
    else if (!plan.model)
      report.claim.clear();  // it may state a model that was not read
    report.verdict = verdict_of(report.diagnostics);
    if (report.verdict == Verdict::proved) decide(f, report);
    verdicts_[f] = report.verdict;
    if (const auto of = plan.claims_for) verdicts_[*of] = worse(verdicts_[*of], report.verdict);
    if (plan.trusted) trusting_[f].push_back(plan.name);
    report.trusting = trusting_[f];
    if (report.verdict == Verdict::proved && !plan.trusted && !plan.claims_for)
      for (Diagnostic& note : notes_of(program(), f, types_[f]))
        report.diagnostics.push_back(std::move(note));
    return report;
  }

  /// Reports that the plans before this one used up the file's time.
  PlanReport not_reached(size_t f, PlanReport report) {
    const ir::Function& plan = program().functions[f];
    types_[f] = type_and_pick(resolved_.program, f, steps_[f]).types;
    report.read_whole = false;
    report.diagnostics.push_back(unknown(
        "U0003", plan.name_range, "not checked: the plans above used up the time for this file"));
    tell_what_is_known(report.diagnostics.back(), "types of its own lines", "everything else",
                       "move this plan to another file: each has " +
                           std::to_string(static_cast<int>(FileBudget::seconds)) + " s");
    report.verdict = verdicts_[f] = worse(Verdict::unknown, verdict_of(report.diagnostics));
    report.trusting = trusting_[f];
    return report;
  }

  /// Reports sizes whose product exceeds 64 bits as an error of the file.
  PlanReport guarded_run(size_t f, std::vector<Diagnostic> own) {
    try {
      return run(f, std::move(own));
    } catch (const std::domain_error& error) {
      PlanReport report = report_of(f);
      report.verdict = verdicts_[f] = Verdict::invalid;
      report.diagnostics.push_back(
          unknown("E0106", program().functions[f].name_range, error.what()));
      return report;
    }
  }

  /// The file declares an invalid size.
  void without_sizes() { has_sizes_ = false; }

  FileBudget& budget() { return budget_; }

  /// For a plan that is not to be checked: computes only its types.
  void only_types(size_t f) {
    Typing typing = type_and_pick(resolved_.program, f, steps_[f]);
    types_[f] = std::move(typing.types);
    if (program().functions[f].trusted) trusting_[f] = {program().functions[f].name};
    if (typing.refused.empty()) expand(f);
  }

  /// Assumptions of callees that a function without a claim does not guarantee; plans that need it
  /// are then undecided.
  std::vector<Diagnostic> owed(size_t f) {
    if (f < resolved_.broken.size() && resolved_.broken[f]) return {};
    std::vector<Diagnostic> result = unmet_assumptions(sources_, program(), f);
    owing_[f] = !result.empty();
    doubted_[f] = verdict_of(result) == Verdict::unknown;
    for_each_instr(program().functions[f].body, [&](const ir::Instr& instr) {
      if (const auto callee = callee_of(instr.op)) owes_like(*callee, f);
    });
    return result;
  }

  void owes_like(size_t callee, size_t f) {
    if (!owing_[callee]) return;
    doubted_[f] = doubted_[callee] && (doubted_[f] || !owing_[f]);
    owing_[f] = true;
  }

  /// A function has no claim, but its callers need to know whether it can be decided.
  void note_undecided(size_t f) {
    const ir::Function& function = program().functions[f];
    for_each_instr(function.body, [&](const ir::Instr& instr) {
      const bool alone = function.has_claim() && !function.model && !function.claim;
      if (std::holds_alternative<ir::Ring>(instr.op) && alone) undecided_[f] = "U0001";
      if (const auto callee = callee_of(instr.op); callee && undecided_[f].empty())
        undecided_[f] = undecided_[*callee];
    });
    if (function.model && undecided_[f].empty()) undecided_[f] = undecided_[*function.model];
  }

 private:
  const ir::Program& program() const { return resolved_.program; }

  PlanReport report_of(size_t f) const {
    const ir::Function& plan = program().functions[f];
    PlanReport report;
    report.function = f;
    report.name = plan.name;
    report.claim = claim_of(program(), plan);
    report.imported = plan.imported;
    return report;
  }

  bool depends_on_broken(size_t f, PlanReport& report) {
    const ir::Function& plan = program().functions[f];
    if (f < resolved_.broken.size() && resolved_.broken[f]) {
      if (verdict_of(report.diagnostics) == Verdict::proved)
        report.diagnostics.push_back(
            unknown("U0005", plan.name_range, "`" + plan.name + "` uses what has an error"));
      return true;
    }
    for (size_t need : needs_of(plan))
      if (owing_[need] && !broken_[f]) broken_[f] = need;
    if (!broken_[f]) return false;
    report.diagnostics.push_back(rests_on(
        program().functions[*broken_[f]].name, plan.name_range,
        doubted_[*broken_[f]] ? "which it needs, is not decided" : "which it needs, has an error"));
    return true;
  }

  /// Marks each function that depends, at any depth, on one with an error. Callees come first.
  void note_broken() {
    broken_.resize(program().functions.size());
    for (size_t f = 0; f < broken_.size(); ++f) {
      for (size_t need : may_need(program(), program().functions[f]))
        if (need < f && !broken_[f]) broken_[f] = broken_[need];
      if (f < resolved_.broken.size() && resolved_.broken[f]) broken_[f] = f;
    }
  }

  void check_types(size_t f, PlanReport& report) {
    Typing typing = type_and_pick(resolved_.program, f, steps_[f]);
    types_[f] = std::move(typing.types);
    if (believes_everything()) typing.refused.clear();
    for (RefusedOp& refused : typing.refused) {
      explain(refused, f);
      report.diagnostics.push_back(std::move(refused.diagnostic));
    }
    refuse_instance_of_step(f, report);
    report.conditions = conditions_of(program(), types_[f]);
    for (const Type& result : program().functions[f].results)
      for (const Divisibility& each : conditions_of(program(), {result}))
        if (std::find(report.conditions.begin(), report.conditions.end(), each) ==
            report.conditions.end())
          report.conditions.push_back(each);
    for_each_instr(program().functions[f].body, [&](const ir::Instr& instr) {
      if (const auto callee = callee_of(instr.op)) inherit(*callee, report);
    });
    for (const Divisibility& condition : report.conditions)
      if (!may_hold(program(), condition))
        report.diagnostics.push_back(
            unknown("E0501", program().functions[f].name_range,
                    to_string(condition) + " does not hold for the declared sizes"));
    if (const auto& after = program().functions[f].after)
      for (Diagnostic& diagnostic :
           other_types_than_after(program(), program().functions[f], types_[*after]))
        report.diagnostics.push_back(std::move(diagnostic));
    for (Diagnostic& diagnostic : entries_beyond(program(), program().functions[f]))
      report.diagnostics.push_back(std::move(diagnostic));
    for (const Divisibility& each : stages_divide(program(), program().functions[f]))
      if (std::find(report.conditions.begin(), report.conditions.end(), each) ==
          report.conditions.end())
        report.conditions.push_back(each);
    for (ScheduleBound& each : schedule_bounds(program().functions[f]))
      add(std::move(each), report.schedules);
    schedules_[f] = report.schedules;
    conditions_[f] = report.conditions;
    if (typing.refused.empty()) expand(f);
    report.conditions = reduce(std::move(report.conditions));
  }

  void expand(size_t f) {
    ir::Function& function = resolved_.program.functions.own()[f];
    if (!has_pipeline(function)) return;
    written_.emplace(f, function);
    expand_pipelines(program(), function, types_[f]);
  }

  void inherit(size_t callee, PlanReport& report) {
    for (const Divisibility& condition : conditions_[callee])
      if (std::find(report.conditions.begin(), report.conditions.end(), condition) ==
          report.conditions.end())
        report.conditions.push_back(condition);
    for (const ScheduleBound& bound : schedules_[callee]) add(bound, report.schedules);
    trust(trusting_[callee], report);
  }

  static void add(ScheduleBound bound, std::vector<ScheduleBound>& to) {
    if (std::find(to.begin(), to.end(), bound) == to.end()) to.push_back(std::move(bound));
  }

  static size_t current(const PlanReport& report) { return report.function; }

  void explain(RefusedOp& refused, size_t f) {
    // No counterexamples when an edit or a derived text is checked.
    const bool shown = options_.fixes || options_.only.empty();
    if (refused.instr && shown && budget_.has_examples()) {
      const FileBudget::Part part(budget_, budget_.examples);
      refused.diagnostic.counterexample = counterexample(refused, f);
    }
    tell_as_call(sources_, program(), program().functions[f], types_[f], refused);
    refused.diagnostic.fixes = make_fixes(sources_, program(), f, types_[f], refused);
  }

  std::optional<Counterexample> counterexample(const RefusedOp& refused, size_t f) const {
    const ir::Function& plan = program().functions[f];
    const Refusal& why = refused.refusal;
    std::vector<denote::Input> inputs;
    for (size_t i = 0; i < refused.operands.size(); ++i) {
      const Operand& operand = refused.operands[i];
      const Name name =
          i < refused.instr->operands.size() ? plan.values.at(refused.instr->operands[i]).name : "";
      inputs.push_back({operand.type, operand.number, name, operand.has_gradient});
      if (operand.type.marks.empty())
        inputs.back().index_of = iota_of(plan.body, refused.instr->operands, i);
      if (!why.gradient_only) inputs.back().same_as = same_as(refused.instr->operands, i);
    }
    const auto find =
        why.gradient_only ? denote::find_adjoint_counterexample : denote::find_counterexample;
    return find(program(), refused.instr->op, inputs, refused.result_types, why.only_axis());
  }

  void decide(size_t f, PlanReport& report) {
    const ir::Function& plan = program().functions[f];
    if (plan.trusted) {
      report.verdict = Verdict::proved;
      report.proof = "trusted: " + *plan.trusted;
      return;
    }
    if (!undecided_[f].empty()) {
      Diagnostic told = unknown(undecided_[f].c_str(), plan.name_range,
                                "a ring in a plan without a model is not decided");
      tell_what_is_known(told, "types, layouts and collectives",
                         "whether its results are the same on every mesh",
                         "write the function that it computes as a fn, and let the plan implement "
                         "that: a ring is compared with its model");
      report.diagnostics.push_back(std::move(told));
      report.verdict = Verdict::unknown;
      return;
    }
    needs_decided(plan, report);  // what rests on a wrong plan is U0005 alone
    if (report.verdict == Verdict::proved) needs_proved_gradients(plan, report);
    report.verdict = verdict_of(report.diagnostics);
    if (report.verdict != Verdict::proved) return;
    for (Diagnostic& diagnostic : unmet_assumptions(sources_, program(), f))
      report.diagnostics.push_back(std::move(diagnostic));
    report.verdict = verdict_of(report.diagnostics);
    if (report.verdict != Verdict::proved) return;
    if (plan.model) {
      if (const auto size = size_of_mesh(program(), *plan.model)) {
        report.diagnostics.push_back(
            unknown("E0109", plan.name_range, *size + " depends on the mesh: a fn has no axes"));
        report.verdict = Verdict::invalid;
        return;
      }
    }
    if (plan.model) {
      if (options_.compare) compare(f, report);
    } else {
      own_erasure(plan, report);
    }
    if (report.verdict == Verdict::proved) needs_proved_callees(plan, report);
    if (report.verdict == Verdict::proved && options_.compare) needs_a_run(f, report);
    if (report.verdict == Verdict::proved) needs_backward_of_instance(f, report);
  }

  /// A plan with `{?_t}` also claims the derived backward of each instance.
  void needs_backward_of_instance(size_t f, PlanReport& report) {
    const ir::Function& plan = program().functions[f];
    if (plan.instances.empty() || !options_.compare || !options_.only.empty()) return;
    const std::vector<size_t> wrt = differentiable(plan);
    if (!wrt.empty()) use_backward(plan.name_range, {f, false, wrt}, report);
    report.verdict = verdict_of(report.diagnostics);
  }

  /// The leaves of the parameters that are all floats.
  static std::vector<size_t> differentiable(const ir::Function& plan) {
    std::vector<size_t> result;
    size_t leaf = 0;
    for (const auto& [name, count] : plan.param_groups) {
      std::vector<size_t> own;
      for (size_t i = 0; i < count; ++i, ++leaf)
        if (is_float(plan.values.at(plan.params[leaf]).type.dtype)) own.push_back(leaf);
      if (own.size() == count) result.insert(result.end(), own.begin(), own.end());
    }
    return result;
  }

  /// R and I are the same in a step: it has no gradient.
  void refuse_instance_of_step(size_t f, PlanReport& report) {
    const ir::Function& plan = program().functions[f];
    if (plan.instances.empty() || !steps_[f]) return;
    report.diagnostics.push_back(
        unknown("E0110", plan.name_range,
                "`" + plan.instance_of +
                    "` is a step, and `{?_}` stands for R and I of a value "
                    "with a gradient"));
    report.diagnostics.back().details = {
        "a step is not differentiated, so in it R and I are the same: leave the marks out"};
  }

  std::vector<bool> stand_for_models(size_t f) const {
    std::vector<bool> stand;
    for (size_t g = 0; g < verdicts_.size(); ++g)
      stand.push_back(g < f && verdicts_[g] == Verdict::proved &&
                      program().functions[g].kind == ir::Function::Kind::plan);
    return stand;
  }

  /// No proof without a run, except for files with invalid sizes.
  void needs_a_run(size_t f, PlanReport& report) {
    if (!has_sizes_) return;
    auto found = run_beside_model({program(), types_, backwards_, stand_for_models(f)},
                                  {f, conditions_[f], report.assumptions, alone_[f]}, runs_);
    if (!found) return;
    report.diagnostics.push_back(std::move(*found));
    report.verdict = Verdict::unknown;
  }

  void compare(size_t f, PlanReport& report) {
    if (believes_everything()) return;
    std::vector<bool> proved, where_assumed;
    for (size_t g = 0; g < verdicts_.size(); ++g) {
      where_assumed.push_back(g < f && verdicts_[g] == Verdict::proved &&
                              program().functions[g].model.has_value());
      proved.push_back(where_assumed[g] && !assumes_[g]);
    }
    if (beside_refuted_callees(f, proved, where_assumed, report)) return;
    ComparedPlan compared =
        compare_with_model(program(), f, proved, options_.inline_plans, &where_assumed,
                           options_.confirm ? Search::counterexample : Search::unconfirmed,
                           reaches_any(program(), f, need_sizes_));
    if (compared.needs_its_sizes) need_sizes_.insert(f);
    report.verdict = compared.verdict;
    report.proof = compared.proof;
    report.of_sizes = std::move(compared.of_sizes);
    report.of_indices = std::move(compared.of_indices);
    report.of_values = std::move(compared.of_values);
    name_operands(sources_, program().functions[f].name_range.file, compared);
    note_assumptions(report, std::move(compared.assumptions));
    for (Diagnostic& diagnostic : compared.diagnostics)
      report.diagnostics.push_back(std::move(diagnostic));
  }

  /// A plan that is right except for its callees is not reported as wrong; the callees are.
  bool beside_refuted_callees(size_t f, std::vector<bool> proved, std::vector<bool> equal,
                              PlanReport& report) {
    bool any = false;
    for_each_instr(program().functions[f].body, [&](const ir::Instr& instr) {
      const auto* call = std::get_if<ir::Call>(&instr.op);
      if (!call || verdicts_[call->function] != Verdict::refuted) return;
      const ir::Function& callee = program().functions[call->function];
      if (!callee.model || callee.implements_grad || assumes_[call->function]) return;
      any = proved[call->function] = equal[call->function] = true;
    });
    if (!any || options_.inline_plans) return false;
    const ComparedPlan compared =
        compare_with_model(program(), f, proved, false, &equal, Search::none);
    if (compared.verdict != Verdict::proved) return false;
    report.verdict = Verdict::proved;  // needs_proved_callees changes it to unknown
    return true;
  }

  /// `0 <= ids < |V|` for `0 <= ids[B, L] < |V|`: both hold for every entry.
  static std::string of_whole(const std::string& assumption) {
    std::string text;
    int depth = 0;
    for (char c : assumption) {
      if (c == ']')
        --depth;
      else if (c == '[')
        ++depth;
      else if (depth == 0)
        text += c;
    }
    return text;
  }

  /// Notes a plan that assumes more than its file does. It equals its model only where that holds,
  /// so its callers compare its body.
  void note_assumptions(PlanReport& report, std::vector<std::string> assumptions) {
    std::vector<std::string> of_file;
    for (const ir::Requirement& each : program().requirements)
      of_file.push_back(ir::to_string(each.condition));
    for (std::string& assumption : assumptions) {
      if (!contains(of_file, assumption)) assumes_[report.function] = true;
      if (!contains(report.assumptions, assumption) &&
          !contains(report.assumptions, of_whole(assumption)))
        report.assumptions.push_back(std::move(assumption));
    }
  }

  /// Without a model, the types prove "the same on every mesh", unless the values depend on a mesh
  /// size.
  void own_erasure(const ir::Function& plan, PlanReport& report) {
    for_each_instr(plan.body, [&](const ir::Instr& instr) {
      auto* size = std::get_if<ir::SizeOf>(&instr.op);
      const bool permutes = std::holds_alternative<ir::Ppermute>(instr.op);
      if (plan.claim || (!(size && size->axis) && !permutes)) return;
      report.diagnostics.push_back(unknown(
          "E0404", instr.place.range,
          permutes ? "a rotation by blocks depends on the mesh, and the plan has no model"
                   : "|" + size->name + "| is in the plan's values, and the plan has no model"));
    });
    if (!plan.claim) mesh_in_sizes(report);
    note_assumptions(report, assumptions_of(program(), report.function));
    report.verdict = verdict_of(report.diagnostics);
    report.proof = "rules";
  }

  /// `dim Q = |t|` makes values depend on the mesh, as |t| does.
  void mesh_in_sizes(PlanReport& report) {
    if (const auto size = size_of_mesh(program(), report.function))
      report.diagnostics.push_back(
          unknown("E0404", program().functions[report.function].name_range,
                  *size + " depends on the mesh, and the plan has no model"));
  }

  /// A plan that calls an undecided plan is undecided: neither proved nor refuted.
  void needs_decided(const ir::Function& plan, PlanReport& report) {
    const auto undecided = [&](size_t need) {
      return verdicts_[need] == Verdict::unknown || verdicts_[need] == Verdict::invalid;
    };
    const auto tell = [&](SourceRange range, const Name& name, const char* how) {
      report.verdict = Verdict::unknown;
      report.diagnostics.push_back(rests_on(name, range, how + std::string(", is not decided")));
    };
    if (plan.after && undecided(*plan.after))
      tell(plan.name_range, program().functions[*plan.after].name, "whose saved values it takes");
    for_each_instr(plan.body, [&](const ir::Instr& instr) {
      if (auto* call = std::get_if<ir::Call>(&instr.op); call && undecided(call->function))
        tell(instr.place.range, program().functions[call->function].name, "which this plan calls");
    });
  }

  void needs_proved_callees(const ir::Function& plan, PlanReport& report) {
    for_each_instr(plan.body, [&](const ir::Instr& instr) {
      auto* call = std::get_if<ir::Call>(&instr.op);
      if (!call || verdicts_[call->function] == Verdict::proved) return;
      report.diagnostics.push_back(rests_on(program().functions[call->function].name,
                                            instr.place.range,
                                            "which this plan calls, is not proved"));
      report.verdict = Verdict::unknown;
    });
  }

  /// grad(P) is P's derived backward: both must be proved.
  void needs_proved_gradients(const ir::Function& plan, PlanReport& report) {
    for_each_instr(plan.body, [&](const ir::Instr& instr) {
      auto* grad = std::get_if<ir::Grad>(&instr.op);
      if (!grad) return;
      const Name& name = program().functions[grad->function].name;
      if (verdicts_[grad->function] != Verdict::proved) {
        report.diagnostics.push_back(
            rests_on(name, instr.place.range, "whose gradient this plan takes, is not proved"));
        return;
      }
      if (options_.compare) use_backward(instr.place.range, *grad, report, &instr);
    });
  }

  void trust(const std::vector<Name>& names, PlanReport& report) {
    std::vector<Name>& all = trusting_[current(report)];
    for (const Name& name : names)
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  }

  void use_backward(SourceRange range, const ir::Grad& grad, PlanReport& report,
                    const ir::Instr* taken = nullptr) {
    const auto at = std::pair{grad.function, grad.wrt};
    if (!backwards_.count(at) && kept_.full()) {
      report.diagnostics.push_back(
          unknown("U0003", range, "not derived: the file has too many gradients for its length"));
      tell_what_is_known(report.diagnostics.back(), "types, layouts and collectives",
                         "the values of this gradient",
                         "put plans that take gradients into files of their own");
      return;
    }
    std::shared_ptr<const CheckedBackward>& known = backwards_[at];
    if (!known) {
      known = std::make_shared<const CheckedBackward>(check_backward(
          sources_, path_, {program(), types_}, grad.function, grad.wrt, reader_, options_));
      kept_.add(*known);
    }
    const CheckedBackward& backward = *known;
    const Name& name = program().functions[grad.function].name;
    const auto tell = [&](const char* code, const std::string& message) -> Diagnostic& {
      for (Diagnostic& told : report.diagnostics)
        if (told.code == code && told.range == range) return told;
      report.diagnostics.push_back(unknown(code, range, message));
      return report.diagnostics.back();
    };
    if (backward.refused) {
      Diagnostic& told = tell(backward.refused->code.c_str(), backward.refused->message);
      if (!(backward.refused->range == range))
        told.notes.push_back({backward.refused->range, "here, in " + name});
      if (told.code.starts_with("U") && told.details.empty())
        tell_what_is_known(told, "`" + name + "`, the types, layouts and collectives of this plan",
                           "its values, because the backward of `" + name + "` is not derived",
                           "write the backward by hand as a plan that implements grad(" +
                               model_of(grad.function) + "), and call it here in place of grad(" +
                               name + ")");
    } else if (const auto stopped = wrongly_stopped(program(), grad.function, backward)) {
      const bool of_plan = stopped == stopped_gradient(program(), grad.function);
      Diagnostic& told = tell("E0401", "the gradient of `" + name + "` is not its model's" +
                                           (of_plan ? ": it stops one that the model has" : ""));
      told.notes.push_back(
          {*stopped, of_plan ? "the gradient is stopped here" : "the model stops a gradient here"});
      if (of_plan) told.fixes = fixes_of_stop_grad(sources_, *stopped);
      told.details = listing_of(backward);
      for (const Diagnostic& each : backward.report()->diagnostics)
        if (each.counterexample) told.counterexample = each.counterexample;
    } else if (const auto missing = not_imported(backward)) {
      Diagnostic& told = tell("U0002", "the derived backward of `" + name + "` makes a `" +
                                           *missing + "`, which this file does not name");
      told.details = {"checked: types, layouts and collectives. Not decided: the values"};
      told.fixes = {{"import `" + *missing + "` beside what it is a part of", {}, false, ""}};
    } else if (backward.verdict() != Verdict::proved) {
      Diagnostic& told = tell("U0002", "the derived backward of `" + name + "` is not proved");
      if (!told.details.empty()) return;
      tell_what_is_known(told, "`" + name + "`, and that its backward can be derived",
                         "whether that is the gradient of `" + model_of(grad.function) + "`",
                         "`--test` compares both on random meshes; a plan that implements grad(" +
                             model_of(grad.function) + ") can be called here instead");
      for (std::string& line : listing_of(backward)) told.details.push_back(std::move(line));
    } else {
      note_assumptions(report, said_of(program(), backward.report()->assumptions,
                                       program().functions[report.function], taken));
      trust(backward.report()->trusting, report);
    }
  }

  /// The name of the plan's model; for a function without a model, its own name.
  Name model_of(size_t f) const {
    const ir::Function& function = program().functions[f];
    return function.model ? program().functions[*function.model].name : function.name;
  }

  /// A layout that the derived text uses but the file does not import; it imports only the layout
  /// around it.
  static std::optional<Name> not_imported(const CheckedBackward& backward) {
    for (const Diagnostic& each : backward.checked->diagnostics())
      if (each.code == "E0101")
        if (const auto name = quoted_name(each.message)) return name;
    const PlanReport* report = backward.report();
    for (size_t i = 0; report && i < report->diagnostics.size(); ++i)
      if (report->diagnostics[i].code == "E0101")
        return quoted_name(report->diagnostics[i].message);
    return std::nullopt;
  }
  static std::optional<Name> quoted_name(const std::string& message) {
    const size_t first = message.find('`'), last = message.rfind('`');
    if (first == last) return std::nullopt;
    return message.substr(first + 1, last - first - 1);
  }

  /// The messages about a derived text, each with its line.
  static std::vector<std::string> listing_of(const CheckedBackward& backward) {
    std::vector<std::string> lines;
    const PlanReport* report = backward.report();
    const auto& told = report ? report->diagnostics : backward.checked->diagnostics();
    for (const Diagnostic& each : told) {
      lines.push_back(each.message);
      if (each.range.file < 0) continue;
      const LineColumn at = backward.sources->locate(each.range.file, each.range.begin);
      lines.push_back("in its text: " +
                      std::string(backward.sources->line(each.range.file, at.line)));
    }
    return lines;
  }

  Sources& sources_;
  const std::string& path_;
  const FileReader& reader_;
  const CheckOptions& options_;
  Resolved& resolved_;
  CheckedBackwards& backwards_;
  KeptBackwards kept_;
  std::map<size_t, ir::Function>& written_;
  std::vector<std::vector<Type>>& types_;
  FileBudget budget_;
  std::vector<bool> steps_, alone_;
  RunsOfFile runs_;
  std::vector<Verdict> verdicts_;
  std::set<size_t> need_sizes_;  ///< plans that are not shown with the file's sizes made symbolic
  std::vector<bool> assumes_;    ///< assumes more than the file's requirements
  std::vector<std::vector<Name>> trusting_;
  std::vector<std::string> undecided_;
  std::vector<std::optional<size_t>> broken_;  ///< the function with an error: itself or a callee
  bool has_sizes_ = true;
  std::vector<bool> owing_;    ///< functions that do not meet an assumption of a callee
  std::vector<bool> doubted_;  ///< those of which this is not decided
  std::map<size_t, std::vector<Divisibility>> conditions_;
  std::map<size_t, std::vector<ScheduleBound>> schedules_;
};

}  // namespace

namespace {

/// Names the results for a file of the library: its functions claim gradients.
void name_claims(const std::vector<LibraryClaim>& claims, std::vector<PlanReport>& reports) {
  for (size_t i = 0; i < reports.size() && i < claims.size(); ++i) {
    reports[i].name = claims[i].name;
    reports[i].claim = "implements grad(" + claims[i].of + ")";
  }
}

/// Adds notes at the end, each to the plan that contains it.
void add_notes(const std::vector<Diagnostic>& notes, const ir::Program& program,
               std::vector<PlanReport>& plans, std::vector<Diagnostic>& of_file) {
  for (const Diagnostic& note : notes) {
    const auto owner = std::find_if(plans.begin(), plans.end(), [&](const PlanReport& plan) {
      return inside(note.range, program.functions[plan.function].range);
    });
    (owner == plans.end() ? of_file : owner->diagnostics).push_back(note);
  }
}

}  // namespace

CheckedProgram check(Sources& sources, const std::string& path, const FileReader& reader,
                     const CheckOptions& options) {
  if (const auto text = reader(path))
    if (const auto claims = claims_of_library_file(*text)) {
      const FileReader of_claims = [&](const std::string&) {
        return std::optional(file_of(*claims));
      };
      CheckedProgram checked = check(sources, "<claims of the library>", of_claims, options);
      name_claims(*claims, checked.plans_);
      return checked;
    }
  CheckedProgram result;
  std::vector<Diagnostic> diagnostics;
  result.resolved_ = resolve(sources, path, reader, diagnostics, options.set);
  const ir::Program& program = result.program();
  std::vector<std::vector<Diagnostic>> own(program.functions.size());
  for (Diagnostic& diagnostic : diagnostics) {
    const auto owner = std::find_if(
        program.functions.begin(), program.functions.end(),
        [&](const ir::Function& f) { return f.has_claim() && inside(diagnostic.range, f.range); });
    if (owner == program.functions.end())
      result.diagnostics_.push_back(std::move(diagnostic));
    else
      own[static_cast<size_t>(owner - program.functions.begin())].push_back(std::move(diagnostic));
  }
  for (const ir::Function& function : program.functions) {
    result.types_.emplace_back();
    for (const ir::Value& value : function.values) result.types_.back().push_back(value.type);
  }
  PlanChecker checker(sources, path, reader, options, result.resolved_, result.types_,
                      result.backwards_, result.written_);
  if (std::any_of(result.diagnostics_.begin(), result.diagnostics_.end(),
                  [](const Diagnostic& each) { return each.code == "E0106"; }))
    checker.without_sizes();
  std::map<size_t, PlanReport> reports;
  const std::vector<bool> asked = asked_for(result.resolved_);
  for (size_t f = 0; f < program.functions.size(); ++f) {
    const ir::Function& function = program.functions[f];
    if (!function.has_claim()) {
      checker.note_undecided(f);
      for (Diagnostic& diagnostic : checker.owed(f))
        if (!function.made_for_pads) result.diagnostics_.push_back(std::move(diagnostic));
    } else if (options.only.empty() ? asked[f] || !own[f].empty()
                                    : options.only == function.name && !function.imported)
      reports[f] = checker.guarded_run(f, std::move(own[f]));
    else
      checker.only_types(f);
  }
  for (size_t f : result.resolved_.plans)
    if (auto found = reports.find(f); found != reports.end())
      result.plans_.push_back(with_claim(program, reports, f));
  const auto explain_names = [&](std::vector<Diagnostic>& diagnostics) {
    drop_repeated(diagnostics);
    tell_aliases(program, diagnostics);
    show_names(program, diagnostics);
    number_indices(diagnostics);
    shorten_texts(diagnostics);
  };
  explain_names(result.diagnostics_);
  for (PlanReport& plan : result.plans_) explain_names(plan.diagnostics);
  tell_instances(program, result.plans_);
  if (options.fixes)
    try_fixes({sources, path, reader, options, program}, result.plans_, result.diagnostics_,
              checker.budget());
  add_notes(result.resolved_.notes, program, result.plans_, result.diagnostics_);
  leave_out_alike(result.diagnostics_, result.plans_);
  return result;
}

Verdict worse(Verdict a, Verdict b) {
  for (Verdict each : {Verdict::invalid, Verdict::refuted, Verdict::unknown})
    if (a == each || b == each) return each;
  return Verdict::proved;
}

Verdict CheckedProgram::verdict() const {
  Verdict verdict = readable() ? Verdict::proved : Verdict::invalid;
  verdict = worse(verdict, verdict_of(diagnostics_));
  for (const PlanReport& plan : plans_) verdict = worse(verdict, plan.verdict);
  return verdict;
}

}  // namespace shardproof
