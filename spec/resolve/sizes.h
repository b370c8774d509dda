#pragma once
// Arithmetic of sizes: `4*|M|`, `|K| >= |t|`, a const.
#include <functional>

#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// What names and bars mean where the arithmetic stands; nullopt after an error was told.
struct ArithNames {
  std::function<std::optional<ir::Arith>(const syntax::Expr&)> size;  ///< |M|
  std::function<std::optional<ir::Arith>(const syntax::Expr&)> name;  ///< eps, c.used
};
/// Names and sizes of a file's own declarations.
ArithNames names_of(World& world, const FileScope& file);

ir::Arith arith_number(const std::string& text);
ir::Arith arith_op(const std::string& op, std::vector<ir::Arith> args);

/// E0109 for what is not arithmetic.
std::optional<ir::Arith> arith(World& world, const syntax::Expr& expr, const ArithNames& names);

/// Whether no size is left open in it.
bool is_closed(const ir::Arith& arith);

/// Whether what a declaration stands for, written out, is not too long or too deep (E0106).
bool within_bounds(World& world, const Name& name, const ir::DimInfo& info);

/// Sizes of all dims: circles are cut (E0106), and those that can be computed are positive, whole
/// and below 2^53 (E0106).
void check_sizes(World& world);

/// The number that a const's expression is; nullopt after an error.
std::optional<double> constant(World& world, const FileScope& file, const syntax::Expr& expr);

std::string shortest(double value);  ///< a decimal that reads back as `value`

}  // namespace shardproof::resolution
