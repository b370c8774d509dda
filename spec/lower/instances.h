#pragma once
// Conditions on all entries of tensors, as finitely many that a solver can read.
#include <map>
#include <utility>
#include <vector>

#include "spec/lower/lower.h"

namespace shardproof::lower {

/// A condition at all indices becomes two: one at a place that all conditions share, and one at 0.
class Instances {
 public:
  explicit Instances(algebra::Algebra& a) : a_(a) {}

  /// Adds the instances of a comparison whose right side has no index.
  void add(const Condition& c, std::vector<Condition>& to) {
    Places place, start;
    std::map<uint32_t, size_t> used;
    for (algebra::Var v : a_.variables(c.left)) {
      std::vector<algebra::Var>& same = places_[a_.range(v).id];
      const size_t k = used[a_.range(v).id]++;
      if (k == same.size()) same.push_back(v);
      place.push_back({v, a_.var(same[k])}), start.push_back({v, a_.number(0)});
    }
    to.push_back(at(place, c));
    if (!start.empty()) to.push_back(at(start, c));
  }

 private:
  using Places = std::vector<std::pair<algebra::Var, algebra::Nf>>;

  Condition at(const Places& places, Condition c) {
    c.left = a_.substitute(c.left, places);
    return c;
  }

  algebra::Algebra& a_;
  std::map<uint32_t, std::vector<algebra::Var>> places_;  ///< by range
};

}  // namespace shardproof::lower
