#include "spec/check/said_of.h"

#include <algorithm>
#include <cctype>

#include "spec/ir/walk.h"

namespace shardproof {
namespace {

/// The parameter of that name, or, `of_entries`, what only moves its entries.
bool is_own(const ir::Function& plan, ir::ValueId value, const Name& name, bool of_entries) {
  for (;;) {
    if (std::find(plan.params.begin(), plan.params.end(), value) != plan.params.end())
      return plan.values[value].name == name;
    const ir::Instr* made = defining_instr(plan.body, value);
    const bool moves =
        of_entries && made &&
        (std::holds_alternative<ir::Entry>(made->op) ||
         std::holds_alternative<ir::Read>(made->op) || std::holds_alternative<ir::Save>(made->op) ||
         std::holds_alternative<ir::Ascribe>(made->op) ||
         std::holds_alternative<ir::Rearrange>(made->op));
    if (!moves) return false;
    value = made->operands.at(0);
  }
}

bool names(const std::string& text, const Name& name) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (size_t at = 0; (at = text.find(name, at)) != text.npos; at += name.size()) {
    const size_t end = at + name.size();
    if ((at == 0 || !in_word(text[at - 1])) && (end == text.size() || !in_word(text[end])))
      return true;
  }
  return false;
}

bool speaks_of_own(const ir::Program& program, const std::string& assumption,
                   const ir::Function& plan, const ir::Instr& grad) {
  const ir::Function& called = program.functions[std::get<ir::Grad>(grad.op).function];
  const bool of_entries = assumption.find('(') == assumption.npos;  // none of their sum
  for (size_t i = 0; i < called.params.size(); ++i) {
    const Name& name = called.values[called.params[i]].name;
    if (names(assumption, name) && !is_own(plan, grad.operands.at(i), name, of_entries))
      return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> said_of(const ir::Program& program, std::vector<std::string> assumptions,
                                 const ir::Function& plan, const ir::Instr* grad) {
  for (std::string& each : assumptions)
    if (grad && !speaks_of_own(program, each, plan, *grad))
      each +=
          " in the gradient of " + program.functions[std::get<ir::Grad>(grad->op).function].name;
  return assumptions;
}

}  // namespace shardproof
