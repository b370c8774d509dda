#include <algorithm>
#include <map>

#include "spec/check/instances_told.h"
#include "spec/cli/report.h"

namespace shardproof::cli {
namespace {

constexpr char mark[] = "#: ";  ///< begins an annotation; an older one is replaced

struct Bound {
  uint32_t offset;
  Name name;
  std::vector<Type> types;  ///< one for each instance of the plan
};

/// `{?_t}` where a mark is I in the last instance and R in the first.
std::string text_of(const std::vector<Type>& types) {
  Type common = types.back();
  std::string either;
  for (const Axis& axis : open_axes(types.front(), types.back())) {
    common.marks.erase(axis);
    either += (either.empty() ? "?_" : " ?_") + axis;
  }
  std::string text = to_string(common);
  if (either.empty()) return text;
  if (common.marks.empty()) return text + "{" + either + "}";
  return text.insert(text.size() - 1, " " + either);
}

/// The named values of the plans in `file`, by line, in the order of the text.
std::map<int, std::vector<Bound>> bound_values(const FileReport& report, int32_t file) {
  std::map<int, std::vector<Bound>> lines;
  const ir::Program& program = report.checked->program();
  for (const PlanReport& plan : report.checked->plans()) {
    const ir::Function& function = program.functions.at(plan.function);
    const auto& types = report.checked->types(plan.function);
    std::vector<ir::ValueId> params = function.params;
    params.insert(params.end(), function.saved_params.begin(), function.saved_params.end());
    for (size_t i = 0; i < function.values.size() && i < types.size(); ++i) {
      const ir::Value& value = function.values[i];
      if (value.name.empty() || value.range.file != file) continue;
      if (std::find(params.begin(), params.end(), i) != params.end()) continue;
      const int line = report.sources->locate(file, value.range.begin).line;
      const auto same = [&](const Bound& each) {
        return each.offset == value.range.begin && each.name == value.name;
      };
      auto& bound = lines[line];
      const auto known = std::find_if(bound.begin(), bound.end(), same);
      if (known != bound.end() && !function.instances.empty())
        known->types.push_back(types[i]);
      else
        bound.push_back({value.range.begin, value.name, {types[i]}});
    }
  }
  for (auto& [line, values] : lines)
    std::stable_sort(values.begin(), values.end(),
                     [](const Bound& a, const Bound& b) { return a.offset < b.offset; });
  return lines;
}

std::string comment(const std::vector<Bound>& values) {
  if (values.size() == 1) return text_of(values[0].types);
  std::string text;
  for (const Bound& value : values)
    text += (text.empty() ? "" : ", ") + value.name + " " + text_of(value.types);
  return text;
}

std::string without_annotation(std::string_view line) {
  const size_t old = line.find(mark);
  if (old != std::string_view::npos) line = line.substr(0, old);
  return std::string(line.substr(0, line.find_last_not_of(" \t\r") + 1));
}

}  // namespace

void print_annotated(const FileReport& report, std::ostream& out) {
  const int32_t file = main_file(report);
  if (file < 0 || !report.checked) return;
  const auto values = bound_values(report, file);
  const Sources& sources = *report.sources;
  const int lines = static_cast<int>(sources.file(file).line_starts().size());
  // One column for all, unless a line is very long.
  constexpr size_t rightmost = 88;
  size_t column = 0;
  for (const auto& [line, unused] : values) {
    const size_t width = without_annotation(sources.line(file, line)).size();
    if (width <= rightmost) column = std::max(column, width);
  }
  for (int line = 1; line <= lines; ++line) {
    const auto found = values.find(line);
    if (found == values.end()) {
      const std::string_view text = sources.line(file, line);
      if (line < lines || !text.empty()) out << text << "\n";
      continue;
    }
    const std::string text = without_annotation(sources.line(file, line));
    out << text << std::string(column > text.size() ? column - text.size() : 0, ' ') << "  " << mark
        << comment(found->second) << "\n";
  }
}

}  // namespace shardproof::cli
