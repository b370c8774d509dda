#pragma once
// Products with matrices that ids choose from a table, for devices that have them.
#include "impl/compile/opening.h"

namespace shardproof::compile {

/// The indices of a product by role; kept indices are in the result.
struct Roles {
  Ids batch, rows, columns, summed;  ///< in both; kept, in a; kept, in b; in both, summed
};

/// The product a * b along `kept`, if b or a was indexed from a table by ids.
std::optional<View> grouped_product(Compiler& compiler, const View& a, const View& b,
                                    const Roles& roles, const Ids& kept, Element element);

/// Adds a pending product of a column and a row for each id into `sum`, f32; false if operand 1 of
/// the index_add is none.
bool grouped_sum(const Opening& opening, const IndexWindow& window, const View& sum);

}  // namespace shardproof::compile
