#pragma once
// Loops that are linear in their initial carries, such as the reverse pass of a loop in its
// cotangent.
#include <set>
#include <string>

#include "spec/algebra/engine.h"

namespace shardproof::lower {

/// The degree of a term in some leaves: 1 if each product in the sum contains exactly
/// one of them, 0 if none does. Looks into sums over indices, but not into other
/// functions.
class Degrees {
 public:
  Degrees(algebra::Engine& engine, std::set<std::string> leaves)
      : g_(engine), leaves_(std::move(leaves)) {}

  /// Whether the term is 0 or has this degree.
  bool is(algebra::Nf e, int degree);

 private:
  static constexpr int any = -1, none = -2;  // of 0; of a term without a degree
  int of(algebra::Nf e);
  int of_atom(algebra::AtomId id);
  bool touches(algebra::Nf e);

  algebra::Engine& g_;
  std::set<std::string> leaves_;
  std::unordered_map<uint32_t, int> degrees_ = {};
  std::unordered_map<uint32_t, bool> touched_ = {};
};

/// The common positive factor, a product of sizes, of all terms of these sums. Scaling all sums by
/// a size scales it too; 1 if all are 0.
algebra::Nf common_size(algebra::Engine& g, const std::vector<algebra::Nf>& sums);

}  // namespace shardproof::lower
