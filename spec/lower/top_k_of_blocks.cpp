// The k greatest of the greatest of each block are the k greatest of all.
#include "spec/algebra/engine.h"
#include "spec/lower/context.h"

namespace shardproof::lower {

/// The row of which `order` is the order.
static std::optional<TensorExpr> row_of(algebra::Engine& g, algebra::AtomId order) {
  algebra::VarSet index;
  const auto entry = g.row_of(g.atoms[order].args, &index);
  if (!entry) return std::nullopt;
  TensorExpr row{{}, *entry};
  for (algebra::VarId v : index) row.index.push_back({v});
  return row;
}

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
  for (algebra::AtomId order : g.orders_of(sorted, "top_k", last.id)) {
    const auto row = row_of(g, order);
    if (!row) continue;
    if (c.at(*row, c.split(g.of_atom(order), row->index)) != sorted) continue;
    Vars all = blocks;
    all.insert(all.end(), row->index.begin(), row->index.end());
    const std::vector<Nf> found = c.split(top_k(c, row->body, all, rank), all);
    Nf place = c.a.number(0), block = place;
    for (size_t i = 0; i < all.size(); ++i) {
      Nf& digits = i < blocks.size() ? block : place;
      digits = c.a.add(c.a.mul(digits, c.a.range(all[i])), found[i]);
    }
    const auto own_block = found.begin() + static_cast<std::ptrdiff_t>(blocks.size());
    const Nf own =
        c.at({blocks, g.atoms[order].args[0]}, std::vector<Nf>(found.begin(), own_block));
    place = g.app(g.place_among(g.atoms[order].ref, kept), {own, place});
    return c.a.add(c.a.mul(block, kept), place);
  }
  return std::nullopt;
}

}  // namespace shardproof::lower
