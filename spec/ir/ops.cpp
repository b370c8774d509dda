#include "spec/ir/ops.h"

#include <utility>

#include <type_traits>

namespace shardproof::ir {
namespace {

const char* name(ReduceFn fn) {
  switch (fn) {
    case ReduceFn::sum:
      return "sum";
    case ReduceFn::max:
      return "max";
    case ReduceFn::min:
      return "min";
  }
  return "?";
}
const char* name(CollectiveFn fn) {
  switch (fn) {
    case CollectiveFn::all_gather:
      return "all_gather";
    case CollectiveFn::all_reduce:
      return "all_reduce";
    case CollectiveFn::psum_scatter:
      return "psum_scatter";
    case CollectiveFn::all_to_all:
      return "all_to_all";
    case CollectiveFn::slice:
      return "slice";
    case CollectiveFn::fan_out:
      return "fan_out";
    case CollectiveFn::zero_nonroot:
      return "zero_nonroot";
    case CollectiveFn::zero_pad:
      return "zero_pad";
  }
  return "?";
}

struct NameOf {
  const char* operator()(const Number&) const { return "number"; }
  const char* operator()(const SizeOf&) const { return "size"; }
  const char* operator()(const Unary& op) const { return name_of(op.fn); }
  const char* operator()(const Binary& op) const { return name_of(op.fn); }
  const char* operator()(const Where&) const { return "where"; }
  const char* operator()(const Cast& op) const { return to_string(op.to); }
  const char* operator()(const StopGrad&) const { return "stop_grad"; }
  const char* operator()(const Save&) const { return "save"; }
  const char* operator()(const Fold&) const { return "fold"; }
  const char* operator()(const Einsum&) const { return "einsum"; }
  const char* operator()(const Reduce& op) const { return name(op.fn); }
  const char* operator()(const Expand&) const { return "expand"; }
  const char* operator()(const Rearrange&) const { return "rearrange"; }
  const char* operator()(const Read&) const { return "read"; }
  const char* operator()(const Write&) const { return "write"; }
  const char* operator()(const Concat&) const { return "concat"; }
  const char* operator()(const Index&) const { return "index"; }
  const char* operator()(const IndexUnreduced&) const { return "index_unreduced"; }
  const char* operator()(const IndexAdd&) const { return "index_add"; }
  const char* operator()(const Iota&) const { return "iota"; }
  const char* operator()(const Random& op) const {
    return op.fn == RandomFn::uniform ? "uniform" : "normal";
  }
  const char* operator()(const Zeros&) const { return "zeros"; }
  const char* operator()(const Roll&) const { return "roll"; }
  const char* operator()(const Rev&) const { return "rev"; }
  const char* operator()(const Ordered& op) const {
    return op.fn == OrderedFn::cumsum ? "cumsum" : "argsort";
  }
  const char* operator()(const Argmax&) const { return "argmax"; }
  const char* operator()(const TopK&) const { return "top_k"; }
  const char* operator()(const Collective& op) const { return name(op.fn); }
  const char* operator()(const Ppermute&) const { return "ppermute"; }
  const char* operator()(const Total&) const { return "total"; }
  const char* operator()(const Ascribe&) const { return "type"; }
  const char* operator()(const Entry&) const { return "entry"; }
  const char* operator()(const Call&) const { return "call"; }
  const char* operator()(const Grad& op) const { return op.with_value ? "value_and_grad" : "grad"; }
  const char* operator()(const Scan&) const { return "scan"; }
  const char* operator()(const Ring&) const { return "ring"; }
  const char* operator()(const Pipeline&) const { return "pipeline"; }
  const char* operator()(const Stages&) const { return "stages"; }
};

}  // namespace

const char* name_of(const Op& op) { return std::visit(NameOf{}, op); }

const Pattern* pattern_of(const Op& op) {
  return std::visit(
      [](const auto& each) -> const Pattern* {
        if constexpr (requires { each.pattern; }) return &each.pattern;
        return nullptr;
      },
      op);
}

Pattern* pattern_of(Op& op) { return const_cast<Pattern*>(pattern_of(std::as_const(op))); }

}  // namespace shardproof::ir
