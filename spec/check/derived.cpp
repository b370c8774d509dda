#include "spec/check/derived.h"

#include <algorithm>

#include "spec/check/needs.h"
#include "spec/check/pasted.h"
#include "spec/check/typing.h"
#include "spec/grad/backward.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

/// The file that declares a plan, as a program of its own.
struct OwnFile {
  Sources sources;
  Resolved resolved;
  std::vector<std::vector<Type>> types;
};

OwnFile read_own(const std::string& path, const FileReader& reader,
                 const std::map<Name, double>& set) {
  OwnFile own;
  std::vector<Diagnostic> diagnostics;
  own.resolved = resolve(own.sources, path, reader, diagnostics, set);
  ir::Program& program = own.resolved.program;
  const std::vector<bool> steps = find_steps(program);
  for (size_t f = 0; f < program.functions.size(); ++f) {
    own.types.emplace_back();
    if (program.functions[f].kind == ir::Function::Kind::plan)
      own.types.back() = type_and_pick(program, f, steps[f]).types;
  }
  return own;
}

/// The plan with that name that the file itself declares; an import may have the same name.
std::optional<size_t> find_plan(const OwnFile& own, const std::string& path, const Name& name) {
  const ir::Functions& functions = own.resolved.program.functions;
  for (size_t f = 0; f < functions.size(); ++f)
    if (functions[f].name == name && functions[f].kind == ir::Function::Kind::plan &&
        own.sources.file(functions[f].source).path == path)
      return f;
  return std::nullopt;
}

/// For an imported plan, the text belongs to its own file, which can name its dims and axes.
DerivedBackward derive(const std::string& path, const std::string& root, const TypedProgram& typed,
                       size_t plan, const std::vector<size_t>& wrt, const FileReader& reader,
                       const std::map<Name, double>& set) {
  if (path == root) return derive_backward(typed.program, typed.types, plan, wrt);
  const OwnFile own = read_own(path, reader, set);
  const auto found = find_plan(own, path, typed.program.functions[plan].name);
  if (found) return derive_backward(own.resolved.program, own.types, *found, wrt);
  DerivedBackward none;
  none.refused = Diagnostic{};
  none.refused->code = "U0002";
  none.refused->message =
      "the file of `" + typed.program.functions[plan].name + "` cannot be read on its own";
  return none;
}

std::string root_text(const Sources& sources, const std::string& root) {
  for (size_t i = 0; i < sources.size(); ++i)
    if (const SourceFile& file = sources.file(static_cast<int32_t>(i)); file.path == root)
      return file.text;
  return "";
}

/// The functions that `plan` and a text in its file need, at any depth.
std::vector<bool> needed_by(const ir::Program& program, size_t plan, const std::string& text) {
  const std::set<Name> named = names_in(text);
  std::vector<size_t> first{plan};
  for (size_t f = 0; f < program.functions.size(); ++f)
    if (named.contains(program.functions[f].name)) first.push_back(f);
  return with_needs(program.functions.size(), std::move(first),
                    [&](size_t f) { return may_need_or_claim(program, program.functions[f]); });
}

/// The file of `plan` without functions that are not needed: only their line breaks stay, so that
/// lines keep their numbers. Otherwise the backwards of n plans read n * n functions.
std::string without_the_others(const SourceFile& file, const ir::Program& program, size_t plan,
                               const std::vector<bool>& needed) {
  const int32_t source = program.functions[plan].source;
  std::vector<std::pair<uint32_t, uint32_t>> left_out;
  std::set<uint32_t> kept;  // of instances with one text, all are kept
  for (size_t f = 0; f < needed.size(); ++f)
    if (const SourceRange& range = program.functions[f].range; range.file == source) {
      if (needed[f])
        kept.insert(range.begin);
      else
        left_out.emplace_back(range.begin, range.end);
    }
  std::sort(left_out.begin(), left_out.end());
  left_out.erase(std::unique(left_out.begin(), left_out.end()), left_out.end());
  auto line = file.line_starts().begin();
  const auto breaks_up_to = [&](uint32_t offset) {  // from the last such offset
    const auto first = line;
    while (line != file.line_starts().end() && *line <= offset) ++line;
    return static_cast<size_t>(line - first);
  };
  std::string text;
  uint32_t at = 0;
  for (const auto& [begin, end] : left_out) {
    if (kept.contains(begin)) continue;
    text.append(file.text, at, begin - at);
    breaks_up_to(begin);
    text.append(breaks_up_to(end), '\n');
    at = end;
  }
  return text.append(file.text, at);
}

}  // namespace

const PlanReport* CheckedBackward::report() const {
  return checked && !checked->plans().empty() ? &checked->plans()[0] : nullptr;
}

Verdict CheckedBackward::verdict() const {
  if (refused) return info(refused->code).verdict;
  const PlanReport* plan = report();
  // An error in the derived text refutes nothing.
  return plan && plan->verdict == Verdict::proved ? Verdict::proved : Verdict::unknown;
}

CheckedBackward check_backward(const Sources& sources, const std::string& root,
                               const TypedProgram& typed, size_t plan,
                               const std::vector<size_t>& wrt, const FileReader& reader,
                               const CheckOptions& options) {
  const ir::Function& function = typed.program.functions.at(plan);
  const SourceFile& file = sources.file(function.source);
  DerivedBackward derived = derive(file.path, root, typed, plan, wrt, reader, options.set);
  CheckedBackward result;
  result.name = derived.name;
  result.text = derived.text;
  result.gathers_again = derived.gathers_again;
  result.refused = derived.refused;
  if (result.refused) {
    if (file.path != root) result.refused->range = function.name_range;
    return result;
  }
  if (file.path != root)
    result.needs = needed_in({root, root_text(sources, root)}, result.text, {file.path, file.text});
  const std::string text =
      without_the_others(file, typed.program, plan, needed_by(typed.program, plan, result.text)) +
      "\n" + result.text;
  const FileReader with_backward = [&](const std::string& path) -> std::optional<std::string> {
    return path == file.path ? text : reader(path);
  };
  CheckOptions alone = options;
  alone.fixes = false;
  alone.compare = true;
  alone.only = result.name;
  result.sources = std::make_unique<Sources>();
  result.checked = check(*result.sources, file.path, with_backward, alone);
  return result;
}

std::optional<SourceRange> stopped_gradient(const ir::Program& program, size_t function) {
  std::optional<SourceRange> found;
  for_each_instr(program.functions.at(function).body, [&](const ir::Instr& instr) {
    if (found) return;
    if (std::holds_alternative<ir::StopGrad>(instr.op) && instr.place.through.empty())
      found = instr.place.range;
    if (auto* call = std::get_if<ir::Call>(&instr.op))
      found = stopped_gradient(program, call->function);
  });
  return found;
}

std::optional<SourceRange> wrongly_stopped(const ir::Program& program, size_t plan,
                                           const CheckedBackward& backward) {
  const PlanReport* report = backward.report();
  const bool differs =
      report && report->verdict == Verdict::refuted &&
      std::any_of(report->diagnostics.begin(), report->diagnostics.end(),
                  [](const Diagnostic& each) { return each.counterexample.has_value(); });
  if (!differs) return std::nullopt;
  const auto& model = program.functions.at(plan).model;
  const auto stopped = stopped_gradient(program, plan);
  return stopped || !model ? stopped : stopped_gradient(program, *model);
}

}  // namespace shardproof
