#include "spec/check/what_helps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "spec/ir/walk.h"

namespace shardproof {
namespace {

size_t ops_of(const ir::Program& program, size_t function, std::map<size_t, size_t>& known);

/// A nested loop is lowered three times for each time that its outer loop is.
size_t ops_of(const ir::Program& program, const ir::Block& block, size_t inner,
              std::map<size_t, size_t>& known) {
  size_t count = 0;
  for (const ir::Instr& instr : block.instrs) {
    ++count;
    if (const auto callee = callee_of(instr.op)) count += ops_of(program, *callee, known);
    if (const ir::Block* body = body_of(instr.op))
      count += inner * ops_of(program, *body, 3, known);
    count = std::min(count, most_ops_written_out + 1);
  }
  return count;
}

size_t ops_of(const ir::Program& program, size_t function, std::map<size_t, size_t>& known) {
  if (auto found = known.find(function); found != known.end()) return found->second;
  return known[function] = ops_of(program, program.functions.at(function).body, 1, known);
}

/// How often each function is called outside of loops.
std::map<size_t, size_t> calls_in_a_row(const ir::Function& function) {
  std::map<size_t, size_t> count;
  for (const ir::Instr& instr : function.body.instrs)
    if (auto* call = std::get_if<ir::Call>(&instr.op)) ++count[call->function];
  return count;
}

std::set<size_t> called_below(const ir::Program& program, size_t function) {
  std::set<size_t> found;
  std::vector<size_t> open{function};
  while (!open.empty()) {
    const ir::Function& each = program.functions.at(open.back());
    open.pop_back();
    for_each_instr(each.body, [&](const ir::Instr& instr) {
      if (auto* call = std::get_if<ir::Call>(&instr.op))
        if (found.insert(call->function).second) open.push_back(call->function);
    });
  }
  return found;
}

/// The first number of the function or its callees that is as large as those that people mask with.
std::optional<Name> mask_of(const ir::Program& program, size_t function) {
  constexpr double large = 1e7;
  std::set<size_t> bodies = called_below(program, function);
  bodies.insert(function);
  std::optional<Name> found;
  bool chooses = false;
  for (const size_t each : bodies)
    for_each_instr(program.functions.at(each).body, [&](const ir::Instr& instr) {
      chooses = chooses || std::holds_alternative<ir::Where>(instr.op);
      if (auto* number = std::get_if<ir::Number>(&instr.op);
          number && std::abs(number->value) >= large)
        found = number->text;
    });
  return chooses ? found : std::nullopt;
}

std::string quoted(const Name& name) { return "`" + name + "`"; }

}  // namespace

size_t ops_written_out(const ir::Program& program, size_t function) {
  std::map<size_t, size_t> known;
  return ops_of(program, function, known);
}

std::vector<std::string> what_helps(const ir::Program& program, size_t plan) {
  constexpr size_t few_calls = 2, few_ops = 30;
  const ir::Function& own = program.functions.at(plan);
  const size_t model = own.model.value();
  std::vector<std::string> found;
  const std::set<size_t> of_model = called_below(program, model);
  for (size_t each : called_below(program, plan)) {
    const ir::Function& part = program.functions.at(each);
    if (!part.model || part.implements_grad || of_model.count(*part.model)) continue;
    const Name& name = program.functions.at(*part.model).name;
    found.push_back(quoted(own.name) + " calls " + quoted(part.name) + ", but " +
                    quoted(program.functions.at(model).name) + " has the code of " + quoted(name) +
                    " inline: call " + quoted(name) + " there, so that the calls are compared");
  }
  for (const size_t f : {plan, model})
    for (const auto& [callee, count] : calls_in_a_row(program.functions.at(f)))
      if (count > few_calls)
        found.push_back(quoted(program.functions.at(f).name) + " calls " +
                        quoted(program.functions.at(callee).name) + " " + std::to_string(count) +
                        " times: write a scan over stacked parameters; its body is compared once");
  for (const size_t f : {plan, model})
    if (ops_written_out(program, f) > most_ops_written_out) {
      found.push_back(quoted(program.functions.at(f).name) + " has over " +
                      std::to_string(most_ops_written_out) + " instructions with calls inlined" +
                      (f == plan ? ": calls of plans that implement a fn are not inlined" : ""));
    }
  if (found.empty() && own.body.instrs.size() > few_ops)
    found.push_back(quoted(own.name) + " has " + std::to_string(own.body.instrs.size()) +
                    " instructions: move a part of it to a plan that implements a fn that " +
                    quoted(program.functions.at(model).name) + " calls; it is proved separately");
  return found;
}

std::optional<std::string> masked_by_a_number(const ir::Program& program, size_t plan) {
  const std::optional<Name> own = mask_of(program, plan);
  const std::optional<Name> of_model = mask_of(program, program.functions.at(plan).model.value());
  if (own.has_value() == of_model.has_value()) return std::nullopt;
  return "`" + (own ? *own : *of_model) +
         "` is a number like any other: its exp is not 0, so it does not leave an entry out. Mask "
         "after exp: `where(mask, exp(x), 0)`";
}

}  // namespace shardproof
