#pragma once
// Calls as they are written in JAX, PyTorch and Python, and the same in the notation.
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// `all_reduce("B {U_t} -> B", x)` for `psum(x, "t")`: edits, where the text states the type of the
/// operand. Several where the call does not say which dim it gathers or splits.
std::vector<Fix> in_the_notation(const Body& body, const syntax::Expr& call);

/// The same for `x.sum(0)` and `jnp.sum(x, axis=0)`; where nothing better is known, the call by its
/// name alone.
std::vector<Fix> by_its_name(const Body& body, const syntax::Expr& call);

/// Whether a call names a dim by its position: `softmax(x, axis=-1)`, `softmax(x, -1)`.
bool names_a_position(const syntax::Expr& call);

/// `einsum("B M, M F/t -> B F/t", x, w)` for `x @ w`, also for products in its operands; advice
/// where the text does not state their types.
std::vector<Fix> product_in_the_notation(const Body& body, const syntax::Expr& product);

/// `w` and `rearrange("M F/t -> F/t M", w)` for `w.T`.
std::vector<Fix> transposed_in_the_notation(const Body& body, const syntax::Expr& field);

}  // namespace shardproof::resolution
