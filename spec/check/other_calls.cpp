#include "spec/check/other_calls.h"

#include <map>

#include "spec/ir/walk.h"

namespace shardproof {
namespace {

using Calls = std::map<Name, std::vector<const ir::LibraryCall*>>;

Calls calls_of(const ir::Function& function) {
  Calls calls;
  for (const ir::LibraryCall& call : function.library_calls)
    if (call.of_library) calls[call.function].push_back(&call);
  return calls;
}

bool calls_functions(const ir::Function& function) {
  bool found = false;
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    found = found || std::holds_alternative<ir::Call>(instr.op);
  });
  return found;
}

/// The pointwise functions that `own` calls and `other` does not. The others, such as a softmax,
/// are often written out in a plan.
std::vector<Name> only_in(const Calls& own, const Calls& other) {
  std::vector<Name> names;
  for (const auto& [name, calls] : own)
    if (calls[0]->working.empty() && !other.count(name)) names.push_back("`" + name + "`");
  return names;
}

using NumberOps = std::map<ir::ValueId, const ir::Number*>;

NumberOps numbers_of(const ir::Function& function) {
  NumberOps numbers;
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    if (auto* number = std::get_if<ir::Number>(&instr.op)) numbers[instr.results.at(0)] = number;
  });
  return numbers;
}

std::map<Name, const ir::Number*> arguments_of(const NumberOps& numbers,
                                               const ir::LibraryCall& call) {
  std::map<Name, const ir::Number*> found;
  for (const auto* arguments : {&call.arguments, &call.defaults})
    for (const ir::LibraryCall::Argument& argument : *arguments)
      if (const auto number = numbers.find(argument.value); number != numbers.end())
        found[argument.param] = number->second;
  return found;
}

}  // namespace

std::vector<std::string> calls_that_differ(const ir::Program& program, size_t plan) {
  const ir::Function& own = program.functions.at(plan);
  const ir::Function& model = program.functions.at(own.model.value());
  if (own.implements_grad || calls_functions(own) || calls_functions(model)) return {};
  const Calls mine = calls_of(own), theirs = calls_of(model);
  const std::string in_model = "`" + model.name + "`", in_plan = "`" + own.name + "`";
  std::vector<std::string> found;
  const std::vector<Name> missing = only_in(theirs, mine), extra = only_in(mine, theirs);
  if (missing.size() == 1 && extra.size() <= 1)
    found.push_back(in_model + " calls " + missing[0] + ", " + in_plan +
                    (extra.empty() ? " does not" : " calls " + extra[0]));
  else if (missing.empty() && extra.size() == 1)
    found.push_back(in_plan + " calls " + extra[0] + ", " + in_model + " does not");
  constexpr size_t most = 4;
  const NumberOps own_numbers = numbers_of(own), model_numbers = numbers_of(model);
  for (const auto& [name, calls] : mine) {
    const auto other = theirs.find(name);
    if (other == theirs.end() || other->second.size() != calls.size()) continue;
    for (size_t i = 0; i < calls.size(); ++i) {
      const auto given = arguments_of(own_numbers, *calls[i]),
                 meant = arguments_of(model_numbers, *other->second[i]);
      for (const auto& [param, number] : meant)
        if (const auto here = given.find(param);
            found.size() < most && here != given.end() && here->second->value != number->value)
          found.push_back(param + " of `" + name + "` is " + number->text + " in " + in_model +
                          ", and " + here->second->text + " in " + in_plan);
    }
  }
  return found;
}

}  // namespace shardproof
