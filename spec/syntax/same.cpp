// Equality of trees up to ranges. A new field of the tree belongs into its line here.
#include <algorithm>

#include "spec/syntax/parser.h"

namespace shardproof::syntax {
namespace {

template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b);
template <typename T>
bool same(const std::optional<T>& a, const std::optional<T>& b);

bool same(const SplitExpr& a, const SplitExpr& b) {
  return a.kind == b.kind && a.names == b.names && a.axes == b.axes && a.bracketed == b.bracketed;
}
bool same(const MarkExpr& a, const MarkExpr& b) {
  return a.mark == b.mark && a.either == b.either && a.axis == b.axis;
}
bool same(const TypeExpr& a, const TypeExpr& b) {
  return a.name == b.name && a.has_dims == b.has_dims && same(a.dims, b.dims) &&
         same(a.marks, b.marks);
}

// An argument list without names is one whose names are all empty.
bool same_names(const std::vector<Name>& a, const std::vector<Name>& b) {
  const auto at = [](const std::vector<Name>& names, size_t i) {
    return i < names.size() ? names[i] : Name();
  };
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i)
    if (at(a, i) != at(b, i)) return false;
  return true;
}

bool same(const Expr& a, const Expr& b) {
  return a.kind == b.kind && a.text == b.text && a.each == b.each && a.names == b.names &&
         same_names(a.arg_names, b.arg_names) && same(a.args, b.args) && same(a.type, b.type);
}
bool same(const Target& a, const Target& b) { return a.name == b.name && same(a.type, b.type); }
bool same(const Carry& a, const Carry& b) {
  return a.name == b.name && same(a.type, b.type) && same(a.init, b.init);
}

bool same(const Statement& a, const Statement& b);

bool same(const Loop& a, const Loop& b) {
  return a.kind == b.kind && a.variables == b.variables && a.dims == b.dims && a.axis == b.axis &&
         a.block_dim == b.block_dim && a.reverse == b.reverse && a.schedule == b.schedule &&
         a.has_schedule_args == b.has_schedule_args && same(a.schedule_args, b.schedule_args) &&
         same_names(a.schedule_arg_names, b.schedule_arg_names) && same(a.carries, b.carries) &&
         same(a.body, b.body);
}
bool same(const DimDecl& a, const DimDecl& b) {
  return a.names == b.names && a.kind == b.kind && a.of == b.of && same(a.size, b.size);
}
bool same(const Require& a, const Require& b) { return same(a.condition, b.condition); }
bool same(const Assume& a, const Assume& b) {
  return same(a.terms, b.terms) && a.comparisons == b.comparisons;
}
bool same(const Bind& a, const Bind& b) {
  return same(a.targets, b.targets) && same(a.value, b.value) && same(a.loop, b.loop);
}
bool same(const Return& a, const Return& b) { return same(a.values, b.values); }
bool same(const Next& a, const Next& b) { return same(a.values, b.values); }
bool same(const Emit& a, const Emit& b) { return same(a.values, b.values); }

bool same(const Group& a, const Group& b) { return a.names == b.names && same(a.type, b.type); }
bool same(const Param& a, const Param& b) {
  return same(a.group, b.group) && same(a.value, b.value);
}
bool same(const Results& a, const Results& b) {
  return a.parenthesized == b.parenthesized && same(a.groups, b.groups);
}
bool same(const Implements& a, const Implements& b) {
  return a.model == b.model && a.grad == b.grad && a.wrt == b.wrt;
}

bool same(const ImportDecl& a, const ImportDecl& b) {
  return a.names == b.names && a.path == b.path;
}
bool same(const MeshDecl::Entry& a, const MeshDecl::Entry& b) {
  return a.axis == b.axis && a.size == b.size;
}
bool same(const MeshDecl& a, const MeshDecl& b) { return same(a.axes, b.axes); }
bool same(const ConstDecl& a, const ConstDecl& b) {
  return a.name == b.name && same(a.value, b.value);
}
bool same(const ConfigDecl::Entry& a, const ConfigDecl::Entry& b) {
  return a.name == b.name && a.number == b.number;
}
bool same(const ConfigDecl& a, const ConfigDecl& b) {
  return a.name == b.name && same(a.entries, b.entries);
}
bool same(const RecordDecl& a, const RecordDecl& b) {
  return a.name == b.name && same(a.fields, b.fields);
}
bool same(const LayoutDecl& a, const LayoutDecl& b) {
  return a.name == b.name && a.record == b.record && same(a.fields, b.fields);
}
bool same(const FunctionDecl& a, const FunctionDecl& b) {
  return a.is_plan == b.is_plan && a.trusted == b.trusted && a.name == b.name &&
         same(a.implements, b.implements) && a.after == b.after && a.pattern == b.pattern &&
         same(a.params, b.params) && same(a.saved, b.saved) && a.has_saved == b.has_saved &&
         same(a.results, b.results) && a.has_body == b.has_body && same(a.body, b.body);
}
bool same(const ScheduleStatement& a, const ScheduleStatement& b) {
  return a.kind == b.kind && a.name == b.name && a.params == b.params && same(a.exprs, b.exprs) &&
         same(a.body, b.body);
}
bool same(const ScheduleDecl& a, const ScheduleDecl& b) {
  return a.name == b.name && a.params == b.params && same(a.steps, b.steps);
}

template <typename... Nodes>
bool same(const std::variant<Nodes...>& a, const std::variant<Nodes...>& b) {
  if (a.index() != b.index()) return false;
  const auto alike = [&](const auto& node) {
    return same(node, std::get<std::decay_t<decltype(node)>>(b));
  };
  return std::visit(alike, a);
}

bool same(const Statement& a, const Statement& b) { return same(a.node, b.node); }

template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}
template <typename T>
bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}

}  // namespace

bool same(const File& a, const File& b) { return same(a.declarations, b.declarations); }

}  // namespace shardproof::syntax
