#include "properties/generators/with_backwards.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "properties/generators/mesh_run.h"
#include "spec/check/derived.h"
#include "spec/check/typing.h"
#include "spec/ir/walk.h"

namespace shardproof::properties {
namespace {

/// By a plan's name: the leaves of its derived backward. One plan has one here.
using Wanted = std::map<size_t, std::vector<size_t>>;

/// A callee that assumes more than its file does is compared by its body, as in check().
bool assumes_more(const ir::Program& program, const PlanReport& report) {
  return std::any_of(
      report.assumptions.begin(), report.assumptions.end(), [&](const std::string& assumption) {
        return std::none_of(
            program.requirements.begin(), program.requirements.end(),
            [&](const auto& each) { return ir::to_string(each.condition) == assumption; });
      });
}

bool is_own(const ir::Program& program, const PlanReport& report) {
  const ir::Function& plan = program.functions.at(report.function);
  return report.verdict == Verdict::proved && plan.model && !plan.trusted && !report.imported;
}

Wanted wanted_of(const CheckedProgram& checked, bool all) {
  Wanted wanted;
  for (const PlanReport& report : checked.plans())
    for_each_instr(checked.program().functions[report.function].body, [&](const ir::Instr& instr) {
      if (auto* grad = std::get_if<ir::Grad>(&instr.op)) wanted.emplace(grad->function, grad->wrt);
    });
  if (!all) return wanted;
  for (const PlanReport& report : checked.plans()) {
    const ir::Function& plan = checked.program().functions[report.function];
    if (is_own(checked.program(), report) && !plan.implements_grad && !plan.uses_gradients)
      wanted.emplace(report.function, std::vector<size_t>{});
  }
  return wanted;
}

/// The texts after each file, and the names that the root file imports of another.
struct Additions {
  std::map<std::string, std::string> texts;
  std::map<Name, Name> backward_of;  ///< the derived plan's name, and its plan's
};

/// A derived text stands alone after its file. Beside others its layouts get names of their own,
/// and a dim that another one declares is not declared again.
class OneFile {
 public:
  std::string fitted(std::string text) {
    static const std::regex layout(R"(layout (\w+) of)"), dim(R"((?:^|\n)dim (\w+))");
    for (const Name& name : found(text, layout)) {
      if (names_.insert(name).second) continue;
      const Name own = name + "_" + std::to_string(names_.size());
      names_.insert(own);
      text = std::regex_replace(text, std::regex("\\b" + name + "\\b"), own);
    }
    for (const Name& name : found(text, dim))
      if (!names_.insert(name).second)
        text = std::regex_replace(text, std::regex("(^|\n)dim " + name + "\\b.*\n"), "$1");
    return text;
  }

 private:
  static std::vector<Name> found(const std::string& text, const std::regex& what) {
    std::vector<Name> names;
    for (std::sregex_iterator at(text.begin(), text.end(), what), end; at != end; ++at)
      names.push_back((*at)[1]);
    return names;
  }
  std::set<Name> names_;
};

Additions derive(const CheckedProgram& checked, const denote::Types& types, const Sources& sources,
                 const std::string& root, const FileReader& reader, bool all) {
  Additions additions;
  std::map<std::string, OneFile> files;
  for (const auto& [plan, wrt] : wanted_of(checked, all)) {
    const ir::Function& function = checked.program().functions.at(plan);
    const CheckedBackward backward =
        check_backward(sources, root, {checked.program(), types}, plan, wrt, reader);
    if (backward.verdict() != Verdict::proved) continue;
    const std::string& path = sources.file(function.source).path;
    additions.texts[path] += "\n" + files[path].fitted(backward.text);
    additions.backward_of[backward.name] = function.name;
    if (path == root) continue;
    const auto relative =
        std::filesystem::path(path).lexically_relative(std::filesystem::path(root).parent_path());
    additions.texts[root] +=
        "\nimport " + backward.name + " from \"" + relative.generic_string() + "\"\n";
  }
  return additions;
}

FileReader with_texts(const FileReader& reader, const std::map<std::string, std::string>& texts) {
  return [&](const std::string& wanted) -> std::optional<std::string> {
    auto text = reader(wanted);
    if (auto found = texts.find(wanted); text && found != texts.end()) *text += found->second;
    return text;
  };
}

std::vector<Type> types_of(ir::Program& program, size_t f, bool is_step) {
  if (program.functions[f].kind == ir::Function::Kind::plan)
    return type_and_pick(program, f, is_step).types;
  std::vector<Type> types;
  for (const ir::Value& value : program.functions[f].values) types.push_back(value.type);
  return types;
}

/// Files `function` of the longer program by what was said of it, or of the plan it is derived
/// from.
void sort_in(size_t f, const CheckedProgram& checked, const std::map<Name, PlanReport>& reports,
             const Additions& additions, WithBackwards& result) {
  const ir::Function& function = result.program.functions[f];
  if (const auto found = reports.find(function.name); found != reports.end()) {
    if (found->second.verdict == Verdict::proved && function.model && !function.trusted)
      result.proved[f] = !assumes_more(result.program, found->second);
    if (is_own(checked.program(), found->second)) result.written.push_back(f);
    return;
  }
  const auto of = additions.backward_of.find(function.name);
  if (of == additions.backward_of.end() || !function.implements_grad) return;
  const auto plan = reports.find(of->second);
  if (plan != reports.end() && !plan->second.imported) result.derived.push_back(f);
  for (size_t g = 0; g < f; ++g)
    if (result.program.functions[g].name == of->second) result.backwards[{g, function.wrt}] = f;
}

}  // namespace

std::unique_ptr<WithBackwards> with_backwards(const std::string& path, const FileReader& reader,
                                              bool all) {
  CheckOptions options;
  options.fixes = false;
  Sources sources;
  const CheckedProgram checked = check(sources, path, reader, options);
  if (!checked.readable()) return nullptr;
  denote::Types types;
  for (size_t f = 0; f < checked.program().functions.size(); ++f) types.push_back(checked.types(f));
  const Additions additions = derive(checked, types, sources, path, reader, all);
  std::map<Name, PlanReport> reports;
  for (const PlanReport& report : checked.plans())
    reports[checked.program().functions[report.function].name] = report;

  auto result = std::make_unique<WithBackwards>();
  result->sources = std::make_unique<Sources>();
  std::vector<Diagnostic> diagnostics;
  const Resolved longer =
      resolve(*result->sources, path, with_texts(reader, additions.texts), diagnostics);
  result->program = longer.program;
  const size_t count = result->program.functions.size();
  const std::vector<bool> steps = find_steps(result->program);
  result->proved.assign(count, false);
  result->backwards = written_backwards(result->program);
  for (size_t f = 0; f < count; ++f) {
    result->types.push_back(types_of(result->program, f, steps[f]));
    if (!longer.broken.at(f)) sort_in(f, checked, reports, additions, *result);
  }
  return result;
}

}  // namespace shardproof::properties
