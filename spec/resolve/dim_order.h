#pragma once
// A value whose dims stand in another order than its type says.
#include <optional>
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/ir/program.h"
#include "spec/syntax/ast.h"
#include "spec/types/type.h"

namespace shardproof::resolution {

/// The edit that puts the dims of one side of a pattern into another order, given by their indices.
Edit reordered(const Sources& sources, const std::vector<syntax::SplitExpr>& dims,
               const std::vector<size_t>& order);

/// The fix for the expression at `range`, whose type `actual` has the dims of `wanted` in another
/// order: its own pattern with the result in that order, or a rearrange around it. Nullopt if the
/// dims differ, or if one occurs twice.
std::optional<Fix> in_order_of(const Type& wanted, const Type& actual, const Sources& sources,
                               SourceRange range);

/// The dims of one side of a pattern as they stand in its operand: `K/t Q D` for `Q K/t D` of an
/// `H D` with `dim H = (K Q)`. Nullopt if the operand has others, or if they stand so already.
std::optional<std::string> named_as_operand(const ir::Program& program, const Sources& sources,
                                            const std::vector<syntax::SplitExpr>& dims,
                                            const Shape& operand);

/// The pattern of a call with another result: `einsum("B/d M, M F -> B/d", x, w)` of an f32[B/d F].
/// A guess: what is right of `->` was not meant.
std::optional<Fix> result_as_type(const Type& wanted, const Sources& sources, SourceRange call);

/// The fix for an expression whose type `actual` has other names of the same dims than `wanted`:
/// those of `wanted` in all its patterns, or a rearrange around it.
std::optional<Fix> with_names_of(const ir::Program& program, const Type& wanted, const Type& actual,
                                 const Sources& sources, SourceRange range);

}  // namespace shardproof::resolution
