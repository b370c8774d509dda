#include "spec/page/page.h"

#include <algorithm>
#include <map>

#include "spec/cli/json.h"
#include "spec/html/html.h"
#include "spec/ir/walk.h"
#include "spec/page/parts.h"
#include "spec/prove/size_conditions.h"

namespace shardproof::page {
namespace {

using cli::FileReport;
using cli::Json;
using cli::main_file;
using cli::utf8;

/// Types of the page, each once.
class Types {
 public:
  explicit Types(const ir::Program& program) : program_(program) {}

  size_t add(const Type& type) {
    const std::string text = to_string(type);
    const auto [found, fresh] = known_.try_emplace(text, all_.size());
    if (fresh) all_.push_back(of(type, text));
    return found->second;
  }
  Json take() { return std::move(all_); }

 private:
  Json of(const Type& type, const std::string& text) const {
    Json dims = Json::array(), states = Json::object();
    for (const Split& split : type.dims)
      dims.push_back({{"name", to_string(split.dim)},
                      {"size", ir::to_string(program_.size(split.dim))},
                      {"axes", split.axes}});
    for (const auto& [axis, mark] : type.marks) states[axis] = to_string(mark);
    return {{"text", text},
            {"bytes", cost::bytes_of(type.dtype)},
            {"dims", std::move(dims)},
            {"marks", std::move(states)}};
  }
  const ir::Program& program_;
  std::map<std::string, size_t> known_;
  Json all_ = Json::array();
};

int line_of(const FileReport& report, const SourceRange& range) {
  return range.file == main_file(report) && range.file >= 0
             ? report.sources->locate(range.file, range.begin).line
             : 0;
}

/// The instructions in order: [depth, line, op, name, type, result, operands].
class Steps {
 public:
  Steps(const FileReport& report, const ir::Function& function, const std::vector<Type>& types,
        Types& all)
      : report_(report), function_(function), types_(types), all_(all) {}

  Json of(const ir::Block& block) {
    add(block, 0);
    return std::move(steps_);
  }

