#pragma once
// A loop that is linear in where it starts, as one on the way back is in its cotangent.
#include <set>
#include <string>

#include "spec/algebra/engine.h"

namespace shardproof::lower {

/// The degree of terms in the leaves of some names: of a sum of products with exactly one of the
/// leaves in each it is 1, of a term without them 0. Sums over indices are looked into, other
/// functions are not.
class Degrees {
 public:
  Degrees(algebra::Engine& engine, std::set<std::string> leaves)
      : g_(engine), leaves_(std::move(leaves)) {}

  /// Whether a term is 0, or has this degree.
  bool is(algebra::Nf e, int degree);

 private:
  static constexpr int any = -1, none = -2;  // of 0, and of what has no degree
  int of(algebra::Nf e);
  int of_atom(algebra::AtomId id);
  bool touches(algebra::Nf e);

  algebra::Engine& g_;
  std::set<std::string> leaves_;
  std::unordered_map<uint32_t, int> degrees_ = {};
  std::unordered_map<uint32_t, bool> touched_ = {};
};

/// The positive number, a product of sizes, that all terms of some sums have in common. Times as
/// much for sums that are that many times as large; 1 where all are 0.
algebra::Nf common_size(algebra::Engine& g, const std::vector<algebra::Nf>& sums);

}  // namespace shardproof::lower
