#include <stdexcept>

#include "properties/faults/fault.h"

namespace shardproof::faults {

const char* to_string(Family family) {
  static const char* const names[] = {"drop a collective",
                                      "duplicate a collective",
                                      "exchange a collective",
                                      "another axis",
                                      "another dim",
                                      "another order of axes",
                                      "R for I, I for R",
                                      "drop a summand",
                                      "drop a scale",
                                      "scale by |axis|",
                                      "swap operands",
                                      "stale value",
                                      "another number or offset",
                                      "another label",
                                      "another total"};
  static_assert(std::size(names) == families);
  return names[static_cast<size_t>(family)];
}

namespace {

class Planter {
 public:
  Planter(ir::Function& function, const Fault& fault) : function_(function), fault_(fault) {}

  void run() {
    function_.values.insert(function_.values.end(), fault_.fresh.begin(), fault_.fresh.end());
    if (fault_.end == End::returned)
      function_.returned.at(fault_.position) = fault_.value;
    else
      find(function_.body);
    if (fault_.substitute) substitute(function_.body), substitute(function_.returned);
  }

 private:
  /// True when the instruction was found.
  bool find(ir::Block& block) {
    for (size_t i = 0; i < block.instrs.size(); ++i) {
      if (number_++ == fault_.at) return plant(block, i), true;
      if (ir::Block* body = body_of(block.instrs[i].op); body && find(*body)) return true;
    }
    return false;
  }

  void plant(ir::Block& block, size_t i) {
    if (fault_.end) {
      ir::Block& body = *body_of(block.instrs[i].op);
      (fault_.end == End::next ? body.next : body.emit).at(fault_.position) = fault_.value;
      return;
    }
    const auto place = block.instrs.erase(block.instrs.begin() + static_cast<std::ptrdiff_t>(i));
    block.instrs.insert(place, fault_.instead.begin(), fault_.instead.end());
  }

  void substitute(std::vector<ir::ValueId>& ids) const {
    for (ir::ValueId& id : ids)
      if (id == fault_.substitute->first) id = fault_.substitute->second;
  }

  void substitute(ir::Arith& arith) const {
    if (arith.kind == ir::Arith::Kind::value && arith.value == fault_.substitute->first)
      arith.value = fault_.substitute->second;
    for (ir::Arith& arg : arith.args) substitute(arg);
  }

  void substitute(ir::Block& block) const {
    for (ir::Requirement& each : block.requirements) substitute(each.condition);
    for (ir::Instr& instr : block.instrs) {
      substitute(instr.operands);
      std::visit(
          [&](auto& op) {
            if constexpr (requires { op.created; }) substitute(op.created.axes_from);
          },
          instr.op);
      if (ir::Block* body = body_of(instr.op)) substitute(*body);
    }
    substitute(block.next);
    substitute(block.emit);
  }

  ir::Function& function_;
  const Fault& fault_;
  size_t number_ = 0;
};

}  // namespace

ir::Function planted(const ir::Function& function, const Fault& fault) {
  ir::Function copy = function;
  copy.body = deep_copy(function.body);
  Planter(copy, fault).run();
  return copy;
}

}  // namespace shardproof::faults