 private:
  void add(const ir::Block& block, int depth) {
    for (const ir::Instr& instr : block.instrs) {
      const ir::Block* body = body_of(instr.op);
      if (body) add(*body, depth + 1);
      if (std::holds_alternative<ir::Number>(instr.op) ||
          std::holds_alternative<ir::SizeOf>(instr.op))
        continue;
      for (const ir::ValueId result : instr.results) {
        if (result == ir::no_value || static_cast<size_t>(result) >= types_.size()) continue;
        const auto id = static_cast<size_t>(result);
        std::string op = ir::name_of(instr.op);
        if (!instr.place.through.empty()) op = instr.place.through.front() + ": " + op;
        steps_.push_back(Json::array({depth, line_of(report_, instr.place.range), utf8(op),
                                      utf8(function_.values[id].name), all_.add(types_[id]), id,
                                      instr.operands}));
      }
    }
  }
  const FileReport& report_;
  const ir::Function& function_;
  const std::vector<Type>& types_;
  Types& all_;
  Json steps_ = Json::array();
};

Json transfers_of(const FileReport& report, const cost::Cost& cost) {
  Json all = Json::array();
  for (const cost::Transfer& each : cost.transfers)
    all.push_back(Json::array(
        {each.kind, line_of(report, each.range), each.count.text(), each.bytes.text()}));
  return all;
}

Json cost_json(const FileReport& report, const PlanReport& plan) {
  const auto cost = cli::cost_of(*report.checked, plan);
  if (!cost) return nullptr;
  return {{"transfers", transfers_of(report, *cost)},
          {"flops", cost->flops.text()},
          {"state", cost->state.text()},
          {"inputs", cost->inputs.text()},
          {"saved", cost->saved.text()},
          {"forward_only", cost->backward_left_out}};
}

Json schedules_of(const FileReport& report, const PlanReport& plan) {
  Json all = Json::array();
  for (const cli::PipelineRun& each : cli::pipeline_runs(report, plan))
    all.push_back({{"name", utf8(each.schedule)},
                   {"stages", each.sizes.p},
                   {"microbatches", each.sizes.A},
                   {"idle", each.run.idle()},
                   {"peak", each.run.peak},
                   {"svg", schedule::svg(each.run, each.sizes.C)}});
  return all;
}

Json memory_of(const FileReport& report, const PlanReport& plan) {
  const auto found = report.memory.find(plan.name);
  if (found == report.memory.end() || !found->second.bytes) return nullptr;
  const cli::MemoryBytes& bytes = *found->second.bytes;
  return {{"parameters", bytes.inputs}, {"results", bytes.results}, {"between", bytes.between}};
}

Json params_of(const ir::Function& function, const std::vector<Type>& types, Types& all) {
  Json params = Json::array();
  for (const auto* list : {&function.params, &function.saved_params})
    for (const ir::ValueId id : *list) {
      const auto at = static_cast<size_t>(id);
      params.push_back(Json::array({utf8(function.values.at(at).name), all.add(types.at(at)), at}));
    }
  return params;
}

Json plan_of(const FileReport& report, const PlanReport& plan, Json general, Types& all) {
  const ir::Function& function = report.checked->program().functions.at(plan.function);
  const std::vector<Type>& types = report.checked->types(plan.function);
  general["line"] = line_of(report, function.name_range);
  general["axes"] = function.axes;
  general["params"] = params_of(function, types, all);
  general["steps"] =
      plan.read_whole ? Steps(report, function, types, all).of(function.body) : Json::array();
  general["returned"] = function.returned;
  general["pipelined"] = report.checked->written().count(plan.function) > 0;
  general["cost"] = cost_json(report, plan);
  general["memory_on_gpu"] = memory_of(report, plan);
  general["schedules"] = schedules_of(report, plan);
  general.erase("stats");
  general.erase("memory");
  return general;
}

/// Sizes of axes and base dims: those of the run, else the smallest that the first plan allows.
cost::Sizes sizes_of(const FileReport& report) {
  const ir::Program& program = report.checked->program();
  cost::Sizes sizes = cost::with_declared(program, report.sizes);
  cost::Sizes smallest;
  for (const PlanReport& plan : report.checked->plans())
    if (smallest.empty() && plan.verdict == Verdict::proved)
      smallest = smallest_sizes(program, plan.conditions).value_or(Sizing());
  const auto fill = [&](const Name& name, int64_t size) {
    const auto found = smallest.find(name);
    sizes.try_emplace(name, found == smallest.end() ? size : found->second);
  };
  for (const auto& [axis, info] : program.axes) fill(axis, info.size.value_or(2));
  for (const auto& [dim, info] : program.dims)
    if (info.kind == ir::DimInfo::Kind::plain) fill(dim, 4);
  return sizes;
}

Json program_json(const FileReport& report) {
  const ir::Program& program = report.checked->program();
  Json axes = Json::array(), dims = Json::array(), configs = Json::object();
  for (const auto& [axis, info] : program.axes) axes.push_back(axis);
  for (const auto& [dim, info] : program.dims)
    if (info.kind == ir::DimInfo::Kind::plain && !info.local) dims.push_back(dim);
  for (const auto& [name, config] : program.configs) configs[name] = config.numbers;
  return {{"axes", axes}, {"dims", dims}, {"configs", configs}, {"sizes", sizes_of(report)}};
}

Json data_of(const FileReport& report) {
  Json all = cli::json_of(report);
  const int32_t file = main_file(report);
  all["source"] = file < 0 ? "" : utf8(report.sources->file(file).text);
  if (!report.checked) return all;
  Types types(report.checked->program());
  all["program"] = program_json(report);
  const auto& plans = report.checked->plans();
  for (size_t i = 0; i < plans.size(); ++i)
    all["plans"][i] = plan_of(report, plans[i], all["plans"][i], types);
  all["types"] = types.take();
  return all;
}

}  // namespace

void print_html(const FileReport& report, std::ostream& out) {
  const html::Parts& parts = embedded_page();
  out << html::document(html::part(parts, "page.html"), html::part(parts, "page.js"),
                        data_of(report).dump(-1, ' ', true, Json::error_handler_t::replace));
}

}  // namespace shardproof::page
