// Finds integer parameters that index a table as a whole: their range is assumed, as a fact of the
// leaf.
#include "spec/ir/walk.h"
#include "spec/lower/lower.h"

namespace shardproof::lower {

namespace {

/// By value: the parameter that supplies all of its entries (a loop takes them in turn), else
/// no_value. A `read` supplies a part, which counts only if `parts` is set.
struct Origins {
  const ir::Program& program;
  const ir::Function& f;
  bool parts;
  std::map<size_t, IdRanges>& known;  // by function: calls nest, and each body is read once
  std::vector<ir::ValueId> of;
  IdRanges ranges;

  Origins(const ir::Program& p, const ir::Function& function, bool with_parts,
          std::map<size_t, IdRanges>& cache)
      : program(p),
        f(function),
        parts(with_parts),
        known(cache),
        of(f.values.size(), ir::no_value),
        ranges(f.params.size()) {
    for (size_t i = 0; i < f.params.size(); ++i) of.at(f.params[i]) = static_cast<ir::ValueId>(i);
    block(f.body);
  }

  bool copies(const ir::Op& op) const {
    return std::holds_alternative<ir::Save>(op) || std::holds_alternative<ir::StopGrad>(op) ||
           std::holds_alternative<ir::Ascribe>(op) || std::holds_alternative<ir::Collective>(op) ||
           std::holds_alternative<ir::Rearrange>(op) || std::holds_alternative<ir::Expand>(op) ||
           std::holds_alternative<ir::Entry>(op) || (parts && std::holds_alternative<ir::Read>(op));
  }
  void below(ir::ValueId value, const Dim& dim) {
    const ir::ValueId param = of.at(value);
    if (param != ir::no_value && !ranges[param]) ranges[param] = dim;
  }
  void block(const ir::Block& b) {
    for (const ir::Instr& instr : b.instrs) {
      if (copies(instr.op)) of.at(instr.results.at(0)) = of.at(instr.operands.at(0));
      if (const auto* op = std::get_if<ir::Index>(&instr.op)) table(instr, op->pattern);
      if (const auto* op = std::get_if<ir::IndexUnreduced>(&instr.op)) table(instr, op->pattern);
      if (const auto callee = callee_of(instr.op)) {  // of a call, or of a gradient
        const IdRanges& inner = of_callee(*callee);
        for (size_t i = 0; i < inner.size() && i < instr.operands.size(); ++i)
          if (inner[i]) below(instr.operands[i], *inner[i]);
      }
      std::visit(
          [&](const auto& op) {
            if constexpr (requires { op.body; })
              if (op.body) block(*op.body);
          },
          instr.op);
    }
  }
  const IdRanges& of_callee(size_t function) {
    auto found = known.find(function);
    if (found == known.end()) {
      Origins callee(program, program.functions.at(function), parts, known);
      found = known.emplace(function, std::move(callee.ranges)).first;
    }
    return found->second;
  }
  void table(const ir::Instr& instr, const ir::Pattern& p) {
    below(instr.operands.at(1), p.left.at(0).dims.at(p.left_bracket.value()).dim);
  }
};

/// The V of `assume 0 <= y < |V|`, in one statement or in two.
std::optional<Dim> assumed_range(const std::vector<ir::Assumption>& assumptions, size_t leaf) {
  std::optional<Dim> dim;
  bool from_zero = false;
  for (const ir::Assumption& each : assumptions)
    for (const ir::Assumption::Bound& bound : each.bounds) {
      using Kind = ir::Arith::Kind;
      if (each.leaf != leaf) continue;
      from_zero |= bound.op == ">=" && bound.to.kind == Kind::number && bound.to.text == "0";
      if (bound.op == "<" && bound.to.kind == Kind::size) dim = Dim{{bound.to.text}};
    }
  return from_zero ? dim : std::nullopt;
}

}  // namespace

IdRanges id_ranges(const ir::Program& program, size_t function, bool parts) {
  std::map<size_t, IdRanges> known;
  IdRanges ranges = Origins(program, program.functions.at(function), parts, known).ranges;
  const auto assumptions = program.assumptions(program.functions.at(function));
  for (size_t leaf = 0; leaf < ranges.size(); ++leaf)
    if (!ranges[leaf]) ranges[leaf] = assumed_range(assumptions, leaf);
  return ranges;
}

}  // namespace shardproof::lower
