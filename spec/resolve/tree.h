#pragma once
// The shape of a record with something at each leaf tensor: types in a signature, values in a body.
#include <algorithm>
#include <string>
#include <vector>

#include "spec/ir/ops.h"

namespace shardproof::resolution {

template <class Leaf>
Leaf none() {
  return {};
}
template <>
inline ir::ValueId none<ir::ValueId>() {
  return ir::no_value;
}

template <class Leaf>
struct Tree {
  int record = -1;  ///< index into World::records (never a layout); -1: one tensor
  std::vector<Name> names;
  std::vector<Tree> fields;
  Leaf leaf = none<Leaf>();

  bool is_record() const { return record >= 0; }
};

/// The tensors of a value in a body. A leaf that is no_value had an error, and its users report
/// none.
using Values = Tree<ir::ValueId>;
using Types = Tree<Type>;

template <class Leaf>
Tree<Leaf> tensor(Leaf leaf) {
  Tree<Leaf> tree;
  tree.leaf = std::move(leaf);
  return tree;
}
inline Values unknown_value() { return {}; }

/// Calls `visit(leaf, path)` in field order. The path is "attn.ln"; for a tensor, `path` itself.
template <class Leaf, class Visit>
void for_each_leaf(const Tree<Leaf>& tree, const Visit& visit, const std::string& path = "") {
  if (!tree.is_record()) return visit(tree.leaf, path);
  for (size_t i = 0; i < tree.fields.size(); ++i)
    for_each_leaf(tree.fields[i], visit, path.empty() ? tree.names[i] : path + "." + tree.names[i]);
}

template <class Leaf>
std::vector<Leaf> leaves(const Tree<Leaf>& tree) {
  std::vector<Leaf> result;
  for_each_leaf(tree, [&](const Leaf& leaf, const std::string&) { result.push_back(leaf); });
  return result;
}

/// The same record with `map(leaf)` at each leaf.
template <class To, class From, class Map>
Tree<To> transform(const Tree<From>& tree, const Map& map) {
  Tree<To> result;
  result.record = tree.record;
  result.names = tree.names;
  if (!tree.is_record()) {
    result.leaf = map(tree.leaf);
    return result;
  }
  for (const Tree<From>& field : tree.fields) result.fields.push_back(transform<To>(field, map));
  return result;
}

inline bool is_unknown(const Values& values) {
  if (!values.is_record()) return values.leaf == ir::no_value;
  return std::any_of(values.fields.begin(), values.fields.end(), is_unknown);
}

}  // namespace shardproof::resolution
