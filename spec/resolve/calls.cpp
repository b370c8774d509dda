#include "spec/resolve/calls.h"
#include "spec/resolve/call_forms.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "spec/resolve/declarations.h"
#include "spec/resolve/foreign_calls.h"
#include "spec/resolve/primitives.h"
#include "spec/syntax/parser.h"

namespace shardproof::resolution {
namespace {

SourceRange inside_quotes(SourceRange range) {
  if (range.file < 0 || range.end < range.begin + 2) return range;
  return {range.file, range.begin + 1, range.end - 1};
}

Argument read_argument(Body& body, const syntax::Expr& expr) {
  Argument argument{unknown_value(), expr.range};
  if (expr.kind == syntax::Expr::Kind::string)
    argument.text = expr.text;
  else if (expr.kind == syntax::Expr::Kind::dtype)
    argument.dtype = dtype_of(expr.text);
  else
    argument.values = body.one(expr);
  return argument;
}

std::vector<Values> leaf_call(Body& body, const CallSite& site, const std::vector<Values>& args) {
  CallSite leaf = site;
  for (size_t i = 0; i < args.size(); ++i) leaf.args[i].values = args[i];
  return apply(body, leaf);
}

// Calls the function with the leaf of each record at one field; scalars are passed to every field.
std::vector<Values> each_call(Body& body, const CallSite& site) {
  const Values* record = nullptr;
  for (const Argument& arg : site.args) {
    if (!arg.values.is_record()) continue;
    if (record && record->record != arg.values.record) {
      body.error("E0105", arg.range,
                 "all records of an `each` have the same type, and these are two");
      return unknown_result();
    }
    record = &arg.values;
  }
  if (!record) {
    const bool silent = std::any_of(site.args.begin(), site.args.end(),
                                    [](const Argument& arg) { return is_unknown(arg.values); });
    if (!silent) body.error("E0109", site.range, "`each` needs a record among its arguments");
    return unknown_result();
  }
  std::vector<std::vector<ir::ValueId>> columns;
  for (const Argument& arg : site.args) columns.push_back(leaves(arg.values));
  std::vector<std::vector<Values>> rows;
  const size_t count = leaves(*record).size(), errors = body.world.errors();
  for (size_t i = 0; i < count; ++i) {
    std::vector<Values> args;
    for (size_t j = 0; j < columns.size(); ++j)
      args.push_back(tensor(columns[j][site.args[j].values.is_record() ? i : 0]));
    // Report the errors of one field only.
    if (body.world.errors() > errors) return unknown_result(rows.empty() ? 1 : rows[0].size());
    rows.push_back(leaf_call(body, site, args));
  }
  std::vector<Values> results;
  for (size_t result = 0; !rows.empty() && result < rows[0].size(); ++result) {
    size_t next = 0;
    bool tensors = true;
    results.push_back(transform<ir::ValueId>(*record, [&](ir::ValueId) {
      const std::vector<Values>& row = rows[next++];
      tensors = tensors && result < row.size() && !row[result].is_record();
      return tensors ? row[result].leaf : ir::no_value;
    }));
  }
  return results;
}

bool is_primitive(const Name& name) { return primitives().count(name) > 0; }

/// A call of another language: one error, and what to write.
bool refuse_foreign(Body& body, const syntax::Expr& expr) {
  if (expr.kind != syntax::Expr::Kind::call || body.scope->instance) return false;
  const bool pattern = !expr.args.empty() && expr.args[0].kind == syntax::Expr::Kind::string;
  if (pattern && expr.names.empty() && is_primitive(expr.text)) return false;
  if (!expr.names.empty()) {
    const bool method = expr.names[0].empty();
    body.error("E0002", expr.range, method ? "a value has no methods" : "there are no modules",
               "a function is called by its name")
        .fixes = by_its_name(body, expr);
    return true;
  }
  if (body.file().functions.count(expr.text) ||
      (body.world.files[0].functions.count(expr.text) && !names_a_position(expr)))
    return false;
  std::vector<Fix> fixes = in_the_notation(body, expr);
  if (fixes.empty()) return false;
  const SourceRange name = body.world.locate(expr.text, expr.range);
  Diagnostic& error =
      is_primitive(expr.text) || body.world.files[0].functions.count(expr.text)
          ? body.error("E0103", expr.range,
                       "`" + expr.text + "` needs a pattern, a string before its arguments")
          : body.error("E0101", name, "there is no function `" + expr.text + "`",
                       "unknown function");
  error.fixes = std::move(fixes);
  return true;
}

}  // namespace

CallSite read_site(Body& body, const syntax::Expr& expr) {
  static const Name none;
  CallSite site;
  site.name = expr.text;
  site.range = expr.range;
  site.args.reserve(expr.args.size());
  for (size_t i = 0; i < expr.args.size(); ++i) {
    const syntax::Expr& arg = expr.args[i];
    const Name& keyword = i < expr.arg_names.size() ? expr.arg_names[i] : none;
    if (i == 0 && keyword.empty() && arg.kind == syntax::Expr::Kind::string) {
      site.has_pattern = true;
      site.pattern_range = inside_quotes(arg.range);
      site.pattern = syntax::parse_pattern(arg.text, site.pattern_range, body.world.diagnostics);
      continue;
    }
    Argument argument = read_argument(body, arg);
    if (keyword.empty() && !site.named.empty())
      body.error("E0103", arg.range, "an argument without a name after one with a name");
    else if (keyword.empty())
      site.args.push_back(std::move(argument));
    else if (!site.named.emplace(keyword, std::move(argument)).second)
      body.error("E0103", arg.range, "`" + keyword + "=` twice");
  }
  return site;
}

std::vector<Values> call(Body& body, const syntax::Expr& expr) {
  if (expr.text == "with") return {replace_fields(body, expr)};
  if (refuse_foreign(body, expr)) return unknown_result();
  const CallSite site = read_site(body, expr);
  if (expr.kind == syntax::Expr::Kind::cast) {
    if (auto to = dtype_of(expr.text)) return {cast(body, site, *to)};
    body.error("E0109", expr.range, "`float` is a dtype of signatures, not a cast");
    return unknown_result();
  }
  if (expr.each) return each_call(body, site);
  auto record = body.file().records.find(site.name);
  if (record != body.file().records.end() && !is_primitive(site.name))
    return construct(body, site, record->second);
  return apply(body, site);
}

std::vector<Values> apply(Body& body, const CallSite& site) {
  if (auto primitive = primitives().find(site.name); primitive != primitives().end())
    return primitive->second(body, site);
  const FunctionEntity* entity = find_function(body, site.name, site.range);
  if (!entity) return unknown_result();
  if (entity->generic) return call_generic(body, site, *entity);
  return call_function(body, site, *entity);
}

const FunctionEntity* find_function(Body& body, const Name& name, SourceRange range) {
  const FileScope& library = body.world.files[0];
  for (const FileScope* file : {&body.file(), &library})
    if (auto found = file->functions.find(name); found != file->functions.end())
      return &body.world.functions[found->second];
  std::vector<Name> known = keys(body.file().functions);
  for (const auto& more : {keys(body.world.files[0].functions), keys(primitives())})
    known.insert(known.end(), more.begin(), more.end());
  body.world.unknown("function", name, range, known);
  return nullptr;
}

std::vector<const Argument*> arrange(Body& body, const CallSite& site, const FunctionEntity& entity,
                                     std::vector<Argument>& defaults) {
  const std::vector<Parameter>& params = entity.params;
  std::vector<const Argument*> result(params.size(), nullptr);
  defaults.assign(params.size(), {});
  auto refuse = [&](SourceRange range, const std::string& message) {
    Diagnostic& error = body.error("E0103", range, message);
    if (entity.decl->name_range.file >= 0)
      error.notes.push_back({entity.decl->name_range, "declared here"});
    const auto& pattern = entity.decl->pattern;
    std::string list = !pattern                    ? ""
                       : pattern->starts_with(';') ? "\"" + *pattern + "\""
                                                   : "\"..\"";
    for (const Parameter& param : params) list += (list.empty() ? "" : ", ") + param.name;
    error.fixes.push_back({"it is called as `" + site.name + "(" + list + ")`", {}, false, ""});
    return std::vector<const Argument*>();
  };
  if (site.args.size() > params.size())
    return refuse(site.range, "`" + site.name + "` takes " + std::to_string(params.size()) +
                                  (params.size() == 1 ? " argument" : " arguments") + ", and " +
                                  std::to_string(site.args.size()) + " are given");
  for (size_t i = 0; i < site.args.size(); ++i) result[i] = &site.args[i];
  for (const auto& [keyword, argument] : site.named) {
    size_t at = 0;
    while (at < params.size() && params[at].name != keyword) ++at;
    if (at == params.size())
      return refuse(argument.range, "`" + site.name + "` has no parameter `" + keyword + "`");
    if (result[at]) return refuse(argument.range, "`" + keyword + "` is given twice");
    result[at] = &argument;
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (result[i]) continue;
    if (!params[i].value)
      return refuse(site.range,
                    "the argument `" + params[i].name + "` of `" + site.name + "` is missing");
    // A default is a constant expression in the file of the function.
    Instance inside;
    inside.entity = &entity;
    inside.call = body.located(site.range);
    if (body.scope->instance) inside.through = body.scope->instance->through;
    inside.through.push_back(entity.decl->name);
    FunctionScope scope;
    scope.file = entity.file;
    scope.instance = &inside;
    FunctionScope* caller = std::exchange(body.scope, &scope);
    defaults[i] = {body.one(*params[i].value), site.range};
    body.scope = caller;
    result[i] = &defaults[i];
  }
  return result;
}

bool expect(Body& body, const CallSite& site, size_t least, size_t most,
            const std::vector<Name>& keywords) {
  for (const auto& [keyword, argument] : site.named) {
    if (std::count(keywords.begin(), keywords.end(), keyword)) continue;
    Diagnostic& error = body.error("E0103", argument.range,
                                   "`" + site.name + "` has no argument `" + keyword + "=`");
    if (keyword == "axis" || keyword == "dim" || keyword == "keepdims" || keyword == "keepdim")
      error.fixes.push_back(
          {"name the dims in a pattern, as in `sum(\"B M -> M\", x)`", {}, false, ""});
    else if (auto form = call_form(site.name))
      error.fixes.push_back(*std::move(form));
    return false;
  }
  const size_t count = site.args.size();
  if (count >= least && count <= most) return true;
  const bool too_many = count > most;
  const size_t wanted = too_many ? most : least;
  Diagnostic& error =
      body.error("E0103", site.range,
                 "`" + site.name + "` takes " +
                     (most == least ? ""
                      : too_many    ? "at most "
                                    : "at least ") +
                     std::to_string(wanted) + (wanted == 1 ? " argument" : " arguments") +
                     ", and " + std::to_string(count) + (count == 1 ? " is" : " are") + " given");
  if (auto form = call_form(site.name)) error.fixes.push_back(*std::move(form));
  return false;
}

std::optional<Dtype> dtype_argument(const CallSite& site, const Name& keyword) {
  auto found = site.named.find(keyword);
  return found == site.named.end() ? std::nullopt : found->second.dtype;
}

ir::ValueId offset_argument(Body& body, const CallSite& site, const Name& keyword) {
  auto found = site.named.find(keyword);
  if (found == site.named.end()) {
    body.error("E0103", site.range, "`" + site.name + "` needs `" + keyword + "=`");
    return ir::no_value;
  }
  const ir::ValueId id = tensor_of(body, found->second, "`" + keyword + "=`");
  if (id == ir::no_value) return id;
  const Type& type = body.type(id);
  const auto number = body.literal(id);
  const bool whole = type.dtype == Dtype::i32 ||
                     (type.dtype == Dtype::number && (!number || *number == std::floor(*number)));
  if (whole && type.dims.empty()) return id;
  body.error(
      "E0104", found->second.range,
      "`" + keyword + "=` is a whole number or an i32 scalar, and this is " + to_string(type));
  return ir::no_value;
}

std::vector<Values> unknown_result(size_t count) {
  return std::vector<Values>(count, unknown_value());
}

const Handlers& primitives() {
  static const Handlers table = [] {
    Handlers result;
    add_pointwise(result);
    add_reductions(result);
    add_structure(result);
    add_slices(result);
    add_indexing(result);
    add_created(result);
    add_ordered(result);
    add_collectives(result);
    return result;
  }();
  return table;
}

}  // namespace shardproof::resolution
