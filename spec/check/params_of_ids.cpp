#include "spec/check/params_of_ids.h"

#include <map>
#include <set>

#include "spec/ir/walk.h"

namespace shardproof {
namespace {

using Known = std::map<const ir::Function*, std::vector<bool>>;

const std::vector<bool>& params_in(const ir::Program& program, const ir::Function& function,
                                   Known& known);

/// The parameters that each value of a function is computed from, through integers alone: a
/// comparison or a float gives no id.
class Origins {
 public:
  Origins(const ir::Program& program, const ir::Function& function, Known& known)
      : program_(program), function_(function), known_(known), from_(function.values.size()) {
    for (size_t i = 0; i < function.params.size(); ++i) give(function.params[i], {i});
    block(function.body);
  }
  std::vector<bool> ids() const {
    std::vector<bool> result(function_.params.size());
    for (const size_t param : ids_)
      if (param < result.size()) result[param] = true;
    return result;
  }

 private:
  using Set = std::set<size_t>;

  Set& at(ir::ValueId value) { return from_.at(static_cast<size_t>(value)); }
  void take(ir::ValueId value, Set* all) {
    if (value != ir::no_value) all->insert(at(value).begin(), at(value).end());
  }
  void give(ir::ValueId value, const Set& all) {
    if (value == ir::no_value) return;
    const Dtype dtype = function_.values.at(value).type.dtype;
    if (!is_float(dtype) && dtype != Dtype::boolean) at(value).insert(all.begin(), all.end());
  }
  void block(const ir::Block& block) {
    for (const ir::Instr& instr : block.instrs) {
      Set all;
      for (const ir::ValueId operand : instr.operands) take(operand, &all);
      if (const ir::Block* body = body_of(instr.op)) inside(*body, &all);
      if (looks_up(instr.op))
        for (const ir::ValueId operand : instr.operands) take(operand, &ids_);
      if (const auto callee = callee_of(instr.op)) {
        const auto& inner = params_in(program_, program_.functions.at(*callee), known_);
        for (size_t i = 0; i < inner.size() && i < instr.operands.size(); ++i)
          if (inner[i]) take(instr.operands[i], &ids_);
      }
      for (const ir::ValueId result : instr.results) give(result, all);
    }
  }
  /// Twice: a carry of the last step comes into the next one.
  void inside(const ir::Block& body, Set* all) {
    for (int round = 0; round < 2; ++round) {
      for (const ir::ValueId param : body.params) give(param, *all);
      block(body);
      for (const auto* values : {&body.next, &body.emit})
        for (const ir::ValueId value : *values) take(value, all);
    }
  }
  static bool looks_up(const ir::Op& op) {
    return std::holds_alternative<ir::Index>(op) ||
           std::holds_alternative<ir::IndexUnreduced>(op) ||
           std::holds_alternative<ir::IndexAdd>(op);
  }

  const ir::Program& program_;
  const ir::Function& function_;
  Known& known_;
  std::vector<Set> from_;  // by value
  Set ids_;
};

const std::vector<bool>& params_in(const ir::Program& program, const ir::Function& function,
                                   Known& known) {
  auto found = known.find(&function);
  if (found == known.end())
    found = known.emplace(&function, Origins(program, function, known).ids()).first;
  return found->second;
}

}  // namespace

std::vector<bool> params_of_ids(const ir::Program& program, const ir::Function& function) {
  Known known;
  std::vector<bool> ids = params_in(program, function, known);
  if (function.model) {
    const std::vector<bool> of_model =
        params_of_ids(program, program.functions.at(*function.model));
    for (size_t i = 0; i < of_model.size() && i < ids.size(); ++i) ids[i] = ids[i] || of_model[i];
  }
  return ids;
}

}  // namespace shardproof
