#include "spec/check/result_type.h"

#include <algorithm>

#include "spec/ir/walk.h"
#include "spec/rules/words.h"

namespace shardproof {
namespace {

/// The type of the only result, as written: `f32[]{U_d}` in `-> f32[]{U_d} {`.
std::optional<SourceRange> written_result(const Sources& sources, const ir::Function& plan) {
  if (plan.results.size() != 1 || plan.name_range.file < 0) return std::nullopt;
  const SourceRange rest{plan.name_range.file, plan.name_range.end, plan.range.end};
  const std::string_view text = sources.text(rest);
  const size_t arrow = text.find(") -> ");
  if (arrow == text.npos) return std::nullopt;
  const size_t begin = arrow + std::string_view(") -> ").size();
  size_t end = text.find_first_of("](", begin);
  if (end == text.npos || text[end] == '(') return std::nullopt;
  const size_t next = text.find_first_not_of(' ', ++end);
  for (const char* mark : {"{U_", "{I_", "{Max_"})
    if (next != text.npos && text.substr(next).starts_with(mark)) end = text.find('}', next) + 1;
  return SourceRange{rest.file, rest.begin + static_cast<uint32_t>(begin),
                     rest.begin + static_cast<uint32_t>(end)};
}

std::optional<SourceRange> returned_expression(const Sources& sources, const ir::Function& plan) {
  constexpr std::string_view word = "return ";
  SourceRange range = plan.return_range;
  if (range.file < 0 || !sources.text(range).starts_with(word)) return std::nullopt;
  range.begin += static_cast<uint32_t>(word.size());
  return range;
}

/// `x` in `all_reduce("{U_d} -> ", x)` with this pattern.
std::optional<std::string> operand_of_all_reduce(std::string_view call,
                                                 const std::string& pattern) {
  const std::string begin = "all_reduce(\"" + pattern + "\", ";
  if (!call.starts_with(begin) || !call.ends_with(")")) return std::nullopt;
  return std::string(call.substr(begin.size(), call.size() - begin.size() - 1));
}

const ir::Function* differentiated(const ir::Program& program, const ir::Function& plan,
                                   const SourceRange& range) {
  const ir::Function* found = nullptr;
  for_each_instr(plan.body, [&](const ir::Instr& instr) {
    auto* grad = std::get_if<ir::Grad>(&instr.op);
    if (grad && instr.place.range == range) found = &program.functions.at(grad->function);
  });
  return found;
}

std::vector<Fix> counted_once(const Sources& sources, const ir::Program& program,
                              const ir::Function& loss) {
  const auto type = written_result(sources, loss), value = returned_expression(sources, loss);
  if (!type || !value) return {};
  const Type& copy = loss.results[0];
  Type once = copy;
  for (const Axis& axis : loss.axes)
    if (!program.axes.count(axis) || program.axes.at(axis).size != 1)
      once.marks.try_emplace(axis, Mark::U);
  const std::string expression(sources.text(*value));
  std::vector<Fix> fixes;
  const auto add = [&](const std::string& message, const std::string& text) {
    fixes.push_back({message, {{*type, to_string(once)}, {*value, text}}, false, ""});
  };
  if (auto sum = operand_of_all_reduce(expression, rules::arrow(program, once, copy)))
    add("do not reduce the loss: its gradient is that of the sum", *sum);
  add("count the loss once: `" + loss.name + "` returns " + to_string(once),
      "zero_nonroot(\"" + rules::arrow(program, copy, once) + "\", " + expression + ")");
  return fixes;
}

std::vector<Fix> said_in_type(const Sources& sources, const ir::Function& plan,
                              const std::vector<Type>& types) {
  if (plan.returned.size() != 1) return {};
  const Type& have = types.at(plan.returned[0]);
  const auto written = written_result(sources, plan);
  if (!written || !is_float(have.dtype)) return {};
  const Type& stated = plan.results[0];
  const bool alike = std::any_of(stated.marks.begin(), stated.marks.end(), [&](const auto& each) {
    return each.second == Mark::I && rules::state(have, each.first) == rules::State::R;
  });
  const bool loss = have.dims.empty() && !have.marks.empty();
  if (!loss && !alike) return {};
  return {{loss ? "the loss of a training step stays a sum: say so in the result's type"
                : "state the value's type, `" + to_string(have) + "`",
           {{*written, to_string(have)}},
           false,
           ""}};
}

}  // namespace

bool is_differentiated(const ir::Program& program, size_t function) {
  bool found = false;
  for (const ir::Function& each : program.functions)
    for_each_instr(each.body, [&](const ir::Instr& instr) {
      const auto* grad = std::get_if<ir::Grad>(&instr.op);
      found = found || (grad && grad->function == function);
    });
  return found;
}

std::vector<Fix> fixes_of_result(const Sources& sources, const ir::Program& program,
                                 const ir::Function& plan, const std::vector<Type>& types,
                                 const RefusedOp& refused) {
  const Diagnostic& told = refused.diagnostic;
  if (told.code == "E0218") {
    const ir::Function* loss = differentiated(program, plan, told.range);
    return loss ? counted_once(sources, program, *loss) : std::vector<Fix>{};
  }
  const SourceRange& end = plan.return_range;
  const bool returned = told.code == "E0302" && !refused.instr && told.range.file == end.file &&
                        told.range.begin >= end.begin && told.range.end <= end.end;
  return returned ? said_in_type(sources, plan, types) : std::vector<Fix>{};
}

}  // namespace shardproof
