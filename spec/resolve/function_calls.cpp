// Calls of plans and functions by name, and the records that they take and return.
#include <algorithm>

#include "spec/resolve/calls.h"
#include "spec/resolve/meant.h"
#include "spec/resolve/primitives.h"

namespace shardproof::resolution {
namespace {

Fix called_instead(const Body& body, const CallSite& site, const Name& other,
                   const std::string& what) {
  return {"call " + what + ", `" + other + "`",
          {{body.world.locate(site.name, site.range), other}},
          false,
          ""};
}

// A function may call functions, a plan may call plans (E0109).
bool may_call(Body& body, const CallSite& site, const FunctionEntity& entity) {
  if (entity.decl->is_plan == body.scope->is_plan) return true;
  if (body.scope->is_plan) {
    refuse_fn_in_plan(body, site);
    return false;
  }
  Diagnostic& error =
      body.error("E0109", site.range, "a fn calls fns, and `" + site.name + "` is a plan");
  if (entity.decl->implements && !entity.decl->implements->grad)
    error.fixes.push_back(called_instead(body, site, entity.decl->implements->model, "its model"));
  return false;
}

std::vector<Values> stated_results(Body& body, const FunctionEntity& entity, SourceRange range) {
  std::vector<Values> results;
  for (const Types& type : entity.results)
    results.push_back(transform<ir::ValueId>(
        type, [&](const Type& leaf) { return body.recover(leaf, range).leaf; }));
  return results;
}

}  // namespace

void refuse_fn_in_plan(Body& body, const CallSite& site) {
  constexpr size_t most = 3;
  Diagnostic& error =
      body.error("E0109", site.range,
                 "a plan can call only plans, library functions, and fns over `...` or with a "
                 "pattern; `" +
                     site.name + "` is neither");
  for (const auto& [name, index] : body.file().functions) {
    const syntax::FunctionDecl& decl = *body.world.functions[index].decl;
    if (!decl.implements || decl.implements->grad || decl.implements->model != site.name ||
        decl.name == body.scope->function || error.fixes.size() == most)
      continue;
    error.fixes.push_back(called_instead(body, site, name, "a plan of it"));
  }
  if (error.fixes.empty())
    error.fixes.push_back(
        {"write a plan that implements `" + site.name + "`, and call that", {}, false, ""});
}

std::vector<Values> call_function(Body& body, const CallSite& site, const FunctionEntity& entity) {
  if (!entity.unreadable && !may_call(body, site, entity))
    return stated_results(body, entity, site.range);
  if (site.has_pattern) {
    body.error("E0103", site.pattern_range, "`" + site.name + "` takes no pattern");
    return stated_results(body, entity, site.range);
  }
  std::vector<Argument> defaults;
  const std::vector<const Argument*> args = arrange(body, site, entity, defaults);
  // An unreadable signature or a cycle was already reported.
  if (entity.unreadable) return unknown_result(entity.results.size());
  if (args.size() != entity.params.size() || *entity.index >= body.index())
    return stated_results(body, entity, site.range);
  std::vector<ir::ValueId> operands;
  std::vector<SourceRange> ranges;
  std::vector<SourceRange> given;
  for (const Argument* each : args) given.push_back(each->range);
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i]->dtype || args[i]->text) tensor_of(body, *args[i], "`" + site.name + "`");
    const size_t errors = body.world.errors();
    const Values value = fit(body, args[i]->values, entity.params[i].type, args[i]->range,
                             {"E0303", "E0303", "the argument `" + entity.params[i].name + "`"});
    add_to_new_error(body, errors,
                     exchanged(body, given, i, "give the arguments in the parameters' order"));
    for (ir::ValueId leaf : leaves(value)) {
      operands.push_back(leaf);
      ranges.push_back(args[i]->range);
    }
  }
  std::vector<Values> results;
  std::vector<ir::ValueId> ids;
  for (const Types& type : entity.results)
    results.push_back(transform<ir::ValueId>(type, [&](const Type& leaf) {
      ids.push_back(body.add_value(leaf, site.range));
      return ids.back();
    }));
  body.emit_to(ir::Call{*entity.index}, std::move(operands), std::move(ids), site.range,
               std::move(ranges));
  return results;
}

std::vector<Values> construct(Body& body, const CallSite& site, size_t record) {
  const Types* type = record_type(body.world, record, site.range);
  if (!type) return unknown_result();
  const RecordEntity& entity = body.world.records[record];
  if (entity.layout && !body.scope->is_plan)
    body.error("E0109", site.range, "`" + site.name + "` is a layout, and a fn has no axes");
  auto refuse = [&](const std::string& message) {
    std::string fields;
    for (const Name& name : type->names) fields += (fields.empty() ? "" : ", ") + name + "=";
    body.error("E0105", site.range, message, site.name + "(" + fields + ")");
    return unknown_result();
  };
  if (!site.args.empty() || site.has_pattern)
    return refuse("the fields of `" + site.name + "` are given by name");
  Values result;
  result.record = type->record;
  result.names = type->names;
  for (size_t i = 0; i < type->names.size(); ++i) {
    auto found = site.named.find(type->names[i]);
    if (found == site.named.end()) return refuse("the field `" + type->names[i] + "` is missing");
    const Argument& argument = found->second;
    result.fields.push_back(fit(body, argument.values, type->fields[i], argument.range,
                                {"E0105", "E0105", "the field `" + type->names[i] + "`"}));
  }
  for (const auto& [name, argument] : site.named)
    if (std::find(type->names.begin(), type->names.end(), name) == type->names.end())
      return refuse("`" + site.name + "` has no field `" + name + "`");
  return {result};
}

}  // namespace shardproof::resolution
