#pragma once
// Entries as Python takes them, and the same in the notation.
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// `read("B [M] -> B", x, at=0)` for `x[:, 0]`, and `read("B [M] -> B J", x, at=1)` with a new
/// `dim J = |M| - 1` for `x[:, 1:]`: edits, where the text states the dims of x and no axis splits
/// what is read; advice elsewhere.
Fix slice_in_the_notation(const Body& body, const syntax::Expr& entry);

/// Whether the brackets of an entry hold more than names: `0`, `-1`, `1:`, `:`, `...`.
bool is_slice(const syntax::Expr& entry);

}  // namespace shardproof::resolution
