// Calls that stay calls: library functions whose gradient is in the library, and trusted plans
// whose gradient is in the file.
#include <algorithm>

#include "spec/elaborate/elaborate.h"
#include "spec/grad/pull.h"

namespace shardproof::grad {
namespace {

std::optional<size_t> argument(const ir::LibraryCall& call, const Name& param) {
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (call.arguments[i].param == param) return i;
  return std::nullopt;
}

/// The parameters to which the gradient's results belong: as declared, or all floats.
std::vector<Name> results_of(Pull& p, const ir::LibraryGradient& gradient, const Library& op) {
  if (!gradient.wrt.empty()) return gradient.wrt;
  std::vector<Name> names;
  for (size_t i = 0; i < op.call->arguments.size(); ++i)
    if (is_float(p.in(i).type.dtype)) names.push_back(op.call->arguments[i].param);
  return names;
}

struct Operands {
  CallText text;
  std::vector<Ref> refs;
};

/// The pattern for an operand: the names that the call gave its dims.
void describe(const ir::Program& program, Operands& call, const Shape& named, const Type& type) {
  if (call.text.left.size() + 1 != call.refs.size()) return;  // the pattern names the first ones
  call.text.left.push_back(stated(program, named, type));
}

Shape named_result(const Library& op, const Type& type) {
  return op.call->right ? *op.call->right : type;
}

/// The operands of `X_grad` by name: X's arguments, X's result, and the upstream gradient.
Operands operands_of(Pull& p, const ir::LibraryGradient& gradient, const Library& op) {
  Operands call;
  call.text.function = gradient.name;
  call.text.working = op.call->working;
  bool keywords = false;
  for (const Name& param : gradient.params) {
    const auto given = argument(*op.call, param);
    const bool upstream = !given && param == "g";
    if (!given && !upstream &&
        std::count(gradient.defaults.begin(), gradient.defaults.end(), param)) {
      keywords = true;
      continue;
    }
    const Ref ref = given ? p.x(*given) : upstream ? p.g() : p.y();
    call.refs.push_back(ref);
    call.text.keywords.push_back(keywords ? param : "");
    if (keywords || type_of(ref).dims.empty() || type_of(ref).dtype == Dtype::number) continue;
    const bool named = given && *given < op.call->left.size();
    describe(p.emit.graph.program, call,
             named   ? op.call->left[*given]
             : given ? static_cast<const Shape&>(type_of(ref))
                     : named_result(op, type_of(ref)),
             type_of(ref));
  }
  return call;
}

/// The type of a result: the argument's dual, with the names in the call.
Type result_type(Pull& p, const Library& op, size_t operand, Dtype dtype) {
  Type type = p.dual(operand);
  if (operand < op.call->left.size())
    static_cast<Shape&>(type) = stated(p.emit.graph.program, op.call->left[operand], type);
  type.dtype = dtype;
  return type;
}

/// The indices of a result in the operand's positions; the call may have opened groups.
Positions positions_of(Pull& p, size_t operand, const Positions& named) {
  const std::vector<ir::IndexId> ids = flat(named);
  Positions result = unchanged(p.emit.graph.dims, p.dual(operand)).right;
  for (ir::Position& position : result)
    for (ir::IndexId& id : position) id = ids.at(id);
  return result;
}

/// The positions of a result in the order of a library function's results: that of the first
/// operand with all of them.
Positions ordered(const Positions& positions, const std::vector<Positions>& operands) {
  for (const Positions& operand : operands) {
    Positions order;
    for (const ir::Position& each : operand)
      if (std::count(positions.begin(), positions.end(), each)) order.push_back(each);
    if (order.size() == positions.size()) return order;
  }
  return positions;
}

/// The result of `X_grad` for an operand of X.
struct Given {
  size_t operand, result;
  PatternIndices all;
  Positions own, order;
};

bool splits(const Shape& shape, const Axis& axis) {
  return std::any_of(shape.dims.begin(), shape.dims.end(), [&](const Split& split) {
    return std::count(split.axes.begin(), split.axes.end(), axis) > 0;
  });
}

/// Whether the operand's gradient is a sum over a split dim: `X_grad` cannot state {U_t}, but the
/// ops of X can, so X is inlined.
bool sums_over_axis(const Shape& operand, const Shape& upstream) {
  for (const Split& split : upstream.dims)
    for (const Axis& axis : split.axes)
      if (!splits(operand, axis)) return true;
  return false;
}

}  // namespace

bool pull_library(Pull& p, const ir::Program& program, const Library& op) {
  if (!program.library_gradients) return false;
  const auto found = program.library_gradients->find(op.call->function);
  if (found == program.library_gradients->end() || p.taped.results.size() != 1) return false;
  const ir::LibraryGradient& gradient = found->second;
  const std::vector<Name> results = results_of(p, gradient, op);
  for (size_t i = 0; i < p.taped.operands.size(); ++i) {
    const Name& param = op.call->arguments[i].param;
    if (!p.wants(i)) continue;
    if (std::count(results.begin(), results.end(), param) == 0) return false;
    if (sums_over_axis(p.in(i).type, type_of(p.g()))) return false;
  }
  Operands call = operands_of(p, gradient, op);
  std::vector<Given> wanted;
  Node* node = p.emit.graph.make(p.emit.block);
  for (size_t r = 0; r < results.size(); ++r) {
    const auto operand = argument(*op.call, results[r]);
    const Dtype own = operand ? p.in(*operand).type.dtype : Dtype::f32;
    const bool keeps = r < gradient.results.size() && gradient.results[r] == "float";
    Type type = operand ? result_type(p, op, *operand, keeps ? own : Dtype::f32) : Type{};
    const ir::Indices in = elaborate::whole_positions(p.emit.graph.dims, call.text.left, type);
    const Positions order = ordered(in.right, in.left);
    static_cast<Shape&>(type) = regrouped(p.emit.graph.dims, in.all, order, in.right, type);
    node->types.push_back(type);
    if (operand && p.wants(*operand))
      wanted.push_back({*operand, r, in.all, positions_of(p, *operand, in.right), order});
  }
  node->names.resize(node->types.size());
  node->op = std::move(call.text);
  node->operands = std::move(call.refs);
  for (const Given& each : wanted)
    p.give(each.operand, p.emit.rearrange(each.all, {node, each.result}, each.order, each.own,
                                          p.dual(each.operand)));
  return true;
}

void pull_trusted(Pull& p, const ir::Program& program, const Trusted& op) {
  for (size_t f = 0; f < program.functions.size(); ++f) {
    const ir::Function& back = program.functions[f];
    if (!back.implements_grad || back.after != op.plan || !back.saved_params.empty()) continue;
    std::vector<Ref> operands;
    for (size_t i = 0; i < p.taped.operands.size(); ++i) operands.push_back(p.x(i));
    for (size_t r = 0; r < p.taped.results.size(); ++r) {
      const Ref g = p.g(r);
      operands.push_back(g ? g : p.emit.zeros(back.values[back.params.at(operands.size())].type));
    }
    Node* node = p.emit.graph.make(p.emit.block);
    node->op = CallText{back.name, {}, {}, {}, std::vector<Name>(operands.size())};
    node->operands = std::move(operands);
    for (const Type& type : back.results) node->types.push_back(plain(type));
    node->names.resize(node->types.size());
    for (size_t r = 0; r < back.wrt.size(); ++r)
      if (p.wants(back.wrt[r])) p.give(back.wrt[r], {node, r});
    return;
  }
  p.none(program.functions[op.plan].name + ": it is trusted, and no plan implements its gradient");
}

}  // namespace shardproof::grad
