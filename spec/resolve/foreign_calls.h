#pragma once
// Calls as they are written in JAX, PyTorch and Python, and the same in the notation.
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// `all_reduce("B {U_t} -> B", x)` for `psum(x, "t")`: an edit, where the text states the type of
/// the operand.
std::optional<Fix> in_the_notation(const Body& body, const syntax::Expr& call);

/// `einsum("B M, M F/t -> B F/t", x, w)` for `x @ w`.
std::optional<Fix> product_in_the_notation(const Body& body, const syntax::Expr& product);

/// `rearrange("M F/t -> F/t M", w)` for `w.T`.
std::optional<Fix> transposed_in_the_notation(const Body& body, const syntax::Expr& field);

}  // namespace shardproof::resolution
