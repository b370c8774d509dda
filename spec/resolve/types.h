#pragma once
// Types in source text: resolves dims and axes, flattens records to leaf tensors, compares layouts.
#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// The meaning of dim names where a type or pattern is written.
struct TypeContext {
  World& world;
  const FileScope& file;
  bool axes_allowed = true;                           ///< false in a function: E0109
  const std::map<Name, Dim, ByName>* dims = nullptr;  ///< local names, looked up before the file's
  const std::vector<Dim>* rest = nullptr;             ///< the dims of `...`; null: E0110
  std::optional<Dtype> float_dtype = std::nullopt;    ///< the meaning of `float`; none: E0110
};

/// The dim of one split; nullopt after E0101 or E0110. Not for `...`.
std::optional<Dim> resolve_dim(const TypeContext& context, const syntax::SplitExpr& split);

/// Adds the dim of one split with its axes, or all of `...`; false after an error.
bool resolve_split(const TypeContext& context, const syntax::SplitExpr& split, Shape& shape);

/// Dims with `...` expanded, and marks; dims and axes must exist (E0101, E0109). Without `strict`
/// an axis or dim may occur twice: in patterns, the op's rule reports that.
std::optional<Shape> resolve_shape(const TypeContext& context,
                                   const std::vector<syntax::SplitExpr>& dims,
                                   const std::vector<syntax::MarkExpr>& marks, bool strict);

/// A tensor, or a record with all of its leaves. E0101, E0110.
std::optional<Types> resolve_type(const TypeContext& context, const syntax::TypeExpr& type);

/// The name of a type's record or layout, and how to construct it, as seen from file `reader`.
ir::WrittenType written_type(World& world, size_t file, const syntax::TypeExpr& type,
                             size_t reader);

/// The leaves of a record or layout, resolved once. Null after an error.
const Types* record_type(World& world, size_t record, SourceRange use);
/// The record that a record or layout stands for.
int record_of(const World& world, size_t record);

/// Compares every layout with its record (E0105).
void check_layouts(World& world);

/// A dim that the shape has twice, as text; empty: none.
std::string dim_twice(const World& world, const Shape& shape);

/// Same positions in the same order. H and (K D) are the same if `dim H = (K D)`.
bool same_positions(const World& world, const Shape& a, const Shape& b);
bool same_class(Dtype a, Dtype b);                            ///< both floats, or equal
std::string dims_text(const Shape& shape);                    ///< `B L M`, without axes and marks
std::string describe(const World& world, const Types& type);  ///< `f32[M]`, `record Ffn`

}  // namespace shardproof::resolution
