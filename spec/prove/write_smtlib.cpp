// Writes every claim to a file for another solver.
#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>

#include "spec/check/conditions.h"
#include "spec/ir/walk.h"
#include "spec/prove/prove.h"
#include "spec/prove/rule_proofs.h"

namespace shardproof {
namespace {

class Writer {
 public:
  Writer(std::string dir, std::vector<std::string>& names) : dir_(std::move(dir)), names_(names) {}

  void write(const Name& plan, const smt::Obligation& obligation) {
    const std::string stem = std::string(to_string(obligation.kind)) + "-" + plan + "-";
    const std::string name = stem + std::to_string(count_[stem]++) + ".smt2";
    std::ofstream file(dir_ + "/" + name);
    file << to_smtlib(obligation);
    if (!file.flush()) throw std::runtime_error("cannot write " + dir_ + "/" + name);
    names_.push_back(name);
  }

 private:
  std::string dir_;
  std::vector<std::string>& names_;
  std::map<std::string, int> count_;
};

/// The conditions before reduction, so that each removal is a separate claim.
std::vector<Divisibility> all_conditions(const CheckedProgram& checked, const PlanReport& report) {
  std::vector<Divisibility> result =
      conditions_of(checked.program(), checked.types(report.function));
  for (const Divisibility& each : report.conditions)
    if (std::find(result.begin(), result.end(), each) == result.end()) result.push_back(each);
  return result;
}

std::set<std::string> ops_of(const ir::Function& plan) {
  std::set<std::string> names;
  for_each_instr(plan.body, [&](const ir::Instr& instr) { names.insert(ir::name_of(instr.op)); });
  return names;
}

void write_plan(const CheckedProgram& checked, const PlanReport& report, smt::Solver& solver,
                Writer& writer) {
  const ir::Program& program = checked.program();
  const ir::Function& plan = program.functions[report.function];
  for (const PlacedObligation& each :
       plan_obligations(program, report.function, checked.types(report.function)))
    writer.write(report.name, each.obligation);
  std::vector<smt::Obligation> drops;
  const auto kept = reduce_by_implication(program, all_conditions(checked, report), solver, &drops);
  for (const smt::Obligation& each : drops) writer.write(report.name, each);
  const Assumptions assumed = check_assumptions(program, kept, solver, &plan);
  if (!assumed.obligation.assumptions.empty() && assumed.kind == Assumptions::Kind::satisfiable)
    writer.write(report.name, assumed.obligation);
  for (const std::string& op : ops_of(plan))
    for (const smt::Obligation& each : accepted_obligations(op)) writer.write(report.name, each);
}

}  // namespace

std::vector<std::string> write_smtlib(const CheckedProgram& checked, const std::string& dir) {
  std::vector<std::string> names;
  Writer writer(dir, names);
  smt::Solver solver;
  for (const PlanReport& report : checked.plans())
    if (report.verdict == Verdict::proved) write_plan(checked, report, solver, writer);
  return names;
}

}  // namespace shardproof
