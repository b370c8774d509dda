#include "spec/resolve/constants.h"

#include <cmath>
#include <stdexcept>

#include "spec/ir/decimal.h"
#include "spec/resolve/sizes.h"

namespace shardproof::resolution {
namespace {

using algebra::Rational;

Constant exactly(const syntax::ConstDecl& decl, Rational value) {
  if (auto text = algebra::decimal_text(value)) return {&decl, std::stod(*text), *text};
  const auto rounded = static_cast<double>(static_cast<long double>(value.num) / value.den);
  return {&decl, rounded, std::to_string(value.num), std::to_string(value.den)};
}

// Arithmetic beyond 64 bits is not rounded: `1e16 + 1 - 1e16` in double is 0.
void refuse_rounding(World& world, const syntax::ConstDecl& decl, const ir::Arith& value) {
  const double about = ir::evaluate(value, {});
  if (!std::isfinite(about)) {
    world.error("E0106", decl.value.range, "a const must be a finite number");
    return;
  }
  Diagnostic& error = world.error("E0106", decl.value.range,
                                  "this arithmetic needs more than 64 bits, and a const is exact",
                                  "would be rounded");
  error.fixes.push_back(
      {"write the number itself, for example `const " + decl.name + " = " + shortest(about) + "`",
       {},
       false,
       ""});
}

// A literal is what it says, of any length.
const syntax::Expr* literal_of(const syntax::Expr& expr, std::string& sign) {
  if (expr.kind == syntax::Expr::Kind::number) return &expr;
  if (expr.kind != syntax::Expr::Kind::unary || expr.text != "-") return nullptr;
  sign = "-";
  return expr.args.at(0).kind == syntax::Expr::Kind::number ? &expr.args[0] : nullptr;
}

}  // namespace

std::optional<Constant> constant(World& world, const FileScope& file,
                                 const syntax::ConstDecl& decl) {
  const auto value = arith(world, decl.value, names_of(world, file));
  if (!value) return std::nullopt;
  if (auto set = world.set.find(decl.name); set != world.set.end())
    return Constant{&decl, set->second, shortest(set->second)};
  std::string text;
  if (const syntax::Expr* literal = literal_of(decl.value, text)) {
    text += literal->text;
    return Constant{&decl, std::stod(text), text};
  }
  if (!is_closed(*value)) {
    world.error("E0106", decl.value.range, "a const does not depend on sizes");
    return std::nullopt;
  }
  try {
    return exactly(decl, ir::exact(*value));
  } catch (const algebra::Overflow&) {
    refuse_rounding(world, decl, *value);
  } catch (const std::domain_error& error) {
    world.error("E0106", decl.value.range, std::string("an invalid const: ") + error.what());
  }
  return std::nullopt;
}

ir::Arith arith_of(const Constant& constant) {
  ir::Arith number = arith_number(constant.text);
  if (constant.over.empty()) return number;
  return arith_op("/", {std::move(number), arith_number(constant.over)});
}

}  // namespace shardproof::resolution
