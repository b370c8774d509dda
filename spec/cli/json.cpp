#include "spec/cli/json.h"

#include <stdexcept>

#include "spec/ir/claim.h"
#include "spec/shell/version.h"

namespace shardproof::cli {
namespace {

Json position(const Sources& sources, int32_t file, uint32_t offset) {
  const LineColumn at = sources.locate(file, offset);
  return {{"line", at.line}, {"column", at.column}};
}

Json range_of(const Sources& sources, const SourceRange& range) {
  if (range.file < 0 || static_cast<size_t>(range.file) >= sources.size()) return nullptr;
  return {{"file", utf8(sources.file(range.file).path)},
          {"begin", position(sources, range.file, range.begin)},
          {"end", position(sources, range.file, range.end)}};
}

Json texts(const std::vector<std::string>& list) {
  Json result = Json::array();
  for (const std::string& each : list) result.push_back(utf8(each));
  return result;
}

Json fix_of(const Sources& sources, const Fix& fix) {
  Json edits = Json::array();
  for (const Edit& edit : fix.edits)
    edits.push_back({{"range", range_of(sources, edit.range)}, {"text", utf8(edit.text)}});
  return {{"message", utf8(fix.message)},
          {"cost", utf8(fix.cost)},
          {"checked", fix.checked},
          {"edits", edits}};
}

Json held_of(const HeldValue& value) {
  Json arrays = Json::array();
  for (const Held& held : value.held)
    arrays.push_back({{"where", utf8(held.where)},
                      {"shape", held.shape},
                      {"numbers", held.numbers},
                      {"expected", held.expected.empty() ? Json(nullptr) : Json(held.expected)}});
  return {{"name", utf8(value.name)}, {"result", value.result}, {"held", arrays}};
}

Json diagnostic_of(const Sources& sources, const Diagnostic& d) {
  Json notes = Json::array(), fixes = Json::array(), example = nullptr;
  for (const Label& note : d.notes)
    notes.push_back({{"range", range_of(sources, note.range)}, {"message", utf8(note.text)}});
  for (const Fix& fix : d.fixes) fixes.push_back(fix_of(sources, fix));
  if (d.counterexample) {
    Json values = Json::array();
    for (const HeldValue& value : d.counterexample->values) values.push_back(held_of(value));
    example = {{"mesh", utf8(d.counterexample->mesh)},
               {"sizes", utf8(d.counterexample->sizes)},
               {"lines", texts(d.counterexample->lines)},
               {"values", values}};
  }
  return {{"code", d.code},
          {"severity", to_string(d.severity)},
          {"range", range_of(sources, d.range)},
          {"message", utf8(d.message)},
          {"label", utf8(d.label)},
          {"notes", notes},
          {"details", texts(d.details)},
          {"types", texts(d.types)},
          {"counterexample", example},
          {"fixes", fixes}};
}

Json diagnostics_of(const Sources& sources, const std::vector<Diagnostic>& list) {
  Json result = Json::array();
  for (const Diagnostic& each : list) result.push_back(diagnostic_of(sources, each));
  return result;
}

Json amount(const cost::Amount& amount, const FileReport& report) {
  Json value = nullptr;
  if (report.sized) try {
      value = amount.evaluate(report.sizes);
    } catch (const std::domain_error&) {
      // A size is missing: the symbolic amount stands alone.
    }
  return {{"symbolic", amount.text()}, {"value", value}};
}

Json stats_of(const FileReport& report, const std::optional<cost::Cost>& cost) {
  if (!cost) return nullptr;
  Json collectives = Json::array(), live = Json::array();
  for (const auto& row : cost->totals())
    collectives.push_back({{"kind", row.kind},
                           {"count", amount(row.count, report)},
                           {"bytes", amount(row.bytes, report)}});
  for (const cost::Amount& point : cost->live) live.push_back(amount(point, report));
  return {{"collectives", collectives},
          {"flops", amount(cost->flops, report)},
          {"state", amount(cost->state, report)},
          {"inputs", amount(cost->inputs, report)},
          {"saved", amount(cost->saved, report)},
          {"live", live},
          {"backward_left_out", cost->backward_left_out}};
}

Json backward_json(const FileReport& report, const PlanReport& plan) {
  const BackwardReport* backward = backward_of(report, plan);
  if (!backward) return nullptr;
  const CheckedBackward& derived = backward->backward;
  Json refused = nullptr;
  if (derived.refused) refused = utf8(derived.refused->code + ": " + derived.refused->message);
  return {{"name", derived.name},
          {"verdict", to_string(backward->verdict)},
          {"text", utf8(derived.text)},
          {"refused", refused},
          {"gathers_again", derived.gathers_again},
          {"saved", amount(saved_for(*backward), report)},
          {"stats", stats_of(report, cost_of(*backward))}};
}

Json memory_json(const FileReport& report, const PlanReport& plan) {
  const auto found = report.memory.find(plan.name);
  if (found == report.memory.end() || !found->second.bytes) return nullptr;
  const MemoryBytes& memory = *found->second.bytes;
  return {{"parameters", memory.inputs},
          {"results", memory.results},
          {"between", memory.between},
          {"bytes", memory.sum()},
          {"bytes_with_overlap", found->second.with_overlap}};
}

Json plan_of(const FileReport& report, const PlanReport& plan) {
  const ir::Program& program = report.checked->program();
  const auto& claimed = ir::claimed_model(program, program.functions.at(plan.function));
  Json model = nullptr, conditions = Json::array();
  if (claimed) model = program.functions.at(*claimed).name;
  for (const std::string& each : conditions_of(plan)) conditions.push_back(each);
  return {{"name", plan.name},
          {"model", model},
          {"claim", plan.claim},
          {"imported", plan.imported},
          {"verdict", to_string(plan.verdict)},
          {"conditions", conditions},
          {"assumptions", texts(plan.assumptions)},
          {"trusting", texts(plan.trusting)},
          {"proof", utf8(plan.proof)},
          {"stats", stats_of(report, cost_of(*report.checked, plan))},
          {"memory", memory_json(report, plan)},
          {"backward", backward_json(report, plan)},
          {"diagnostics", diagnostics_of(*report.sources, plan.diagnostics)}};
}

}  // namespace

std::string utf8(std::string_view text) {
  const std::string quoted =
      Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

Json json_of(const FileReport& report) {
  Json plans = Json::array();
  Json diagnostics = diagnostics_of(*report.sources, report.diagnostics);
  if (report.checked) {
    for (const PlanReport& plan : report.checked->plans()) plans.push_back(plan_of(report, plan));
    for (Json& each : diagnostics_of(*report.sources, report.checked->diagnostics()))
      diagnostics.push_back(std::move(each));
  }
  return {{"version", shell::version},
          {"file", utf8(report.path)},
          {"verdict", to_string(report.verdict)},
          {"exit", exit_code(report.verdict)},
          {"seconds", report.seconds},
          {"new_claims", texts(report.claims)},
          {"diagnostics", diagnostics},
          {"plans", plans}};
}

void print_json(const std::vector<FileReport>& reports, std::ostream& out) {
  Json all = Json::array();
  for (const FileReport& report : reports) all.push_back(json_of(report));
  out << (all.size() == 1 ? all[0] : all).dump(2, ' ', true) << "\n";
}

}  // namespace shardproof::cli
