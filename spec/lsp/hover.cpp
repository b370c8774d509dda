#include <algorithm>
#include <stdexcept>

#include "spec/cost/cost.h"
#include "spec/diag/visible.h"
#include "spec/lsp/answers.h"

namespace shardproof::lsp {
namespace {

using Sizes = std::map<Name, int64_t>;

std::string code(const std::string& text) { return "`" + text + "`"; }

std::string axes_text(const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) text += (text.empty() ? "" : ", ") + code(axis);
  return text;
}

/// One line per dim that is split and per state: what the devices along an axis hold.
std::string states(const Type& type, const std::vector<Axis>& axes) {
  std::string text;
  for (const Split& split : type.dims)
    if (!split.axes.empty())
      text += "- " + code(to_string(split.dim)) + " is split over " + axes_text(split.axes) +
              ": each device holds one block\n";
  for (const auto& [axis, mark] : type.marks) switch (mark) {
      case Mark::U:
        text +=
            "- unreduced over " + code(axis) + ": the value is the sum of what the devices hold\n";
        break;
      case Mark::I:
        text += "- a copy on each device along " + code(axis) + ", and so is its gradient\n";
        break;
      case Mark::Max:
        text += "- unreduced over " + code(axis) +
                ": the value is the maximum of what the devices hold\n";
        break;
    }
  std::vector<Axis> copies;
  const std::vector<Axis> split = split_axes(type);
  for (const Axis& axis : axes)
    if (!type.marks.count(axis) && std::find(split.begin(), split.end(), axis) == split.end())
      copies.push_back(axis);
  if (!copies.empty()) text += "- a copy on each device along " + axes_text(copies) + "\n";
  return text;
}

/// "[B/d F/t] = [4, 8], 128 bytes"; nullopt: a size is not known.
std::optional<std::string> local_shape(const ir::Program& program, const Type& type,
                                       const Sizes& sizes) {
  try {
    std::string text;
    for (const Split& split : type.dims) {
      int64_t extent = program.size(split.dim, sizes);
      for (const Axis& axis : split.axes) {
        if (extent % sizes.at(axis)) return std::nullopt;
        extent /= sizes.at(axis);
      }
      text += (text.empty() ? "" : ", ") + std::to_string(extent);
    }
    return "[" + text + "], " + cost::human_bytes(cost::local_bytes(program, type).evaluate(sizes));
  } catch (const std::logic_error&) {
    return std::nullopt;
  }
}

/// A table of the blocks that the first devices hold of the dims that are split.
std::string blocks(const ir::Program& program, const Type& type, const std::vector<Axis>& axes,
                   const Sizes& sizes) {
  constexpr int64_t most = 8;
  const std::vector<Axis> split = split_axes(type);
  if (split.empty()) return "";
  try {
    int64_t ranks = 1;
    for (const Axis& axis : axes) ranks *= sizes.at(axis);
    if (ranks > 1024) return "";
    std::string text = "\n| device | holds |\n|---|---|\n";
    for (int64_t rank = 0; rank < std::min(ranks, most); ++rank) {
      std::map<Axis, int64_t> at;
      int64_t rest = rank;
      for (size_t i = axes.size(); i-- > 0;) {
        at[axes[i]] = rest % sizes.at(axes[i]);
        rest /= sizes.at(axes[i]);
      }
      std::string device, holds;
      for (const Axis& axis : axes)
        device += (device.empty() ? "" : " ") + axis + "=" + std::to_string(at[axis]);
      for (const Split& each : type.dims) {
        if (each.axes.empty()) continue;
        const Dim first{{each.dim.factors.front()}};
        const int64_t whole = program.size(first, sizes);
        int64_t block = 0, count = 1;
        for (const Axis& axis : each.axes) {
          block = block * sizes.at(axis) + at[axis];
          count *= sizes.at(axis);
        }
        const int64_t begin = whole / count * block;
        holds += (holds.empty() ? "" : ", ") + to_string(first) + " " + std::to_string(begin) +
                 " to " + std::to_string(begin + whole / count - 1);
      }
      text += "| " + device + " | " + holds + " |\n";
    }
    return ranks > most ? text + "| .. | |\n" : text;
  } catch (const std::logic_error&) {
    return "";
  }
}

std::string of_tensor(const Analysis& analysis, const ir::Function& function, const Leaf& leaf) {
  const ir::Program& program = *analysis.program();
  std::string text = "```shard\n" + visible(leaf.name) + ": " + to_string(leaf.type) + "\n```\n";
  if (function.kind != ir::Function::Kind::plan) return text;
  text += states(leaf.type, function.axes);
  Name config;
  const Sizes sizes = sizes_of(program, &config);
  if (const auto local = local_shape(program, leaf.type, sizes)) {
    text += "\nEach device holds " + *local;
    text += config.empty() ? "." : " (config " + code(visible(config)) + ").";
    text += "\n" + blocks(program, leaf.type, function.axes, sizes);
  }
  return text;
}

std::string of_value(const Analysis& analysis, const Occurrence& name) {
  const ir::Function* function = function_of(analysis, name.function);
  const std::vector<Leaf> leaves = leaves_of(analysis, name);
  if (!function || leaves.empty()) return "";
  if (leaves.size() == 1) return of_tensor(analysis, *function, leaves[0]);
  return fields_text(leaves);
}

/// Where a fn, plan, record or schedule is declared: its text up to its body.
std::string of_declaration(const Analysis& analysis, const Name& name) {
  for (size_t i = 0; i < analysis.sources->size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (id == analysis.typed_file && id != analysis.file) continue;
    const std::string& text = analysis.sources->file(id).text;
    for (const char* word : {"fn ", "plan ", "record ", "layout ", "schedule "}) {
      for (size_t at = text.find(word + name); at != std::string::npos;
           at = text.find(word + name, at + 1)) {
        const bool begins = at == 0 || text[at - 1] == '\n' || text[at - 1] == ' ';
        const size_t behind = at + std::string(word).size() + name.size();
        if (!begins || behind >= text.size() ||
            std::isalnum(static_cast<unsigned char>(text[behind])) || text[behind] == '_')
          continue;
        size_t end = text.find('{', behind);
        if (std::string(word)[0] == 'r' || std::string(word)[0] == 'l')
          end = text.find('}', behind) + 1;
        // marks, {U_t}, are no body
        while (end != std::string::npos && end > 0 && text[end - 1] == ']')
          end = text.find('{', end + 1);
        if (end == std::string::npos) end = text.size();
        if (end - at > 2000) end = at + 2000;
        return "```shard\n" + visible(text.substr(at, end - at)) + "\n```\n" +
               (id == analysis.file ? "" : code(visible(analysis.sources->file(id).path)) + "\n");
      }
    }
  }
  return "";
}

std::string of_function(const Analysis& analysis, const Name& name) {
  std::string text = of_declaration(analysis, name);
  if (!analysis.types()) return text;
  for (const PlanReport& plan : analysis.types()->plans())
    if (plan.name == name && !plan.claim.empty()) text += "\n" + visible(plan.claim) + "\n";
  return text;
}

std::string of_dim(const ir::Program& program, const Name& name) {
  const auto found = program.dims.find(name);
  if (found == program.dims.end()) return "";
  std::string text = "dim " + code(name);
  const ir::DimInfo& dim = found->second;
  std::string of;
  for (const Name& each : dim.of) of += (of.empty() ? "" : " ") + each;
  if (dim.kind == ir::DimInfo::Kind::alias) text += ", another name of " + code(of);
  if (dim.kind == ir::DimInfo::Kind::group) text += ", the group " + code("(" + of + ")");
  if (dim.size) text += " = " + code(ir::to_string(*dim.size));
  Name config;
  const Sizes sizes = sizes_of(program, &config);
  try {
    const int64_t size = program.size(Dim{program.base(Dim{{name}})}, sizes);
    text += "; size " + std::to_string(size) +
            (config.empty() ? "" : " in config " + code(visible(config)));
  } catch (const std::logic_error&) {
    text += dim.size ? "" : "; any size";
  }
  return text;
}

std::string of_axis(const ir::Program& program, const Name& name) {
  const auto found = program.axes.find(name);
  if (found == program.axes.end()) return "";
  const auto& size = found->second.size;
  return "mesh axis " + code(name) + (size ? " = " + std::to_string(*size) : ", of any size");
}

std::string text_of(const Analysis& analysis, const Occurrence& name) {
  const ir::Program& program = *analysis.program();
  switch (name.kind) {
    case NameKind::dim:
      return of_dim(program, name.name);
    case NameKind::axis:
      return of_axis(program, name.name);
    case NameKind::value:
    case NameKind::parameter:
    case NameKind::field:
      return of_value(analysis, name);
    case NameKind::function:
    case NameKind::record:
    case NameKind::schedule:
      return of_function(analysis, name.name);
    case NameKind::constant:
      if (const auto found = program.consts.find(name.name); found != program.consts.end())
        return "const " + code(name.name) + " = " + Json(found->second).dump();
      return "";
    case NameKind::config:
      return "config " + code(name.name);
  }
  return "";
}

}  // namespace

std::string fields_text(const std::vector<Leaf>& leaves) {
  std::string text = "```shard\n";
  for (const Leaf& leaf : leaves) text += visible(leaf.name) + ": " + to_string(leaf.type) + "\n";
  return text + "```\n";
}

Json hover(const Analysis& analysis, uint32_t offset) {
  const Occurrence* name = occurrence_at(analysis.names(), offset);
  if (!name || !analysis.program()) return nullptr;
  const std::string text = text_of(analysis, *name);
  if (text.empty()) return nullptr;
  return {{"contents", {{"kind", "markdown"}, {"value", text}}},
          {"range", range_of(analysis.text(), name->range)}};
}

}  // namespace shardproof::lsp
