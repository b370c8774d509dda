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

std::vector<size_t> may_need_or_claim(const ir::Program& program, const ir::Function& function) {
  std::vector<size_t> needs = may_need(program, function);
  if (function.claim) needs.push_back(*function.claim);
  return needs;
}

std::vector<bool> with_needs(size_t count, std::vector<size_t> first,
                             const std::function<std::vector<size_t>(size_t)>& needs) {
  std::vector<bool> reached(count, false);
  while (!first.empty()) {
    const size_t f = first.back();
    first.pop_back();
    if (reached[f]) continue;
    reached[f] = true;
    const std::vector<size_t> more = needs(f);
    first.insert(first.end(), more.begin(), more.end());
  }
  return reached;
}

std::vector<bool> asked_for(const Resolved& resolved) {
  const ir::Functions& functions = resolved.program.functions;
  std::vector<std::vector<size_t>> needs;
  for (const ir::Function& function : functions)
    needs.push_back(may_need_or_claim(resolved.program, function));
  for (size_t f = 0; f < functions.size(); ++f) {
    if (!functions[f].implements_grad) continue;
    for (const auto& of : {functions[f].model, functions[f].after})
      if (of) needs[*of].push_back(f);
  }
  std::vector<size_t> first = resolved.named;
  for (size_t f = 0; f < functions.size(); ++f)
    if (!functions[f].imported) first.push_back(f);
  return with_needs(functions.size(), std::move(first), [&](size_t f) { return needs[f]; });
}

}  // namespace shardproof
