#include "impl/compile/fused/call.h"

#include <algorithm>

#include "impl/compile/opening.h"
#include "spec/elaborate/elaborate.h"
#include "spec/elaborate/names.h"

namespace shardproof::compile {
namespace {

struct Fused {
  void (*compile)(const FusedCall&);
  const char* law;  ///< in properties/fused: the kernel is the function's text in spec/lib
};

const std::map<Name, Fused>& fused_functions() {
  static const std::map<Name, Fused> functions = {
      {"rms_norm", {fuse_rms_norm, "FusedRows.RmsNorm"}},
      {"rms_norm_grad", {fuse_rms_norm_grad, "FusedRows.RmsNormGrad"}},
      {"layer_norm", {fuse_layer_norm, "FusedRows.LayerNorm"}},
      {"layer_norm_grad", {fuse_layer_norm_grad, "FusedRows.LayerNormGrad"}},
      {"softmax", {fuse_softmax, "FusedRows.Softmax"}},
      {"softmax_grad", {fuse_softmax_grad, "FusedRows.SoftmaxGrad"}},
      {"cross_entropy", {fuse_cross_entropy, "FusedRows.CrossEntropy"}},
      {"cross_entropy_grad", {fuse_cross_entropy_grad, "FusedRows.CrossEntropyGrad"}},
      {"rope", {fuse_rope, "FusedRows.Rope"}},
      {"rope_inverse", {fuse_rope_inverse, "FusedRows.Rope"}},
      {"rope_grad", {fuse_rope_grad, "FusedRows.Rope"}},
      {"adamw", {fuse_adamw, "FusedRows.AdamW"}},
      {"sumsq", {fuse_sumsq, "FusedRows.SumSquares"}},
      {"attention", {fuse_attention, "FusedAttention.Forward"}},
      {"attention_grad", {fuse_attention_grad, "FusedAttention.Gradient"}},
  };
  return functions;
}

}  // namespace

std::map<Name, std::string> laws_of_fused() {
  std::map<Name, std::string> laws;
  for (const auto& [name, each] : fused_functions()) laws.emplace(name, each.law);
  return laws;
}

bool fuse(Compiler& compiler, Scope& scope, const ir::LibraryCall& call) {
  const auto found = fused_functions().find(call.function);
  if (!call.of_library || found == fused_functions().end()) return false;
  try {
    found->second.compile(FusedCall(compiler, scope, call));
    return true;
  } catch (const DoesNotFit&) {
    return false;
  }
}

namespace {

/// The indices of `named` in the groups of `type`: where they differ, the call opens a group.
Positions grouped(const ir::Program& program, const Positions& named, const Shape& type) {
  const Ids all = flat(named);
  Positions own;
  auto next = all.begin();
  for (const Split& split : type.dims) {
    const size_t count = elaborate::factors(program, split.dim).size();
    if (static_cast<size_t>(all.end() - next) < count) throw DoesNotFit();
    own.emplace_back(next, next + static_cast<std::ptrdiff_t>(count));
    next += static_cast<std::ptrdiff_t>(count);
  }
  return own;
}

}  // namespace

// Pairs positions as in the function's body: as a whole, by the names in the call.
FusedCall::FusedCall(Compiler& compiler, Scope& scope, const ir::LibraryCall& call)
    : compiler(compiler), scope(scope), call(call) {
  const ir::Program& program = *scope.unit.program;
  std::vector<Shape> shapes;
  std::vector<ir::LibraryCall::Argument> given = call.arguments;
  given.insert(given.end(), call.defaults.begin(), call.defaults.end());
  for (const ir::LibraryCall::Argument& each : given) shapes.push_back(scope.unit.type(each.value));
  if (call.left.size() > call.arguments.size()) throw DoesNotFit();
  std::copy(call.left.begin(), call.left.end(), shapes.begin());
  for (ir::ValueId id : call.results)
    shapes.push_back(id == ir::no_value ? Type{} : scope.unit.type(id));
  shapes.emplace_back();
  for (const Dim& dim : call.working) shapes.back().dims.push_back({dim, {}});
  const ir::Indices in = elaborate::whole_positions(program, shapes, {});

  Positions met;
  const auto numbered = [&](const Positions& positions) {
    Ids ids;
    for (const ir::Position& position : positions) {
      const auto found = std::find(met.begin(), met.end(), position);
      ids.push_back(static_cast<size_t>(found - met.begin()));
      if (found == met.end()) met.push_back(position);
    }
    return ids;
  };
  for (size_t i = 0; i < given.size(); ++i) {
    const Type& type = scope.unit.type(given[i].value);
    const Positions& named = in.left[i];
    const Argument made{given[i].value, numbered(named), grouped(program, named, type), named};
    add_extents(scope.placement, in, made.own, type, extents_);
    arguments_.emplace(given[i].param, made);
  }
  for (size_t r = 0; r < call.results.size(); ++r)
    results_.push_back(numbered(in.left[given.size() + r]));
  working_ = numbered(in.left.back());
}

const FusedCall::Argument& FusedCall::argument(const Name& param) const {
  const auto found = arguments_.find(param);
  if (found == arguments_.end())
    throw std::logic_error(call.function + " has no parameter " + param);
  return found->second;
}

IndexId FusedCall::working(size_t i) const {
  require(i < working_.size());
  return working_[i];
}

const Ids& FusedCall::ids(const Name& param) const { return argument(param).ids; }

Ids FusedCall::rest(const Name& param, const Ids& without) const {
  Ids rest;
  for (IndexId id : ids(param))
    if (!has(without, id)) rest.push_back(id);
  require(rest.size() + without.size() == ids(param).size());
  return rest;
}

Element FusedCall::element(const Name& param) const {
  return compiler.element(scope.unit.type(argument(param).value).dtype);
}

View FusedCall::ref(const Name& param) const {
  const Argument& own = argument(param);
  const Ref whole = compiler.ref(scope, own.value);
  if (own.own == own.named) return {whole, own.ids};
  const auto named = closed(opened(whole, own.own, extents_), own.named, extents_);
  require(named.has_value());
  return {named->ref, own.ids};
}

Ref FusedCall::view(const Name& param, const Ids& order) const {
  const Ids& own = ids(param);
  require(std::is_permutation(own.begin(), own.end(), order.begin(), order.end()));
  const View whole = ref(param);
  return along(whole, order, whole.extents(order));
}

Ref FusedCall::packed(const Name& param, const Ids& order) const {
  const Ref own = view(param, order);
  return compiler.packed(own, own.element);
}

Scalar FusedCall::scalar(const Name& param, std::vector<Ref>& inputs) const {
  const ir::ValueId id = argument(param).value;
  const CompiledValue& value = scope.values.at(id);
  if (value.known() && value.expression->kind == Expression::Kind::constant)
    return {static_cast<float>(value.expression->value), false};
  const Ref own = compiler.ref(scope, id);
  require(own.element == Element::f32 && own.count() == 1);
  inputs.push_back(own);
  return {0, true};
}

void FusedCall::require_whole(size_t working, int64_t extent) const {
  require(extent == scope.placement.size(call.working.at(working)));
}

// `-> ...` in the call may rename one position: the one that remains.
Ids FusedCall::result_ids(size_t r, const Ids& made) const {
  Ids ids = results_.at(r), left = made;
  std::erase_if(left, [&](IndexId id) { return has(ids, id); });
  if (left.size() == 1)
    for (IndexId& id : ids)
      if (!has(made, id)) id = left[0];
  require(std::is_permutation(ids.begin(), ids.end(), made.begin(), made.end()));
  return ids;
}

View FusedCall::create(size_t r, Element element, const View& like) const {
  const Ids ids = call.results.at(r) == ir::no_value ? like.ids : result_ids(r, like.ids);
  return {compiler.create(element, like.extents(ids)), ids};
}

void FusedCall::define(size_t r, const View& made) const {
  const ir::ValueId id = call.results.at(r);
  if (id == ir::no_value) return;
  const Ids ids = result_ids(r, made.ids);
  scope.values.at(id) = in_memory(along(made, ids, made.extents(ids)));
}

}  // namespace shardproof::compile
