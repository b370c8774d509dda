#pragma once
// Written types: dims and axes known, records flattened to their leaf tensors, layouts compared.
#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// What a name of a dim means where a type or pattern stands.
struct TypeContext {
  World& world;
  const FileScope& file;
  bool axes_allowed = true;                         ///< false in a fn: E0109
  const std::map<Name, Dim>* dims = nullptr;        ///< local names, before the file's
  const std::vector<Dim>* rest = nullptr;           ///< what `...` stands for; null: E0110
  std::optional<Dtype> float_dtype = std::nullopt;  ///< what `float` stands for; none: E0110
};

/// The dim of one split; nullopt after E0101 or E0110. Not for `...`.
std::optional<Dim> resolve_dim(const TypeContext& context, const syntax::SplitExpr& split);

/// Dims, `...` expanded, and marks; axes and dims are known (E0101, E0109). Without `strict` an
/// axis or dim may occur twice: patterns, whose rules tell it.
std::optional<Shape> resolve_shape(const TypeContext& context,
                                   const std::vector<syntax::SplitExpr>& dims,
                                   const std::vector<syntax::MarkExpr>& marks, bool strict);

/// A tensor, or a record with every leaf; E0101, E0110.
std::optional<Types> resolve_type(const TypeContext& context, const syntax::TypeExpr& type);

/// How the record or layout of a type is called and made, as seen from file `reader`.
ir::WrittenType written_type(World& world, size_t file, const syntax::TypeExpr& type,
                             size_t reader);

/// The leaves of a record or layout, resolved once; null after an error.
const Types* record_type(World& world, size_t record, SourceRange use);
/// The record that a record or layout stands for.
int record_of(const World& world, size_t record);

/// Compares every layout with its record (E0105).
void check_layouts(World& world);

bool same_dims(const Shape& a, const Shape& b);  ///< the same names in the same order
/// The same positions in the same order: H and (K D) are one if `dim H = (K D)`.
bool same_positions(const World& world, const Shape& a, const Shape& b);
bool same_class(Dtype a, Dtype b);                            ///< both floats, or equal
std::string dims_text(const Shape& shape);                    ///< `B L M`, axes and marks left out
std::string describe(const World& world, const Types& type);  ///< `f32[M]`, `record Ffn`

}  // namespace shardproof::resolution
