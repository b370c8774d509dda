// The k greatest of the greatest of each block are the k greatest of all.
#include "spec/algebra/engine.h"
#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

using algebra::AtomId;

/// The row of which `order` is the order, as a function of `index`.
struct Row {
  Vars index;
  Nf entry;
};

std::optional<Row> row_of(algebra::Engine& g, AtomId order) {
  const auto lambda = g.single_atom(g.atoms[order].args[0]);
  if (!lambda || !g.is_op(*lambda, algebra::Op::lambda)) return std::nullopt;
  const algebra::Atom atom = g.atoms[*lambda];
  algebra::VarSet index;
  Row row{{}, g.open(atom.ref, atom.args, g.free_of(g.atoms[order].args[0]), &index)};
  for (algebra::VarId v : index) row.index.push_back({v});
  return row;
}

std::vector<std::pair<Var, Nf>> at(const Vars& vars, const std::vector<Nf>& terms) {
  std::vector<std::pair<Var, Nf>> map;
  for (size_t i = 0; i < vars.size(); ++i) map.push_back({vars[i], terms[i]});
  return map;
}

}  // namespace

/// For x = y[blocks, order(blocks)[i]], where `order` is that of the block's entries: one of the
/// first k of x is at the place in its block of that of the first k of y. Ties too: in both, the
/// lowest block comes first, and in a block the lowest index. None of the first k of all has k
/// others of its block before it.
std::optional<Nf> top_k_of_blocks(Context& c, Nf x, const Vars& over, Nf rank, Nf k) {
  algebra::Engine& g = c.a.engine();
  const Var last = over.back();
  const Vars blocks(over.begin(), over.end() - 1);
  const Nf kept = c.a.range(last), sorted = same_order(c.a, over, x);
  if (!c.a.known_nonnegative(c.a.sub(kept, k))) return std::nullopt;
  for (AtomId order : g.orders_of(sorted, "top_k", last.id)) {
    const auto row = row_of(g, order);
    if (!row) continue;
    const Nf in_block = g.of_atom(order);
    if (c.a.substitute(row->entry, at(row->index, c.split(in_block, row->index))) != sorted)
      continue;
    Vars all = blocks;
    all.insert(all.end(), row->index.begin(), row->index.end());
    std::vector<Nf> found = c.split(top_k(c, row->entry, all, rank), all);
    Nf place = c.a.number(0), block = place;
    for (size_t i = 0; i < all.size(); ++i) {
      Nf& digits = i < blocks.size() ? block : place;
      digits = c.a.add(c.a.mul(digits, c.a.range(all[i])), found[i]);
    }
    const Nf own = c.a.substitute(g.atoms[order].args[0], at(blocks, found));
    place = g.app(g.place_among(g.atoms[order].ref, kept), {own, place});
    return c.a.add(c.a.mul(block, kept), place);
  }
  return std::nullopt;
}

}  // namespace shardproof::lower
