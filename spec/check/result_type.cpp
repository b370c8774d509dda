#include "spec/check/result_type.h"

#include <algorithm>

#include "spec/check/fixes_of_head.h"
#include "spec/ir/walk.h"
#include "spec/rules/words.h"

namespace shardproof {
namespace {

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
  const auto type = only_result_type(sources, loss), value = returned_expression(sources, loss);
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

std::vector<Fix> fixes_of_copied_loss(const Sources& sources, const ir::Program& program,
                                      const ir::Function& plan, const RefusedOp& refused) {
  if (refused.diagnostic.code != "E0218") return {};
  const ir::Function* loss = differentiated(program, plan, refused.diagnostic.range);
  return loss ? counted_once(sources, program, *loss) : std::vector<Fix>{};
}

}  // namespace shardproof
