#include "spec/check/one_device.h"

#include <stdexcept>

#include "spec/ir/walk.h"

namespace shardproof {
namespace {

class Rewriter {
 public:
  Rewriter(const ir::Program& program, const denote::Sizes& sizes, ir::Function& function,
           ir::Dims& dims)
      : program_(program), sizes_(sizes), function_(function), dims_(dims) {}

  void rewrite(ir::Block& block) {
    std::vector<ir::Instr> instrs;
    instrs.reserve(block.instrs.size());
    for (ir::Instr& instr : block.instrs) {
      std::visit(
          [](auto& op) {
            if constexpr (requires { op.body; }) op.body = std::make_shared<ir::Block>(*op.body);
          },
          instr.op);
      if (auto* size = std::get_if<ir::SizeOf>(&instr.op); size && size->axis)
        instr.op = number(sizes_.axis(size->name), "|" + size->name + "|");
      if (auto* permute = std::get_if<ir::Ppermute>(&instr.op)) roll(instr, *permute, instrs);
      if (auto* ring = std::get_if<ir::Ring>(&instr.op)) give_block_its_size(*ring);
      instrs.push_back(std::move(instr));
      std::visit(
          [&](auto& op) {
            if constexpr (requires { op.body; }) rewrite(*op.body);
          },
          instrs.back().op);
    }
    block.instrs = std::move(instrs);
  }

 private:
  /// `name`: what is written for it.
  static ir::Number number(int64_t value, const std::string& name = {}) {
    ir::Number result;
    result.constant = name;
    result.text = std::to_string(value);
    result.value = static_cast<double>(value);
    return result;
  }

  ir::ValueId add(ir::Op op, std::vector<ir::ValueId> operands, const ir::Instr& near,
                  std::vector<ir::Instr>& instrs) {
    const auto id = static_cast<ir::ValueId>(function_.values.size());
    function_.values.push_back({"", Type{{}, Dtype::number}, near.place.range, false});
    instrs.push_back({std::move(op), std::move(operands), {id}, near.place, {}});
    return id;
  }

  /// ppermute(.., by=k) over c, the first axis of L, becomes roll(.., by=k*|L|/|c|).
  void roll(ir::Instr& instr, const ir::Ppermute& permute, std::vector<ir::Instr>& instrs) {
    const Split& dim = permute.pattern.left.at(0).dims.at(permute.pattern.left_bracket.value());
    const int64_t extent = program_.size(dim.dim, sizes_.dims);
    const int64_t devices = dim.axes.empty() ? 1 : sizes_.axis(dim.axes[0]);
    if (extent % devices != 0) throw std::domain_error("a rotated dim that is not divisible");
    const ir::ValueId block = add(number(extent / devices), {}, instr, instrs);
    const ir::ValueId by =
        add(ir::Binary{ir::BinaryFn::mul}, {instr.operands.at(1), block}, instr, instrs);
    instr.operands[1] = by;
    instr.op = ir::Roll{permute.pattern};
  }

  /// One device has all the blocks of the mesh's.
  void give_block_its_size(const ir::Ring& ring) {
    const int64_t extent = program_.size(ring.dim.dim, sizes_.dims);
    const int64_t blocks = sizes_.axis(ring.dim.axes.at(0));
    if (extent % blocks != 0) throw std::domain_error("blocks of a dim that is not divisible");
    dims_.at(ring.block.factors.at(0)).size =
        ir::Arith{ir::Arith::Kind::number, std::to_string(extent / blocks), ir::no_value, {}};
  }

  const ir::Program& program_;
  const denote::Sizes& sizes_;
  ir::Function& function_;
  ir::Dims& dims_;
};

}  // namespace

ir::Program at_mesh_sizes(const ir::Program& program, const denote::Sizes& sizes) {
  ir::Program result = program;
  for (ir::Function& function : result.functions.own())
    Rewriter(program, sizes, function, result.dims).rewrite(function.body);
  return result;
}

}  // namespace shardproof
