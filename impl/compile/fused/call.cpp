#include "impl/compile/fused/call.h"

#include <algorithm>

namespace shardproof::compile {
namespace {

const std::map<Name, void (*)(const FusedCall&)>& fused_functions() {
  static const std::map<Name, void (*)(const FusedCall&)> functions = {
      {"rms_norm", fuse_rms_norm},
      {"rms_norm_grad", fuse_rms_norm_grad},
      {"layer_norm", fuse_layer_norm},
      {"layer_norm_grad", fuse_layer_norm_grad},
      {"softmax", fuse_softmax},
      {"softmax_grad", fuse_softmax_grad},
      {"cross_entropy", fuse_cross_entropy},
      {"cross_entropy_grad", fuse_cross_entropy_grad},
      {"rope", fuse_rope},
      {"rope_inverse", fuse_rope_inverse},
      {"rope_grad", fuse_rope_grad},
      {"adamw", fuse_adamw},
      {"sumsq", fuse_sumsq},
      {"attention", fuse_attention},
      {"attention_grad", fuse_attention_grad},
  };
  return functions;
}

}  // namespace

bool fuse(Compiler& compiler, Scope& scope, const ir::LibraryCall& call) {
  const auto found = fused_functions().find(call.function);
  if (!call.of_library || found == fused_functions().end()) return false;
  try {
    found->second(FusedCall(compiler, scope, call));
    return true;
  } catch (const DoesNotFit&) {
    return false;
  }
}

ir::ValueId FusedCall::argument(const Name& param) const {
  for (const auto* all : {&call.arguments, &call.defaults})
    for (const ir::LibraryCall::Argument& each : *all)
      if (each.param == param) return each.value;
  throw std::logic_error(call.function + " has no parameter " + param);
}

const Dim& FusedCall::working(size_t i) const {
  require(i < call.working.size());
  return call.working[i];
}

/// A name that is not expected stands for the only expected one of the same dim.
Labels FusedCall::matched(Labels own, const Labels& expected) const {
  for (Dim& label : own) {
    if (has(expected, label)) continue;
    for (const Dim& other : expected)
      if (!has(own, other) && scope.unit.program->same_dim(label, other)) {
        label = other;
        break;
      }
  }
  return own;
}

Labels FusedCall::labels(const Name& param, const Labels& expected) const {
  const auto given =
      std::find_if(call.arguments.begin(), call.arguments.end(),
                   [&](const ir::LibraryCall::Argument& each) { return each.param == param; });
  const auto at = static_cast<size_t>(given - call.arguments.begin());
  return matched(
      labels_of(at < call.left.size() ? call.left[at] : scope.unit.type(argument(param))),
      expected);
}

Labels FusedCall::rest(const Name& param, const Labels& without) const {
  Labels rest;
  const Labels own = labels(param);
  for (const Dim& label : own)
    if (!has(without, label)) rest.push_back(label);
  require(rest.size() + without.size() == own.size());
  return rest;
}

Element FusedCall::element(const Name& param) const {
  return compiler.element(scope.unit.type(argument(param)).dtype);
}

Ref FusedCall::ref(const Name& param) const { return compiler.ref(scope, argument(param)); }

Ref FusedCall::view(const Name& param, const Labels& order) const {
  const Labels own = labels(param, order);
  require(std::is_permutation(own.begin(), own.end(), order.begin(), order.end()));
  const Ref whole = ref(param);
  std::vector<int64_t> extents;
  for (const Dim& label : order) extents.push_back(whole.extents.at(position_of(own, label)));
  return relabelled(whole, own, order, extents);
}

Ref FusedCall::packed(const Name& param, const Labels& order) const {
  const Ref own = view(param, order);
  return compiler.packed(own, own.element);
}

Scalar FusedCall::scalar(const Name& param, std::vector<Ref>& inputs) const {
  const ir::ValueId id = argument(param);
  const Value& value = scope.values.at(id);
  if (value.known() && value.expression->kind == Expression::Kind::constant)
    return {static_cast<float>(value.expression->value), false};
  const Ref own = compiler.ref(scope, id);
  require(own.element == Element::f32 && own.count() == 1);
  inputs.push_back(own);
  return {0, true};
}

void FusedCall::require_whole(const Ref& ref, const Labels& labels, const Dim& dim) const {
  require(ref.extents.at(position_of(labels, dim)) == scope.placement.size(dim));
}

Ref FusedCall::create(Element element, const Labels& labels, const Ref& like,
                      const Labels& order) const {
  std::vector<int64_t> extents;
  for (const Dim& label : labels) extents.push_back(like.extents.at(position_of(order, label)));
  return compiler.create(element, extents);
}

Labels FusedCall::result_labels(size_t r, const Labels& expected) const {
  const Labels own = matched(labels_of(scope.unit.type(call.results.at(r))), expected);
  require(std::is_permutation(own.begin(), own.end(), expected.begin(), expected.end()));
  return own;
}

void FusedCall::define(size_t r, const Ref& made, const Labels& labels) const {
  const ir::ValueId id = call.results.at(r);
  if (id == ir::no_value) return;
  const Labels own = result_labels(r, labels);
  std::vector<int64_t> extents;
  for (const Dim& label : own) extents.push_back(made.extents.at(position_of(labels, label)));
  scope.values.at(id) = compiler.leaf(relabelled(made, labels, own, extents), scope.unit.type(id));
}

}  // namespace shardproof::compile
