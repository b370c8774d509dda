#include "spec/algebra/exchanged.h"

#include <algorithm>
#include <set>

namespace shardproof::algebra {

namespace {

/// The places of tensors at which a variable is read, at any depth.
class Readings {
 public:
  using Places = std::set<std::pair<TensorId, size_t>>;
  explicit Readings(Engine& g) : g_(g) {}

  const Places& of(Nf e, VarId v) {
    const auto [known, fresh] = known_.try_emplace({e.id, v});
    if (!fresh || !g_.mentions(e, v)) return known->second;
    g_.tick();
    Places found;
    for (const Term& t : g_.terms(e))
      for (const Factor& f : g_.factors(t.mono))
        if (contains(g_.atom_vars[f.atom], v)) add(g_.atoms[f.atom], v, found);
    return known_[{e.id, v}] = std::move(found);
  }

 private:
  void add(const Atom& atom, VarId v, Places& found) {
    const bool derived =
        atom.kind == AtomKind::app && !TensorInfo(g_.tensors[atom.ref]).ranges.empty() &&
        g_.tensors[atom.ref].op != Op::leaf && g_.tensors[atom.ref].op != Op::symbol;
    for (size_t i = 0; i < atom.args.size(); ++i) {
      if (!g_.mentions(atom.args[i], v)) continue;
      if (derived) {
        const TensorInfo& t = g_.tensors[atom.ref];
        const Places inside =
            of(t.body, g_.slot(VarInfo::param, static_cast<uint32_t>(i), t.ranges[i]));
        found.insert(inside.begin(), inside.end());
      } else if (atom.kind == AtomKind::app) {
        found.insert({atom.ref, i});
      } else {
        const Places inside = of(atom.args[i], v);
        found.insert(inside.begin(), inside.end());
      }
    }
  }

  Engine& g_;
  std::map<std::pair<uint32_t, VarId>, Places> known_;
};

}  // namespace

Nf exchanged_like(Engine& g, Nf body, const VarSet& binders, Nf other) {
  constexpr size_t most_exchanged = 3;
  Readings readings(g);
  const auto shared = [&](VarId v, VarId of_other) {
    const auto &own = readings.of(body, v), &theirs = readings.of(other, of_other);
    return std::count_if(own.begin(), own.end(), [&](const auto& p) { return theirs.contains(p); });
  };
  Map map;
  for (VarId first : binders) {
    VarSet alike;
    for (VarId v : binders)
      if (g.vars[v].range == g.vars[first].range) alike.push_back(v);
    if (alike.size() < 2 || alike.size() > most_exchanged || alike[0] != first) continue;
    VarSet order = alike, best = alike;
    ptrdiff_t most = -1;
    do {
      ptrdiff_t score = 0;
      for (size_t k = 0; k < alike.size(); ++k) score += shared(alike[k], order[k]);
      if (score > most) most = score, best = order;
    } while (std::next_permutation(order.begin(), order.end()));
    for (size_t k = 0; k < alike.size(); ++k)
      if (alike[k] != best[k] || g.fault == Fault::exchanged_with_one)
        map.push_back({alike[k], g.var(g.fault == Fault::exchanged_with_one ? alike[0] : best[k])});
  }
  return map.empty() ? body : g.substitute(body, map);
}

}  // namespace shardproof::algebra
