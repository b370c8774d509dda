// Short names for writing programs by hand in tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "spec/algebra/algebra.h"

namespace shardproof::algebra {

struct Builder {
  Algebra a;
  Builder(int limit = 1) : a(Budget{limit}) {}

  Nf n(Rational r) { return a.number(r); }
  Nf size(const std::string& s) { return a.size(s); }
  Nf at(const std::string& name, const std::vector<Nf>& ranges, const std::vector<Nf>& index) {
    return a.at(a.leaf(name, ranges), index);
  }
  Nf exp(Nf x) { return a.apply(Fn::exp, x); }
  Nf log(Nf x) { return a.apply(Fn::log, x); }
  Nf silu(Nf x) { return a.apply(Fn::silu, x); }
  Nf sqrt(Nf x) { return a.pow(x, {1, 2}); }

  /// Sum over one variable of the given range.
  template <typename F>
  Nf sum(Nf range, F body, const char* hint = "k") {
    Var v = a.fresh(range, hint);
    return a.sum({v}, body(a.var(v)));
  }
  template <typename F>
  Nf max(Nf range, F body) {
    Var v = a.fresh(range, "m");
    return a.max({v}, body(a.var(v)));
  }
  /// Sum over c < |devices| and j < R/|devices| of body(c * R/|devices| + j).
  template <typename F>
  Nf sharded_sum(Nf range, Nf devices, F body) {
    Nf local = a.div(range, devices);
    return sum(devices, [&](Nf c) {
      return sum(local, [&](Nf j) { return body(a.add(a.mul(c, local), j)); });
    });
  }
};

}  // namespace shardproof::algebra
