#include "spec/check/needs.h"

#include "spec/ir/walk.h"

namespace shardproof {

std::vector<size_t> needs_of(const ir::Function& function) {
  std::vector<size_t> needs;
  if (function.model) needs.push_back(*function.model);
  if (function.after) needs.push_back(*function.after);
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    if (const auto callee = callee_of(instr.op)) needs.push_back(*callee);
  });
  return needs;
}

std::vector<size_t> may_need(const ir::Program& program, const ir::Function& function) {
  std::vector<size_t> needs = needs_of(function);
  for (size_t i = 0, count = needs.size(); i < count; ++i) {
    const std::vector<size_t>& all = program.functions.at(needs[i]).instances;
    needs.insert(needs.end(), all.begin(), all.end());
  }
  return needs;
}

std::vector<bool> asked_for(const Resolved& resolved) {
  const std::vector<ir::Function>& functions = resolved.program.functions;
  std::vector<std::vector<size_t>> needs;
  for (const ir::Function& function : functions) {
    needs.push_back(may_need(resolved.program, function));
    if (function.claim) needs.back().push_back(*function.claim);
  }
  for (size_t f = 0; f < functions.size(); ++f) {
    if (!functions[f].implements_grad) continue;
    for (const auto& of : {functions[f].model, functions[f].after})
      if (of) needs[*of].push_back(f);
  }
  std::vector<bool> asked(functions.size(), false);
  std::vector<size_t> open = resolved.named;
  for (size_t f = 0; f < functions.size(); ++f)
    if (!functions[f].imported) open.push_back(f);
  while (!open.empty()) {
    const size_t f = open.back();
    open.pop_back();
    if (asked[f]) continue;
    asked[f] = true;
    open.insert(open.end(), needs[f].begin(), needs[f].end());
  }
  return asked;
}

}  // namespace shardproof
