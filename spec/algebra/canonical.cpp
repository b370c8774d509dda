// The order of a derived tensor's parameters and binders: colour refinement, then individualisation
// of ties. Hashes only choose the order. Equality compares interned structure, so a hash collision
// can cost a proof but never soundness.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "spec/algebra/engine.h"
#include "spec/algebra/hashing.h"

namespace shardproof::algebra {

namespace {

using Colours = std::vector<std::pair<VarId, uint64_t>>;  // sorted

auto& colour_of(auto& colours, VarId v) {
  return std::find_if(colours.begin(), colours.end(), [&](auto& each) { return each.first == v; })
      ->second;
}

constexpr int kMaxLeaves = 120;

struct Colouring {
  Engine& g;
  const VarSet& params;
  const VarSet& binders;
  Nf body;
  int leaves = 0;
  bool found = false;
  Engine::Order best;

  /// Temporarily gives a variable another colour; keeps the hashes of atoms without it.
  struct Marked {
    const Colours& colours;
    std::unordered_map<AtomId, uint64_t>& kept;
    std::optional<VarId> v = {};
    uint64_t colour = 0;
  };

  uint64_t hash(Nf e, const Marked& marked, Rational sign = 1) const {
    uint64_t h = 5;
    for (const Term& t : g.terms(e)) {
      uint64_t product = hash_rational(t.coef * sign);
      for (const Factor& f : g.factors(t.mono))
        product += mix(hash(f.atom, marked), hash_rational(f.exponent));
      h += mix(product, 3);
    }
    return h;
  }

  uint64_t hash(AtomId a, const Marked& marked) const {
    if (g.atom_vars[a].empty()) return mix(a, 29);
    if (marked.v && contains(g.atom_vars[a], *marked.v)) return fresh_hash(a, marked);
    if (const auto known = marked.kept.find(a); known != marked.kept.end()) return known->second;
    return marked.kept[a] = fresh_hash(a, {marked.colours, marked.kept});
  }

  uint64_t fresh_hash(AtomId a, const Marked& marked) const {
    const Atom& atom = g.atoms[a];
    uint64_t h = mix(static_cast<uint64_t>(atom.kind), 31);
    switch (atom.kind) {
      case AtomKind::var:
        return mix(h, marked.v == atom.ref ? marked.colour : colour_of(marked.colours, atom.ref));
      case AtomKind::eq0:
        return mix(h, hash(atom.args[0], marked) + hash(atom.args[0], marked, -1));
      case AtomKind::le0:
        return mix(h, hash(atom.args[0], marked));
      case AtomKind::size:
      case AtomKind::prime:
      case AtomKind::app:
        break;
    }
    h = mix(h, atom.ref);
    bool ordered = g.tensors[atom.ref].symmetries.empty();
    uint64_t unordered = 0;
    for (Nf arg : atom.args) {
      uint64_t x = hash(arg, marked);
      if (ordered)
        h = mix(h, x);
      else
        unordered += mix(x, 41);
    }
    return ordered ? h : mix(h, unordered);
  }

  static size_t distinct(const Colours& colours) {
    std::vector<uint64_t> all;
    for (auto& [v, c] : colours) all.push_back(c);
    std::sort(all.begin(), all.end());
    return static_cast<size_t>(std::unique(all.begin(), all.end()) - all.begin());
  }

  /// colour(v) := hash(colour(v), the body with v marked), until the classes are stable.
  void refine(Colours& colours) const {
    for (size_t before = distinct(colours); before < colours.size();) {
      Colours next = colours;
      std::unordered_map<AtomId, uint64_t> kept;
      for (auto& [v, c] : next) {
        const Marked marked{colours, kept, v, mix(c, 97)};
        uint64_t h = c;
        for (const Term& t : g.terms(body)) {
          if (!contains(g.mono_vars[t.mono], v)) continue;
          uint64_t product = hash_rational(t.coef);
          for (const Factor& f : g.factors(t.mono))
            product += mix(hash(f.atom, marked), hash_rational(f.exponent));
          h += mix(product, 7);
        }
        c = mix(h, 1);
        g.tick(static_cast<long>(g.terms(body).size()));
      }
      size_t after = distinct(next);
      if (after <= before) {
        colours = after == before ? next : colours;
        break;
      }
      colours = next, before = after;
    }
  }

  /// All colours differ.
  void leaf(const Colours& colours) {
    ++leaves;
    Engine::Order order;
    order.params = params, order.binders = binders;
    auto by_colour = [&](VarId a, VarId b) {
      return colour_of(colours, a) < colour_of(colours, b);
    };
    std::sort(order.params.begin(), order.params.end(), by_colour);
    std::sort(order.binders.begin(), order.binders.end(), by_colour);
    order.body = rename(order);
    if (!found || order.body < best.body) {
      best = std::move(order), found = true;
    } else if (order.body == best.body && best.symmetric.size() < 24 &&
               order.params != best.params) {
      best.symmetric.push_back(order.params);
    }
  }

  Nf rename(const Engine::Order& order) const {
    Map map;
    for (size_t i = 0; i < order.params.size(); ++i)
      map.push_back({order.params[i], g.var(g.slot(VarInfo::param, static_cast<uint32_t>(i),
                                                   g.vars[order.params[i]].range))});
    for (size_t i = 0; i < order.binders.size(); ++i)
      map.push_back({order.binders[i], g.var(g.slot(VarInfo::binder, static_cast<uint32_t>(i),
                                                    g.vars[order.binders[i]].range))});
    std::sort(map.begin(), map.end());
    return g.substitute(body, map);
  }

  /// The variables of one colour, of those with several; empty if there are none.
  static Colours smallest_cell(Colours colours) {
    std::sort(colours.begin(), colours.end(), [](const auto& a, const auto& b) {
      return a.second < b.second || (a.second == b.second && a.first < b.first);
    });
    Colours smallest;
    for (auto begin = colours.begin(); begin != colours.end();) {
      const auto end = std::find_if(begin, colours.end(),
                                    [&](const auto& each) { return each.second != begin->second; });
      const auto size = static_cast<size_t>(end - begin);
      if (size > 1 && (smallest.empty() || size < smallest.size())) smallest.assign(begin, end);
      begin = end;
    }
    return smallest;
  }

  void search(Colours colours) {
    if (leaves >= kMaxLeaves) return;
    refine(colours);
    const Colours smallest = smallest_cell(colours);
    if (smallest.empty()) return leaf(colours);
    for (const auto& [v, c] : smallest) {
      Colours next = colours;
      colour_of(next, v) = mix(c, 1234567);
      search(std::move(next));
    }
  }
};

}  // namespace

Engine::Order Engine::canonical(Op op, const VarSet& params, const VarSet& binders, Nf body) {
  Colouring colouring{*this, params, binders, body, 0, false, {}};
  Colours colours;
  for (VarId v : params) colours.push_back({v, mix(101, vars[v].range.id)});
  for (size_t i = 0; i < binders.size(); ++i)
    colours.push_back(
        {binders[i], op == Op::lambda ? 1000 + i : mix(103, vars[binders[i]].range.id)});
  std::sort(colours.begin(), colours.end());
  if (op == Op::lambda) {  // the index order is part of its meaning
    Colours of_params = colours;
    colouring.refine(of_params);
    colours = std::move(of_params);
    for (size_t i = 0; i < binders.size(); ++i) colour_of(colours, binders[i]) = i;
  }
  colouring.search(colours);
  return colouring.best;
}

}  // namespace shardproof::algebra
