#pragma once
// Helpers that the ops of the table share.
#include <optional>

#include "properties/programs/ops.h"

namespace shardproof::programs {

std::optional<Drafted> add(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> subtract(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> multiply(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> scale(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> rectify(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> choose(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> squash(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> number(Workshop& shop, Drafted a, Drafted b);

std::optional<Drafted> join(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> look_up(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> add_up(Workshop& shop, Drafted a, Drafted b);

std::optional<Drafted> loop(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> order(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> sorted_pair(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> contract_three(Workshop& shop, Drafted a, Drafted b);
std::optional<Drafted> shorten(Workshop& shop, Drafted a, Drafted b);

/// a b, or a b a, summed over some dims.
Drafted contracted(Workshop& shop, Drafted a, Drafted b, bool twice);
/// Both one after the other along a dim P.
std::optional<Drafted> joined(Workshop& shop, Drafted a, Drafted b);
/// One of the two entries along the first dim; it lies as `layout`.
Drafted entry(Workshop& shop, const Drafted& both, const Layout& layout);
/// Sum over some dims; split ones become U.
Drafted sum_over(Workshop& shop, Drafted a, const std::vector<Word>& dims);
/// Size and fraction of a product.
void set_product(Drafted& r, const Drafted& a, const Drafted& b);
std::vector<Piece> whole_dims(const Layout& layout);
/// Axes on which x is R, in any order, perhaps none.
Letters some_free_axes(Workshop& shop, const Layout& x);
/// A dim of the pool that neither has; empty where there is none.
Word fresh_dim(Workshop& shop, const Layout& a, const Layout& b);

}  // namespace shardproof::programs
