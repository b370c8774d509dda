// Declarations and the file.
#include "spec/syntax/printer.h"

#include "spec/syntax/parser.h"

namespace shardproof::syntax {
namespace {

std::string print_fields(const std::string& head, const std::vector<Group>& fields) {
  if (fields.empty()) return head + " {}";
  std::vector<std::string> parts;
  for (const Group& group : fields) parts.push_back(print_group(group));
  const std::string line = head + " { " + join(parts, "  ") + " }";
  if (line.size() <= line_width) return line;
  return head + " {\n    " + join(parts, "\n    ") + "\n}";
}

std::string print_implements(const Implements& implements) {
  if (!implements.grad) return " implements " + implements.model;
  const std::string wrt = implements.wrt.empty() ? "" : " wrt " + join(implements.wrt, ", ");
  return " implements grad(" + implements.model + wrt + ")";
}

std::string print_param(const Param& param) {
  return print_group(param.group) + (param.value ? " = " + print(*param.value) : "");
}

// What stands between the parentheses, each with the comma or semicolon after it.
std::vector<std::string> print_params(const FunctionDecl& decl) {
  std::vector<std::string> parts;
  if (decl.pattern) parts.push_back("\"" + *decl.pattern + "\",");
  for (size_t i = 0; i < decl.params.size(); ++i)
    parts.push_back(print_param(decl.params[i]) + (i + 1 < decl.params.size() ? "," : ""));
  if (!decl.has_saved) return parts;
  if (parts.empty())
    parts.push_back(";");
  else
    parts.back() += ";";
  for (size_t i = 0; i < decl.saved.size(); ++i)
    parts.push_back(print_param(decl.saved[i]) + (i + 1 < decl.saved.size() ? "," : ""));
  return parts;
}

std::string print_results(const Results& results) {
  std::vector<std::string> parts;
  for (const Group& group : results.groups) parts.push_back(print_group(group));
  return results.parenthesized ? "(" + join(parts, ", ") + ")" : join(parts, ", ");
}

// On one line if it fits; else the results on their own; else the parameters filled below the name.
std::string print_header(const FunctionDecl& decl) {
  std::string head = decl.trusted ? "trusted \"" + *decl.trusted + "\" " : "";
  head += (decl.is_plan ? "plan " : "fn ") + decl.name;
  if (decl.implements) head += print_implements(*decl.implements);
  if (decl.after) head += " after " + *decl.after;
  const std::vector<std::string> params = print_params(decl);
  const std::string call = head + "(" + join(params, " ") + ")";
  const std::string results = "-> " + print_results(decl.results);
  if (call.size() + results.size() + 3 <= line_width) return call + " " + results;
  const std::string indent(8, ' ');
  if (call.size() <= line_width) return call + "\n" + indent + results;
  return head + "(\n" + fill(indent, params, "", indent.size()) + ")\n" + indent + results;
}

std::string print_steps(const std::vector<ScheduleStatement>& steps, size_t indent);

std::string print_step(const ScheduleStatement& step, size_t indent) {
  const std::string names = step.params.empty() ? "" : "(" + join(step.params, ", ") + ")";
  switch (step.kind) {
    case ScheduleStatement::Kind::let:
      return "let " + step.name + names + " = " + print(step.exprs[0]);
    case ScheduleStatement::Kind::require:
      return "require " + print(step.exprs[0]);
    case ScheduleStatement::Kind::loop:
      return "for " + step.name + " in " + print(step.exprs[0]) + " .. " + print(step.exprs[1]) +
             " " + print_steps(step.body, indent);
    case ScheduleStatement::Kind::work:
      return step.name + print_arguments(step.exprs, {});
  }
  return "";
}

// A body of work alone is short enough to stand on the line of its loop.
std::string print_steps(const std::vector<ScheduleStatement>& steps, size_t indent) {
  std::string line;
  bool only_work = !steps.empty() && indent > 0;
  for (const ScheduleStatement& step : steps) {
    only_work = only_work && step.kind == ScheduleStatement::Kind::work;
    if (only_work) line += " " + print_step(step, 0);
  }
  if (only_work) return "{" + line + " }";
  std::string text = "{\n";
  for (const ScheduleStatement& step : steps)
    text += std::string(indent + 4, ' ') + print_step(step, indent + 4) + "\n";
  return text + std::string(indent, ' ') + "}";
}

struct Printer {
  std::string operator()(const ImportDecl& import) const {
    return fill("import ", import.names, ",", 7) + " from \"" + import.path + "\"";
  }
  std::string operator()(const MeshDecl& mesh) const {
    std::string text = "mesh";
    for (const MeshDecl::Entry& entry : mesh.axes)
      text += " " + entry.axis + (entry.size ? "=" + *entry.size : "");
    return text;
  }
  std::string operator()(const DimDecl& dim) const { return print_dim(dim); }
  std::string operator()(const ConstDecl& constant) const {
    return "const " + constant.name + " = " + print(constant.value);
  }
  std::string operator()(const Require& require) const {
    return "require " + print(require.condition);
  }
  std::string operator()(const ConfigDecl& config) const {
    std::vector<std::string> parts;
    for (const ConfigDecl::Entry& entry : config.entries)
      parts.push_back(entry.name + "=" + entry.number);
    return parts.empty() ? "config " + config.name + " {}"
                         : fill("config " + config.name + " { ", parts, "", 4) + " }";
  }
  std::string operator()(const RecordDecl& record) const {
    return print_fields("record " + record.name, record.fields);
  }
  std::string operator()(const LayoutDecl& layout) const {
    return print_fields("layout " + layout.name + " of " + layout.record, layout.fields);
  }
  std::string operator()(const FunctionDecl& decl) const {
    return print_header(decl) + (decl.has_body ? " " + print_block(decl.body, 0) : "");
  }
  std::string operator()(const ScheduleDecl& schedule) const {
    const std::string params =
        schedule.params.empty() ? "" : "(" + join(schedule.params, ", ") + ")";
    return "schedule " + schedule.name + params + " " + print_steps(schedule.steps, 0);
  }
};

bool stands_apart(const Declaration& declaration) {
  return std::holds_alternative<FunctionDecl>(declaration) ||
         std::holds_alternative<ScheduleDecl>(declaration);
}

}  // namespace

std::string print(const Declaration& declaration) {
  return std::visit(Printer{}, declaration) + "\n";
}

std::string print(const File& file) {
  std::string text;
  bool apart = false;
  for (size_t i = 0; i < file.declarations.size(); ++i) {
    const bool was_apart = apart;
    apart = stands_apart(file.declarations[i]);
    if (i > 0 && (apart || was_apart)) text += "\n";
    text += print(file.declarations[i]);
  }
  return text;
}

}  // namespace shardproof::syntax
