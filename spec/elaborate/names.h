#pragma once
// Dims as sequences of named factors.
#include <optional>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::elaborate {

/// A factor of a dim: its name as a pattern may write it, and the plain dim whose size it has.
struct Factor {
  Name name;
  Name dim;
  bool operator==(const Factor&) const = default;
};
using Factors = std::vector<Factor>;

/// The factors of a dim, most significant first; nested groups are flattened. `H` with
/// `dim H = (K D)` gives K and D; an alias S of a group has its own factors, `S.0` and `S.1`.
Factors factors(const ir::Program& program, const Dim& dim);
/// The factors of all dims of a shape, in order.
Factors factors(const ir::Program& program, const Shape& shape);
/// Calls `visit(name, dim)` for each factor of a dim.
template <class Visit>
void for_each_factor(const ir::Program& program, const Dim& dim, const Visit& visit) {
  using Kind = ir::DimInfo::Kind;
  for (const Name& name : dim.factors) {
    const auto found = program.dims.find(name);
    const auto kind = found == program.dims.end() ? Kind::plain : found->second.kind;
    if (kind == Kind::group) {
      for_each_factor(program, Dim{found->second.of}, visit);
    } else if (kind != Kind::alias) {
      visit(name, name);
    } else {
      const std::vector<Name> base = program.base(Dim{{name}});
      for (size_t i = 0; i < base.size(); ++i)
        visit(base.size() == 1 ? name : name + "." + std::to_string(i), base[i]);
    }
  }
}
/// The names of the factors of a dim.
std::vector<Name> names(const ir::Program& program, const Dim& dim);
/// Whether it has several factors, perhaps by a name of its own.
bool has_factors(const ir::Program& program, const Dim& dim);

/// The factor of `dim` that its axes split: the first one without declared size 1.
size_t leading(const ir::Program& program, const Dim& dim);
size_t leading(const ir::Program& program, const std::vector<Name>& dims);
/// The index that a position's axes split; none for an empty position.
std::optional<ir::IndexId> leading(const ir::Program& program, const ir::Indices& indices,
                                   const ir::Position& position);

}  // namespace shardproof::elaborate
