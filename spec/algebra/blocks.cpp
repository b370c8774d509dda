// An index in blocks: i = b s + u, where a term has the block floor(i / s), or a sum up to such a
// place.
#include <algorithm>
#include <set>

#include "spec/algebra/rebuilding.h"

namespace shardproof::algebra {

namespace {

/// The index and its factor, of a term of one index.
std::optional<std::pair<VarId, Nf>> index_of(Engine& g, const Term& t) {
  std::optional<VarId> v;
  Mono sizes;
  for (const Factor& f : g.factors(t.mono)) {
    const Atom& atom = g.atoms[f.atom];
    if (atom.kind == AtomKind::size)
      sizes.push_back(f);
    else if (atom.kind != AtomKind::var || v || !f.exponent.is_one())
      return std::nullopt;
    else
      v = atom.ref;
  }
  return v ? std::optional(std::pair{*v, g.monomial(g.mono(sizes), t.coef)}) : std::nullopt;
}

struct Blocks {
  VarId v;
  Nf length;
};

/// Whether an index consists of some blocks of this length.
bool has_blocks(Engine& g, const Blocks& of) {
  const Nf count = g.mul(g.vars[of.v].range, g.pow(of.length, -1));
  return of.length != g.one && count != g.one && g.integer(of.length) &&
         (g.integer(count) || g.fault == Fault::part_of_a_block) && g.positive(of.length);
}

/// An index of which a floor has the block: v of floor(v / s).
std::optional<Blocks> blocks_of_floor(Engine& g, AtomId floor, const VarSet& of) {
  for (const Term& t : g.terms(g.inner(floor)))
    if (const auto index = index_of(g, t); index && contains(of, index->first)) {
      const Blocks blocks{index->first, g.pow(index->second, -1)};
      if (has_blocks(g, blocks)) return blocks;
    }
  return std::nullopt;
}

/// An index that is compared with a place in a block: v of [v <= b s + u].
std::optional<Blocks> blocks_of_place(Engine& g, Nf compared, const VarSet& of) {
  std::vector<std::pair<VarId, Nf>> indices;
  for (const Term& t : g.terms(compared))
    if (const auto index = index_of(g, t)) indices.push_back(*index);
  for (const auto& [v, factor] : indices)
    for (const auto& [other, stride] : indices)
      if (contains(of, v) && g.as_number(factor))
        for (const Blocks& blocks : {Blocks{v, stride}, Blocks{v, g.scale(stride, -1)}})
          if (has_blocks(g, blocks)) return blocks;
  return std::nullopt;
}

/// Finds the first of some indices that should be in blocks: a bound one because of an atom, a free
/// one because of a floor at any depth.
struct Search {
  Engine& g;
  const VarSet& of;
  bool free;
  std::set<uint32_t> seen = {};

  std::optional<Blocks> in(Nf e) {
    if (!seen.insert(e.id).second) return std::nullopt;
    g.tick();
    for (const Term& t : g.terms(e))
      for (const Factor& f : g.factors(t.mono))
        if (g.mentions_any(g.atom_vars[f.atom], of))
          if (const auto found = in_atom(f.atom)) return found;
    return std::nullopt;
  }

  std::optional<Blocks> in_atom(AtomId id) {
    const Atom& atom = g.atoms[id];
    std::optional<Blocks> found;
    if (g.is_op(id, Op::floor)) found = blocks_of_floor(g, id, of);
    if (atom.kind == AtomKind::le0 && !free) found = blocks_of_place(g, atom.args[0], of);
    for (Nf arg : atom.args)
      if (!found) found = in(arg);
    if (!found && free && atom.kind == AtomKind::app && can_be_rebuilt(g.tensors[atom.ref].op))
      found = in(g.open(atom.ref, atom.args, of, nullptr));
    return found;
  }
};

/// e with b s + u for the index; b and u are added to `to`.
Nf in_blocks(Engine& g, Nf e, const Blocks& of, VarSet& to) {
  VarSet taken = set_union(g.free_of(e), to);
  const VarId b = g.scratch(g.mul(g.vars[of.v].range, g.pow(of.length, -1)), taken);
  taken.push_back(b);
  const VarId u = g.scratch(of.length, taken);
  to = set_union(to, {std::min(b, u), std::max(b, u)});
  return g.substitute(e, {{of.v, g.add(g.mul(g.var(b), of.length), g.var(u))}});
}

}  // namespace

/// e with free and bound indices in blocks, and its comparisons digit by digit.
Nf Engine::with_blocks(Nf e) {
  constexpr int most = 4;
  VarSet added;
  for (int n = 0; n < most; ++n) {
    const auto found = floors ? Search{*this, free_of(e), true}.in(e) : std::nullopt;
    if (!found) break;
    e = in_blocks(*this, e, *found, added);
  }
  const auto split = [&](VarSet& bound, Nf body) {
    std::sort(bound.begin(), bound.end());
    for (int n = 0; n < most; ++n) {
      const auto found = Search{*this, bound, false}.in(body);
      if (!found) break;
      bound = set_minus(bound, {found->v});
      body = in_blocks(*this, body, *found, bound);
    }
    return compare_digits(body);
  };
  Rebuilding all{*this, {}, [&](Nf body) { return compare_digits(body); }, split};
  return compare_digits(all.of(e));
}

}  // namespace shardproof::algebra
