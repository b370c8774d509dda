#pragma once
// Functions before their bodies: parameters, results, call order, and claims of plans.
#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// Reads parameters and results of every function of the files, or of the library, and which
/// functions are generic.
enum class Of { files, library };
void read_signatures(World& world, Of of);

/// Orders the functions, callees first (E0112), and adds them to the program. Returns the entities
/// in that order.
std::vector<size_t> order_functions(World& world);

/// Checks `implements f` and `implements grad(f) after P`: parameters and results against f
/// (E0108).
void check_claims(World& world);
/// Records the library's declarations `fn X_grad implements grad(X wrt x)`.
void note_library_gradients(World& world);
/// Checks that P saves the values after `;` (E0101, E0108). Call it after the bodies are read.
void check_saved(World& world);

}  // namespace shardproof::resolution
