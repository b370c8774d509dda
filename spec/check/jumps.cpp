#include "spec/check/jumps.h"

#include <algorithm>

#include "spec/check/reached.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

/// Maxima and magnitudes are continuous, and what is near a pole moves far in any direction.
bool jumps(const ir::Function& function, const ir::Instr& instr) {
  using enum ir::BinaryFn;
  // A number by itself has the dtype of what it meets.
  const auto whole = [&](ir::ValueId v) {
    const Dtype dtype = function.values.at(v).type.dtype;
    return is_integer(dtype) || dtype == Dtype::boolean || dtype == Dtype::key;
  };
  const auto real = [&](ir::ValueId v) { return is_float(function.values.at(v).type.dtype); };
  const bool any_whole = std::any_of(instr.operands.begin(), instr.operands.end(), whole);
  const bool of_reals =
      std::any_of(instr.operands.begin(), instr.operands.end(), real) || !any_whole;
  if (!of_reals) return false;
  if (const auto* unary = std::get_if<ir::Unary>(&instr.op))
    return ir::growth(unary->fn) == ir::Growth::steps;
  if (const auto* binary = std::get_if<ir::Binary>(&instr.op))
    return ir::is_comparison(binary->fn) || binary->fn == pow || binary->fn == atan2;
  if (const auto* cast = std::get_if<ir::Cast>(&instr.op)) return !is_float(cast->to);
  if (const auto* ordered = std::get_if<ir::Ordered>(&instr.op))
    return ordered->fn == ir::OrderedFn::argsort;
  return std::holds_alternative<ir::Argmax>(instr.op) ||
         std::holds_alternative<ir::TopK>(instr.op) || std::holds_alternative<ir::Grad>(instr.op);
}

}  // namespace

bool may_jump(const ir::Program& program, size_t plan) {
  bool found = false;
  for (size_t f : reached_functions(program, plan)) {
    const ir::Function& function = program.functions.at(f);
    found = found || function.uses_gradients || function.implements_grad;
    for_each_instr(function.body,
                   [&](const ir::Instr& instr) { found = found || jumps(function, instr); });
  }
  return found;
}

}  // namespace shardproof
