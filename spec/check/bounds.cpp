#include "spec/check/bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "spec/check/points.h"
#include "spec/check/requirements.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

/// Nullopt: the dim has no size there, e.g. the axis of a ring does not divide its blocks.
std::optional<int64_t> size_at(const ir::Program& program, const Dim& dim,
                               const denote::Sizes& sizes) {
  std::map<Name, int64_t> all = sizes.dims;
  for (const auto& [axis, info] : program.axes) all[axis] = sizes.axis(axis);
  try {
    return program.size(dim, all);
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

/// The value of a number that is computed from literals and sizes. Nullopt: it depends on runtime
/// values.
std::optional<double> number_at(const ir::Program& program, const ir::Function& function,
                                ir::ValueId value, const denote::Sizes& sizes) {
  const ir::Instr* maker = defining_instr(function.body, value);
  if (!maker) return std::nullopt;
  if (auto* number = std::get_if<ir::Number>(&maker->op)) return number->value;
  if (auto* size = std::get_if<ir::SizeOf>(&maker->op)) {
    const auto number =
        size->axis ? sizes.axis(size->name) : size_at(program, Dim{{size->name}}, sizes);
    return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
  }
  auto* binary = std::get_if<ir::Binary>(&maker->op);
  if (!binary) return std::nullopt;
  const auto a = number_at(program, function, maker->operands.at(0), sizes);
  const auto b = number_at(program, function, maker->operands.at(1), sizes);
  if (!a || !b) return std::nullopt;
  const double result = ir::value(binary->fn, *a, *b);
  const bool arithmetic = binds(binary->fn) == ir::Binds::sums || binary->fn == ir::BinaryFn::mul ||
                          binary->fn == ir::BinaryFn::div;
  return arithmetic && std::isfinite(result) ? std::optional<double>(result) : std::nullopt;
}

/// What is read or written: the dim, and the dim of the piece (none for one entry).
struct Piece {
  Dim whole;
  std::optional<Dim> part;
  ir::ValueId at;
};

Dim dim_of(const ir::Indices& in, const ir::Position& position) {
  Dim dim;
  for (ir::IndexId id : position) dim.factors.push_back(in.all.at(id).dim);
  return dim;
}

std::optional<Piece> piece_of(const ir::Instr& instr) {
  auto* read = std::get_if<ir::Read>(&instr.op);
  auto* write = std::get_if<ir::Write>(&instr.op);
  if (!read && !write) return std::nullopt;
  const ir::Pattern& pattern = read ? read->pattern : write->pattern;
  const ir::Indices& in = pattern.indices;
  const std::vector<ir::Position>&whole = in.left.at(0), &piece = read ? in.right : in.left.at(1);
  const size_t bracket = pattern.left_bracket.value();
  std::optional<Dim> part;
  if (piece.size() == whole.size()) part = dim_of(in, piece.at(bracket));
  return Piece{dim_of(in, whole.at(bracket)), part, instr.operands.back()};
}

/// One entry that the dim has at all sizes: entry 0, or one below a declared number.
bool always_inside(const ir::Program& program, const ir::Function& function, const Piece& piece) {
  const ir::Instr* maker = piece.part ? nullptr : defining_instr(function.body, piece.at);
  const auto* number = maker ? std::get_if<ir::Number>(&maker->op) : nullptr;
  if (!number || number->value < 0) return false;
  const ir::Arith size = program.size(piece.whole);
  return number->value == 0 ||
         (size.kind == ir::Arith::Kind::number && number->value + 1 <= ir::evaluate(size, {}));
}

std::vector<denote::Sizes> all_small_sizes(const ir::Program& program) {
  std::vector<denote::Sizes> all;
  for (unsigned attempt = 0; attempt < 8; ++attempt)
    if (auto sizes = small_sizes(program, attempt)) all.push_back(std::move(*sizes));
  return all;
}

/// The condition with constants of the body evaluated. Nullopt if it has other values.
std::optional<ir::Arith> with_numbers(const ir::Program& program, const ir::Function& function,
                                      const ir::Arith& arith, const denote::Sizes& sizes) {
  if (arith.kind == ir::Arith::Kind::value) {
    const auto number = number_at(program, function, arith.value, sizes);
    if (!number) return std::nullopt;
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", *number);
    return ir::Arith{ir::Arith::Kind::number, text, ir::no_value, {}};
  }
  ir::Arith copy = arith;
  for (ir::Arith& arg : copy.args) {
    auto next = with_numbers(program, function, arg, sizes);
    if (!next) return std::nullopt;
    arg = std::move(*next);
  }
  return copy;
}

using Path = std::vector<ir::Requirement>;

/// Whether the code at a path may run at these sizes: no `require` before or around it fails there.
/// Conditions on runtime values are not decided.
bool may_be_reached(const ir::Program& program, const ir::Function& function, const Path& path,
                    const denote::Sizes& sizes) {
  std::map<Name, int64_t> all = sizes.dims;
  for (const auto& [axis, info] : program.axes) all[axis] = sizes.axis(axis);
  Path of_sizes;
  for (const ir::Requirement& each : path)
    if (auto condition = with_numbers(program, function, each.condition, sizes))
      of_sizes.push_back({std::move(*condition), each.range, each.words});
  try {
    return hold(program, of_sizes, all);
  } catch (const std::domain_error&) {
    return true;
  }
}

/// Visits every instruction with the `require`s of the blocks around it. A `require` in a loop's
/// body counts in that body only.
template <class Visit>
void for_each_on_path(const ir::Block& block, Path path, const Visit& visit) {
  path.insert(path.end(), block.requirements.begin(), block.requirements.end());
  for (const ir::Instr& instr : block.instrs) {
    visit(instr, path);
    if (const ir::Block* body = body_of(instr.op)) for_each_on_path(*body, path, visit);
  }
}

/// What is read or written beyond the end of a dim, at one sizing.
struct Beyond {
  int64_t first, last, size;
};

/// Nullopt: nothing, or where that is not known.
std::optional<Beyond> beyond(const ir::Program& program, const ir::Function& function,
                             const Piece& piece, const denote::Sizes& sizes) {
  const auto at = number_at(program, function, piece.at, sizes);
  const auto size = size_at(program, piece.whole, sizes);
  const auto length = piece.part ? size_at(program, *piece.part, sizes) : 1;
  if (!at || !size || !length) return std::nullopt;
  if (*at >= 0 && *at + static_cast<double>(*length) <= static_cast<double>(*size))
    return std::nullopt;
  const auto first = static_cast<int64_t>(*at);
  return Beyond{first, first + *length - 1, *size};
}

/// Where the model reads beyond the end too, there is no claim.
bool reads_beyond(const ir::Program& program, const ir::Function& model,
                  const denote::Sizes& sizes) {
  bool found = false;
  for_each_on_path(model.body, {}, [&](const ir::Instr& instr, const Path& path) {
    const auto piece = piece_of(instr);
    found = found || (piece && may_be_reached(program, model, path, sizes) &&
                      beyond(program, model, *piece, sizes));
  });
  return found;
}

}  // namespace

std::vector<Diagnostic> entries_beyond(const ir::Program& program, const ir::Function& function) {
  std::vector<Diagnostic> found;
  std::vector<denote::Sizes> tried;  // found once, for the first read or write
  Path given;                        // where the model is undefined, there is no claim
  if (function.model) given = requirements_of_sizes(program, *function.model);
  for_each_on_path(function.body, given, [&](const ir::Instr& instr, const Path& path) {
    const auto piece = piece_of(instr);
    if (!piece || always_inside(program, function, *piece)) return;
    if (tried.empty()) tried = all_small_sizes(program);
    for (const denote::Sizes& sizes : tried) {
      const auto what = beyond(program, function, *piece, sizes);
      if (!what || !may_be_reached(program, function, path, sizes) ||
          (function.model && reads_beyond(program, program.functions[*function.model], sizes)))
        continue;
      Diagnostic diagnostic;
      diagnostic.code = "E0405";
      diagnostic.range = instr.place.range;
      diagnostic.message = std::string(ir::name_of(instr.op)) + ": an entry beyond the end of " +
                           to_string(piece->whole);
      diagnostic.label = "entries " + std::to_string(what->first) + " to " +
                         std::to_string(what->last) + " of " + std::to_string(what->size);
      found.push_back(std::move(diagnostic));
      return;
    }
  });
  return found;
}

}  // namespace shardproof
