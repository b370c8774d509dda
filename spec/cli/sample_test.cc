#include "spec/cli/sample_test.h"

#include <cmath>
#include <stdexcept>

// The explicit instantiation of a template may name private members: the tests fill in what only
// check() can.
namespace {
using namespace shardproof;
Resolved& resolved(CheckedProgram&);
std::vector<std::vector<Type>>& types(CheckedProgram&);
std::vector<Diagnostic>& diagnostics(CheckedProgram&);
std::vector<PlanReport>& plans(CheckedProgram&);
template <auto Resolution, auto Types, auto Diagnostics, auto Plans>
struct Access {
  friend Resolved& resolved(CheckedProgram& checked) { return checked.*Resolution; }
  friend std::vector<std::vector<Type>>& types(CheckedProgram& checked) { return checked.*Types; }
  friend std::vector<Diagnostic>& diagnostics(CheckedProgram& checked) {
    return checked.*Diagnostics;
  }
  friend std::vector<PlanReport>& plans(CheckedProgram& checked) { return checked.*Plans; }
};
template struct Access<&CheckedProgram::resolved_, &CheckedProgram::types_,
                       &CheckedProgram::diagnostics_, &CheckedProgram::plans_>;
}  // namespace

namespace shardproof::cli {
namespace {

using namespace ir;

Type type(std::vector<Split> dims) {
  Type result;
  result.dims = std::move(dims);
  return result;
}

const Type x_type = type({{Dim{{"B"}}, {"d"}}, {Dim{{"M"}}, {}}});
const Type w_type = type({{Dim{{"M"}}, {}}, {Dim{{"F"}}, {"t"}}});
const Type h_type = type({{Dim{{"B"}}, {"d"}}, {Dim{{"F"}}, {"t"}}});
const Type y_type = type({{Dim{{"B"}}, {"d"}}, {Dim{{"F"}}, {}}});

SourceRange place(const std::string& text) {
  const size_t at = std::string(sample_text).find(text);
  if (at == std::string::npos) throw std::logic_error("not in the sample: " + text);
  return {0, static_cast<uint32_t>(at), static_cast<uint32_t>(at + text.size())};
}

Arith size_of(Arith::Kind kind, const Name& name) { return {kind, name, no_value, {}}; }

Program declarations() {
  Program program;
  for (const char* axis : {"d", "t"}) program.axes[axis];
  for (const char* dim : {"B", "M", "F"}) program.dims[dim];
  DimInfo& g = program.dims["G"];
  g.kind = DimInfo::Kind::sized;
  g.size = Arith{Arith::Kind::op,
                 "*",
                 no_value,
                 {{Arith::Kind::number, "2", no_value, {}}, size_of(Arith::Kind::size, "M")}};
  program.consts["eps"] = 1e-6;
  program.requirements = {{{Arith::Kind::op,
                            ">=",
                            no_value,
                            {size_of(Arith::Kind::size, "F"), size_of(Arith::Kind::axis, "t")}},
                           place("|F| >= |t|")}};
  program.configs["small"] = {
      "small", {{"B", "8"}, {"M", "4"}, {"F", "6"}, {"d", "2"}, {"t", "3"}}, {}};
  return program;
}

Function plan() {
  Function f;
  f.kind = Function::Kind::plan;
  f.name = "up_sharded";
  f.model = 0;
  f.params = {0, 1};
  f.source = 0;
  f.name_range = place("up_sharded");
  f.results = {y_type};
  f.returned = {3};
  f.values = {{"x", x_type, place("x: f32[B/d"), true},
              {"w", w_type, place("w: f32[M F/t]"), true},
              {"h", h_type, place("einsum(\"B/d"), false},
              {"", y_type, place("all_gather("), false}};
  Einsum einsum;
  einsum.pattern.left = {x_type, w_type};
  einsum.pattern.right = h_type;
  einsum.pattern.indices = {
      {{"B", "B"}, {"M", "M"}, {"F", "F"}}, {{{0}, {1}}, {{1}, {2}}}, {{0}, {2}}};
  f.body.instrs = {{einsum, {0, 1}, {2}, {}, {}},
                   {Collective{CollectiveFn::all_gather, {}}, {2}, {3}, {}, {}}};
  return f;
}

}  // namespace

Divisibility divides(std::vector<Axis> axes, Name dim) {
  return {std::move(axes), Dim{{std::move(dim)}}};
}

FileReport sample() {
  FileReport report;
  report.path = "up.shard";
  report.sources->add(report.path, sample_text);
  report.checked = check(*report.sources, "", [](const std::string&) { return std::nullopt; });
  Resolved& r = resolved(*report.checked);
  r = {};
  diagnostics(*report.checked).clear();
  r.program = declarations();
  Function model;
  model.name = "up";
  r.program.functions = {model, plan()};
  r.plans = {1};
  r.broken = {false, false};
  r.readable = true;
  types(*report.checked) = {{}, {x_type, w_type, h_type, y_type}};
  PlanReport plan;
  plan.function = 1;
  plan.name = "up_sharded";
  plan.claim = "implements up";
  plan.verdict = Verdict::proved;
  plan.conditions = {divides({"d"}, "B"), divides({"t"}, "F")};
  plan.assumptions = {"|F| >= |t|"};
  plan.proof = "algebra, limit 1";
  plans(*report.checked) = {plan};
  report.verdict = Verdict::proved;
  report.seconds = 0.25;
  return report;
}

Function& plan_of(FileReport& report) {
  return resolved(*report.checked).program.functions.own().at(1);
}

std::vector<PlanReport>& reports_of(FileReport& report) { return plans(*report.checked); }

void set_verdict(FileReport& report, Verdict verdict) {
  reports_of(report)[0].verdict = report.verdict = verdict;
}

void refute(FileReport& report) {
  set_verdict(report, Verdict::refuted);
  Diagnostic d;
  d.code = "E0302";
  d.range = place("all_gather(\"B/d F/t -> B/d F\", h)");
  d.message = "the result does not have the stated type";
  d.label = "this is f32[B/d F]";
  d.notes = {{place("h = einsum"), "from here"}};
  d.types = {"f32[B/d F]"};
  d.counterexample =
      Counterexample{"t=2",
                     "B=1",
                     {"d=0: 1"},
                     {{"y", true, {{"t=0", {1, 2}, {1, NAN}, {1, 3}}, {"sum", {}, {4}}}}}};
  d.fixes = {{"slice", {{place("h)"), "g)"}}, true, "no communication"}};
  reports_of(report)[0].diagnostics = {d};
}

}  // namespace shardproof::cli
