#pragma once
// Where faults are planted: a proved plan with its types, and each instruction with the values that
// it could have used.
#include <functional>

#include "properties/faults/fault.h"
#include "spec/check/typing.h"

namespace shardproof::faults {

/// One plan. Refers to the program.
struct Ground {
  Ground(const ir::Program& program, size_t plan, bool is_step);
  const ir::Program& program;
  size_t plan;
  const ir::Function& function;
  bool is_step;
  Typing typing;
  std::vector<Axis> axes;  ///< of the mesh, those of size 1 left out

  const Type& type(ir::ValueId value) const { return typing.types.at(value); }
  /// Same dims by name, and dtype: one can stand where the other does, axes and marks apart.
  bool alike(ir::ValueId a, ir::ValueId b) const;
  bool is_number(ir::ValueId value) const { return type(value).dtype == Dtype::number; }
};

/// One instruction, or with `instr` null the end of a block.
struct Site {
  const ir::Instr* instr;
  size_t at;
  const std::vector<ir::ValueId>& earlier;  ///< in scope, in order of their making
  End end = End::next;
  size_t position = 0;
  ir::ValueId value = ir::no_value;
  SourceRange range;
};

void for_each_site(const Ground& ground, const std::function<void(const Site&)>& visit);

using Faults = std::vector<Fault>;
using Generator = void (*)(const Ground&, const Site&, Faults&);

/// The instruction with other instructions in its place; the last one has its results.
Fault replaced(const Site& site, Family family, std::string text, std::vector<ir::Instr> instead);
/// The instruction with another op.
Fault with_op(const Site& site, Family family, std::string text, ir::Op op);
/// The instruction is gone; its result is `value`.
Fault passed_on(const Site& site, Family family, std::string text, ir::ValueId value);
/// An instruction after the one at the site: it takes result `which`, and makes what the others
/// use. `operand` of `extra` that is no_value is the result.
Fault followed_by(const Ground& ground, const Site& site, Family family, std::string text,
                  std::vector<ir::Instr> before, ir::Op op, std::vector<ir::ValueId> operands,
                  size_t which = 0);

/// The id of the k-th fresh value.
ir::ValueId fresh_id(const Ground& ground, size_t k);
/// A fresh value with the dims and dtype of `like`.
ir::Value fresh_like(const Ground& ground, ir::ValueId like);
ir::Value fresh_number();

/// `x`, or the text of what makes it.
std::string shown(const Ground& ground, ir::ValueId value);

}  // namespace shardproof::faults
