#pragma once
// Arithmetic on sizes: `4*|M|`, `|K| >= |t|`, a const.
#include <functional>

#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// The meaning of names and bars in this context; nullopt after a reported error.
struct ArithNames {
  std::function<std::optional<ir::Arith>(const syntax::Expr&)> size;  ///< |M|
  std::function<std::optional<ir::Arith>(const syntax::Expr&)> name;  ///< eps, c.used
};
/// Names and sizes that a file declares.
ArithNames names_of(World& world, const FileScope& file);

ir::Arith arith_number(const std::string& text);
ir::Arith arith_op(const std::string& op, std::vector<ir::Arith> args);

/// E0109 for an expression that is not arithmetic.
std::optional<ir::Arith> arith(World& world, const syntax::Expr& expr, const ArithNames& names);

/// Whether it contains no size that is not fixed.
bool is_closed(const ir::Arith& arith);

/// Whether a declaration, fully expanded, is within the limits of length and depth (E0106).
bool within_bounds(World& world, const Name& name, const ir::DimInfo& info);

/// Checks the sizes of all dims: breaks cycles (E0106); known sizes must be positive integers below
/// 2^53 (E0106).
void check_sizes(World& world);

std::string shortest(double value);  ///< a decimal that reads back as `value`

}  // namespace shardproof::resolution
