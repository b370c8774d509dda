#include "spec/check/reached.h"

#include <algorithm>

#include "spec/ir/walk.h"

namespace shardproof {
namespace {

class Reached {
 public:
  explicit Reached(const ir::Program& program) : program_(program) {}

  void add(const ir::Function& function) {
    for (const ir::Value& value : function.values) add(value.type);
    for (const Type& type : function.results) add(type);
    for (const ir::Assumption& each : function.assumptions)
      for (const ir::Assumption::Bound& bound : each.bounds) add(bound.to);
    for_each_block(function.body, [&](const ir::Block& block) {
      for (const ir::Requirement& each : block.requirements) add(each.condition);
    });
    for_each_instr(function.body, [&](const ir::Instr& instr) {
      std::visit([&](const auto& op) { add_of_op(op); }, static_cast<const ir::AnyOp&>(instr.op));
    });
  }

  std::set<Name> plain;

 private:
  template <class Op>
  void add_of_op(const Op& op) {
    if constexpr (requires { op.pattern.left; }) {
      for (const Shape& shape : op.pattern.left) add(shape);
      add(op.pattern.right);
      for (const Dim& dim : op.pattern.whole) add(dim);
      for (const auto& factors : op.pattern.groups)
        for (const Dim& dim : factors) add(dim);
    }
    if constexpr (requires { op.created; }) add(op.created.shape);
    if constexpr (requires { op.type.dims; }) add(op.type);
    if constexpr (requires { op.dim.factors; }) add(op.dim);
    if constexpr (requires { op.dim.axes; }) add(op.dim.dim);
    if constexpr (requires { op.block; }) add(op.block);
    if constexpr (requires { op.dims.size(); })
      for (const Dim& dim : op.dims) add(dim);
    if constexpr (requires { op.arguments; })
      for (const ir::Arith& each : op.arguments) add(each);
    if constexpr (std::is_same_v<Op, ir::SizeOf>)
      if (!op.axis) add(Dim{{op.name}});
  }
  void add(const Shape& shape) {
    for (const Split& split : shape.dims) add(split.dim);
  }
  void add(const Dim& dim) {
    if (std::find(seen_.begin(), seen_.end(), dim) != seen_.end()) return;
    seen_.push_back(dim);
    for (const Name& name : program_.base(dim)) {
      const auto found = program_.dims.find(name);
      if (found == program_.dims.end()) continue;  // a number
      if (found->second.size)
        add(*found->second.size);
      else
        plain.insert(name);
    }
  }
  void add(const ir::Arith& arith) {
    if (arith.kind == ir::Arith::Kind::size) add(Dim{{arith.text}});
    for (const ir::Arith& arg : arith.args) add(arg);
  }

  const ir::Program& program_;
  std::vector<Dim> seen_;
};

}  // namespace

std::set<size_t> reached_functions(const ir::Program& program, size_t function) {
  std::set<size_t> all;
  const auto add = [&](size_t f) {
    if (all.insert(f).second) add_reached(program, program.functions.at(f), all);
  };
  add(function);
  if (const auto after = program.functions.at(function).after) add(*after);
  // Of a plan with padded results, which is differentiated: the derived backward is run as its
  // claim.
  for (const size_t f : std::set<size_t>(all))
    if (const auto claim = program.functions.at(f).claim) add(*claim);
  return all;
}

bool reaches_any(const ir::Program& program, size_t function, const std::set<size_t>& others) {
  if (others.empty()) return false;
  const std::set<size_t> reached = reached_functions(program, function);
  return std::any_of(others.begin(), others.end(), [&](size_t f) { return reached.contains(f); });
}

std::set<Name> ReachedDims::of(size_t function) {
  std::set<Name> all;
  for (const size_t f : reached_functions(program_, function)) {
    const auto [at, fresh] = own_.try_emplace(f);
    if (fresh) {
      Reached reached(program_);
      reached.add(program_.functions.at(f));
      at->second = std::move(reached.plain);
    }
    all.insert(at->second.begin(), at->second.end());
  }
  return all;
}

denote::Sizes sizes_of(const std::set<Name>& dims, const denote::Sizes& sizes) {
  denote::Sizes own;
  own.mesh = sizes.mesh;
  for (const Name& dim : dims)
    if (const auto found = sizes.dims.find(dim); found != sizes.dims.end()) own.dims.insert(*found);
  return own;
}

}  // namespace shardproof
