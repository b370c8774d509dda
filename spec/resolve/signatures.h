#pragma once
// Functions before their bodies: parameters, results, the order of calls, and what plans claim.
#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// Parameters and results of every function; which of them are generic.
void read_signatures(World& world);

/// Orders the functions, callees first (E0112), and makes their entries in the program; returns
/// the entities in that order.
std::vector<size_t> order_functions(World& world);

/// `implements f`, `implements grad(f) after P`: parameters and results against f's (E0108).
void check_claims(World& world);
/// The library's `fn X_grad implements grad(X wrt x)`, as declared.
void note_library_gradients(World& world);
/// After `;` come values that P saves (E0101, E0108); after the bodies.
void check_saved(World& world);

}  // namespace shardproof::resolution
