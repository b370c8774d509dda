#include "spec/resolve/sizes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "spec/resolve/constants.h"

namespace shardproof::resolution {

ir::Arith arith_number(const std::string& text) {
  return {ir::Arith::Kind::number, text, ir::no_value, {}};
}

ir::Arith arith_op(const std::string& op, std::vector<ir::Arith> args) {
  return {ir::Arith::Kind::op, op, ir::no_value, std::move(args)};
}

std::string shortest(double value) {
  char text[64];
  auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : "0";
}

ArithNames names_of(World& world, const FileScope& file) {
  ArithNames names;
  names.size = [&](const syntax::Expr& expr) -> std::optional<ir::Arith> {
    if (is_number(expr.text)) return arith_number(expr.text);
    if (file.dims.count(expr.text))
      return ir::Arith{ir::Arith::Kind::size, expr.text, ir::no_value, {}};
    if (file.axes.count(expr.text))
      return ir::Arith{ir::Arith::Kind::axis, expr.text, ir::no_value, {}};
    std::vector<Name> known = keys(file.dims), axes = keys(file.axes);
    known.insert(known.end(), axes.begin(), axes.end());
    world.unknown("dim or axis", expr.text, expr.range, known);
    return std::nullopt;
  };
  names.name = [&](const syntax::Expr& expr) -> std::optional<ir::Arith> {
    auto found = file.consts.find(expr.text);
    if (expr.kind == syntax::Expr::Kind::name && found != file.consts.end())
      return arith_of(found->second);
    if (expr.kind == syntax::Expr::Kind::name && file.dims.count(expr.text)) {
      Diagnostic& error =
          world.error("E0109", expr.range, "`" + expr.text + "` is a dim, not a number");
      error.fixes.push_back(
          {"its size is `|" + expr.text + "|`", {{expr.range, "|" + expr.text + "|"}}, false, ""});
      return std::nullopt;
    }
    world.unknown("const", expr.text, expr.range, keys(file.consts));
    return std::nullopt;
  };
  return names;
}

std::optional<ir::Arith> arith(World& world, const syntax::Expr& expr, const ArithNames& names) {
  using Kind = syntax::Expr::Kind;
  switch (expr.kind) {
    case Kind::number:
      return arith_number(expr.text);
    case Kind::size:
      return names.size(expr);
    case Kind::name:
    case Kind::field:
      return names.name(expr);
    case Kind::unary:
    case Kind::binary: {
      if (expr.text == "@") break;
      std::vector<ir::Arith> args;
      for (const syntax::Expr& arg : expr.args) {
        auto part = arith(world, arg, names);
        if (part) args.push_back(std::move(*part));
      }
      if (args.size() != expr.args.size()) return std::nullopt;
      const bool negation = expr.kind == Kind::unary && expr.text == "-";
      return arith_op(negation ? "neg" : expr.text, std::move(args));
    }
    case Kind::string:
    case Kind::boolean:
    case Kind::call:
    case Kind::cast:
    case Kind::dtype:
    case Kind::zeros:
    case Kind::grad:
    case Kind::value_and_grad:
    case Kind::entry:
      break;
  }
  world.error("E0109", expr.range, "sizes and conditions are made of numbers, names and sizes",
              "no arithmetic of sizes");
  return std::nullopt;
}

bool is_closed(const ir::Arith& arith) {
  if (arith.kind == ir::Arith::Kind::number) return true;
  if (arith.kind != ir::Arith::Kind::op) return false;
  for (const ir::Arith& arg : arith.args)
    if (!is_closed(arg)) return false;
  return true;
}

namespace {

void names_in(const ir::Arith& arith, std::vector<Name>& out) {
  if (arith.kind == ir::Arith::Kind::size) out.push_back(arith.text);
  for (const ir::Arith& arg : arith.args) names_in(arg, out);
}

constexpr size_t most_factors = 1000, deepest_dim = 200;

// Depth first over the dims in declarations. Breaks a cycle by making its last dim plain.
class CircleCutter {
 public:
  explicit CircleCutter(World& world) : world_(world) {}
  void visit(const Name& name, size_t depth = 0) {
    auto found = world_.program.dims.find(name);
    int& state = state_[name];
    if (found == world_.program.dims.end() || state == 2) return;
    ir::DimInfo& info = found->second;
    if (state == 1 || depth > 500) {
      if (state == 1)
        world_.error("E0106", info.range, "the size of `" + name + "` depends on itself",
                     "`" + name + "` is declared by itself");
      else
        world_.error("E0106", info.range, "the size of `" + name + "` is too long written out");
      info.kind = ir::DimInfo::Kind::plain;
      info.of.clear();
      info.size.reset();
      return;
    }
    state = 1;
    std::vector<Name> needs = info.of;
    if (info.size) names_in(*info.size, needs);
    for (const Name& need : needs) visit(need, depth + 1);
    state = 2;
    if (!within_bounds(world_, name, info)) {
      info.kind = ir::DimInfo::Kind::plain;
      info.of.clear();
      info.size.reset();
    }
  }

 private:
  World& world_;
  std::map<Name, int, ByName> state_;
};

ir::Arith with_axis_sizes(const ir::Program& program, ir::Arith arith) {
  if (arith.kind == ir::Arith::Kind::axis) {
    auto axis = program.axes.find(arith.text);
    if (axis != program.axes.end() && axis->second.size)
      return arith_number(std::to_string(*axis->second.size));
  }
  for (ir::Arith& arg : arith.args) arg = with_axis_sizes(program, std::move(arg));
  return arith;
}

void check_size(World& world, const Name& name, const ir::DimInfo& info) {
  try {
    const ir::Arith size = with_axis_sizes(world.program, world.program.size(Dim{{name}}));
    if (!is_closed(size)) return;
    const double value = ir::evaluate(size, {});
    if (value >= 1 && value <= 9007199254740992.0 && value == std::floor(value)) return;
    std::string message = "the size of `" + name + "` would be " + shortest(value);
    if (value > 1 && value == std::floor(value)) message += ", which is too large";
    world.error("E0106", info.range, message, "a size is a positive whole number below 2^53");
  } catch (const std::exception& error) {
    world.error("E0106", info.range, "the size of `" + name + "` is invalid: " + error.what());
  }
}

}  // namespace

bool within_bounds(World& world, const Name& name, const ir::DimInfo& info) {
  std::vector<Name> needs = info.of;
  if (info.size) names_in(*info.size, needs);
  size_t factors = needs.empty() ? 1 : 0, depth = 0;
  for (const Name& need : needs) {
    auto known = world.dim_weights.find(need);
    factors += known == world.dim_weights.end() ? 1 : known->second.first;
    depth = std::max(depth, known == world.dim_weights.end() ? 0 : known->second.second);
  }
  const bool good = factors <= most_factors && depth < deepest_dim;
  if (!good) world.error("E0106", info.range, "the size of `" + name + "` is too long written out");
  world.dim_weights[name] = good ? std::pair{factors, depth + 1} : std::pair<size_t, size_t>{1, 0};
  return good;
}

void check_sizes(World& world) {
  CircleCutter cutter(world);
  const std::vector<Name> names = keys(world.program.dims);
  for (const Name& name : names) cutter.visit(name);
  for (const Name& name : names) {
    const ir::DimInfo& info = world.program.dims.at(name);
    if (info.kind == ir::DimInfo::Kind::sized || info.kind == ir::DimInfo::Kind::group)
      check_size(world, name, info);
  }
}

}  // namespace shardproof::resolution
